"""Where a crawl keeps things: its requests in one place, what it brings back in another (or the same).

Each place is one file here: ``in_sqlite``, ``in_redis``, ``in_postgres``. The settings' URLs say which; a
driver is imported when its place is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol, TypeGuard

from gossamer.config import Settings
from gossamer.frontier.look import Place
from gossamer.wiring.in_sqlite import Databases, SqliteKeeping, SqliteRequests
from gossamer.words.clock import Clock
from gossamer.words.errors import SettingError
from gossamer.words.model import Attempt, Job, PageRecord, Rules
from gossamer.words.ports import FrontierDesk, JobBook, OwnedFrontier, SharedState, Store
from gossamer.words.servers import shown_server

if TYPE_CHECKING:
    from gossamer.frontier.redis_dedup import DedupReport


class JobFrontier(OwnedFrontier, FrontierDesk, Protocol):
    """The requests of a job, to work on and to look into."""

    async def place(self, fingerprint: int) -> tuple[Rules, Place]:
        """The rules in force, and where one of the requests stands."""
        ...


class LedgerDesk(Protocol):
    """What a person asks a ledger."""

    async def attempts(
        self,
        job: Job,
        limit: int,
        *,
        urls_: Sequence[str] = (),
        host: str | None = None,
        status: int | None = None,
        verdict: str | None = None,
        reason: str | None = None,
        method: str | None = None,
        flag: str | None = None,
        fingerprint: int | None = None,
    ) -> list[Attempt]:
        """The latest tries that fit, newest first."""
        ...

    async def page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """The page that was parsed, as it was the last time."""
        ...

    async def items_on(self, job: Job, url: str) -> int:
        """How many items of the job were found on a page."""
        ...


class Requests(Protocol):
    """The place of requests and of what all workers share."""

    @property
    def clock(self) -> Clock:
        """The time that leases and hosts are kept by."""
        ...

    @property
    def shared(self) -> SharedState:
        """What all workers share."""
        ...

    def frontier(self, job: Job, rules: Rules, *, owner: str = "") -> JobFrontier:
        """A job's frontier; ``owner`` is who will hold its leases."""
        ...

    async def make(self, job: Job, rules: Rules) -> None:
        """Make the frontier of a new job."""
        ...

    async def dedup(self, job: Job) -> DedupReport | None:
        """How surely a job's URLs are known again; ``None``: there is no doubt in such a place."""
        ...

    def alone(self, target: str) -> AbstractAsyncContextManager[None]:
        """Be the only one that crawls a target. Raises ``JobBusy`` when somebody does."""
        ...

    async def at_work(self, job: Job) -> str | None:
        """Who crawls a job now: the number of a process, or words; ``None``: nobody."""
        ...

    def writers(self) -> set[int]:
        """The processes that keep all others from writing here at the moment; a server has none."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...


class Keeping(Protocol):
    """The place of jobs, items, pages and the ledger."""

    @property
    def book(self) -> JobBook:
        """The jobs."""
        ...

    @property
    def store(self) -> Store:
        """Items, pages and the ledger, for workers."""
        ...

    @property
    def ledger(self) -> LedgerDesk:
        """The ledger, for people."""
        ...

    async def tidy(self, now: float) -> None:
        """Drop what is kept for a time only and is older."""
        ...

    def writers(self) -> set[int]:
        """The processes that keep all others from writing here at the moment; a server has none."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...


async def open_places(settings: Settings, *, create: bool) -> tuple[Requests, Keeping]:
    """Both places of a crawl, as the settings name them.

    Raises ``StorageError`` for a data directory that is not there (unless ``create``), ``ServiceMissing``
    and ``StorageError`` for servers that are not there, not fit or not ours to use.
    """
    databases = Databases(settings, create=create)
    try:
        requests = await _requests(settings, databases)
    except BaseException:
        databases.close()
        raise
    try:
        return requests, await _keeping(settings, databases, requests.clock)
    except BaseException:
        await requests.close()
        databases.close()
        raise


async def _requests(settings: Settings, databases: Databases) -> Requests:
    url = settings.frontier.url
    if not is_in_redis(url):
        return SqliteRequests(settings, databases)
    from gossamer.wiring.in_redis import RedisRequests

    return await RedisRequests.open(settings, url)


def is_in_redis(url: str | None) -> TypeGuard[str]:
    """Whether requests are on a server, not in a file. Raises ``SettingError`` for a URL of neither."""
    if url is None or url.startswith("sqlite:"):
        return False
    if url.startswith(("redis:", "rediss:", "redis+cluster:")):
        return True
    raise SettingError(
        f"frontier.url = {shown_server(url)!r} is no place for requests that this version knows; "
        "write sqlite:///FILE or redis://HOST/0"
    )


async def _keeping(settings: Settings, databases: Databases, clock: Clock) -> Keeping:
    url = settings.store.url
    if not is_in_postgres(url):
        return SqliteKeeping(databases, clock)
    from gossamer.wiring.in_postgres import PostgresKeeping

    return await PostgresKeeping.open(settings, url, clock)


def is_in_postgres(url: str | None) -> TypeGuard[str]:
    """Whether items are on a server, not in a file. Raises ``SettingError`` for a URL of neither."""
    if url is None or url.startswith("sqlite:"):
        return False
    if url.startswith(("postgresql:", "postgres:")):
        return True
    raise SettingError(
        f"store.url = {shown_server(url)!r} is no place for items that this version knows; "
        "write sqlite:///FILE or postgresql://USER@HOST/DATABASE"
    )
