"""One request's place in a frontier in SQLite, for a person who asks why it is where it is."""

from __future__ import annotations

from sqlite3 import Connection

from gossamer.disk.database import Database
from gossamer.disk.sql import load
from gossamer.frontier.look import Place
from gossamer.frontier.sqlite_session import Session
from gossamer.words.model import Rules

SQL = load("gossamer.frontier", "look.sql")


async def look(db: Database, job: str, fingerprint: int) -> tuple[Rules, Place]:
    """The rules in force for a job whose frontier exists, and the place of one of its requests."""

    def read(conn: Connection) -> tuple[Rules, Place]:
        session = Session(conn, job, 0.0)
        row = session.conn.execute(SQL["place"], (session.id, fingerprint)).fetchone()
        return session.rules, Place() if row is None else Place(*row)

    return await db.read(read)
