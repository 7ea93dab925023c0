"""Counters of users' code (``self.stats``), until they are stored.

The counts of a page are stored with its results in one transaction: each page counts once, even after a kill.
Counts outside pages (in ``start()``, ``open_spider()``, ``closed()``) are stored with the next results, or at
the end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from gossamer.core.errors import UsageError
from gossamer.policy.counter_rules import MergeRule, merge_count, merge_counts
from gossamer.policy.spider_stats import MAX_NAMES, check_name, counter_of, units_of

log = logging.getLogger("gossamer.crawl")

_NOTHING: dict[str, int] = {}
"""The counts of most pages."""


class JobChanges:
    """The counts of this process for one job: the total, and the part that is not yet being stored."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}  # of no page
        self.so_far: dict[str, int] = {}
        self._rules: dict[str, MergeRule] = {}
        self._has_too_many = False

    def count(self, rule: MergeRule, name: object, value: object) -> None:
        """Count for the page in hand, or for none. Raises ``UsageError`` for a wrong name or value."""
        counter = self._counter_for(rule, name)
        if not counter:
            return
        units = units_of(value, rule, str(name))
        page = _page.get()
        if page is None or page.is_over or page.job is not self:
            merge_count(self.counts, counter, units)
        else:
            if page.counts is _NOTHING:
                page.counts = {}
            merge_count(page.counts, counter, units)
        merge_count(self.so_far, counter, units)

    def _counter_for(self, rule: MergeRule, name: object) -> str:
        """Return the counter of a name; ``""`` if there are too many names, which is logged once."""
        known = self._rules.get(name) if isinstance(name, str) else None
        if known is rule:
            return counter_of(rule, str(name))
        if known is not None:
            raise UsageError(
                f"stats.{rule}({name!r}): this name was counted by stats.{known}() before; give another one"
            )
        new = check_name(name)
        if len(self._rules) < MAX_NAMES:
            self._rules[new] = rule
            return counter_of(rule, new)
        if not self._has_too_many:
            self._has_too_many = True
            log.warning("stats.%s(%r): not counted, nor are others: a job has %d names", rule, new, MAX_NAMES)
        return ""

    def find_value(self, name: str) -> int | None:
        """Return this process's count under a name, in units; ``None``: nothing."""
        rule = self._rules.get(name)
        return None if rule is None else self.so_far.get(counter_of(rule, name))

    def take_counts(self) -> dict[str, int]:
        """Take the counts that are to be stored now."""
        taken, self.counts = self.counts, {}
        return taken

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Add counts from before, or of a page without a result."""
        merge_counts(self.counts, counts)


class PageChanges:
    """The counts of the current page."""

    __slots__ = ("counts", "is_over", "job")

    def __init__(self, job: JobChanges) -> None:
        self.job = job
        self.counts = _NOTHING
        self.is_over = False

    def end(self) -> dict[str, int]:
        """Return the counts. Tasks that outlive the page no longer count for it."""
        self.is_over = True
        return self.counts


_job: ContextVar[JobChanges | None] = ContextVar("gossamer_job_changes", default=None)
_page: ContextVar[PageChanges | None] = ContextVar("gossamer_page_changes", default=None)


def job_in_hand() -> JobChanges | None:
    """Return the counters of the current task's job; ``None`` outside a crawl."""
    return _job.get()


@contextmanager
def begin_job(changes: JobChanges) -> Iterator[None]:
    """Let the current task, and those that it starts meanwhile, count for a job."""
    token = _job.set(changes)
    try:
        yield
    finally:
        _job.reset(token)


def begin_page(job: JobChanges) -> PageChanges:
    """Let the current task, and those that it starts, count for one page. It costs next to nothing."""
    page = PageChanges(job)
    _page.set(page)
    return page
