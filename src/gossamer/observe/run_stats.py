"""Counting what happens: the numbers behind every view of a running crawl.

Cheap enough for a thousand events a second and bounded in memory whatever the crawl does. Counts are of this
run; the frontier's own statistics (``stats``) are of the whole job.
"""

from __future__ import annotations

from collections import Counter, deque

from gossamer.core.events import (
    Event,
    JobFinishedEvent,
    JobStartedEvent,
    PageDoneEvent,
    ProgressEvent,
    TimeLeftEvent,
)
from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import JobState
from gossamer.core.results import Verdict

WINDOW_S = 10
"""Seconds over which the rate of now is taken."""

UNANSWERED = frozenset({Verdict.RETRY, Verdict.DEAD})
"""Without a status these got no answer; others were never asked for (robots.txt, scope)."""


class RunStats:
    """Port ``Sink``: the totals of a run so far."""

    def __init__(self) -> None:
        self.job = ""
        self.started_at: float | None = None
        self.reason = ""  # why the run ended; empty while it runs
        self.resumed = False
        self.max_pages: int | None = None  # the budget, for displays of the rest
        self.left_text = ""  # how long the job still takes; empty while there is nothing to say
        self.pages = 0
        self.items = 0
        self.attempts = 0
        self.retries = 0
        self.dead = 0
        self.bytes = 0
        self.classes: Counter[int] = Counter()  # by first digit of the status; 0: no response
        self.reasons: Counter[str] = Counter()  # of attempts without success
        self.stats = FrontierStats(state=JobState.RUNNING)
        self._recent: deque[list[int]] = deque(maxlen=WINDOW_S + 1)  # [second, pages]

    def emit(self, event: Event) -> None:
        """Count one event."""
        if isinstance(event, PageDoneEvent):
            self._count_page(event)
        elif isinstance(event, ProgressEvent):
            self.stats = event.stats
        elif isinstance(event, TimeLeftEvent):
            self.left_text = event.text
        elif isinstance(event, JobStartedEvent):
            self.job, self.started_at, self.resumed = event.job, event.at, event.resumed
        elif isinstance(event, JobFinishedEvent):
            self.reason = event.reason

    def _count_page(self, event: PageDoneEvent) -> None:
        attempt = event.attempt
        verdict = attempt.verdict
        self.attempts += 1
        self.bytes += attempt.size_bytes
        self.items += event.items
        if attempt.status or verdict in UNANSWERED:
            self.classes[attempt.status // 100] += 1
        if verdict is Verdict.SUCCESS:
            self.pages += 1
            second = int(event.at)
            if self._recent and self._recent[-1][0] == second:
                self._recent[-1][1] += 1
            else:
                self._recent.append([second, 1])
            return
        if attempt.reason and verdict is not Verdict.REDIRECT:
            self.reasons[attempt.reason] += 1
        if verdict is Verdict.RETRY:
            self.retries += 1
        elif verdict is Verdict.DEAD:
            self.dead += 1

    def elapsed_s(self, now: float) -> float:
        """Seconds since the run began."""
        return max(now - self.started_at, 0.0) if self.started_at is not None else 0.0

    def current_rate(self, now: float) -> float:
        """Pages per second of the last ``WINDOW_S`` whole seconds (or as long as the run lasts)."""
        second = int(now)
        pages = sum(count for at, count in self._recent if second - WINDOW_S <= at < second)
        return pages / min(max(self.elapsed_s(now), 1.0), WINDOW_S)

    def mean_rate(self, now: float) -> float:
        """Pages per second of this run."""
        elapsed_s = self.elapsed_s(now)
        return self.pages / elapsed_s if elapsed_s > 0 else 0.0
