"""The parts of a visit and of a worker, and the options of a shift."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import field

from gossamer.core.errors import UsageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.shifts import PAGE_LANE
from gossamer.engine.admission import Admission
from gossamer.engine.answer_memory import AnswerMemory
from gossamer.engine.drop_samples import DropCollector
from gossamer.engine.fixed_router import FixedRouter
from gossamer.engine.stat_changes import JobChanges
from gossamer.policy.blocks import BlockRules
from gossamer.ports.clock import Clock
from gossamer.ports.committer import Committer
from gossamer.ports.extractor import Extractor
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.job_frontier import AdminFrontier
from gossamer.ports.login_gate import LoginGate
from gossamer.ports.pipeline import Pipeline
from gossamer.ports.robots_gate import RobotsGate
from gossamer.ports.router import Router
from gossamer.ports.screenshot_store import ScreenshotStore
from gossamer.ports.series import Series
from gossamer.ports.sink import Sink
from gossamer.ports.store import Store
from gossamer.ports.visit_watcher import VisitWatcher

if TYPE_CHECKING:
    from gossamer.engine.file_keeper import FileKeeper
    from gossamer.engine.page_memory import PageMemory


def no_files() -> FileKeeper:
    """Raise ``UsageError``: the default without a keeper of files."""
    raise UsageError("files are kept by crawls only")


class VisitParts(Record, frozen=True, kw_only=True):
    """The parts of a visit, which decides the outcome of a request and stores nothing."""

    rules: FrontierRules
    fetcher: Fetcher
    robots: RobotsGate
    extractor: Extractor
    pipeline: Pipeline
    admission: Admission
    clock: Clock
    router: Router = field(default_factory=FixedRouter)
    screenshots: ScreenshotStore | None = None  # None: none are kept
    answers: AnswerMemory = field(default_factory=AnswerMemory)  # by which hosts in trouble are probed
    blocks: BlockRules = field(default_factory=BlockRules)
    samples: DropCollector = field(default_factory=DropCollector)  # of items that are dropped
    login: LoginGate | None = None  # None: no spider logs in
    defers_page: Callable[[Request, FetchResult], bool] | None = None  # whose callbacks run elsewhere
    open_files: Callable[[], FileKeeper] = no_files  # opens the keeper of files with the first file
    memory: PageMemory | None = None  # None: nothing is kept of pages for later crawls
    is_extracting: bool = False  # the fetcher returns earlier responses, without a network


class EngineParts(VisitParts, frozen=True, kw_only=True):
    """The parts of a worker: those of a visit, the source of requests, and the place of results."""

    job: Job
    frontier: AdminFrontier
    committer: Committer
    store: Store
    sink: Sink
    series: Series | None = None  # None: no time series is kept
    visits: VisitWatcher | None = None  # None: visits are not watched
    changes: JobChanges = field(default_factory=JobChanges)  # counts of users' code outside pages


class ShiftOptions(Record, frozen=True, kw_only=True):
    """How a worker works."""

    worker: str = "w1"
    lane: str = PAGE_LANE
    concurrency: int = 64
    lease_ttl_s: float = 60.0
    max_redirects: int = 10
    follows_loops: bool = True  # else redirects to where they came from end there, but for a new cookie
    idle_wait_s: float = 1.0  # the longest wait before asking the frontier again
    random: Callable[[], float] = random.random
