"""One request's place in a frontier in SQLite, for a person who asks why it is where it is."""

from __future__ import annotations

from sqlite3 import Connection
from typing import NamedTuple

from gossamer.disk.database import Database
from gossamer.disk.sql import load
from gossamer.frontier.sqlite_session import Session
from gossamer.words.model import Rules

SQL = load("gossamer.frontier", "look.sql")


class Place(NamedTuple):
    """Where a request stands. Times are zero where they do not apply."""

    granted_at: float = 0.0  # LEASED: since when
    deadline: float = 0.0  # LEASED: until when
    died_at: float = 0.0  # DEAD: since when
    number: int = 0  # DEAD: the id of its letter
    ahead: int = 0  # PENDING: requests of the same host that go first


async def look(db: Database, job: str, fingerprint: int) -> tuple[Rules, Place]:
    """The rules in force for a job whose frontier exists, and the place of one of its requests."""

    def read(conn: Connection) -> tuple[Rules, Place]:
        session = Session(conn, job, 0.0)
        row = session.conn.execute(SQL["place"], (session.id, fingerprint)).fetchone()
        return session.rules, Place() if row is None else Place(*row)

    return await db.read(read)
