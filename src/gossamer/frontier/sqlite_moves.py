"""How requests move between the states of the SQL frontier. Each function runs inside a transaction.

Everything is done by the batch: a lease or a settling of 64 costs about a dozen statements, whether
10 thousand or a million requests wait, at one host or at a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gossamer.disk.sql import bulk
from gossamer.frontier.codec import unpack
from gossamer.frontier.rulings import (
    EXPIRED,
    ROUND,
    in_turn,
    leases_left,
    state_after,
    state_after_expiry,
)
from gossamer.frontier.sqlite_session import CODES, SQL, Host, Session, as_json
from gossamer.policy import politeness
from gossamer.policy.retry import due_after_expiry
from gossamer.words.lifecycle import JobState, Move, State, after
from gossamer.words.model import BANDS, Entry, HostSignal, Lease, Outcome, Verdict

# --------------------------------------------------------------------------- handing out


def hand_out(s: Session, lane: str, limit: int, ttl_s: float) -> tuple[Lease, ...]:
    """Lease what may start now, within the job's budget."""
    left = leases_left(s.rules, s.pages, s.counts[State.LEASED])
    limit = limit if left is None else min(limit, left)
    if s.state is not JobState.RUNNING or limit <= 0:
        return ()
    hosts = _ready(s, lane, limit)
    if not hosts:
        return ()
    at_once = _load_heads(s, hosts, lane, limit)
    leases: list[Lease] = []
    rows = []
    for host in in_turn(hosts, s.rules, s.now):
        head = host.heads.pop()
        lease = _grant(s, host, head, ttl_s)
        leases.append(lease)
        rows.append((head[2], lease.token, lease.granted_at, lease.start_by, lease.deadline))
        if len(leases) == limit:
            break
        if not host.heads and at_once:
            _load_more(s, host, lane, head, at_once)
    s.bulk("grant", rows)
    s.move(len(leases), State.PENDING, after(State.PENDING, Move.LEASE))
    s.touch(host.id for host in hosts)
    return tuple(leases)


def _ready(s: Session, lane: str, limit: int) -> list[Host]:
    """The first ``limit`` hosts in turn. Each gives at least one request, so these are enough."""
    hosts: list[Host] = []
    for band in range(BANDS):
        room = limit - len(hosts)
        if not room:
            break
        hosts += [s.take_host(row[1:]) for row in s.all("ready", s.id, lane, band, s.now, room)]
    return hosts


