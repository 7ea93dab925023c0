"""The settings of a job: the value of each, and who set it."""

from __future__ import annotations

from typing import Any

from gossamer.config.layers import DEFAULT
from gossamer.config.live import LIVE_SETTINGS, setting_value
from gossamer.config.settings import Settings, find_field, setting_fields
from gossamer.config.values import hide_secrets
from gossamer.core.jobs import Job
from gossamer.core.record import Record, Time
from gossamer.core.steering import SettingChange
from gossamer.core.text import iso_time
from gossamer.targets.launch import launch_from
from gossamer.targets.plan import plan_from, settings_under
from gossamer.wiring.backends import Backends

CHANGED = "changed while running"
SUBMITTED = "submitted"
UNKNOWN = "not kept"


class FormerValue(Record, frozen=True, kw_only=True):
    """A value that another one stands instead of."""

    layer: str
    value: Any


class SettingStatus(Record, frozen=True, kw_only=True):
    """One setting of a job. Values are as shown to people: without passwords."""

    key: str  # its full name
    value: Any
    layer: str  # who set it: ``default``, ``file``, ``command line`` ...
    origin: str  # where exactly, for people
    instead_of: tuple[FormerValue, ...]
    meaning: str
    is_live: bool  # it can be changed while the job runs


class SettingPage(Record, frozen=True, kw_only=True):
    """The settings of a job."""

    at: Time
    settings: tuple[SettingStatus, ...]


async def list_settings(backends: Backends, job: Job) -> SettingPage:
    """All settings of a job, as it was begun with them and as they were changed since."""
    begun, layers = await _begun_with(backends, job)
    changes = {change.key: change for change in await backends.book.read_changes(job)}
    rows = [_status_of(key, begun, layers, changes.get(key)) for key in setting_fields()]
    return SettingPage(at=backends.clock.now(), settings=tuple(rows))


async def _begun_with(backends: Backends, job: Job) -> tuple[Settings, dict[str, tuple[str, str]]]:
    """Return a job's original settings, and the source of each by name; absent: the default."""
    if not job.is_fleet:
        launch = launch_from(await backends.book.read_launch(job))
        if launch is None:  # begun by a program of one's own, or by an older version
            return backends.settings, dict.fromkeys(setting_fields(), (UNKNOWN, ""))
        return launch.read_settings(), launch.layers
    settings = settings_under(plan_from(job.plan), backends.settings)
    defaults = Settings()
    given = [key for key in setting_fields() if _differs(key, settings, defaults)]
    return settings, dict.fromkeys(given, (SUBMITTED, "gossamer submit"))


def _differs(key: str, settings: Settings, defaults: Settings) -> bool:
    return bool(setting_value(settings, key) != setting_value(defaults, key))


def _status_of(
    key: str, begun: Settings, layers: dict[str, tuple[str, str]], change: SettingChange | None
) -> SettingStatus:
    value, (layer, origin) = setting_value(begun, key), layers.get(key, (DEFAULT, ""))
    former: tuple[FormerValue, ...] = ()
    if change is not None:
        former = (FormerValue(layer=layer, value=hide_secrets(key, value)),)
        value, layer, origin = change.value, CHANGED, f"{change.by}, {iso_time(change.at)}"
    field = find_field(key)
    return SettingStatus(
        key=key,
        value=hide_secrets(key, value),
        layer=layer,
        origin=origin,
        instead_of=former,
        meaning=(field.description or "") if field is not None else "",
        is_live=key in LIVE_SETTINGS,
    )
