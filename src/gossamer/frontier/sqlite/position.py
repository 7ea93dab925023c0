"""One request's place in a frontier in SQLite, for a person who asks why it is where it is."""

from __future__ import annotations

from sqlite3 import Connection

from gossamer.core.hosts import FrontierRules
from gossamer.core.position import QueuePosition
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.sqlite.session import FrontierTransaction

SQL = load_statements("gossamer.frontier.sqlite", "position.sql")


async def read_position(db: Database, job: str, fingerprint: int) -> tuple[FrontierRules, QueuePosition]:
    """The rules in force for a job whose frontier exists, and the place of one of its requests."""

    def read(conn: Connection) -> tuple[FrontierRules, QueuePosition]:
        session = FrontierTransaction(conn, job, 0.0)
        row = session.conn.execute(SQL["place"], (session.id, fingerprint)).fetchone()
        return session.rules, QueuePosition() if row is None else QueuePosition(*row)

    return await db.read(read)
