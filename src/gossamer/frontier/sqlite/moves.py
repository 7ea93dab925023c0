"""How requests move between the states of the SQL frontier. Each function runs inside a transaction.

Everything is done by the batch: a lease or a settling of 64 costs about a dozen statements, whether
10 thousand or a million requests wait, at one host or at a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

from gossamer.core.hosts import HostSignal
from gossamer.core.jobs import earliest_time
from gossamer.core.lifecycle import JobState, RequestState, RequestTransition, next_state
from gossamer.core.requests import Entry, Lease
from gossamer.core.results import Outcome, Verdict
from gossamer.frontier.codec import pack_request, read_entry
from gossamer.frontier.sqlite.hosts import SqliteHost, as_json
from gossamer.frontier.sqlite.session import FrontierTransaction, Untried, lane_key, lane_name, of_lines
from gossamer.frontier.transitions import (
    EXPIRED,
    ROUND,
    in_turn,
    leases_left,
    request_after,
    state_after,
    state_after_expiry,
)
from gossamer.policy import politeness
from gossamer.policy.page_failures import asks_known, blames_pages
from gossamer.policy.retry import due_after_expiry

HEAD_COLUMNS = 6
"""The minimum number of columns in a line of the statement ``heads``."""

Head = tuple[int, int, int, Sequence[Any], Sequence[str]]
"""A request that may be handed out: rank, id, fingerprint, earlier tries, parts of its record."""

# --------------------------------------------------------------------------- handing out


def hand_out(
    s: FrontierTransaction, lane: str, limit: int, ttl_s: float, owner: str, *, jitter: Callable[[], float]
) -> tuple[Lease, ...]:
    """Lease due requests to ``owner``, within the job's budget."""
    left = left_in(s, lane)
    limit = limit if left is None else min(limit, left)
    if s.state is not JobState.RUNNING or limit <= 0:
        return ()
    hosts = _ready_hosts(s, lane, limit)
    if not hosts:
        return ()
    at_once = _load_heads(s, hosts, lane, limit)
    leases: list[Lease] = []
    rows: list[tuple[Any, ...]] = []
    for host in in_turn(hosts, s.rules, s.now):
        head = host.heads.pop()
        lease = _grant_lease(s, host, head, ttl_s, jitter() if s.rules.random_delay else 0.5)
        leases.append(lease)
        times = (lease.granted_at, lease.start_by, lease.deadline)
        keys = (s.id, lease.token, head[1], host.id, lane, head[0], head[2])
        rows.append((*keys, *times, *head[3][1:], owner))
        if len(leases) == limit:
            break
        if not host.heads and at_once:
            more = _read_heads(s, "next_heads", host.id, lane, head[0], head[1], at_once)
            host.heads = more.get(host.id, [])
    _store_grants(s, rows, ttl_s)
    for host in hosts:
        host.heads = []
    return tuple(leases)


def left_in(s: FrontierTransaction, lane: str) -> int | None:
    """Return how many leases the job's page budget still allows in a lane; ``None``: any number."""
    return leases_left(s.rules, s.pages, s.counts[RequestState.LEASED], lane_name(lane))


def _store_grants(s: FrontierTransaction, rows: Sequence[tuple[Any, ...]], ttl_s: float) -> None:
    s.execute_many("grant", rows)
    for _, _, _, number, lane, rank, *_ in rows:
        s.hosts.touch_host(number).count_waiting(lane, rank, -1)
    s.count_move(len(rows), RequestState.PENDING, next_state(RequestState.PENDING, RequestTransition.LEASE))
    s.first_deadline = min(s.first_deadline, s.now + ttl_s)


def _ready_hosts(s: FrontierTransaction, lane: str, limit: int) -> list[SqliteHost]:
    """Return the first ``limit`` hosts in turn. Each gives at least one request, so these are enough."""
    while (found := s.fetch_one("ready", s.id, lane, s.now, limit)[0]) is not None:
        numbers = [int(number) for number in found.split("\n")]
        s.hosts.load_by_id(s.conn, numbers)
        hosts = [s.hosts[number] for number in numbers]
        missed = [host for host in hosts if not politeness.may_start(host.state, s.rules, s.now)]
        if not missed:
            return hosts
        for host in missed:  # another job has taken its turn: it gets a later one, and others come forward
            s.hosts.touch_host(host.id).miss_turn(s.rules, s.now)
        s.hosts.save(s.conn)
    return []