def _load_heads(s: Session, hosts: list[Host], lane: str, limit: int) -> int:
    """Load each host's first requests; how many to load when they are used up, 0 if one is enough."""
    spaced = all(politeness.delay_in_force(host.state, s.rules) > 0 for host in hosts)
    # One more than its share, because the next one's band decides when the host comes again.
    per_host = 1 if spaced else min(-(-limit // len(hosts)) + 1, s.rules.per_host)
    by_id = {host.id: host for host in hosts}
    for row in s.all("heads", as_json(list(by_id)), lane, per_host):
        by_id[row[0]].heads.append(row)
    for host in hosts:
        host.heads.sort(key=_place, reverse=True)
    return 0 if spaced else per_host


def _load_more(s: Session, host: Host, lane: str, last: Sequence[Any], count: int) -> None:
    host.heads = s.all("next_heads", host.id, lane, last[1], last[2], count)[::-1]


def _place(row: Sequence[Any]) -> tuple[int, int]:
    band, number = row[1], row[2]
    return band, number


def _grant(s: Session, host: Host, head: Sequence[Any], ttl_s: float) -> Lease:
    fingerprint, due_at, attempts, failures, throttled, expiries, record = head[3:]
    lease = Lease(
        entry=Entry(request=unpack(record), fingerprint=fingerprint, host=host.name, due_at=due_at),
        token=s.next_token,
        granted_at=s.now,
        start_by=politeness.start_by(host.state, s.rules, s.now),
        deadline=s.now + ttl_s,
        attempt=attempts + 1,
        failures=failures,
        throttled=throttled,
        expiries=expiries,
        host_down=politeness.is_down(host.state, s.rules),
    )
    s.next_token += 1
    host.state = politeness.grant(host.state, s.rules, s.now)
    return lease


def next_at(s: Session, lanes: Sequence[str]) -> float | None:
    """When something may happen next: a turn, a delayed request, a deadline."""
    times = [s.one("next_deadline", s.id)[0]] if s.counts[State.LEASED] else []
    if s.state is JobState.RUNNING and leases_left(s.rules, s.pages, s.counts[State.LEASED]) != 0:
        for lane in lanes:
            times.append(s.one("next_turn", s.id, lane)[0])
            if s.counts[State.DELAYED]:
                times.append(s.one("next_due", s.id, lane)[0])
    return min((time for time in times if time is not None), default=None)


# --------------------------------------------------------------------------- coming back by themselves


def promote(s: Session, lane: str) -> None:
    """Delayed requests whose time has come wait for their host's turn again."""
    if not s.counts[State.DELAYED]:
        return
    hosts = [row[0] for row in s.all("come_due", s.id, lane, s.now, ROUND)]
    s.move(len(hosts), State.DELAYED, after(State.DELAYED, Move.COME_DUE))
    s.touch(hosts)


def take_back(s: Session, until: float, limit: int) -> tuple[Lease, ...]:
    """End the leases whose deadline is at or before ``until`` as expired."""
    if not s.counts[State.LEASED]:
        return ()
    rows = s.all("overdue", s.id, until, limit)
    if not rows:
        return ()
    s.load_hosts(row[1] for row in rows)
    leases, lost = [], []
    for row in rows:
        lease = _lease_of(s, row)
        leases.append(lease)
        expiries = lease.expiries + 1
        state = state_after_expiry(expiries, s.rules)
        due_at = due_after_expiry(lease.entry.fingerprint, expiries, s.rules, s.now)
        lost.append((row[0], CODES[state], due_at, s.now, EXPIRED))
        s.move(1, State.LEASED, state)
        host = s.host(row[1])
        host.state = politeness.lost(host.state)
    s.bulk("expire", lost)
    s.touch(row[1] for row in rows)
    return tuple(leases)


def _lease_of(s: Session, row: Sequence[Any]) -> Lease:
    _, host, _, token, granted_at, start_by, deadline, attempts, failures, throttled, expiries = row[:11]
    fingerprint, due_at, record = row[11:]
    return Lease(
        entry=Entry(request=unpack(record), fingerprint=fingerprint, host=s.host(host).name, due_at=due_at),
        token=token,
        granted_at=granted_at,
        start_by=start_by,
        deadline=deadline,
        attempt=attempts + 1,
        failures=failures,
        throttled=throttled,
        expiries=expiries,
    )


# --------------------------------------------------------------------------- ending leases


def held(s: Session, leases: Sequence[Lease]) -> dict[int, Any]:
    """The rows of the leases that are in force, by token."""
    rows = s.all("leased", s.id, as_json([lease.token for lease in leases]))
    fingerprints = {lease.token: lease.entry.fingerprint for lease in leases}
    return {row[0]: row for row in rows if fingerprints[row[0]] == row[3]}


def settle(s: Session, outcomes: Sequence[Outcome], jitter: Callable[[], float]) -> list[bool]:
    """Apply outcomes; ``False`` for those whose lease is not in force. The outlinks come last."""
    states = [state_after(outcome.verdict) for outcome in outcomes]  # refuses before anything changes
    rows = held(s, [outcome.lease for outcome in outcomes])
    s.load_hosts(row[2] for row in rows.values())
    s.touch(row[2] for row in rows.values())
    accepted: list[bool] = []
    done: list[int] = []
    again: list[tuple[Any, ...]] = []
    dead: list[tuple[Any, ...]] = []
    outlinks: list[Entry] = []
    for outcome, state in zip(outcomes, states, strict=True):
        row = rows.pop(outcome.lease.token, None)
        accepted.append(row is not None)
        if row is None:
            continue
        _, number, host, _, attempts, failures, throttled = row
        _signal(s, host, outcome.signal, jitter(), is_page=outcome.is_page)
        s.pages += outcome.is_page
        outlinks += outcome.outlinks
        s.move(1, State.LEASED, state)
        if outcome.verdict is Verdict.RETRY:
            counts = (attempts + 1, failures + outcome.charged, throttled + (not outcome.charged))
            again.append((number, outcome.due_at, *counts, outcome.reason))
        elif state is State.DEAD:
            dead.append((number, attempts + 1, s.now, outcome.reason))
        else:
            done.append(number)
    if done:
        s.all("forget", as_json(done))
    bulk(s.conn, SQL["retry"], again)
    bulk(s.conn, SQL["bury"], dead)
    s.add(outlinks)
    return accepted


def release(
    s: Session, leases: Sequence[Lease], signals: Sequence[HostSignal], jitter: Callable[[], float]
) -> None:
    """Leases given back unstarted."""
    rows = held(s, leases)
    s.load_hosts(row[2] for row in rows.values())
    s.touch(row[2] for row in rows.values())
    numbers = []
    for lease, signal in zip(leases, signals, strict=True):
        row = rows.pop(lease.token, None)
        if row is not None:
            numbers.append(row[1])
            _signal(s, row[2], signal, jitter(), is_page=False)
    s.all("release", as_json(numbers))
    s.move(len(numbers), State.LEASED, after(State.LEASED, Move.RELEASE))


def _signal(s: Session, number: int, signal: HostSignal, jitter: float, *, is_page: bool) -> None:
    host = s.host(number)
    host.state = politeness.settle(host.state, s.rules, signal, now=s.now, is_page=is_page, jitter=jitter)


def extend(s: Session, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
    """New deadlines for the leases that are in force."""
    rows = held(s, leases)
    s.all("extend", s.now + ttl_s, as_json([row[1] for row in rows.values()]))
    return [lease.token in rows for lease in leases]
