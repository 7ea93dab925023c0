"""Looking into a frontier in SQLite: listings that do not wait for the writer, and a person's decisions."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from sqlite3 import Connection
from typing import Any

from gossamer.core.hosts import FrontierRules, HostOrder, HostState
from gossamer.core.jobs import (
    DeadLetter,
    DeadLetterFilter,
    HostReport,
    KnownRequest,
    LetterCounts,
    LetterPlace,
    LetterRows,
)
from gossamer.core.lifecycle import (
    JobCommand,
    RequestState,
    RequestTransition,
    next_job_state,
    next_state,
)
from gossamer.core.position import QueuePosition
from gossamer.core.requests import Entry
from gossamer.drivers.sql import load_statements
from gossamer.frontier.codec import pack_request, read_entry
from gossamer.frontier.sqlite.hosts import as_json, report_of
from gossamer.frontier.sqlite.moves import forget_requests
from gossamer.frontier.sqlite.session import CODES, FrontierTransaction, lane_key
from gossamer.frontier.transitions import LETTERS, best_wanted, latest_known, raised_request
from gossamer.policy import politeness, steering
from gossamer.policy.urls import again_twin_of

SQL = load_statements("gossamer.frontier.sqlite", "admin.sql")
_STATES = {code: state for state, code in CODES.items()}


def find_request(conn: Connection, job: str, fingerprint: int, now: float) -> KnownRequest | None:
    """Return the facts about a fingerprint."""
    again = _find_recorded(conn, job, again_twin_of(fingerprint), now)
    return latest_known(again, _find_recorded(conn, job, fingerprint, now))


def _find_recorded(conn: Connection, job: str, fingerprint: int, now: float) -> KnownRequest | None:
    row = conn.execute(SQL["find"], (job, fingerprint)).fetchone()
    if row is None:
        return None
    code, host, number, due_at, attempts, reason, record, state, pace, request = row
    if code is None:
        return KnownRequest(state=RequestState.DONE)
    return KnownRequest(
        state=_STATES[code],
        entry=read_entry(record, number, host, due_at),
        due_at=due_at,
        attempts=attempts,
        reason=reason,
        host=report_of(host, state, pace, now),
        place=_find_place(conn, _STATES[code], request),
    )


def _find_place(conn: Connection, state: RequestState, request: int) -> QueuePosition:
    """Return a request's place, as far as its state has one."""
    if state is RequestState.DELAYED:
        return QueuePosition()
    row = conn.execute(SQL[f"place_{state}"], (request,)).fetchone()
    if row is None:  # it moved on between the two looks
        return QueuePosition()
    if state is RequestState.LEASED:
        return QueuePosition(granted_at=row[0], deadline=row[1])
    if state is RequestState.DEAD:
        return QueuePosition(died_at=row[0], number=request)
    return QueuePosition(ahead=row[0])


def raise_requests(s: FrontierTransaction, entries: Sequence[Entry]) -> int:
    """Give waiting requests a higher priority, with the values that come with it."""
    wanted = best_wanted(entries)
    rows = s.conn.execute(SQL["waiting"], (s.id, as_json(sorted(wanted)))).fetchall()
    s.hosts.load_by_id(s.conn, {row[2] for row in rows})
    count, queued = 0, []
    for recorded, number, host, lane, rank, fingerprint, record, due_at, is_pending in rows:
        name = s.hosts[host].name
        waiting = read_entry(record, fingerprint, name, due_at)
        request = None if waiting.unreadable else raised_request(waiting.request, wanted[recorded].request)
        if request is None:
            continue
        count += 1
        if is_pending:
            s.conn.execute(SQL["unqueue"], (host, lane, rank, number))
            s.hosts.touch_host(host).count_waiting(lane, rank, -1)
            queued.append((host, lane, request.rank, number))
        else:
            s.conn.execute(SQL["rank_delayed"], (request.rank, s.id, lane, due_at, number))
        s.conn.execute(SQL["raise_entry"], (request.rank, pack_request(request, name), number))
    s.enqueue_requests(queued)
    return count


def busiest_hosts(conn: Connection, job: str, limit: int, now: float) -> list[HostReport]:
    """Return the hosts with most pending requests."""
    rows = conn.execute(SQL["hosts"], (job, limit))
    return [
        HostReport(host=name, pending=pending, state=report_of(name, state, pace, now))
        for name, pending, state, pace in rows
    ]


def read_rules(conn: Connection, job: str) -> FrontierRules:
    """Return the rules in force."""
    return FrontierTransaction(conn, job, 0.0).rules


def find_host(conn: Connection, job: str, name: str, now: float) -> HostReport | None:
    """Return a host by its name."""
    row = conn.execute(SQL["host"], (job, name)).fetchone()
    if row is None:
        return None
    pending, state, pace = row
    return HostReport(host=name, pending=pending, state=report_of(name, state, pace, now))


def steer_host(s: FrontierTransaction, name: str, order: HostOrder) -> HostState | None:
    """Carry out a person's order; the host as it was before."""
    known = s.hosts.find_host(s.conn, name)
    if known is None:
        return None
    before, host = known.report, s.hosts.touch_host(known.id)
    host.state = steering.steer_host(host.state, order, s.rules, s.now)
    return before


def dead_letters(conn: Connection, job: str, which: DeadLetterFilter, limit: int) -> list[DeadLetter]:
    """Dead letters, oldest first."""
    return [_letter_of(row) for row in _select_letters(conn, "dead", job, which, limit)]


