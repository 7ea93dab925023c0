"""A PostgreSQL server: few connections, today's schema, and patience while it is away.

Guarantee: work on it happens as a whole or not at all; when the connection is lost, the server
restarts, or two transactions are in each other's way, it is run again as a whole, with growing pauses, for
``patience_s`` seconds. Errors are described (``postgres_errors``), without secrets.

Functions handed to :meth:`PostgresServer.run` may therefore run more than once, also when the first run did
commit and only its answer was lost: they have to be idempotent (see ``receipt`` in the store's schema).

A connection pooler in front (PgBouncer) has to pool by session, or by transaction with prepared statements
supported (``max_prepared_statements``, 1.21 and later) and ``search_path`` and ``jit`` among its
``ignore_startup_parameters`` or tracked ones; the user's own ``search_path`` must then name the schema.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from gossamer.core.errors import MissingServiceError, UsageError
from gossamer.core.redaction import shown_server
from gossamer.drivers.outage_alarm import OutageAlarm
from gossamer.drivers.patience import ErrorRules, run_patiently
from gossamer.drivers.postgres.errors import (
    is_conflict,
    is_lost,
    is_passing,
    refuse_user,
    refuse_writes,
    translate_error,
)
from gossamer.drivers.postgres.facts import read_facts
from gossamer.drivers.postgres.schema import check_schema, prepare_schema
from gossamer.install import install_command
from gossamer.policy.fitness import PROCESS_CONNECTIONS

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection, Pool
    from gossamer.policy.fitness import PostgresFacts

T = TypeVar("T")
Work = Callable[["Connection"], Awaitable[T]]

CONNECT_S = 10.0
RELEASE_S = 5.0


class PostgresServer:
    """A server, by its URL (``postgresql://user@host:5432/database``); nothing connects before it is used.

    ``migrations``: the SQL that leads to each version of the schema. ``connections``: most connections of
    each event loop; who finds none free waits. ``timeout_s``: for one statement. One object may be used from
    several event loops; each has connections of its own.
    """

    def __init__(
        self,
        url: str,
        *,
        migrations: Mapping[int, str],
        schema: str = "gossamer",
        connections: int = PROCESS_CONNECTIONS,
        patience_s: float = 60.0,
        timeout_s: float = 30.0,
    ) -> None:
        self.place = shown_server(url)
        if not url.startswith(("postgresql://", "postgres://")):
            raise UsageError(f"{self.place!r} is not a PostgreSQL URL; write postgresql://USER@HOST/DATABASE")
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", schema):
            raise UsageError(f"{schema!r} cannot be the name of a schema; use small letters, digits and _")
        self._url = url
        self._migrations = migrations
        self._schema = schema
        self._connections = connections
        self._patience_s = patience_s
        self._timeout_s = timeout_s
        self._loops: dict[asyncio.AbstractEventLoop, _LoopState] = {}
        self._alarm = OutageAlarm(f"PostgreSQL at {self.place}")

    def __repr__(self) -> str:
        return f"<PostgresServer {self.place} ({self._alarm.state})>"

    async def migrate_schema(self) -> None:
        """Connect and migrate the schema to today's version, without retries, for the start of a program.

        Raises :class:`StorageError` with the reason, :class:`MissingServiceError` without the driver.
        """
        await self._run_patiently(_do_nothing, patience_s=0.0)

    async def check_server(self) -> PostgresFacts:
        """Connect and see whether server, schema and user are fit; changes nothing.

        Raises as ``migrate_schema``, and for a server that is read-only, or a user who may not write.
        """
        found: list[PostgresFacts] = []

        async def check(conn: Connection, schema: str, place: str, steps: Mapping[int, str]) -> None:
            version = await check_schema(conn, schema, place, steps)
            found.append(await read_facts(conn, schema, version, max(steps)))

        try:
            pool = await self._open_pool(check)
            async with asyncio.timeout(RELEASE_S):
                await pool.close()
        except driver_errors(import_driver()) as error:
            raise translate_error(error, self.place) from error
        if found[0].is_read_only:
            raise refuse_writes(self.place)
        if found[0].lacks:
            raise refuse_user(self.place, found[0].lacks)
        return found[0]

    async def run(self, work: Work[T]) -> T:
        """Return ``work``'s result on a connection. All of it is retried while the trouble may pass."""
        return await self._run_patiently(work, self._patience_s)

    async def close(self) -> None:
        """Let go of this event loop's connections. Idempotent; the next use opens new ones."""
        here = self._loops.pop(asyncio.get_running_loop(), None)
        if here is not None and here.pool is not None:
            try:
                async with asyncio.timeout(RELEASE_S):
                    await here.pool.close()
            except driver_errors(import_driver()):  # a TimeoutError is an OSError
                here.pool.terminate()

    async def _run_patiently(self, work: Work[T], patience_s: float) -> T:
        return await run_patiently(lambda: self._run_once(work), self._rules, self._alarm, patience_s)

    @cached_property
    def _rules(self) -> ErrorRules:
        return ErrorRules(
            kinds=driver_errors(import_driver()),
            is_passing=is_passing,
            is_outage=lambda error: not is_conflict(error),
            translate=lambda error: translate_error(error, self.place),
        )

    async def _run_once(self, work: Work[T]) -> T:
        pool = await self._ensure_pool()
        conn = await pool.acquire()
        try:
            return await work(conn)
        except BaseException as error:
            if is_lost(error):
                with suppress(import_driver().InterfaceError):  # the pool has it back already
                    conn.terminate()
            raise
        finally:
            await pool.release(conn, timeout=RELEASE_S)

    async def _ensure_pool(self) -> Pool:
        loop = asyncio.get_running_loop()
        here = self._loops.get(loop)
        if here is None:
            for other in [known for known in self._loops if known.is_closed()]:
                del self._loops[other]
            here = self._loops[loop] = _LoopState()
        if here.pool is None:
            async with here.opening:
                if here.pool is None:
                    here.pool = await self._open_pool()
        return here.pool

    async def _open_pool(
        self, prepare: Callable[[Connection, str, str, Mapping[int, str]], Awaitable[None]] = prepare_schema
    ) -> Pool:
        pool: Pool = await import_driver().create_pool(
            self._url,
            min_size=0,
            max_size=self._connections,
            timeout=CONNECT_S,
            command_timeout=self._timeout_s,
            reset=_do_nothing,  # nothing of a session is changed, and it would be a round trip each time
            server_settings={
                "application_name": "gossamer",
                "search_path": self._schema,
                "jit": "off",  # its compiling takes longer than the statements
            },
        )
        try:
            conn = await pool.acquire()
            try:
                await prepare(conn, self._schema, self.place, self._migrations)
            finally:
                await pool.release(conn, timeout=RELEASE_S)
        except ValueError as error:  # a URL that the driver cannot read
            pool.terminate()
            raise UsageError(f"{self.place!r} is not a PostgreSQL URL: {_without_secrets(error)}") from None
        except BaseException:
            pool.terminate()
            raise
        return pool


class _LoopState:
    """The objects that belong to one event loop."""

    def __init__(self) -> None:
        self.opening = asyncio.Lock()
        self.pool: Pool | None = None


def _without_secrets(error: ValueError) -> str:
    """Return the driver's message about a URL, unless it may hold a part of it."""
    return re.split(r"[:\"'@]", str(error))[0].strip()


async def _do_nothing(_conn: object) -> None:
    pass


def import_driver() -> ModuleType:
    """asyncpg. Raises :class:`MissingServiceError` where it is not installed."""
    try:
        import asyncpg
    except ImportError as error:
        raise MissingServiceError(
            f"PostgreSQL needs an additional package: {install_command('postgres')}"
        ) from error
    return asyncpg


def driver_errors(driver: ModuleType) -> tuple[type[Exception], ...]:
    """Return the driver's exceptions for failures of a server or of the network."""
    return (driver.PostgresError, driver.InterfaceError, driver.InternalClientError, OSError)
