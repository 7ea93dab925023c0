"""Records: the facts about a URL in one job, and the answer based on them."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from gossamer.core.freshness import KnownPage
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import FrontierStats, Job, KnownRequest, StoredItem
from gossamer.core.record import Record
from gossamer.core.requests import RequestPreview
from gossamer.core.results import Attempt, PageRecord
from gossamer.policy.budget_status import BudgetStatus
from gossamer.policy.ladder import LadderState
from gossamer.queries.drops import DroppedItem
from gossamer.queries.explain.chain import ViaStep
from gossamer.queries.explain.scope import ScopeFacts
from gossamer.queries.traps import TrapView


class UrlState(StrEnum):
    """The state of a URL in one word."""

    BAD_URL = "bad_url"  # not a URL by the WHATWG standard
    DUPLICATE = "duplicate"  # of the URL under which the page is known
    OUT_OF_SCOPE = "out_of_scope"  # links to it are not taken; the rule is named
    TRAP = "trap"  # it looks like a page of a site that never ends
    NEVER_SEEN = "never_seen"  # no start URL, and no link that the spider followed, has led to it
    NOT_DUE = "not_due"  # known from earlier crawls, and its time has not come
    ROBOTS = "robots"  # robots.txt does not allow it
    WAITING = "waiting"  # for its host's turn
    OVER_BUDGET = "over_budget"  # a budget is spent: it waits, was skipped, or links to it are not taken
    STOPPED = "stopped"  # it waits, and no process works on the job
    LEASED = "leased"  # being fetched just now
    RETRYING = "retrying"  # it failed, and waits for its next try
    DELAYED = "delayed"  # it was not to be fetched before a time
    DEAD = "dead"  # given up: a dead letter
    REDIRECTED = "redirected"  # its answer led to another URL, which is a request of its own
    SKIPPED = "skipped"  # for a reason that will not change
    DONE = "done"  # fetched


class UrlFacts(Record, frozen=True, kw_only=True):
    """Everything that is known of one URL in one job."""

    url: str  # as asked for
    now: float
    method: str = "GET"
    request: RequestPreview | None = (
        None  # further options that distinguish it from other requests to the URL
    )
    fingerprint: int = 0
    canonical: str = ""  # "": it has none
    scoping: ScopeFacts | None = None  # None: the spider is not at hand
    job: Job
    stats: FrontierStats
    rules: FrontierRules  # in force in the frontier
    is_at_work: bool = True  # a process crawls the job
    process: str = ""  # its number, where it is known
    found: KnownRequest | None = None
    since: float = 0.0  # LEASED, DEAD: since when
    deadline: float = 0.0  # LEASED: until when
    ahead: int = 0  # PENDING: requests of the host that go first
    letter: int = 0  # DEAD: the number of the dead letter
    attempts: tuple[Attempt, ...] = ()  # newest first
    target: Attempt | None = None  # of a redirect to a page that was known: the latest try at that page
    page: PageRecord | None = None
    items: int = 0  # stored from this page
    found_items: tuple[StoredItem, ...] = ()  # the first of them
    drops: tuple[DroppedItem, ...] = ()  # examples of dropped items of this page
    via: tuple[ViaStep, ...] = ()  # the pages that led to it, and itself
    left_out: dict[str, int] = {}  # links that the job did not take, by reason
    is_recrawl: bool = False  # the job left out pages that had not changed, or were not due
    is_forgotten: bool = False  # the job is over, and its requests are no longer kept
    is_denied: bool = False  # by robots.txt, as remembered
    known: KnownPage | None = None  # what crawls of the spider have kept of the page
    archived: str = ""  # the place of its latest answer in the archive
    archive_trouble: str = ""  # why the archive could not be asked
    ladder: LadderState = LadderState()  # the rung of its host
    budget: BudgetStatus | None = None  # of its pattern: the one for which links to it are not taken
    trap: TrapView | None = None  # the yield of its URL pattern, or its trap
    others: tuple[UrlFacts, ...] = ()  # of other requests to the URL that the ledger has, the latest first
    has_more_others: bool = False  # than these


class UrlExplanation(NamedTuple):
    """The answer with its reasons, in whole sentences; the first one is the answer."""

    answer: UrlState
    lines: tuple[str, ...]
    page: UrlState  # the state of the page: for a duplicate, that of its canonical URL
    others: tuple[UrlExplanation, ...] = ()  # of other requests to the URL


class NumberFormatter(NamedTuple):
    """How numbers are written for people."""

    span: Callable[[float], str]  # a duration in seconds
    time: Callable[[float], str]  # a point in time
    size: Callable[[float], str]  # a size in bytes
