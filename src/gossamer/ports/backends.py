"""What a place for requests or results must offer, to be named in the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from gossamer.core.dedup import DedupReport
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import FrontierStats, Job
from gossamer.ports.action_log import ActionLog
from gossamer.ports.change_feed import ChangeFeed
from gossamer.ports.clock import Clock
from gossamer.ports.committer import Committer
from gossamer.ports.file_store import FileStore
from gossamer.ports.fleet_frontier import FleetFrontier
from gossamer.ports.item_reader import ItemReader
from gossamer.ports.job_frontier import JobFrontier
from gossamer.ports.job_store import JobStore
from gossamer.ports.known_page_store import KnownPageStore
from gossamer.ports.ledger_reader import LedgerReader
from gossamer.ports.profile_store import ProfileStore
from gossamer.ports.result_versions import ResultVersions
from gossamer.ports.roster import Roster
from gossamer.ports.series import Series
from gossamer.ports.shared_state import SharedState
from gossamer.ports.store import Store
from gossamer.ports.token_store import TokenStore
from gossamer.ports.worker_registry import WorkerRegistry

if TYPE_CHECKING:  # no crawl asks for schedules
    from gossamer.ports.schedule_store import ScheduleStore


class FleetJobFrontier(JobFrontier, FleetFrontier, Protocol):
    """The requests of a job of a fleet, to work on and to look into."""


class FrontierBackend(Protocol):
    """The place of requests and of what all workers share."""

    @property
    def clock(self) -> Clock:
        """The time that leases and hosts are kept by."""
        ...

    @property
    def shared(self) -> SharedState:
        """What all workers share."""
        ...

    @property
    def fleet(self) -> FleetBackend | None:
        """The same place as a fleet uses it; ``None``: workers of other machines cannot share it."""
        ...

    def open_frontier(self, job: Job, rules: FrontierRules, *, owner: str = "") -> JobFrontier:
        """A job's frontier; ``owner`` is who will hold its leases."""
        ...

    def open_for_worker(
        self, job: Job, rules: FrontierRules, *, owner: str
    ) -> tuple[JobFrontier, Committer | None]:
        """A job's frontier, and what settles and stores in one transaction.

        ``None``: the store is elsewhere; then it is written first (``engine/store_then_settle.py``).
        """
        ...

    async def create_frontier(self, job: Job, rules: FrontierRules) -> None:
        """Make the frontier of a new job."""
        ...

    async def dedup_report(self, job: Job) -> DedupReport | None:
        """How surely a job's URLs are known again; ``None``: there is no doubt in such a place."""
        ...

    def lock_target(self, target: str) -> AbstractAsyncContextManager[None]:
        """Be the only one that crawls a target. Raises ``JobBusyError`` when somebody does."""
        ...

    async def at_work(self, job: Job) -> str | None:
        """Who crawls a job now: the number of a process, or words; ``None``: nobody."""
        ...

    async def withdraw_claims(self, job: Job, at: float) -> None:
        """Let other jobs have the slots at hosts that a job held ``at`` a time, when nobody worked on it.

        Its requests stay leased until it is resumed. Nothing, where only their deadlines tell for certain
        that nobody is at work on them: processes of other machines may be out of reach, and go on.
        """
        ...

    def blocking_writers(self) -> set[int]:
        """The processes that keep all others from writing here at the moment; a server has none."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...


class FleetRoster(Roster, WorkerRegistry, Protocol):
    """A fleet's roster for everybody who uses it."""


class FleetBackend(FrontierBackend, Protocol):
    """A place of requests that workers of any number of machines share."""

    @property
    def roster(self) -> FleetRoster:
        """The roster of the fleet that the settings name."""
        ...

    def open_frontier(self, job: Job, rules: FrontierRules, *, owner: str = "") -> FleetJobFrontier:
        """A job's frontier; ``owner`` is the shift that will hold its leases."""
        ...

    async def read_many_stats(self, jobs: Sequence[Job]) -> Mapping[str, FrontierStats]:
        """The counts of many jobs, by their ids, at a part of the cost of ``Frontier.read_stats``.

        A job may be left out, as one that is gone is: its own frontier says more.
        """
        ...

    async def read_memory(self) -> tuple[int, int]:
        """The bytes of memory that the server uses, and may use (0: it has no limit)."""
        ...

    async def try_writing(self) -> None:
        """Change something that means nothing, once. Raises ``StorageError`` where no change is taken."""
        ...

    async def forget_job(self, job: Job) -> bool:
        """Delete all that is here of a job; whether there was anything."""
        ...

    def roster_of(self, job: Job) -> FleetRoster:
        """The roster of the fleet that looks after a job."""
        ...


class StoreBackend(Protocol):
    """The place of jobs, items, pages, the ledger, tokens and the audit log."""

    @property
    def book(self) -> JobStore:
        """The jobs."""
        ...

    @property
    def store(self) -> Store:
        """Items, pages and the ledger, for workers."""
        ...

    @property
    def ledger(self) -> LedgerReader:
        """The ledger, for people."""
        ...

    @property
    def series(self) -> Series:
        """The counters over time."""
        ...

    @property
    def items(self) -> ItemReader:
        """The items, for people."""
        ...

    @property
    def tokens(self) -> TokenStore:
        """Who may use the dashboard and the HTTP API."""
        ...

    @property
    def actions(self) -> ActionLog:
        """The audit log."""
        ...

    @property
    def files(self) -> FileStore:
        """Which files jobs have saved."""
        ...

    @property
    def known_pages(self) -> KnownPageStore:
        """What is known of the pages of spiders, and how often they change."""
        ...

    @property
    def profiles(self) -> ProfileStore:
        """What the items of each job looked like."""
        ...

    @property
    def versions(self) -> ResultVersions:
        """Which jobs are results of another one, made again."""
        ...

    @property
    def schedules(self) -> ScheduleStore:
        """Crawls that begin by themselves."""
        ...

    @property
    def changes(self) -> ChangeFeed | None:
        """The items as they change, for outputs; ``None``: they cannot be followed here."""
        ...

    async def prune_ledger(self, now: float) -> None:
        """Drop what is kept for a time only and is older."""
        ...

    def blocking_writers(self) -> set[int]:
        """The processes that keep all others from writing here at the moment; a server has none."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...
