"""How a worker on another machine puts together the same crawl: kept with the job, in its book.

Guarantee: it holds no secret. Where requests and items are kept is each machine's own setting, proxies,
outputs, headers and options of stages that carry secrets are each machine's own, and arguments named like a
secret come from each worker's environment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec
from pydantic import ValidationError

from gossamer.config.layers import load_settings
from gossamer.config.option import SettingOption
from gossamer.config.section import BaseSettings, to_document
from gossamer.config.settings import Settings
from gossamer.config.values import to_tuple
from gossamer.core.errors import StorageError, UsageError
from gossamer.core.jobs import Job
from gossamer.core.redaction import has_userinfo
from gossamer.policy.redirects import is_credential
from gossamer.policy.secret_names import hide_parameters, is_secret

OWN = ("alerts", "broker", "redis", "cluster", "dashboard", "log", "metrics", "traces", "data", "outputs")
"""Settings of each machine: places, and parts that the supervisor or a single machine uses."""
_NOT_OF_A_JOB = ("alerts", "outputs", "metrics", "traces", "dashboard")
"""Those of them that also have no effect on the machine that submits a job."""
PLACES = ("frontier", "store")
"""Sections whose ``url`` is each machine's own."""
OWN_PROXIES = ("urls", "file", "url", "pools", "only")
"""Settings of proxies of each machine: they hold passwords, or choose proxies for this worker."""
FROM_ENVIRONMENT = "SPIDER_ARG_"
"""Prefix of the environment variable from which a worker reads a secret argument."""

_PROXIES_NOT_KEPT = "proxies are not kept with a job: set GOSSAMER_PROXIES__URLS or GOSSAMER_PROXIES__FILE"
_AS_IN = 'as in: GOSSAMER_HTTP__HEADERS=\'{"NAME": "VALUE"}\''


class JobPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A submitted crawl."""

    target: str  # a URL without credentials, a spider's name, ``FILE.py:Class``
    arguments: dict[str, str] = {}  # of the spider, those that may be seen
    secrets: tuple[str, ...] = ()  # the names of the others
    headers: tuple[str, ...] = ()  # the names of those in ``http.headers`` that carry secrets
    options: tuple[tuple[str, str], ...] = ()  # of stages, those that carry secrets: the stage and the name
    domains: tuple[tuple[str, str], ...] = ()  # settings that carry secrets: the domain and the name
    has_proxies: bool = False  # requests go through proxies, which each worker has of its own
    settings: str = "{}"  # as JSON, without those of each machine
    fleet: str = "default"  # whose supervisor looks after it
    hosts: tuple[str, ...] = ()  # that the spider names, for checks of later submissions
    version: str = ""  # of the spider's source; "" where there is none to compare
    unshared: tuple[str, ...] = ()  # the spider's settings that have no effect on a fleet
    declared: dict[str, str] | None = None  # kinds that fields of items declare; None: that is not known
    has_closed: bool = False  # the spider has a ``closed()``, which is not called on a fleet


def pack_plan(plan: JobPlan) -> bytes:
    """Pack a plan for its job."""
    return msgspec.msgpack.encode(plan)


def settings_to_keep(settings: Settings) -> str:
    """Return settings as JSON, without secrets and without those of each machine."""
    said = {name: value for name, value in to_document(settings).items() if name not in OWN}
    for place in PLACES:
        said[place].pop("url")
    for name in OWN_PROXIES:
        said["proxies"].pop(name)
    headers = said["http"]["headers"]
    said["http"]["headers"] = {k: v for k, v in headers.items() if not is_credential(k)}
    for domain, name in secret_domain_settings(settings):
        said["domain"][domain].pop(name)
    said["scrapy"] = {name: value for name, value in said["scrapy"].items() if not is_secret(name)}
    for stage, option in secret_options(settings.pipeline.options):
        said["pipeline"]["options"][stage].pop(option)
    return msgspec.json.encode(said).decode()


def plan_from(packed: bytes) -> JobPlan:
    """The plan of a job. Raises ``StorageError`` for bytes that are none."""
    try:
        return msgspec.msgpack.decode(packed, type=JobPlan)
    except msgspec.MsgspecError as error:
        raise StorageError(f"the plan of the job cannot be read: {error}") from None


def fleet_of_job(job: Job, here: str) -> str:
    """The name of the fleet that looks after a job; ``here``, where the plan of the job cannot be read."""
    with contextlib.suppress(StorageError):
        return plan_from(job.plan).fleet if job.is_fleet else here
    return here


def settings_under(plan: JobPlan, own: Settings) -> Settings:
    """The settings of a plan, with this machine's places."""
    said: dict[str, Any] = msgspec.json.decode(plan.settings)
    here = to_document(own)
    said |= {name: here[name] for name in OWN}
    for place in PLACES:
        said[place] = {**said.get(place, {}), "url": here[place]["url"]}
    said["http"] = {**said.get("http", {}), "headers": {**here["http"]["headers"], **said["http"]["headers"]}}
    said["proxies"] = {**said.get("proxies", {}), **{name: here["proxies"][name] for name in OWN_PROXIES}}
    said["pipeline"] = {**said.get("pipeline", {}), "options": _options_under(plan, said, own)}
    said["domain"] = _domains_under(plan, said, own)
    said["processes"] = 1
    return load_settings(env={}, spider=said).settings


