"""What a crawl came to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.core.exits import ExitFacts
from gossamer.core.jobs import StoredItem
from gossamer.core.notes import CrawlNote
from gossamer.core.record import Record
from gossamer.crawl.found_items import ItemCount
from gossamer.policy.budget_status import BudgetStatus
from gossamer.policy.goals import ListingGoal

NOT_IN_JSON = ("known_target", "failed_hooks", "ending")
"""Fields of a result that `crawl --json` does not print."""


class CrawlResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a crawl came to. Counts are the job's totals over all its runs; times are of this run."""

    job: str  # its id, for `status`, `export` and the others
    spider: str  # the spider's name, or the host of a URL
    finish_reason: str  # why this run ended
    pages: int  # responses parsed
    items: ItemCount  # distinct items; called, it gives them: ``async for item in result.items()``
    attempts: int  # requests made
    retries: int  # requests made again after a failure
    dead: int  # dead letters: requests given up
    dropped: int  # items not taken
    duplicates: int  # items seen again
    bytes: int  # of the decoded bodies
    seconds: float  # how long this run took
    pages_per_second: float  # of this run
    cost: float = 0.0  # what was paid for pages, in the currency of the prices
    by_rung: dict[str, int] = {}  # requests made by another rung than plain HTTP
    cost_by_rung: dict[str, float] = {}  # what those cost
    by_status: dict[str, int]  # answers by their HTTP status
    goals: tuple[ListingGoal, ...] = ()  # how many of something the site announces, and how many there are
    stats: dict[str, float] = {}  # the spider's own counters (``self.stats``), by name
    budgets: tuple[BudgetStatus, ...] = ()  # of URL patterns, and of hosts that are over theirs
    cut_pages: dict[str, int]  # pages that are not whole, or were not read, by the flag that says why
    redirects_to_known: int  # redirects to pages that were known already: their callbacks did not run
    peak_rss_mb: float  # most memory of this process, in MiB
    notes: tuple[CrawlNote, ...] = ()  # what a person should know: sentences, each with its kind
    left_out: dict[str, int] = {}  # items and links not taken, by reason
    warnings: tuple[str, ...] = ()  # data that may be missing, and the command that fetches it
    known_target: str = ""  # the page that most of ``redirects_to_known`` led to; not part of the JSON object
    failed_hooks: tuple[str, ...] = ()  # tracebacks of what failed at the end; not part of the JSON object
    ending: ExitFacts = ExitFacts()  # what decides the exit code; not part of the JSON object

    def stored_items(self, kind: str = "") -> AsyncIterator[StoredItem]:
        """The items as ``gossamer.items()`` gives them: with key, URL and times; all, or those of a type."""
        return self.items.source.read_stored(kind)

    def as_json(self) -> dict[str, Any]:
        """The object that ``crawl --json`` prints."""
        result: dict[str, Any] = msgspec.to_builtins(replace(self, items=int(self.items)))
        for name in NOT_IN_JSON:
            del result[name]
        return result
