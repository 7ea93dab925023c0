"""When a job will be done, as far as its last minutes tell. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.record import Record
from gossamer.core.shifts import JobSample

LEAST_S = 5.0
"""Less than this says nothing about a rate."""
UNTIL_LISTED = "until all is there that the site announces"


class TimeEstimate(Record, frozen=True, kw_only=True):
    """A job's pace and the time it still needs."""

    pages_per_s: float = 0.0
    seconds: float | None = None  # None: it cannot be said, for this reason
    reason: str = ""  # for people; also what limits ``seconds``, when something does


def estimate_time_left(samples: Sequence[JobSample], *, max_pages: int | None = None) -> TimeEstimate:
    """The time until nothing waits or the budget of pages is spent, by the rates between the samples.

    Where the site announces more than is there, until all of that is there: what waits has yet to lead to it.
    """
    if not samples or samples[-1].at - samples[0].at < LEAST_S:
        return TimeEstimate(reason="too early to say")
    first, last = samples[0], samples[-1]
    took_s = last.at - first.at
    pace = max(0, last.pages - first.pages) / took_s
    if last.trouble:
        return TimeEstimate(pages_per_s=pace, reason=last.trouble)
    if not last.waiting:
        return TimeEstimate(pages_per_s=pace, seconds=0.0)
    budget_s = None if max_pages is None or not pace else max(0, max_pages - last.pages) / pace
    shrinking = (first.waiting - last.waiting) / took_s
    emptied_s = last.waiting / shrinking if shrinking > 0 else None
    listed_s = _listed_time(samples, pace)
    end_s = emptied_s if listed_s is None else listed_s
    if budget_s is not None and (end_s is None or budget_s < end_s):
        return TimeEstimate(pages_per_s=pace, seconds=budget_s, reason="until the budget of pages is spent")
    if end_s is not None:
        return TimeEstimate(pages_per_s=pace, seconds=end_s, reason="" if listed_s is None else UNTIL_LISTED)
    reason = "it finds pages faster than it fetches them" if pace else "no pages lately"
    return TimeEstimate(pages_per_s=pace, reason=reason)


def _listed_time(samples: Sequence[JobSample], pages_per_s: float) -> float | None:
    """The time until all that is announced is there; ``None``: it is, or nothing says when it will be.

    A crawl that has seen all listings finds things faster than before: the later half of the samples tells
    sooner. What waits takes its time, too, whatever it leads to.
    """
    last = samples[-1]
    left, rate = last.listed - last.listed_done, 0.0
    for first in (samples[0], samples[len(samples) // 2]):
        if last.at - first.at >= LEAST_S:
            rate = max(rate, (last.listed_done - first.listed_done) / (last.at - first.at))
    if left <= 0 or rate <= 0 or not pages_per_s:
        return None
    return max(left / rate, last.waiting / pages_per_s)
