"""Make the plan of a crawl from a spider, and load the spider of a plan on this machine.

Apart from ``plan.py``: displays of jobs need neither spiders nor parsers.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.items.declared import nameable_kinds
from gossamer.policy.redirects import is_credential
from gossamer.policy.secret_names import is_secret
from gossamer.policy.shared_hosts import named_hosts
from gossamer.spiders.generic import GenericSpider
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import CrawlTarget, find_target
from gossamer.targets.plan import (
    FROM_ENVIRONMENT,
    JobPlan,
    pack_plan,
    secret_domain_settings,
    secret_options,
    secrets_not_kept,
    settings_to_keep,
)


def plan_of(target: str, arguments: Mapping[str, str], settings: Settings, found: CrawlTarget) -> bytes:
    """The plan of a crawl, packed. Raises ``UsageError`` for a spider that a fleet cannot crawl."""
    if why := found.spider.find_binding():
        raise UsageError(
            f"the spider {found.name!r} cannot go to a fleet: {why}, which no other process would find; make "
            "it a method of the spider, or crawl on this machine with `gossamer crawl`"
        )
    plan = JobPlan(
        target=found.text if type(found.spider) is GenericSpider else target,
        arguments={name: value for name, value in arguments.items() if not is_secret(name)},
        secrets=tuple(name for name in arguments if is_secret(name)),
        headers=tuple(name for name in settings.http.headers if is_credential(name)),
        options=tuple(secret_options(settings.pipeline.options)),
        domains=tuple(secret_domain_settings(settings)),
        has_proxies=settings.proxies.are_there,
        settings=settings_to_keep(settings),
        fleet=settings.cluster.fleet,
        hosts=named_hosts(found.spider.allowed_domains, found.spider.start_urls),
        version=version_of(found),
        unshared=tuple(found.spider.unshared_settings),
        declared=nameable_kinds(type(found.spider)),
        has_closed=type(found.spider).closed is not Spider.closed,
    )
    return pack_plan(plan)


def target_under(plan: JobPlan, project: Path | None) -> CrawlTarget:
    """The spider of a plan, as it is here. Raises ``UsageError`` when it is another one, or not here."""
    secrets = {name: os.environ.get(FROM_ENVIRONMENT + name.upper()) for name in plan.secrets}
    if missing := [name for name, value in secrets.items() if value is None]:
        raise UsageError(f"{secrets_not_kept(missing)} for this worker")
    given = {name: value for name, value in secrets.items() if value is not None}
    options: dict[str, Any] = msgspec.json.decode(plan.settings).get("scrapy", {})
    found = find_target(plan.target, {**plan.arguments, **given}, project, lambda: options)
    here = version_of(found)
    if plan.version and here != plan.version:
        raise UsageError(
            f"the spider {found.name!r} has another version here ({here}) than the one that was submitted "
            f"({plan.version}): install the same version, or let the job continue with this one "
            "(`gossamer resume JOB --adopt`)"
        )
    return found


def with_version_here(plan: JobPlan, project: Path | None) -> JobPlan:
    """Return the plan with the version of the spider here. Raises ``UsageError`` if it is not found.

    For a job that continues with a fixed spider.
    """
    if not plan.version:
        return plan
    found = target_under(replace(plan, version=""), project)
    if (here := version_of(found)) == plan.version:
        return plan
    return replace(plan, version=here, declared=nameable_kinds(type(found.spider)))


def version_of(found: CrawlTarget) -> str:
    """A short digest of the file that a spider is written in; ``""`` for the crawl of a plain URL."""
    kind = type(found.spider)
    if kind is GenericSpider:
        return ""
    try:
        source = Path(getattr(kind, "source_file", None) or inspect.getfile(kind)).read_bytes()
    except (OSError, TypeError):
        return ""
    return blake2b(source, digest_size=6).hexdigest()