def _load_heads(s: FrontierTransaction, hosts: list[SqliteHost], lane: str, limit: int) -> int:
    """Load each host's first requests; how many to load when they are used up, 0 if one is enough."""
    spaced = all(politeness.delay_in_force(host.state, s.rules) > 0 for host in hosts)
    # One more than its share, because the next one's band decides when the host comes again.
    most = 1 if spaced else max(politeness.slots_for(host.state, s.rules) for host in hosts)
    per_host = min(-(-limit // len(hosts)) + 1, most)
    heads = _read_heads(s, "heads", as_json([host.id for host in hosts]), lane, per_host)
    for host in hosts:
        host.heads = heads.get(host.id, [])
    return 0 if spaced else per_host


def _read_heads(s: FrontierTransaction, statement: str, *values: Any) -> dict[int, list[Head]]:
    """By host, the last one first."""
    lines = list(of_lines(s.fetch_one(statement, *values)[0]))
    if min(map(len, lines), default=HEAD_COLUMNS) < HEAD_COLUMNS:
        lines = _mend_lines(lines)
    tried = [int(line[2]) for line in lines if line[4] == "1"]
    trials = {row[0]: row[1:] for row in s.fetch_all("trials", as_json(tried))} if tried else {}
    found: dict[int, list[Head]] = {}
    for host, rank, number, fingerprint, _, *parts in lines:
        request = int(number)
        head = (int(rank), request, int(fingerprint), trials.get(request, Untried), parts)
        found.setdefault(int(host), []).append(head)
    for heads in found.values():
        heads.sort(reverse=True)
    return found


def _mend_lines(lines: Iterable[list[str]]) -> list[list[str]]:
    """Return the lines of requests; any other line belongs to a damaged one, which then has no record."""
    found: list[list[str]] = []
    for line in lines:
        if len(line) < HEAD_COLUMNS and found:
            found[-1] = [*found[-1][: HEAD_COLUMNS - 1], ""]
        else:
            found.append(line)
    return found


def _grant_lease(s: FrontierTransaction, host: SqliteHost, head: Head, ttl_s: float, jitter: float) -> Lease:
    _, _, fingerprint, (due_at, attempts, failures, throttled, expiries), parts = head
    lease = Lease(
        entry=read_entry(parts, fingerprint, host.name, due_at),
        token=s.next_token,
        granted_at=s.now,
        start_by=politeness.start_by(host.state, s.rules, s.now),
        deadline=s.now + ttl_s,
        attempt=attempts + 1,
        failures=failures,
        throttled=throttled,
        expiries=expiries,
        host_down=politeness.is_down(host.state, s.rules),
        host_answered=host.state.answered_at > 0,
        host_pause_s=politeness.next_pause_s(host.state, s.rules),
        is_probe=host.state.troubled_since > 0,
        host_silent=politeness.is_silent(host.state),
        is_suspect=politeness.is_suspect(host.state),
        blames_pages=blames_pages(host.state),
        host_unheard=host.state.pages == 0,
        asks_known=asks_known(host.state, attempts),
    )
    s.next_token += 1
    host.take_turn(s.rules, s.now, lease.deadline, jitter)
    return lease


def next_times(s: FrontierTransaction, lane: str) -> tuple[float | None, float | None]:
    """When the first lease ends by itself, and when the next request of a lane may be leased."""
    deadline, due, turn = s.fetch_one("next_times", s.id, lane)
    s.first_deadline = inf if deadline is None else deadline
    s.first_due[lane] = inf if due is None else due
    may_grant = s.state is JobState.RUNNING and left_in(s, lane) != 0
    return deadline, earliest_time((due, turn)) if may_grant else None


# --------------------------------------------------------------------------- coming back by themselves


def promote_due(s: FrontierTransaction, lane: str) -> None:
    """Delayed requests whose time has come wait for their host's turn again."""
    if not s.counts[RequestState.DELAYED] or s.first_due.get(lane, -inf) > s.now:
        return
    rows = s.fetch_all("come_due", s.id, lane, s.now, ROUND)
    if not rows:
        return
    s.fetch_all("undelay", s.id, lane, rows[-1][3], as_json([row[0] for row in rows]))
    s.hosts.load_by_id(s.conn, {row[1] for row in rows})
    s.begin_waiting({host: due_at for _, host, _, due_at in reversed(rows)}.items())
    s.enqueue_requests([(host, lane, rank, number) for number, host, rank, _ in rows])
    s.count_move(
        len(rows), RequestState.DELAYED, next_state(RequestState.DELAYED, RequestTransition.COME_DUE)
    )


def take_back(
    s: FrontierTransaction, until: float, limit: int, owner: str | None = None
) -> tuple[Lease, ...]:
    """End the leases whose deadline is at or before ``until`` as expired: those of ``owner``, or all."""
    if not s.counts[RequestState.LEASED] or s.first_deadline > until:
        return ()
    rows = s.fetch_all("overdue", s.id, until, limit, owner)
    s.hosts.load_by_id(s.conn, {row[1] for row in rows})
    s.fetch_all("expire", s.id, as_json([row[4] for row in rows]))
    leases, tried, delayed, dead = [], [], [], []
    for row in rows:
        number, host, lane, rank = row[:4]
        lease = _lease_of(s, row)
        leases.append(lease)
        expiries = lease.expiries + 1
        state = state_after_expiry(expiries, s.rules)
        due_at = due_after_expiry(lease.entry.fingerprint, expiries, s.rules, s.now)
        tried.append((number, due_at, lease.attempt, lease.failures, lease.throttled, expiries, EXPIRED))
        if state is RequestState.DEAD:
            dead.append((number, s.id, s.now))
        else:
            delayed.append((lane, due_at, number, host, rank))
        s.count_move(1, RequestState.LEASED, state)
        known = s.hosts.touch_host(host)
        known.state = politeness.expire_lease(known.state)
    s.execute_many("try", tried)
    s.execute_many("bury", dead)
    s.delay_requests(delayed)
    return tuple(leases)


def _lease_of(s: FrontierTransaction, row: Sequence[Any]) -> Lease:
    token, fingerprint, granted_at, start_by, deadline, attempts, failures, throttled, expiries = row[4:13]
    due_at, record = row[13:]
    host = s.hosts[row[1]].name
    return Lease(
        entry=read_entry(record, fingerprint, host, due_at),
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


def _end_leases(s: FrontierTransaction, leases: Sequence[Lease]) -> dict[int, Any]:
    """End the leases that are in force; their rows by token. Their hosts are loaded."""
    rows = s.fetch_all("end", s.id, *_lease_keys(leases))
    s.hosts.load_by_id(s.conn, {row[2] for row in rows})
    return {row[0]: row for row in rows}


def _lease_keys(leases: Sequence[Lease]) -> tuple[bytes, bytes]:
    keys = [(lease.token, lease.entry.fingerprint) for lease in leases]
    return as_json([token for token, _ in keys]), as_json(keys)


def settle_outcomes(
    s: FrontierTransaction, outcomes: Sequence[Outcome], jitter: Callable[[], float]
) -> list[bool]:
    """Apply outcomes; ``False`` for those whose lease is not in force. The outlinks come last."""
    states = [state_after(outcome) for outcome in outcomes]  # refuses before anything changes
    rows = _end_leases(s, [outcome.lease for outcome in outcomes])
    accepted: list[bool] = []
    done: list[int] = []
    tried: list[tuple[Any, ...]] = []
    delayed: list[tuple[str, float, int, int, int]] = []
    given_up: list[tuple[int, int, str]] = []
    rerouted: list[tuple[Outcome, Any]] = []
    outlinks: list[Entry] = []
    for outcome, state in zip(outcomes, states, strict=True):
        row = rows.pop(outcome.lease.token, None)
        accepted.append(row is not None)
        if row is None:
            continue
        _, number, host, lane, rank, attempts, failures, throttled, expiries = row
        mark = politeness.mark_of(outcome.lease.entry.fingerprint, attempts)
        failed = failures + throttled
        _apply_signal(s, host, outcome.signal, jitter(), mark, is_page=outcome.is_page, failed=failed)
        s.pages += outcome.is_page
        outlinks += outcome.outlinks
        s.count_move(1, RequestState.LEASED, state)
        if outcome.verdict is Verdict.RETRY:
            is_later = not (outcome.charged or outcome.is_excused)
            counts = (attempts + 1, failures + outcome.charged, throttled + is_later, expiries)
            tried.append((number, outcome.due_at, *counts, outcome.reason))
            delayed.append((lane, outcome.due_at, number, host, rank))
        elif outcome.verdict is Verdict.REROUTED:
            rerouted.append((outcome, row))
        elif state is RequestState.DEAD:
            given_up.append((number, attempts + 1, outcome.reason))
        else:
            done.append(number)
    forget_requests(s, done)
    s.execute_many("try", tried)
    s.delay_requests(delayed)
    _reroute_requests(s, rerouted)
    s.execute_many("give_up", given_up)
    s.execute_many("bury", [(number, s.id, s.now) for number, _, _ in given_up])
    s.add_entries(outlinks)
    return accepted


def _reroute_requests(s: FrontierTransaction, rerouted: Sequence[tuple[Outcome, Any]]) -> None:
    """Requests that wait elsewhere from now on; a try was made, and counts against nothing."""
    tried, waiting = [], []
    for outcome, (_, number, host, _, _, attempts, failures, throttled, expiries) in rerouted:
        entry, request = outcome.lease.entry, request_after(outcome)
        lane, rank = lane_key(request.lane), request.rank
        s.fetch_all("reroute", lane, rank, pack_request(request, s.hosts[host].name), number)
        tried.append((number, entry.due_at, attempts + 1, failures, throttled, expiries, outcome.reason))
        waiting.append((host, lane, rank, number))
    s.execute_many("try", tried)
    s.enqueue_requests(waiting)


def forget_requests(s: FrontierTransaction, numbers: Sequence[int]) -> None:
    """Requests that are done; their fingerprints stay known."""
    if numbers:
        listed = as_json(sorted(numbers))
        s.fetch_all("forget", listed)
        s.fetch_all("forget_trials", listed)


def release_leases(
    s: FrontierTransaction,
    leases: Sequence[Lease],
    signals: Sequence[HostSignal],
    jitter: Callable[[], float],
) -> None:
    """Leases given back unstarted."""
    rows = _end_leases(s, leases)
    back = []
    for lease, signal in zip(leases, signals, strict=True):
        row = rows.pop(lease.token, None)
        if row is not None:
            _, number, host, lane, rank, attempts = row[:6]
            back.append((host, lane, rank, number))
            mark = politeness.mark_of(lease.entry.fingerprint, attempts)
            _apply_signal(s, host, signal, jitter(), mark, is_page=False, failed=None)
    s.enqueue_requests(back)
    s.count_move(len(back), RequestState.LEASED, next_state(RequestState.LEASED, RequestTransition.RELEASE))


def _apply_signal(
    s: FrontierTransaction,
    number: int,
    signal: HostSignal,
    jitter: float,
    mark: int,
    *,
    is_page: bool,
    failed: int | None,
) -> None:
    host = s.hosts.touch_host(number)
    host.state = politeness.settle_lease(
        host.state,
        s.rules,
        signal,
        now=s.now,
        is_page=is_page,
        jitter=jitter,
        mark=mark,
        failed=failed,
    )


def extend_leases(s: FrontierTransaction, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
    """New deadlines for the leases that are in force."""
    rows = s.fetch_all("held", s.id, *_lease_keys(leases))
    held = {row[0] for row in rows}
    deadline = s.now + ttl_s
    s.hosts.load_by_id(s.conn, {row[1] for row in rows})
    for _, number in rows:
        s.hosts.touch_host(number).keep_lease(deadline)
    s.fetch_all("extend", deadline, s.id, as_json(sorted(held)))
    s.first_deadline = min(s.first_deadline, deadline)
    return [lease.token in held for lease in leases]
