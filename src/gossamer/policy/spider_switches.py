"""Changes of a job's spider version, recorded in the audit log and read from it."""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.access import LoggedAction
from gossamer.core.jobs import Job
from gossamer.core.record import Record, Time

ADOPT = "adopt"
"""The kind of a switch's record."""


class SpiderChange(Record, frozen=True, kw_only=True):
    """From when on a job was done by another version of its spider."""

    at: Time
    by: str
    before: str  # the version; see ``targets.plan.version_of``
    after: str


def switch_of(job: Job, before: str, after: str, by: str, now: float) -> LoggedAction:
    """A switch as it is noted."""
    versions = {"version": before}, {"version": after}
    return LoggedAction(
        at=now, token=by, kind=ADOPT, job=job.id, what=job.id, before=versions[0], after=versions[1]
    )


def find_switches(actions: Iterable[LoggedAction]) -> tuple[SpiderChange, ...]:
    """Return the switches among a job's recorded actions."""
    return tuple(
        SpiderChange(
            at=one.at,
            by=one.token,
            before=str(one.before.get("version", "")),
            after=str(one.after.get("version", "")),
        )
        for one in actions
        if one.kind == ADOPT
    )