def sections_under(plan: JobPlan, own: Settings, *names: str) -> Settings:
    """Return this machine's settings, with some sections as in :func:`settings_under`.

    A hundred times cheaper, for displays of many jobs. Raises ``SettingError``.
    """
    raw = msgspec.json.decode(plan.settings, type=dict[str, msgspec.Raw])
    sections = {name: _section_under(name, msgspec.json.decode(raw.get(name, b"{}")), own) for name in names}
    return own.model_copy(update=sections)


def _section_under(name: str, said: dict[str, Any], own: Settings) -> BaseSettings:
    here: BaseSettings = getattr(own, name)
    if name in PLACES:
        said["url"] = to_document(here)["url"]
    try:
        return type(here).model_validate({key: to_tuple(value) for key, value in said.items()})
    except ValidationError:
        read = load_settings(env={}, spider={name: said}).settings  # raises with the reason
        return cast("BaseSettings", getattr(read, name))


def _options_under(plan: JobPlan, said: dict[str, Any], own: Settings) -> dict[str, dict[str, Any]]:
    """Return the options of stages: those of the crawl, and this machine's for the ones it lacks."""
    options = {stage: dict(given) for stage, given in said.get("pipeline", {}).get("options", {}).items()}
    here = to_document(own.pipeline.options)
    for stage, name in plan.options:
        if name in here.get(stage, {}):
            options.setdefault(stage, {})[name] = here[stage][name]
    return options


def _domains_under(plan: JobPlan, said: dict[str, Any], own: Settings) -> dict[str, dict[str, Any]]:
    """Return the settings of domains: those of the crawl, and this machine's for the ones it lacks."""
    domains = {domain: _without_nothing(given) for domain, given in said.get("domain", {}).items()}
    here = to_document(own.domain)
    for domain, name in plan.domains:
        if (value := here.get(domain, {}).get(name)) not in (None, {}):
            domains.setdefault(domain, {})[name] = value
    return domains


