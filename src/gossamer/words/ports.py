"""The seams of the house: every place where one thing can be put for another.

At most seven methods each. Adapters implement them, the engine speaks only to them, and
``gossamer.testing.contracts`` proves every implementation. Unless a method says otherwise it may be
called concurrently, raises :class:`~gossamer.words.errors.StorageError` when its storage fails, and
has then changed nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from gossamer.words.events import Event
from gossamer.words.model import (
    Added,
    Attempt,
    Change,
    DeadFilter,
    DeadLetter,
    Entry,
    Extraction,
    Fetched,
    Found,
    FrontierStats,
    Grant,
    Harvest,
    HostReport,
    HostSignal,
    ItemRecord,
    Job,
    Lease,
    Outcome,
    Request,
    RobotsAnswer,
    Rules,
    StoredItem,
    Tally,
)
from gossamer.words.shifts import RosterView, Sample, Shift, ShiftEnd, Why, WorkerCard


class Frontier(Protocol):
    """The requests of one job: hands them out, takes them back, keeps the hosts' politeness.

    Invariants (each a test of the contract suite): every accepted request is in exactly one state; a
    fingerprint is accepted once (``dont_filter`` aside); no host has more leases than
    ``Rules.per_host`` nor a start before its ``next_at``; a lower band goes first across hosts, within
    a band the host that may start first, within a host the oldest; a stale token changes nothing.
    """

    async def add(self, entries: Sequence[Entry]) -> Added:
        """Accept what is not known yet and not too deep. Counts what it refuses."""
        ...

    async def lease(self, lane: str, limit: int, ttl_s: float) -> Grant:
        """Hand out up to ``limit`` requests that may start now, each for ``ttl_s`` seconds.

        First takes back what is past its deadline (``Grant.expired``). An empty grant does not mean
        that the job is finished.
        """
        ...

    async def settle(self, outcomes: Sequence[Outcome]) -> list[bool]:
        """Apply outcomes with their outlinks, each in one atomic step.

        ``False`` for an outcome whose lease is not in force any more; nothing of it was applied.
        """
        ...

    async def extend(self, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
        """Move deadlines to ``ttl_s`` seconds from now. ``False``: the lease is lost; drop the work."""
        ...

    async def release(self, leases: Sequence[Lease], signals: Sequence[HostSignal]) -> None:
        """Give leases back unstarted, in their old place in the queue; costs no attempt.

        ``signals`` (one per lease) say whether the host was spoken to meanwhile (robots.txt).
        Stale leases are ignored.
        """
        ...

    async def control(self, change: Change, rules: Rules | None = None) -> tuple[Lease, ...]:
        """Change the job's state, or (``rules``) its rules from now on.

        ``RECOVER`` takes every lease back as if expired and returns them; the others return ``()``.
        """
        ...

    async def stats(self) -> FrontierStats:
        """Counts. ``waiting == 0`` is what finished means."""
        ...


class OwnedFrontier(Frontier, Protocol):
    """A frontier that several processes share: every lease belongs to the owner that it was opened for.

    One that lives and dies with its process has no use for owners.
    """

    async def recover(self, owner: str) -> tuple[Lease, ...]:
        """Take back every lease of ``owner`` as if expired and return them: the caller knows that it is gone.

        The leases of all others stay in force.
        """
        ...


class FrontierDesk(Protocol):
    """Looking into a frontier, and what a person may do to it."""

    async def known(self, entries: Sequence[Entry]) -> list[bool]:
        """Whether each was accepted before, by its fingerprint. Cheap; others may add them right after."""
        ...

    async def find(self, fingerprint: int) -> Found | None:
        """What is known of a fingerprint; ``None``: never accepted."""
        ...

    async def hosts(self, limit: int) -> list[HostReport]:
        """The hosts with most pending requests, busiest first."""
        ...

    async def dead(self, which: DeadFilter, limit: int = 1000) -> list[DeadLetter]:
        """Dead letters, oldest first."""
        ...

    async def revive(self, which: DeadFilter) -> int:
        """Make dead letters pending again with their counts at zero; a finished job runs again."""
        ...

    async def drop(self, which: DeadFilter) -> int:
        """Forget dead letters; their fingerprints stay known."""
        ...


class Store(Protocol):
    """Items, pages and the ledger of all jobs."""

    async def write(self, job: Job, harvests: Sequence[Harvest]) -> None:
        """Store items (upsert by spider, type, key), pages and attempts; all or nothing."""
        ...

    async def record(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """Store rows of the ledger that no harvest carries (expired leases)."""
        ...

    async def mark_stale(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """Give rows that were written a moment ago the reason ``stale``: their leases had been lost.

        They count as attempts and no longer as successes. Items and pages stay. Safe to repeat.
        """
        ...

    def items(self, job: Job | None = None, after_id: int = 0) -> AsyncIterator[StoredItem]:
        """Items that a job saw, with the values that it saw (or all, as they are now), as first stored."""
        ...

    async def attempts(self, job: Job, url: str | None = None, limit: int = 1000) -> list[Attempt]:
        """The latest rows of the ledger, newest first."""
        ...

    async def tally(self, job: Job) -> Tally:
        """The totals of a job."""
        ...


class JobBook(Protocol):
    """The jobs of a store."""

    async def create(self, name: str, target: str, plan: bytes = b"") -> Job:
        """A new job with an id of its own, running; its plan never changes."""
        ...

    async def get(self, id_or_name: str) -> Job | None:
        """A job by its id, or the latest of that name."""
        ...

    async def list(self, *, unfinished: bool = False) -> list[Job]:
        """All jobs, or those whose end is not in the book (they run or are paused); newest first."""
        ...

    async def update(self, job: Job, *, expected: Job | None = None) -> bool:
        """Store ``state``, ``finished_at`` and ``finish_reason``; ``False``: nothing was stored.

        With ``expected`` only if state and ``finished_at`` in the book are still those: somebody else may
        have changed the job since it was read.
        """
        ...


class Committer(Protocol):
    """Where a worker lands what it brings back: items before (or with) their settled lease."""

    async def commit(self, harvests: Sequence[Harvest]) -> list[bool]:
        """Store each harvest and settle its lease. ``False``: the lease was lost and nothing of it counts.

        An implementation over one database does both in one transaction; over two, the store is
        written first, so that a crash between them costs one fetch and doubles nothing.
        """
        ...


class SharedState(Protocol):
    """Small facts that all workers share and that survive restarts (robots.txt, cookies)."""

    async def get(self, space: str, key: str) -> bytes | None:
        """The value, unless it has expired."""
        ...

    async def put(self, space: str, key: str, value: bytes, ttl_s: float) -> None:
        """Set a value for ``ttl_s`` seconds and end any claim on it."""
        ...

    async def swap(self, space: str, key: str, expected: bytes | None, value: bytes, ttl_s: float) -> bool:
        """``put``, if the value is ``expected`` (``None``: there is none); ``False``: it is not, nothing set.

        Over a break of the server it may be set and answer ``False``: read the value and try again.
        """
        ...

    async def claim(self, space: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may now make this value; others are refused until ``put`` or ``ttl_s``."""
        ...


