"""The workers of a fleet, as one job sees them: those that take its lanes, and those that cannot do it."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.record import Record
from gossamer.core.shifts import EndReason, RosterView
from gossamer.watch.job_look import find_common_refusal, refusers_of, takers_of


class TakerCounts(Record, frozen=True, kw_only=True):
    """The workers that take a lane of a job, in numbers."""

    shifts: int = 0  # of the job, at work
    there: int = 0
    slots: int = 0  # of those
    silent: int = 0  # their beats stay away
    paused: int = 0  # paused or leaving
    refusing: int = 0  # those that are there, if none of them can do the job
    refusal: str = ""  # why they cannot
    trouble: str = ""  # the latest of its shifts


def workers_of(view: RosterView, job_id: str, lanes: Sequence[str]) -> TakerCounts:
    """The workers that take one of these lanes."""
    takers = takers_of(view, lanes)
    ids = {worker for worker, _ in takers}
    others = [one for one in view.workers if one.id not in ids and not set(lanes).isdisjoint(one.lanes)]
    silent = sum(one.is_silent(view.at) for one in others)
    refusal = find_common_refusal(view, job_id, lanes)
    return TakerCounts(
        shifts=sum(shift.job == job_id and bool(shift.worker) for shift in view.shifts),
        there=len(takers),
        slots=sum(slots for _, slots in takers),
        silent=silent,
        paused=len(others) - silent,
        refusing=0 if refusal is None else len(takers),
        trouble=_find_trouble(view, job_id),
        refusal=refusal or "",
    )


def _find_trouble(view: RosterView, job_id: str) -> str:
    """The latest trouble of a job's shifts, as its supervisor noted it."""
    samples = view.samples.get(job_id, ())
    known = [one for one in view.standings if one.job == job_id and one.detail]
    troubles = [one.detail for one in known if one.why is not EndReason.REFUSED or refusers_of(view, one)]
    return samples[-1].trouble if samples and samples[-1].trouble else troubles[-1] if troubles else ""
