"""Which alerts are on, by one rule for the list, a job's status, the dashboard and the metrics. Pure.

The remembered state counts until the next check is overdue. From then on nobody knows whether anything is
wrong, and no alert is shown. An alert about a run ends with the run: of a job that does not run only what
stays true is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gossamer.core.jobs import Job
from gossamer.core.record import Record, Time
from gossamer.core.shifts import RosterView
from gossamer.core.text import format_count
from gossamer.policy.alerts import AlertState
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.troubles import Severity, Trouble, TroubleKind, make_trouble, order_troubles

LASTING = frozenset({TroubleKind.FAILED, TroubleKind.TRAP, TroubleKind.UNREADABLE})
"""Alerts that stay true of a job whose run has ended. What its items lack is read from its profile."""


class AlertView(Record, frozen=True, kw_only=True):
    """The alerts that are on for a job, or for what all jobs need."""

    troubles: tuple[Trouble, ...] = ()  # the worst first
    is_known: bool = True  # False: the next check is overdue, or there was none yet
    checked_at: Time = 0.0  # by the latest check; 0: there was none

    @property
    def need_you(self) -> tuple[Trouble, ...]:
        """Those that a person has to mend: with any of these on, nothing may be called well."""
        return tuple(one for one in self.troubles if one.severity is Severity.NEEDS_YOU)


def alerts_of_job(job: Job, memory: JobMemory, now: float) -> AlertView:
    """The alerts that are on for a job."""
    if job.is_running:
        is_known = memory.is_fresh(now)
        return _alerts_on(memory.alerts if is_known else (), memory.at, is_known=is_known)
    lasting = [state for state in memory.alerts if state.kind in LASTING]
    return _alerts_on(lasting, memory.at, is_known=True)


def alerts_of_place(
    memories: Sequence[PlaceMemory], now: float, *, view: RosterView | None = None, running: int = 0
) -> AlertView:
    """The alerts that are on for what all jobs need: of a fleet with its roster ``view``, or of crawls.

    ``running``: the jobs of the fleet that run. Without a leader nobody checks, and that is an alert itself.
    """
    fresh = [memory for memory in memories if memory.is_fresh(now)]
    on = _alerts_on(
        [state for memory in fresh for state in memory.alerts],
        max((memory.at for memory in memories), default=0.0),
        is_known=bool(fresh),
    )
    if view is None or any(one.kind is TroubleKind.NO_SUPERVISOR for one in on.troubles):
        return on
    troubles = order_troubles([*on.troubles, *_missing_leader(view, running, now)])
    return AlertView(troubles=tuple(troubles), is_known=on.is_known, checked_at=on.checked_at)


def _alerts_on(states: Iterable[AlertState], checked_at: float, *, is_known: bool) -> AlertView:
    found = {state.key: state.as_trouble() for state in states if state.is_active}
    return AlertView(troubles=tuple(order_troubles(found.values())), is_known=is_known, checked_at=checked_at)


def _missing_leader(view: RosterView, running: int, now: float) -> list[Trouble]:
    """That nobody leads although jobs of the fleet run: no supervisor is there that could report it."""
    if view.leader or not running:
        return []
    jobs = f"{format_count(running, 'job')} {'runs' if running == 1 else 'run'}"
    text = f"No supervisor leads the fleet, and {jobs}."
    return [make_trouble(TroubleKind.NO_SUPERVISOR, "fleet", text, since=now)]
