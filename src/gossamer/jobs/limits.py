"""Settings of a job that are changed while it runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gossamer.config.live import LIVE_SETTINGS, FollowingKind, live_name, setting_value
from gossamer.config.option import SettingOption
from gossamer.config.settings import Settings
from gossamer.core.errors import ConflictError, SettingError, UsageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import OVER
from gossamer.core.record import Record
from gossamer.core.steering import SettingChange
from gossamer.ports.job_frontier import JobFrontier
from gossamer.targets.launch import launch_from
from gossamer.targets.plan import plan_from, settings_under
from gossamer.wiring.backends import Backends
from gossamer.wiring.rules import change_rules, settings_in

MOST = 2**53
"""Larger numbers are not the same in every place."""
TRIES = 20
"""Attempts to change rules that other callers change at the same time."""


class SettingReport(Record, frozen=True, kw_only=True):
    """A setting of a job, as it was and as it is now."""

    key: str
    before: Any
    after: Any
    follows: FollowingKind = FollowingKind.LEASE


async def change_settings(
    backends: Backends,
    job: Job,
    options: Sequence[SettingOption],
    by: str,
    *,
    expected: Mapping[str, Any] | None = None,
) -> tuple[SettingReport, ...]:
    """Change settings of an unfinished job; running workers follow.

    ``by`` is the caller, ``expected`` the values that the caller saw. Raises ``SettingError`` for a fixed
    setting or an invalid value, ``ConflictError`` if a setting is not as expected, ``UsageError`` if the job
    is over.
    """
    options = [option._replace(key=live_name(option.key)) for option in options]
    _check_open(job)
    former = {change.key: change for change in await backends.book.read_changes(job)}
    known = await _known_values(backends, job)
    before, settings = await _change_rules(backends.open_frontier(job), options, known, expected or {})
    at = backends.clock.now()
    changes = [
        SettingChange(
            key=key,
            value=setting_value(settings, key),
            before=former[key].before if key in former else before[key],
            at=at,
            by=by,
        )
        for key in dict.fromkeys(option.key for option in options)
    ]
    await backends.book.save_changes(job, changes)
    await _tell_fleet(backends, job)
    return tuple(
        SettingReport(
            key=change.key, before=before[change.key], after=change.value, follows=LIVE_SETTINGS[change.key]
        )
        for change in changes
    )


async def read_limits(backends: Backends, job: Job, keys: Collection[str]) -> dict[str, Any]:
    """Return the values of settings of a job, by the given names. Raises ``SettingError`` for fixed ones."""
    names = {key: live_name(key) for key in keys}
    now = {
        **await _known_values(backends, job),
        **settings_in(await backends.open_frontier(job).read_rules()),
    }
    return {key: now[name] for key, name in names.items()}


async def put_back(backends: Backends, job: Job, keys: Collection[str], by: str) -> tuple[SettingReport, ...]:
    """Give settings the values again with which the job was begun. Raises as :func:`change_settings`."""
    former = {change.key: change for change in await backends.book.read_changes(job)}
    names = [live_name(key) for key in keys]
    if missing := [name for name in names if name not in former]:
        raise UsageError(f"{job.id} has no changes of {', '.join(missing)}")
    options = [SettingOption(name, former[name].before, name) for name in names]
    changed = await change_settings(backends, job, options, by)
    await backends.book.save_changes(job, (), names)
    return changed


def check_numbers(options: Sequence[SettingOption]) -> None:
    """Raise ``SettingError`` for numbers that cannot be kept everywhere."""
    if huge := [option.key for option in options if _is_huge(option.value)]:
        raise SettingError(f"{', '.join(huge)}: this number is too large")


def _is_huge(value: Any) -> bool:
    try:
        return abs(float(value)) > MOST
    except (TypeError, ValueError):  # not a number: the check of the settings reports it
        return False
    except OverflowError:
        return True


def _check_open(job: Job) -> None:
    if job.state in OVER:
        raise UsageError(f"{job.id} is {job.state}: its settings change nothing any more")


async def _change_rules(
    frontier: JobFrontier,
    options: Sequence[SettingOption],
    known: Mapping[str, Any],
    expected: Mapping[str, Any],
) -> tuple[Mapping[str, Any], Settings]:
    """Put other rules in force: the settings as they were, and settings that hold the new values."""
    check_numbers(options)
    for _ in range(TRIES):
        rules = await frontier.read_rules()
        now = {**known, **settings_in(rules)}
        _check_expected(now, expected)
        after, settings = change_rules(rules, options)
        if await frontier.change_rules(after, expected=rules):
            return now, settings
    raise ConflictError("others change the settings of this job at the same time: look again", now={})


def _check_expected(now: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    other = {
        key: now.get(live_name(key)) for key, seen in expected.items() if now.get(live_name(key)) != seen
    }
    if other:
        said = ", ".join(f"{key} is {value} now" for key, value in other.items())
        raise ConflictError(f"another caller has changed it: {said}", now=other)


async def _known_values(backends: Backends, job: Job) -> dict[str, Any]:
    """Return the settings that can be changed, except for those of the frontier."""
    changed = {change.key: change.value for change in await backends.book.read_changes(job)}
    return {**await _begun_with(backends, job), **changed}


async def _begun_with(backends: Backends, job: Job) -> dict[str, Any]:
    """Return the settings at the start of a job; ``None`` if a program started it through the library."""
    if job.is_fleet:
        begun = settings_under(plan_from(job.plan), backends.settings)
    else:
        launch = launch_from(await backends.book.read_launch(job))
        if launch is None:
            return dict.fromkeys(LIVE_SETTINGS)
        begun = launch.read_settings()
    return {key: setting_value(begun, key) for key in LIVE_SETTINGS}


async def _tell_fleet(backends: Backends, job: Job) -> None:
    if job.is_fleet and backends.requests.fleet is not None:
        await backends.requests.fleet.roster_of(job).notify_supervisor()
