"""Looking into a frontier in SQLite: listings that do not wait for the writer, and a person's decisions."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any

from gossamer.core.jobs import DeadFilter, DeadLetter, Found, HostReport
from gossamer.core.lifecycle import JobState, Move, State, after
from gossamer.drivers.sql import load
from gossamer.frontier.codec import read_entry
from gossamer.frontier.sqlite.hosts import as_json, state_of
from gossamer.frontier.sqlite.moves import forget
from gossamer.frontier.sqlite.session import CODES, Session
from gossamer.policy import politeness

SQL = load("gossamer.frontier.sqlite", "admin.sql")
_STATES = {code: state for state, code in CODES.items()}


def find(conn: Connection, job: str, fingerprint: int) -> Found | None:
    """What is known of a fingerprint."""
    row = conn.execute(SQL["find"], (job, fingerprint)).fetchone()
    if row is None:
        return None
    code, host, number, due_at, attempts, reason, record, state = row
    if code is None:
        return Found(state=State.DONE)
    return Found(
        state=_STATES[code],
        entry=read_entry(record, number, host, due_at),
        due_at=due_at,
        attempts=attempts,
        reason=reason,
        host=state_of(state),
    )


def hosts(conn: Connection, job: str, limit: int) -> list[HostReport]:
    """The hosts with most pending requests."""
    rows = conn.execute(SQL["hosts"], (job, limit))
    return [HostReport(host=name, pending=pending, state=state_of(state)) for name, pending, state in rows]


def dead(conn: Connection, job: str, which: DeadFilter, limit: int) -> list[DeadLetter]:
    """Dead letters, oldest first."""
    return [
        DeadLetter(
            id=number,
            entry=read_entry(record, fingerprint, host, due_at),
            reason=reason,
            attempts=attempts,
            died_at=died_at,
        )
        for number, host, fingerprint, due_at, reason, attempts, died_at, record in _select(
            conn, "dead", job, which, limit
        )
    ]


def revive(s: Session, job: str, which: DeadFilter) -> int:
    """Dead letters wait again, their counts at zero; a finished job runs again."""
    rows = _select(s.conn, "chosen", job, which)
    if not rows:
        return 0
    listed = as_json([row[3] for row in rows])
    s.conn.execute(SQL["raise"], (listed,))
    s.conn.execute(SQL["start_anew"], (listed,))
    numbers = {row[0] for row in rows}
    s.hosts.load(s.conn, numbers)
    for number in numbers:
        host = s.hosts.touch(number)
        host.state = politeness.revive(host.state)
    s.enqueue(rows)
    s.move(len(rows), State.DEAD, after(State.DEAD, Move.REVIVE))
    if s.state is JobState.FINISHED:
        s.state = JobState.RUNNING
    return len(rows)


def drop(s: Session, job: str, which: DeadFilter) -> int:
    """Dead letters are forgotten; their fingerprints stay known."""
    numbers = [row[3] for row in _select(s.conn, "chosen", job, which)]
    s.conn.execute(SQL["raise"], (as_json(numbers),))
    forget(s, numbers)
    s.move(len(numbers), State.DEAD, after(State.DEAD, Move.DROP))
    return len(numbers)


def _select(conn: Connection, statement: str, job: str, which: DeadFilter, *more: Any) -> Sequence[Any]:
    conditions = {
        "AND trial.reason = ?": which.reason,
        "AND host.name = ?": which.host,
        "AND dead.died_at < ?": which.older_than,
        "AND dead.request IN (SELECT value FROM json_each(?))": as_json(which.ids) if which.ids else None,
    }
    asked = {text: value for text, value in conditions.items() if value is not None}
    sql = SQL[statement].replace(":which", " ".join(asked))
    return conn.execute(sql, (job, *asked.values(), *more)).fetchall()
