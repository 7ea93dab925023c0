"""Small facts that all workers share, in the one SQLite file.

Guarantee: a value is there until it expires, over restarts; of all who claim a value at the same time
exactly one may make it, and a claim ends with its holder, at the latest at its time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from sqlite3 import Connection

from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.ports.clock import Clock

SQL = load_statements("gossamer.shared", "sqlite.sql")


class SqliteSharedState:
    """A ``SharedState`` over a database."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def get(self, space: str, key: str) -> bytes | None:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        now = self._clock.now()
        return self._db.read_now(lambda conn: _read_value(conn, space, key, now))

    async def get_many(self, space: str, keys: Sequence[str]) -> list[bytes | None]:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        now = self._clock.now()
        return self._db.read_now(lambda conn: [_read_value(conn, space, key, now) for key in keys])

    async def put(self, space: str, key: str, value: bytes, ttl_s: float) -> None:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""

        await self._db.run(lambda conn: _put_value(conn, (space, key), value, self._clock.now(), ttl_s))

    async def compare_and_swap(
        self, space: str, key: str, expected: bytes | None, value: bytes, ttl_s: float
    ) -> bool:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""

        def swap(conn: Connection) -> bool:
            now = self._clock.now()
            if _read_value(conn, space, key, now) != expected:
                return False
            _put_value(conn, (space, key), value, now, ttl_s)
            return True

        return await self._db.run(swap)

    async def update(
        self, space: str, key: str, change: Callable[[bytes | None], bytes], ttl_s: float
    ) -> bytes:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""

        def update(conn: Connection) -> bytes:
            now = self._clock.now()
            value = change(_read_value(conn, space, key, now))
            _put_value(conn, (space, key), value, now, ttl_s)
            return value

        return await self._db.run(update)

    async def claim(self, space: str, key: str, ttl_s: float) -> bool:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""

        def claim(conn: Connection) -> bool:
            now = self._clock.now()
            held = conn.execute(SQL["claimant"], (space, key, now)).fetchone()
            if held is not None and _is_alive(held[0]):
                return False
            conn.execute(SQL["claim_shared"], (space, key, now + ttl_s, os.getpid()))
            return True

        return await self._db.run(claim)


def _read_value(conn: Connection, space: str, key: str, now: float) -> bytes | None:
    row = conn.execute(SQL["get_shared"], (space, key, now)).fetchone()
    return None if row is None else bytes(row[0])


def _put_value(conn: Connection, place: tuple[str, str], value: bytes, now: float, ttl_s: float) -> None:
    conn.execute(SQL["put_shared"], (*place, value, now + ttl_s))
    conn.execute(SQL["sweep_shared"], (now,))


def _is_alive(process: int) -> bool:
    """Whether a process of this machine is there; all who share the file are on it."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