class Fetcher(Protocol):
    """One way to get a page."""

    rung: str  # its name on the ladder and in the ledger
    touches_network: bool  # False: no server is there to be polite to

    async def fetch(self, request: Request) -> Fetched:
        """One response, bounded in size and time, redirects not followed.

        Raises :class:`~gossamer.words.errors.FetchError`, and nothing else.
        """
        ...

    async def close(self) -> None:
        """Let go of connections. Idempotent."""
        ...


class RobotsGate(Protocol):
    """What a site's robots.txt says, fetched once per origin and remembered."""

    async def check(self, request: Request) -> RobotsAnswer:
        """Whether the request may be fetched; may fetch robots.txt first, and says so."""
        ...


class Extractor(Protocol):
    """Turns a response into items and requests: the spider and everything it uses."""

    async def extract(self, request: Request, fetched: Fetched) -> Extraction:
        """Run the request's callback. Never raises for what the page or the callback does."""
        ...

    async def give_up(self, request: Request, fault: str, detail: str) -> Extraction | None:
        """Run the request's errback, if it has one, when the request is given up or will not be had."""
        ...

    def wants_status(self, request: Request, status: int) -> bool:
        """Whether the spider handles this status itself (``handle_httpstatus_list``)."""
        ...


class Pipeline(Protocol):
    """Cleans, validates and keys items."""

    async def process(self, item: Any, url: str) -> ItemRecord:
        """The record to store.

        Raises :class:`~gossamer.words.errors.DropItem` with the reason for an item that is not wanted,
        :class:`~gossamer.words.errors.UnstorableItem` for one that cannot be stored, and
        :class:`~gossamer.words.errors.PipelineError` when users' code fails: then nothing of the page is
        stored, and it is tried again.
        """
        ...