def page_letters(
    conn: Connection, job: str, which: DeadLetterFilter, limit: int, before: LetterPlace | None
) -> LetterRows:
    """Dead letters older than a place, newest first."""
    place = before or (inf, 0)
    conditions = _conditions_of(which, "newest")
    sql = SQL["letters"].replace(":which", " ".join(conditions))
    rows = conn.execute(sql, (job, *place, LETTERS, *conditions.values(), limit + 1)).fetchall()
    letters = tuple(_letter_of(row) for row in rows[:limit])
    if len(rows) > limit:
        return LetterRows(letters=letters, next_before=(letters[-1].died_at, letters[-1].id))
    below = conn.execute(SQL["letter_below"], (job, *place, LETTERS - 1)).fetchone()
    return LetterRows(letters=letters, next_before=below)


def count_letters(conn: Connection, job: str, which: DeadLetterFilter) -> LetterCounts:
    """Return how many of the newest dead letters fit, by their reasons."""
    conditions = _conditions_of(which, "newest")
    sql = SQL["count_letters"].replace(":which", " ".join(conditions))
    found = conn.execute(sql, (job, LETTERS, *conditions.values())).fetchall()
    is_all = conn.execute(SQL["letter_below"], (job, inf, 0, LETTERS)).fetchone() is None
    return LetterCounts(by_reason=dict(found), is_all=is_all)


def _letter_of(row: Sequence[Any]) -> DeadLetter:
    number, host, fingerprint, due_at, reason, attempts, died_at, record = row
    return DeadLetter(
        id=number,
        entry=read_entry(record, fingerprint, host, due_at),
        reason=reason,
        attempts=attempts,
        died_at=died_at,
    )


def revive_letters(s: FrontierTransaction, job: str, which: DeadLetterFilter) -> int:
    """Dead letters wait again, their counts at zero; a finished job runs again."""
    rows = _select_letters(s.conn, "chosen", job, which)
    if not rows:
        return 0
    listed = as_json([row[3] for row in rows])
    s.conn.execute(SQL["raise"], (listed,))
    s.conn.execute(SQL["start_anew"], (listed,))
    numbers = {row[0] for row in rows}
    s.hosts.load_by_id(s.conn, numbers)
    for number in numbers:
        host = s.hosts.touch_host(number)
        host.state = politeness.revive_host(host.state)
    s.begin_waiting((number, s.now) for number in numbers)
    s.enqueue_requests(rows)
    s.count_move(len(rows), RequestState.DEAD, next_state(RequestState.DEAD, RequestTransition.REVIVE))
    s.state = next_job_state(s.state, JobCommand.REOPEN)
    return len(rows)


def drop_letters(s: FrontierTransaction, job: str, which: DeadLetterFilter) -> int:
    """Dead letters are forgotten; their fingerprints stay known."""
    numbers = [row[3] for row in _select_letters(s.conn, "chosen", job, which)]
    s.conn.execute(SQL["raise"], (as_json(numbers),))
    forget_requests(s, numbers)
    s.count_move(len(numbers), RequestState.DEAD, next_state(RequestState.DEAD, RequestTransition.DROP))
    return len(numbers)


def bury_letters(s: FrontierTransaction, letters: Sequence[DeadLetter], *, were_dropped: bool) -> int:
    """Letters that were revived and wait, or that were dropped, are dead letters again."""
    named = {letter.id: letter for letter in letters}
    listed = as_json(sorted(named))
    if were_dropped:
        numbers = [row[0] for row in s.conn.execute(SQL["forgotten"], (s.id, listed))]
        _restore_entries(s, [named[number] for number in numbers])
        before = RequestState.DONE
    else:
        rows = s.conn.execute(SQL["take_out"], (s.id, listed)).fetchall()
        s.hosts.load_by_id(s.conn, {row[0] for row in rows})
        for host, lane, rank, _ in rows:
            s.hosts.touch_host(host).count_waiting(lane, rank, -1)
        numbers, before = [row[3] for row in rows], RequestState.PENDING
    buried = [named[number] for number in numbers]
    s.execute_many("try", [(one.id, one.entry.due_at, one.attempts, 0, 0, 0, one.reason) for one in buried])
    s.execute_many("bury", [(one.id, s.id, one.died_at) for one in buried])
    s.count_move(len(buried), before, next_state(before, RequestTransition.BURY))
    return len(buried)


def _restore_entries(s: FrontierTransaction, letters: Sequence[DeadLetter]) -> None:
    """The requests of letters that were dropped, under their old numbers."""
    hosts, _ = s.hosts.find_or_add(s.conn, list(dict.fromkeys(one.entry.host for one in letters)))
    rows = [
        (
            one.id,
            hosts[one.entry.host].id,
            lane_key(one.entry.request.lane),
            one.entry.request.rank,
            one.entry.fingerprint,
            pack_request(one.entry.request, one.entry.host),
        )
        for one in letters
    ]
    s.execute_many("admit", rows)


def _select_letters(
    conn: Connection, statement: str, job: str, which: DeadLetterFilter, *more: Any
) -> Sequence[Any]:
    asked = _conditions_of(which, "dead")
    sql = SQL[statement].replace(":which", " ".join(asked))
    return conn.execute(sql, (job, *asked.values(), *more)).fetchall()


def _conditions_of(which: DeadLetterFilter, letters: str) -> dict[str, Any]:
    """Return the conditions of a filter, with their values; ``letters`` is the table that they are in."""
    conditions = {
        "AND trial.reason = ?": which.reason,
        "AND host.name = ?": which.host,
        f"AND {letters}.died_at < ?": which.older_than,
        "AND entry.id IN (SELECT value FROM json_each(?))": as_json(which.ids) if which.ids else None,
        f"AND instr(lower({SQL['url']}), ?) > 0": which.text.lower() or None,
    }
    return {text: value for text, value in conditions.items() if value is not None}
