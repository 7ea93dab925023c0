"""The one SQLite file: a writer thread with group commit, a reader and a checkpointer beside it.

Guarantee: a call returns after its ``COMMIT`` and not before; a call that fails has changed nothing;
calls of one group commit together, yet one that fails does not harm the others. Why a thread of its
own: SQLite works without the interpreter lock, so storing overlaps with fetching and parsing, and
one commit serves all that waited meanwhile.

Functions handed over get a connection inside a transaction. They must be re-runnable (no effects
outside the connection and ``Database.memory``): when one of a group fails, the group is rolled back, the
memory cleared, and each is run singly.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, TypeVar

from gossamer.core.errors import StorageError
from gossamer.drivers.sqlite.checkpointer import LOG_LIMIT, Checkpointer
from gossamer.drivers.sqlite.errors import translate_error
from gossamer.drivers.sqlite.schema import migrate_schema

T = TypeVar("T")
Fn = Callable[[sqlite3.Connection], T]

GROUP = 64
"""Calls in one commit at most: bounds how long a single transaction holds the file."""


CACHES_KIB = (32768, 8192, 1024)
"""Pages that the writer, the reader and the checkpointer hold in memory, at most."""


STEPS = 20_000
"""SQLite's virtual machine steps between two checks of a read's time limit: about a millisecond."""
TURN_S = 0.0003
"""Between two tries to become the one process that writes, in seconds."""


class _DatabaseCall:
    """One function on its way to a thread, and where its result goes."""

    __slots__ = ("error", "fn", "future", "loop", "value")

    def __init__(self, fn: Fn[Any], future: Any, loop: asyncio.AbstractEventLoop | None) -> None:
        self.fn = fn
        self.future: Any = future  # of asyncio with a loop, of concurrent.futures without
        self.loop = loop
        self.value: Any = None
        self.error: BaseException | None = None

    def resolve_future(self) -> None:
        if self.future.done():  # the caller was cancelled meanwhile
            return
        if self.error is None:
            self.future.set_result(self.value)
        else:
            self.future.set_exception(self.error)


class Database:
    """One SQLite file, opened and brought to today's schema.

    ``synchronous="normal"`` survives the death of any process; a power cut may undo the last commits
    (never tear them). ``"full"`` survives that too, at one fsync per commit. ``read_limit_s``: a ``read``
    that takes longer is stopped, with a ``StorageError``.
    Raises :class:`StorageError` or :class:`SchemaVersionError` when the file cannot be used.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        synchronous: Literal["normal", "full"] = "normal",
        busy_timeout_s: float = 10.0,
        read_limit_s: float | None = None,
    ) -> None:
        self.path = Path(path)
        self._read_limit_s = read_limit_s
        self._synchronous = synchronous
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.Lock()
        self._closed = False
        self._outstanding = 0
        self.memory: dict[Any, Any] = {}
        """Values that functions given to :meth:`run` keep for later ones. It is emptied whenever it may be
        wrong: after another connection has written, or a call was rolled back."""
        self._glancer: sqlite3.Connection | None = None  # opened when it is needed
        self._version = -1  # of the file, while ``memory`` is right
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"{self.path.parent}: cannot be created as a data directory ({error.strerror}); "
                "name another with --data"
            ) from error
        writer, reader, copier = self._open_all()
        self._checkpointer = Checkpointer(copier)
        self._writer = _DatabaseThread("writer", writer, self._write_group, self._count_done)
        self._reader = _DatabaseThread("reader", reader, self._read_group, self._count_done)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"open, {self._outstanding} outstanding"
        return f"<Database {self.path} ({state})>"

    @property
    def outstanding_calls(self) -> int:
        """Calls whose results have not reached their callers: work that no event loop can see.

        A loop of virtual time must not advance while this is not zero.
        """
        return self._outstanding

    async def run(self, fn: Fn[T]) -> T:
        """Return ``fn``'s result, once it is committed. If ``fn`` raises, nothing is changed."""
        return await self._call_async(self._writer, fn)

    async def read(self, fn: Fn[T]) -> T:
        """Return ``fn``'s result from a snapshot of committed data; does not wait for the writer."""
        return await self._call_async(self._reader, fn)

    def read_now(self, fn: Fn[T]) -> T:
        """Return ``fn``'s result at once, in the caller's thread: for a row or two of committed data.

        Handing those to the reader costs more than reading them, and beside a busy parser much more.
        """
        with self._lock:
            if self._closed:
                raise StorageError(f"{self.path}: the database is closed")
            try:
                if self._glancer is None:
                    self._glancer = self._open_connection(CACHES_KIB[-1])
                    self._glancer.execute("PRAGMA query_only = ON")
                return fn(self._glancer)
            except sqlite3.Error as error:
                raise self._for_caller(error) from error

    def run_sync(self, fn: Fn[T]) -> T:
        """Return the same as :meth:`run` for callers without an event loop; blocks."""
        future: Future[T] = Future()
        self._hand_over(self._writer, _DatabaseCall(fn, future, None))
        return future.result()

    def close(self) -> None:
        """Finish the queued calls, then close the file. Idempotent; blocks."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._glancer is not None:
                self._glancer.close()
        # One after the other: two that close at once both leave the log for the other one to copy back.
        self._checkpointer.close()
        for thread in (self._reader, self._writer):
            thread.queue.put(None)
            thread.join()

    async def _call_async(self, thread: _DatabaseThread, fn: Fn[T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._hand_over(thread, _DatabaseCall(fn, future, loop))
        return await future

    def _hand_over(self, thread: _DatabaseThread, call: _DatabaseCall) -> None:
        with self._lock:
            if self._closed:
                raise StorageError(f"{self.path}: the database is closed")
            self._outstanding += 1
            thread.queue.put(call)

    def _count_done(self, count: int) -> None:
        with self._lock:
            self._outstanding -= count

    # ----------------------------------------------------------------- connections

    def _open_all(self) -> list[sqlite3.Connection]:
        opened: list[sqlite3.Connection] = []
        try:
            opened += [self._open_connection(cache_kib) for cache_kib in CACHES_KIB]
            self._set_up(opened[0])
            opened[1].execute("PRAGMA query_only = ON")
            opened[2].execute("PRAGMA schema_version").fetchall()
        except BaseException as error:
            for conn in opened:
                conn.close()
            if isinstance(error, sqlite3.Error):
                raise translate_error(error, self.path) from error
            raise
        return opened

    def _open_connection(self, cache_kib: int) -> sqlite3.Connection:
        conn = sqlite3.connect(
            self.path,
            timeout=self._busy_timeout_s,
            isolation_level=None,  # transactions are begun by hand
            check_same_thread=False,  # opened here, so that errors meet the caller; used by one thread
            cached_statements=1024,
        )
        conn.execute(f"PRAGMA cache_size = -{cache_kib}")
        conn.execute("PRAGMA temp_store = MEMORY")
        return conn

    def _set_up(self, conn: sqlite3.Connection) -> None:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute(f"PRAGMA synchronous = {self._synchronous}")
        conn.execute(f"PRAGMA wal_autocheckpoint = {LOG_LIMIT}")
        conn.execute("PRAGMA secure_delete = OFF")  # Debian's default overwrites every deleted row
        migrate_schema(conn, self.path)
        conn.execute("PRAGMA busy_timeout = 0")  # from here on, `_begin` waits

    # ----------------------------------------------------------------- the work of the threads

    def _write_group(self, conn: sqlite3.Connection, calls: Sequence[_DatabaseCall]) -> None:
        try:
            with _in_transaction(conn, self._begin_writing):
                self._check_memory(conn)
                for call in calls:
                    call.value = call.fn(conn)
            self._checkpointer.report_changes(conn.total_changes)
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who must not wait forever
            self.memory.clear()
            if len(calls) > 1 and not _is_busy(error):
                for call in calls:
                    self._write_group(conn, [call])
                return
            for call in calls:
                call.error = self._for_caller(error)

    def _begin_writing(self, conn: sqlite3.Connection) -> None:
        """Take the file's one lock for writers, waiting for other processes as long as may be.

        SQLite itself waits in steps of up to 100 ms; writers of one crawl take turns of about one.
        """
        end = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                conn.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() >= end:
                    raise
                time.sleep(TURN_S)
            else:
                return

    def _check_memory(self, conn: sqlite3.Connection) -> None:
        version = conn.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:  # another connection has written
            self.memory.clear()
            self._version = version

    def _read_group(self, conn: sqlite3.Connection, calls: Sequence[_DatabaseCall]) -> None:
        for call in calls:
            try:
                with _in_transaction(conn, _begin_reading), self._limited(conn):
                    call.value = call.fn(conn)
            except BaseException as error:  # noqa: BLE001 - as above
                call.error = self._for_caller(error)

    @contextmanager
    def _limited(self, conn: sqlite3.Connection) -> Iterator[None]:
        """Stop a read that exceeds its time limit."""
        if self._read_limit_s is None:
            yield
            return
        end = time.monotonic() + self._read_limit_s
        conn.set_progress_handler(lambda: time.monotonic() > end, STEPS)
        try:
            yield
        finally:
            conn.set_progress_handler(None, 0)

    def _for_caller(self, error: BaseException) -> BaseException:
        if not isinstance(error, sqlite3.Error):
            return error
        mended = translate_error(error, self.path)
        mended.__cause__ = error
        return mended


class _DatabaseThread(threading.Thread):
    """Takes all waiting calls from its queue, and reports each group at once.

    A daemon: a program that forgets to close still ends, and loses only calls that were not yet reported as
    stored.
    """

    def __init__(
        self,
        name: str,
        conn: sqlite3.Connection,
        work: Callable[[sqlite3.Connection, Sequence[_DatabaseCall]], None],
        done: Callable[[int], None],
    ) -> None:
        super().__init__(name=f"gossamer-sqlite-{name}", daemon=True)
        self.queue: SimpleQueue[_DatabaseCall | None] = SimpleQueue()
        self._conn = conn
        self._work = work
        self._done_hook = done
        self.start()

    def run(self) -> None:
        try:
            going = True
            while going:
                calls, going = self._next_group()
                if calls:
                    self._work(self._conn, calls)
                    self._report_results(calls)
        finally:
            self._conn.close()

    def _next_group(self) -> tuple[list[_DatabaseCall], bool]:
        calls: list[_DatabaseCall] = []
        call = self.queue.get()
        while call is not None:
            calls.append(call)
            if len(calls) == GROUP or self.queue.empty():
                return calls, True
            call = self.queue.get()
        return calls, False

    def _report_results(self, calls: Sequence[_DatabaseCall]) -> None:
        """Wake each loop once, however many of its calls are done."""
        by_loop: dict[asyncio.AbstractEventLoop | None, list[_DatabaseCall]] = {}
        for call in calls:
            by_loop.setdefault(call.loop, []).append(call)
        for loop, done in by_loop.items():
            if loop is None:
                self._resolve_calls(done)
                continue
            try:
                loop.call_soon_threadsafe(self._resolve_calls, done)
            except RuntimeError:  # the loop is closed: no task waits any more
                self._done_hook(len(done))

    def _resolve_calls(self, calls: Sequence[_DatabaseCall]) -> None:
        self._done_hook(len(calls))
        for call in calls:
            call.resolve_future()


def _begin_reading(conn: sqlite3.Connection) -> None:
    conn.execute("BEGIN")


@contextmanager
def _in_transaction(conn: sqlite3.Connection, begin: Callable[[sqlite3.Connection], None]) -> Iterator[None]:
    begin(conn)
    try:
        yield
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:  # SQLite rolls back by itself on some errors
            with suppress(sqlite3.Error):
                conn.execute("ROLLBACK")
        raise


def _is_busy(error: BaseException) -> bool:
    """Whether the file was locked: then no call ran, and trying each would only wait longer."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF == sqlite3.SQLITE_BUSY
