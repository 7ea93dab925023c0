"""The result of a crawl."""

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
    """The result of a crawl. Counts are the job's totals over all its runs; times are of this run."""

    job: str  # id of the job
    spider: str  # name of the spider, or the host of a URL
    finish_reason: str  # reason why this run ended
    pages: int  # pages whose callback ran
    items: ItemCount  # number of distinct items; called, it iterates over them: ``result.items()``
    attempts: int  # requests made
    retries: int  # requests repeated after a failure
    dead: int  # dead letters: requests that failed for good
    dropped: int  # items dropped by a pipeline step or by validation
    duplicates: int  # items seen again
    bytes: int  # size of all bodies, decompressed
    seconds: float  # duration of this run
    pages_per_second: float  # pages per second in this run
    cost: float = 0.0  # cost of paid requests, in the currency of the prices
    by_rung: dict[str, int] = {}  # requests by way to fetch, without plain HTTP
    cost_by_rung: dict[str, float] = {}  # cost by way to fetch
    by_status: dict[str, int]  # responses by HTTP status
    goals: tuple[ListingGoal, ...] = ()  # announced totals (``response.expect()``), with the counts so far
    stats: dict[str, float] = {}  # counters of the spider (``self.stats``) by name
    budgets: tuple[BudgetStatus, ...] = ()  # budgets of URL patterns, and of hosts that exceed theirs
    cut_pages: dict[str, int]  # incomplete or unread pages by flag
    redirects_to_known: int  # redirects to pages that were already known; their callbacks did not run
    peak_rss_mb: float  # maximum memory of this process in MiB
    notes: tuple[CrawlNote, ...] = ()  # sentences for the operator, each with its kind
    left_out: dict[str, int] = {}  # items and links left out, by reason
    warnings: tuple[str, ...] = ()  # data that may be missing, with the command that fetches it
    known_target: str = ""  # the page that most of ``redirects_to_known`` led to; not part of the JSON object
    failed_hooks: tuple[str, ...] = ()  # tracebacks of what failed at the end; not part of the JSON object
    ending: ExitFacts = ExitFacts()  # what decides the exit code; not part of the JSON object

    def stored_items(self, kind: str = "") -> AsyncIterator[StoredItem]:
        """Iterate over the items with key, URL and times; ``kind`` is the name of a type, empty: all."""
        return self.items.source.read_stored(kind)

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``gossamer crawl --json`` prints."""
        result: dict[str, Any] = msgspec.to_builtins(replace(self, items=int(self.items)))
        for name in NOT_IN_JSON:
            del result[name]
        return result