def _without_nothing(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def secret_domain_settings(settings: Settings) -> list[tuple[str, str]]:
    """The settings of domains that carry secrets: the domain and the name of each."""
    return [
        (domain, name)
        for domain, own in settings.domain.items()
        for name, has_secret in (
            ("auth", own.auth is not None),
            ("cookies", bool(own.cookies)),
            ("headers", any(map(is_credential, own.headers))),
        )
        if has_secret
    ]


def secret_options(options: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The options of stages that carry secrets: the stage and the name of each."""
    return [
        (stage, name) for stage, given in options.items() for name in given if _has_secret(name, given[name])
    ]


def _has_secret(name: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_has_secret(str(key), inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return any(_has_secret(name, inner) for inner in value)
    return isinstance(value, str) and (
        is_secret(name) or has_userinfo(value) or hide_parameters(value) != value
    )


def check_headers(plan: JobPlan, own: Settings) -> None:
    """Raises ``UsageError`` when this machine lacks a header that the crawl was submitted with."""
    here = {name.lower() for name in own.http.headers}
    missing = [name for name in plan.headers if name.lower() not in here]
    if missing:
        raise UsageError(f"{_headers_not_kept(missing)} for this worker, {_AS_IN}")


def check_options(plan: JobPlan, own: Settings) -> None:
    """Raises ``UsageError`` when this machine lacks a secret option that the crawl was submitted with."""
    here = own.pipeline.options
    missing = [(stage, name) for stage, name in plan.options if name not in here.get(stage, {})]
    if missing:
        raise UsageError(f"{_options_not_kept(missing)} for this worker")


def check_domains(plan: JobPlan, own: Settings) -> None:
    """Raises ``UsageError`` when this machine lacks a domain's secret that the crawl was submitted with."""
    here = set(secret_domain_settings(own))
    if missing := [one for one in plan.domains if one not in here]:
        raise UsageError(f"{_domains_not_kept(missing)} for this worker")


def check_proxies(plan: JobPlan, own: Settings) -> None:
    """Raises ``UsageError`` when this machine has no proxies, and the crawl was submitted with some."""
    if plan.has_proxies and not own.proxies.are_there:
        raise UsageError(f"{_PROXIES_NOT_KEPT} for this worker")


def unshared_note(names: Iterable[str]) -> str:
    """Return a note on settings of the spider that have no effect if several processes share a crawl."""
    return (
        f"{', '.join(names)} of the spider: no effect where several processes share a crawl, since each "
        "counts its own items alone; set max_time or max_pages, or crawl with one process of `gossamer crawl`"
    )


def fleet_notes(plan: JobPlan, given: Iterable[SettingOption] = ()) -> list[str]:
    """Return notes for the person who submits: secrets that workers need, and other differences.

    ``given``: the options of the submission, of which some are each machine's own.
    """
    said = []
    if plan.secrets:
        said.append(f"{secrets_not_kept(plan.secrets)} for every worker")
    if plan.headers:
        said.append(f"{_headers_not_kept(plan.headers)} for every worker, {_AS_IN}")
    if plan.options:
        said.append(f"{_options_not_kept(plan.options)} for every worker")
    if plan.domains:
        said.append(f"{_domains_not_kept(plan.domains)} for every worker")
    if plan.has_proxies:
        said.append(f"{_PROXIES_NOT_KEPT} for every worker")
    if (processes := msgspec.json.decode(plan.settings).get("processes", 1)) > 1:
        said.append(
            f"processes = {processes} has no effect on a fleet, whose workers are its processes: "
            f"`gossamer up --workers {processes}` starts {processes} of them"
        )
    if own := [option.name for option in given if option.key.partition(".")[0] in _NOT_OF_A_JOB]:
        said.append(
            f"{', '.join(own)}: each machine has this setting of its own, and a job takes none along: set it "
            "for the supervisors and the workers"
        )
    if plan.unshared:
        said.append(unshared_note(plan.unshared))
    if plan.has_closed:
        said.append(
            "closed() of the spider is not called on a fleet, where no process sees the whole crawl: "
            "do what it does after `gossamer wait`"
        )
    return said


def secrets_not_kept(names: Iterable[str]) -> str:
    """Return the remedy for arguments whose values are secret."""
    variables = ", ".join(FROM_ENVIRONMENT + name.upper() for name in names)
    return f"secret arguments are not kept with a job: set {variables}"


def _headers_not_kept(names: Iterable[str]) -> str:
    return f"headers that carry secrets are not kept with a job: set {', '.join(names)}"


def _options_not_kept(options: Iterable[tuple[str, str]]) -> str:
    names = ", ".join(f"pipeline.options.{stage}.{name}" for stage, name in options)
    return f"options of stages that carry secrets are not kept with a job: set {names}"


def _domains_not_kept(domains: Iterable[tuple[str, str]]) -> str:
    names = ", ".join(f"domain.{domain}.{name}" for domain, name in domains)
    return f"settings of domains that carry secrets are not kept with a job (but auth_env is): set {names}"
