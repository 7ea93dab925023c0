"""Counters of a spider's own: ``self.stats.inc("price missing")``."""

from __future__ import annotations

from gossamer.engine.stat_changes import JobChanges, job_in_hand
from gossamer.policy.counter_rules import MergeRule
from gossamer.policy.spider_stats import value_of


class SpiderStats:
    """Counters of a spider, available as ``self.stats``. ::

        def parse_product(self, response):
            self.stats.inc("products")
            self.stats.max("dearest", price)

    Values are numbers with up to three decimals. A job has at most 100 names of at most 60 characters, and
    each name is used with one method only. Counts of a callback, a pipeline step or a hook are stored in one
    transaction with the page, so each page counts once, also after a kill, and all workers of a job add to
    the same counters. The methods raise ``UsageError`` for an invalid name or value.
    """

    def __init__(self) -> None:
        self._before = JobChanges()  # counts made before a crawl begins, or without one

    @property
    def _changes(self) -> JobChanges:
        return job_in_hand() or self._before

    def inc(self, name: str, n: float = 1) -> None:
        """Add ``n`` (at most a billion) to the counter ``name``."""
        self._changes.count(MergeRule.SUM, name, n)

    def max(self, name: str, value: float) -> None:
        """Set the counter ``name`` to ``value`` if it is larger."""
        self._changes.count(MergeRule.LARGEST, name, value)

    def min(self, name: str, value: float) -> None:
        """Set the counter ``name`` to ``value`` if it is smaller."""
        self._changes.count(MergeRule.SMALLEST, name, value)

    def set(self, name: str, value: float) -> None:
        """Set the counter ``name`` to ``value``. If several workers set it, the last one stored counts."""
        self._changes.count(MergeRule.LATEST, name, value)

    def get(self, name: str, default: float | None = None) -> float | None:
        """Return what this process has counted under ``name`` for the job, or ``default``."""
        units = self._changes.find_value(name)
        return default if units is None else value_of(units)


def changes_of(spider: object) -> JobChanges:
    """Return the crawl's counters of a spider, with the counts made before it."""
    stats = getattr(spider, "stats", None)
    return stats._before if isinstance(stats, SpiderStats) else JobChanges()
