"""The interfaces of back ends that the settings can name."""

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
    """The requests of one job of a fleet, to crawl and to inspect."""


class FrontierBackend(Protocol):
    """The back end for requests and for the state that workers share."""

    @property
    def clock(self) -> Clock:
        """The clock for leases and hosts."""
        ...

    @property
    def shared(self) -> SharedState:
        """The state that all workers share."""
        ...

    @property
    def fleet(self) -> FleetBackend | None:
        """The same back end for a fleet, or ``None`` if other machines cannot share it."""
        ...

    def open_frontier(self, job: Job, rules: FrontierRules, *, owner: str = "") -> JobFrontier:
        """Open a job's frontier; ``owner`` will hold its leases."""
        ...

    def open_for_worker(
        self, job: Job, rules: FrontierRules, *, owner: str
    ) -> tuple[JobFrontier, Committer | None]:
        """Open a job's frontier and the committer that settles and stores in one transaction.

        Without a committer (``None``) the store is elsewhere and is written first
        (``engine/store_then_settle.py``).
        """
        ...

    async def create_frontier(self, job: Job, rules: FrontierRules) -> None:
        """Create the frontier of a new job."""
        ...

    async def dedup_report(self, job: Job) -> DedupReport | None:
        """Describe a job's duplicate filter and its error rate; ``None``: this back end is always exact."""
        ...

    def lock_target(self, target: str) -> AbstractAsyncContextManager[None]:
        """Hold the exclusive right to crawl a target. Raises ``JobBusyError`` if another process holds it."""
        ...

    async def at_work(self, job: Job) -> str | None:
        """Return the process that crawls a job now, as a number or in words, or ``None``."""
        ...

    async def withdraw_claims(self, job: Job, at: float) -> None:
        """Release the host slots of a job that had no running worker at the time ``at``.

        Its requests stay leased until it is resumed. Does nothing if only the lease deadlines can prove that
        no worker is left: processes on other machines may be unreachable and still running.
        """
        ...

    def blocking_writers(self) -> set[int]:
        """The processes that block all other writers at the moment; always empty for a server."""
        ...

    async def close(self) -> None:
        """Close files and connections."""
        ...


class FleetRoster(Roster, WorkerRegistry, Protocol):
    """A fleet's roster for supervisors, workers and commands."""


class FleetBackend(FrontierBackend, Protocol):
    """A back end for requests that workers on any number of machines share."""

    @property
    def roster(self) -> FleetRoster:
        """The roster of the fleet named in the settings."""
        ...

    def open_frontier(self, job: Job, rules: FrontierRules, *, owner: str = "") -> FleetJobFrontier:
        """Open a job's frontier; ``owner`` is the shift that will hold its leases."""
        ...

    async def read_many_stats(self, jobs: Sequence[Job]) -> Mapping[str, FrontierStats]:
        """Read the counts of many jobs by id, at a fraction of the cost of ``Frontier.read_stats``.

        Jobs may be missing from the result, for instance deleted ones; the job's own frontier has the
        details.
        """
        ...

    async def read_memory(self) -> tuple[int, int]:
        """Return the server's used memory and its limit in bytes (0: unlimited)."""
        ...

    async def try_writing(self) -> None:
        """Make one harmless change. Raises ``StorageError`` if the server accepts no changes."""
        ...

    async def forget_job(self, job: Job) -> bool:
        """Delete everything about a job; return whether there was anything."""
        ...

    def roster_of(self, job: Job) -> FleetRoster:
        """Return the roster of the fleet that is responsible for the job."""
        ...


class StoreBackend(Protocol):
    """The back end for jobs, items, pages, the ledger, tokens and the audit log."""

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
        """The tokens of the dashboard and the HTTP API."""
        ...

    @property
    def actions(self) -> ActionLog:
        """The audit log."""
        ...

    @property
    def files(self) -> FileStore:
        """The files that jobs have saved."""
        ...

    @property
    def known_pages(self) -> KnownPageStore:
        """The known pages of spiders and their rates of change."""
        ...

    @property
    def profiles(self) -> ProfileStore:
        """The profiles of each job's items."""
        ...

    @property
    def versions(self) -> ResultVersions:
        """The versions of jobs that replays make."""
        ...

    @property
    def schedules(self) -> ScheduleStore:
        """The schedules of crawls."""
        ...

    @property
    def changes(self) -> ChangeFeed | None:
        """The feed of item changes for outputs, or ``None`` if this store has none."""
        ...

    async def prune_ledger(self, now: float) -> None:
        """Delete records whose retention time is over."""
        ...

    def blocking_writers(self) -> set[int]:
        """The processes that block all other writers at the moment; always empty for a server."""
        ...

    async def close(self) -> None:
        """Close files and connections."""
        ...
