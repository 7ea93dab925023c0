"""One request's place in a frontier in SQLite, for a person who asks why it is where it is."""

from __future__ import annotations

from sqlite3 import Connection

from gossamer.core.hosts import Rules
from gossamer.core.position import Place
from gossamer.drivers.sql import load
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.sqlite.session import Session

SQL = load("gossamer.frontier.sqlite", "position.sql")


async def look(db: Database, job: str, fingerprint: int) -> tuple[Rules, Place]:
    """The rules in force for a job whose frontier exists, and the place of one of its requests."""

    def read(conn: Connection) -> tuple[Rules, Place]:
        session = Session(conn, job, 0.0)
        row = session.conn.execute(SQL["place"], (session.id, fingerprint)).fetchone()
        return session.rules, Place() if row is None else Place(*row)

    return await db.read(read)
