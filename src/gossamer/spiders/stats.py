"""Counters of a spider's own: ``self.stats.inc("price missing")``."""

from __future__ import annotations

from gossamer.engine.stat_changes import JobChanges, job_in_hand
from gossamer.policy.counter_rules import MergeRule
from gossamer.policy.spider_stats import value_of


class SpiderStats:
    """What a spider counts. ``spider.stats`` of every spider; there is nothing to set up. ::

        def parse_product(self, response):
            self.stats.inc("products")
            self.stats.max("dearest", price)

    Values are numbers, kept to three decimals. A name belongs to one of the four methods; a job has up to 100
    names, of up to 60 characters each. They are in the summary, in ``gossamer status``, the dashboard and the
    metrics. What a callback (or a pipeline step, a hook) counts is stored with the page's results: each page
    counts once, whatever is killed, and all workers of a job count together. Raises ``UsageError`` for what
    is no name or no number.
    """

    def __init__(self) -> None:
        self._before = JobChanges()  # what is counted before a crawl begins, or without one

    @property
    def _changes(self) -> JobChanges:
        return job_in_hand() or self._before

    def inc(self, name: str, n: float = 1) -> None:
        """Add ``n`` (at most a billion)."""
        self._changes.count(MergeRule.SUM, name, n)

    def max(self, name: str, value: float) -> None:
        """Keep the larger of this and the known value."""
        self._changes.count(MergeRule.LARGEST, name, value)

    def min(self, name: str, value: float) -> None:
        """Keep the smaller of this and the known value."""
        self._changes.count(MergeRule.SMALLEST, name, value)

    def set(self, name: str, value: float) -> None:
        """Keep this value: of several workers, the one that is stored last."""
        self._changes.count(MergeRule.LATEST, name, value)

    def get(self, name: str, default: float | None = None) -> float | None:
        """What was counted under a name in this process, since it began to work on the job."""
        units = self._changes.find_value(name)
        return default if units is None else value_of(units)


def changes_of(spider: object) -> JobChanges:
    """Where a crawl of a spider counts, with what the spider has counted before it."""
    stats = getattr(spider, "stats", None)
    return stats._before if isinstance(stats, SpiderStats) else JobChanges()
