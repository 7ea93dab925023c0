"""Due times of schedules: cron expressions on the clocks of a time zone. Pure.

The expression is read as Debian's cron reads it (by `cronsim`). When clocks change, these rules hold:

- With ``*`` as its hour an expression means every hour that passes: a day of 23 hours has 23 of them.
- Any other expression names times on the clock. A time that does not exist on a day (the hour skipped in
  spring) is due once, at the first existing moment after it, together with runs due there anyway. A time that
  occurs twice (in autumn) is due once, the first time.

So every due time is one moment, and due times ascend strictly.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from hashlib import blake2b
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from gossamer.core.errors import UsageError
from gossamer.core.schedules import Schedule

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""Names that crontabs allow instead of five fields."""
FIELDS = ("minute", "hour", "day of month", "month", "day of week")
MOST_COUNTED = 1000
"""Maximum count of passed due times."""
_LAST_MINUTE, _LAST_HOUR = 59, 23
_WINDOWS_S = (3600.0, 86_400.0, 8 * 86_400.0, 32 * 86_400.0, 367 * 86_400.0, 60 * 366 * 86_400.0)
"""How far back the latest due time is looked for, step by step."""


class DueSummary(NamedTuple):
    """The due times of a period."""

    latest: float  # seconds since the epoch
    total: int  # how many there are, the latest included; at most ``MOST_COUNTED``


def check_cron(text: str) -> str:
    """Return a cron expression in its stored form of five fields. Raises ``UsageError`` with the mistake."""
    given = NICKNAMES.get(text.strip().lower(), " ".join(text.split()))
    example = 'as in "30 6 * * MON-FRI" (minute, hour, day of month, month, day of week), or @daily'
    if len(given.split()) != len(FIELDS):
        raise UsageError(f"{text!r} is not a cron expression: write five fields, {example}")
    try:
        simulated = CronSim(given, datetime.now(UTC))
        next(simulated)
    except CronSimError as error:
        wrong = str(error).removeprefix("Bad ").replace("-", " ")
        if wrong not in FIELDS:
            raise UsageError(f"{text!r} is not a cron expression: {error}; write it {example}") from None
        part = given.split()[FIELDS.index(wrong)]
        raise UsageError(
            f"{text!r} is not a cron expression: {part!r} is wrong as {wrong}; write it {example}"
        ) from None
    except StopIteration:
        raise UsageError(f"{text!r} is never due: no such day exists") from None
    return given


def check_zone(name: str) -> str:
    """The name of a time zone. Raises ``UsageError`` that names the nearest one."""
    known = _zone_names()
    if name in known:
        return name
    near = {zone.lower(): zone for zone in known}
    near |= {zone.rpartition("/")[2].lower(): zone for zone in sorted(known, reverse=True)}
    found = difflib.get_close_matches(name.lower().replace(" ", "_"), near, n=1, cutoff=0.5)
    said = f"did you mean {near[found[0]]}?" if found else "write it as in Europe/Berlin, or UTC"
    raise UsageError(f"unknown time zone {name!r}; {said}")


@cache
def _zone_names() -> frozenset[str]:
    return frozenset(available_timezones())


def describe_cron(cron: str) -> str:
    """A cron expression in words: ``At 12:50 every day``."""
    return CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC)).explain()


def next_due(cron: str, zone: str, after: float) -> float | None:
    """The first due time after a moment; ``None``: there is none within fifty years."""
    return next(due_times(cron, zone, after), None)


def due_times(cron: str, zone: str, after: float) -> Iterator[float]:
    """The due times after a moment, in seconds since the epoch, ascending."""
    begin = datetime.fromtimestamp(int(after // 1), ZoneInfo(zone))
    last = after
    for due in CronSim(_clock_times(cron), begin):
        at = due.timestamp()
        if at > last:  # a time that comes twice was due the first time, perhaps before the beginning
            last = at
            yield at


def _clock_times(cron: str) -> str:
    """The expression so that `cronsim` takes it for times on the clock, unless it means every hour."""
    minute, hour, *days = cron.split()
    if hour == "*":
        return cron
    return " ".join((_range_of(minute, _LAST_MINUTE), _range_of(hour, _LAST_HOUR), *days))


def _range_of(field: str, last: int) -> str:
    return f"0-{last}{field[1:]}" if field.startswith("*") else field


def start_of(schedule: Schedule, due_at: float) -> float:
    """When a run that is due begins: up to ``jitter_s`` later, always the same for one due time.

    It is before the next due time, so that runs begin in their order.
    """
    if not schedule.jitter_s:
        return due_at
    following = next_due(schedule.cron, schedule.zone, due_at)
    most_s = schedule.jitter_s if following is None else min(schedule.jitter_s, following - due_at)
    digest = blake2b(f"{schedule.name}\0{due_at:.0f}".encode(), digest_size=8).digest()
    return due_at + random.Random(digest).random() * most_s  # noqa: S311 - spreads load


def find_due(schedule: Schedule, now: float) -> DueSummary | None:
    """The due times that are not settled and whose runs are to have begun by now; ``None``: none are."""
    first = _first_due(schedule.cron, schedule.zone, schedule.since)
    if first is None or first > now:
        return None
    latest = _latest_due(schedule, now)
    if latest is not None and start_of(schedule, latest) > now:
        latest = _latest_due(schedule, latest - 1.0)
    if latest is None:
        return None
    count = 0
    for due in due_times(schedule.cron, schedule.zone, schedule.since):
        count += 1
        if due >= latest or count >= MOST_COUNTED:
            break
    return DueSummary(latest, count)


def next_start(schedule: Schedule, now: float) -> float | None:
    """When the next run begins; ``None``: never, or the schedule is off."""
    if not schedule.is_on:
        return None
    for due in due_times(schedule.cron, schedule.zone, max(schedule.since, now - schedule.jitter_s)):
        begin = start_of(schedule, due)
        if begin > now:
            return begin
    return None


@lru_cache(4096)
def _first_due(cron: str, zone: str, since: float) -> float | None:
    """The first due time that is not settled: the same at every look, until it is."""
    return next_due(cron, zone, since)


def _latest_due(schedule: Schedule, until: float) -> float | None:
    """The latest due time that is not settled and not after ``until``."""
    for window_s in _WINDOWS_S:
        begin = max(schedule.since, until - window_s)
        latest = None
        for due in due_times(schedule.cron, schedule.zone, begin):
            if due > until:
                break
            latest = due
        if latest is not None or begin == schedule.since:
            return latest
    return None
