"""The targets of alerts that the settings name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from gossamer.config.alerts import AlertSettings, AlertTargetSettings
from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.core.jobs import Job
from gossamer.policy.alerts import AlertRules
from gossamer.policy.troubles import Severity
from gossamer.ports.alert_target import AlertTarget
from gossamer.runtime.known_secrets import remember_secrets

LONG_PART = re.compile(r"[^/?&=]{16,}")
"""A part of a webhook's URL behind the host that may be a secret: Slack has its secrets in the path."""
TargetMaker = Callable[[str, str, AlertTargetSettings, Settings], AlertTarget]


def alert_targets_of(settings: Settings, env: Mapping[str, str] = os.environ) -> tuple[AlertTarget, ...]:
    """Return all targets, in the order of the settings.

    Raises ``SettingError`` for a missing or invalid URL, ``MissingServiceError`` for a missing extra. Neither
    shows a URL.
    """
    return tuple(_make_target(name, ours, settings, env) for name, ours in settings.alerts.targets.items())


def wanted_severities(settings: AlertSettings) -> dict[str, frozenset[Severity]]:
    """Return the severities that each target accepts."""
    return {name: frozenset(map(Severity, one.severities)) for name, one in settings.targets.items()}


def name_watched(settings: Settings, job: Job | None = None) -> str:
    """Return the place that notifications name: the fleet, or the data directory of a crawl's machine."""
    is_fleet = job is None or job.is_fleet
    return f"the fleet {settings.cluster.fleet}" if is_fleet else str(Path(settings.data).resolve())


def alert_rules_of(settings: AlertSettings) -> AlertRules:
    """Return the rules for the start and end of alerts."""
    return AlertRules(
        holds_s=settings.holds,
        clears_s=settings.clears,
        window_s=settings.window,
        dead_letters=settings.dead_letters,
        dead_share=settings.dead_share,
        host_failures=settings.host_failures,
        host_attempts=settings.host_attempts,
        no_items_pages=settings.no_items_pages,
        stalled_s=settings.stalled,
        no_success_s=settings.no_success,
        growing=settings.growing,
        store_lag_s=settings.store_lag,
        budget_share=settings.budget,
        redis_memory_share=settings.redis_memory,
        no_worker_s=settings.no_worker,
        no_supervisor_s=settings.no_supervisor,
        away_s=settings.away,
    )


def _make_target(
    name: str, ours: AlertTargetSettings, settings: Settings, env: Mapping[str, str]
) -> AlertTarget:
    where = f"alerts.targets.{name}"
    url = env.get(ours.url_env, "").strip()
    if not url:
        raise SettingError(f"{where}: the environment variable {ours.url_env} holds no URL")
    remember_secrets(_secrets_in(url))
    return _MAKERS[ours.kind](name, url, ours, settings)


def _secrets_in(url: str) -> Iterator[str]:
    where, _, rest = url.partition("://")[2].partition("/")
    yield url
    yield where.rpartition("@")[0].partition(":")[2]
    yield from LONG_PART.findall(rest)


def _make_webhook(name: str, url: str, ours: AlertTargetSettings, settings: Settings) -> AlertTarget:
    _check_scheme(name, url, ours, ("http", "https"))
    room = import_module("gossamer.watch.targets.webhook")
    made: AlertTarget = room.WebhookTarget(name, url, user_agent=settings.user_agent, timeout_s=ours.timeout)
    return made


def _make_mail(name: str, url: str, ours: AlertTargetSettings, settings: Settings) -> AlertTarget:
    _check_scheme(name, url, ours, ("smtp", "smtps"))
    room = import_module("gossamer.watch.targets.mail")
    made: AlertTarget = room.MailTarget(name, url, sender=ours.sender, to=ours.to, timeout_s=ours.timeout)
    return made


def _make_apprise(name: str, url: str, ours: AlertTargetSettings, settings: Settings) -> AlertTarget:
    room = import_module("gossamer.watch.targets.chat")
    made: AlertTarget = room.AppriseTarget(name, url, timeout_s=ours.timeout)
    return made


_MAKERS: Mapping[str, TargetMaker] = {
    "webhook": _make_webhook,
    "email": _make_mail,
    "apprise": _make_apprise,
}
"""Constructors of alert targets by kind. Each imports its packages on the first call."""


def _check_scheme(name: str, url: str, ours: AlertTargetSettings, schemes: tuple[str, ...]) -> None:
    try:
        parts = urlsplit(url)
        is_fit = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fit = False
    if not is_fit:
        raise SettingError(
            f"alerts.targets.{name}: the URL in {ours.url_env} does not begin with "
            f"{' or '.join(f'{scheme}://' for scheme in schemes)} and a host"
        )