class Sink(Protocol):
    """Takes events: a log, a progress view, metrics."""

    def emit(self, event: Event) -> None:
        """Take one event; must be quick and must not raise."""
        ...


class Attendance(Protocol):
    """A fleet's roster as workers use it.

    Losing all of it costs seconds and no work: the next beat registers worker and shifts again.
    """

    async def begin(self, shift_id: str, worker_id: str) -> Shift | None:
        """Begin a shift that was asked for; the message that names it may be late, lost or doubled.

        ``None`` is no trouble: nobody asks for it any more, it expired, or another message began it.
        Do nothing then, and report no end.
        """
        ...

    async def beat(self, worker: WorkerCard, shifts: Sequence[Shift]) -> dict[str, Why]:
        """Say that the worker lives and what its shifts have done.

        Returns the shifts that shall stop, each with the reason to give at its end; a shift that is not
        in it goes on. ``LOST`` (it was declared dead): stop like any other; of what it holds, that which was
        taken back is refused when it lands, and that which it has leased since is good.
        """
        ...

    async def end(self, ends: Sequence[ShiftEnd]) -> None:
        """Say how shifts ended, and ring the supervisor's bell. Repeating it changes nothing more."""
        ...

    async def leave(self, worker_id: str) -> None:
        """Strike a worker off; leases of shifts that it did not end are taken back at once."""
        ...


class Roster(Protocol):
    """A fleet's roster as supervisors and commands use it."""

    async def lead(self, me: str, ttl_s: float) -> int | None:
        """Become or stay the one supervisor that leads, for ``ttl_s`` seconds; ``0`` resigns.

        A token that is larger than that of every leader before. ``None``: somebody else leads.
        """
        ...

    async def ask(self, shifts: Sequence[Shift], recalls: Mapping[str, Why], token: int) -> bool:
        """Enter shifts as asked for, and recall others: one that is begun stops, one that is not is void.

        ``False``: the token is not that of the leader, and nothing was changed. Publish only after ``True``.
        """
        ...

    async def look(self, *, history: bool = False) -> RosterView:
        """Everything as it is now; ``ends`` and ``samples`` are filled with ``history`` only."""
        ...

    async def bury(self, shift_ids: Sequence[str]) -> None:
        """Strike off shifts whose leases were taken back; should one still live, its next beat stops it."""
        ...

    async def note(self, job: str, sample: Sample) -> None:
        """Keep a sample of a job; the latest sixty are remembered."""
        ...

    async def ring(self) -> None:
        """Let the supervisor look at once."""
        ...

    async def wait_bell(self, timeout_s: float) -> bool:
        """Wait until it rings, for so long at most. ``True``: it rang, perhaps before the call."""
        ...
