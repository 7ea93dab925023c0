"""When a host may be asked again. Pure: a :class:`HostState` and ``now`` in, a new one out.

A frontier calls :func:`grant_lease` when it hands a request out and :func:`settle_lease` when the lease ends,
in the same transaction as the lease; no other code changes a host. Spacing is GCRA with a burst of
one (ITU-T I.371): ``next_at`` is the earliest next start. A turn that is taken a little late
(``CATCH_UP_SHARE`` of the delay, GCRA's tolerance) does not make the following ones late: the mean rate is
exactly the allowed one, and with one slot no two starts are closer than the rest of the delay. A Crawl-delay
of robots.txt is never caught up: any two starts are that far apart.

A host is in *trouble* from the first failure that may be its own (no answer, "not so fast") until the next
answer that is neither. While it is, one request at a time asks it again (a probe), with pauses that grow.
Troubles are counted per *incident*: failures of requests that were started before an incident began belong
to it, so 64 requests that fail together count once. When a request that was started before the host's latest
answer gets none, that says something of its page, not of the host.

A host that throttles gets a pace of its own, by additive increase and multiplicative decrease as in TCP (Chiu
and Jain 1989, RFC 5681): half as fast with every trouble that begins, and with every success faster by the
same step. Beyond the rate at which it throttled last its limit is sought faster (as RFC 9438 does), until the
pace is the configured one.

In a queue without a host (``HostState.is_free``) requests wait in order, and only a person can hold them:
they may be leased all at once, and their results are no evidence.
"""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind, HostState
from gossamer.policy.page_failures import blame_page, blames_pages, clear_pages, is_pages_own
from gossamer.policy.retry import LONGEST_PAUSE_S, growing_pause_s

CATCH_UP_SHARE, KEPT_SHARE = 0.05, 0.95
"""The share of a delay that may be caught up, and the share that always separates two starts."""
LATE_SHARE = 0.1
"""A lease that is not started within this share of its host's delay is given back."""
LATE_LEAST_S = 0.02
"""... but never sooner than this: a worker that is busy with other pages begins none more exactly."""
LATE_FLOOR_S = 0.25
"""... nor than this where nothing is crowded by it."""
SLOW_DOWN = 2.0
"""By how much a host that throttles is asked more slowly."""
SPEED_UP_STEPS = 64
"""In how many successes the rate grows by the rate at which it throttled last."""
PROBING = 0.95
"""... and by what share of the pace after each success beyond that."""
SHORTEST_PACE_S = 0.001
"""A host that may be asked this often is no longer throttling."""
SHORTEST_SILENCE_S, LEAST_CAP_S = 0.05, 0.1
"""Least first pause of a silent host, and least upper limit of its pauses, in seconds."""
SEVERAL, NO_WITNESS = 0, 1
"""Witnesses of a host's trouble other than a single request: several, or only requests that fail anyway."""
UNBOUNDED = 2**30
"""Slots of a queue without a host, and seconds within which its leases may start."""
UNASKED_S = 3600.0
"""From this time on without a request, the time does not count against the patience with the host."""


def delay_in_force(host: HostState, rules: FrontierRules) -> float:
    """Seconds between two starts at this host now.

    The job's fixed delay, else the adaptive one; robots.txt and a host that throttles only make it longer.
    """
    if host.is_free:
        return 0.0
    return max(_own_delay(host, rules), host.crawl_delay_s or 0.0, host.pace_s)


def is_delay_set(host: HostState, rules: FrontierRules) -> bool:
    """Whether the operator asks for a delay, so that it follows nothing."""
    return host.is_paced or host.own_delay_s is not None or rules.delay_s is not None


def _own_delay(host: HostState, rules: FrontierRules) -> float:
    """Return the configured delay of this host, else that of all hosts."""
    if host.is_paced:
        return host.delay_s
    if host.own_delay_s is not None:
        return host.own_delay_s
    if rules.delay_s is not None:
        return rules.delay_s
    return min(max(host.delay_s or rules.initial_delay_s, rules.min_delay_s), rules.max_delay_s)


def may_start(host: HostState, rules: FrontierRules, now: float) -> bool:
    """Whether the host has a free slot, budget left, and its time has come."""
    return max(host.next_at, host.look_at) <= now and has_room(host, rules)


def has_room(host: HostState, rules: FrontierRules) -> bool:
    """Whether the host has a free slot and page budget, and is not skipped, whatever the time."""
    if host.is_skipped or host.in_flight + host.taken >= slots_for(host, rules):
        return False
    if rules.max_pages_per_host is None or host.is_free:
        return True
    return host.pages + host.in_flight < rules.max_pages_per_host


def turn_of(host: HostState, rules: FrontierRules) -> float | None:
    """Return when to check the host next; ``None``: not before the job's own state changes.

    Slots of other jobs do not count: their release is not announced.
    """
    if not has_room(replace(host, taken=0) if host.taken else host, rules):
        return None
    return max(host.next_at, host.look_at)


def slots_for(host: HostState, rules: FrontierRules) -> int:
    """Requests that may be in flight at the host at once: while it is in trouble, one that asks again."""
    if host.is_free:
        return UNBOUNDED
    return 1 if host.troubled_since else slots_of(host, rules)


def slots_of(host: HostState, rules: FrontierRules) -> int:
    """Requests that the job allows at the host at once while it is well."""
    return rules.per_host if host.own_slots is None else host.own_slots


def expire_lease(host: HostState) -> HostState:
    """The host after a lease ran out: its slot is free, its turn is gone.

    The request may have been made or not, so nothing else of the host is known to have changed.
    """
    return replace(host, in_flight=max(host.in_flight - 1, 0))


def is_down(host: HostState, rules: FrontierRules) -> bool:
    """Whether the host has been in trouble for so long that its requests are given up."""
    if host.answered_at:
        return host.troubled_since > 0 and host.incident_at - host.troubled_since >= rules.host_patience_s
    return host.silences >= rules.max_silences


def next_pause_s(host: HostState, rules: FrontierRules) -> float:
    """Most seconds that the host is left alone if its next request fails and asks for no time."""
    delay_s = delay_in_force(host, rules)
    if not host.troubled_since:
        return delay_s * SLOW_DOWN
    return max(_pause_s(host, rules, host.incidents + 1, 1.0), delay_s)


def _pause_s(host: HostState, rules: FrontierRules, incidents: int, jitter: float) -> float:
    """Return a host's pause: it begins with the back-off if the host is silent, with its delay if it refuses.

    Pauses grow even without a back-off of requests, so that a host in trouble is spared. In a replay, which
    delays nothing (``max_throttled`` is 0), the minimum does not apply.
    """
    least_s, least_cap_s = (SHORTEST_SILENCE_S, LEAST_CAP_S) if rules.max_throttled else (0.0, 0.0)
    if host.silences and not (incidents == 1 and blames_pages(host)):
        base_s = max(rules.backoff_base_s, least_s)
    else:
        base_s = max(delay_in_force(host, rules), SHORTEST_PACE_S)
    cap_s = min(max(rules.backoff_cap_s, least_cap_s), LONGEST_PAUSE_S)
    return growing_pause_s(incidents, base_s, cap_s, jitter)


def is_silent(host: HostState) -> bool:
    """Whether the host's trouble is that it does not answer; a refusal is an answer."""
    return host.troubled_since > 0 and host.silences > 0


def mark_of(fingerprint: int, attempts: int) -> int:
    """Return the mark by which a host remembers the request that met its trouble.

    A request that failed twice before is not a witness against its host.
    """
    return NO_WITNESS if attempts > 1 else max(fingerprint & 0xFFFFFFFF, NO_WITNESS + 1)


def is_suspect(host: HostState) -> bool:
    """Whether the host's trouble may be that of single requests: fewer than two witnesses have met it."""
    return host.troubled_since > 0 and host.troubled_by != SEVERAL


def begin_waiting(host: HostState, now: float) -> HostState:
    """The host when something begins to wait for it, and nothing did before."""
    return replace(host, waiting_since=now)


def count_startable(host: HostState, rules: FrontierRules, waiting: int, now: float) -> int:
    """How many of the requests that wait for the host may start now."""
    if not may_start(host, rules, now):
        return 0
    free = 1 if delay_in_force(host, rules) > 0 else slots_for(host, rules) - host.in_flight - host.taken
    if rules.max_pages_per_host is not None and not host.is_free:
        free = min(free, rules.max_pages_per_host - host.pages - host.in_flight)
    return min(waiting, free)


def ready_since(host: HostState) -> float:
    """Since when a host that may be asked could have been: it was its turn, with a free slot and work."""
    return max(host.next_at, host.look_at, host.waiting_since, host.answered_at, host.incident_at)


def revive_host(host: HostState) -> HostState:
    """The host after a person retried its dead letters: its troubles are forgotten, its pace is not."""
    return replace(host, incidents=0, silences=0, incident_at=0.0, troubled_since=0.0, troubled_by=0)


def grant_lease(host: HostState, rules: FrontierRules, now: float, jitter: float = 0.5) -> HostState:
    """The host after one request was handed out at ``now``; ``jitter`` as for :func:`draw_delay`."""
    start = _turn_start(host, delay_in_force(host, rules), now)
    return replace(host, in_flight=host.in_flight + 1, next_at=start + draw_delay(host, rules, jitter))


def draw_delay(host: HostState, rules: FrontierRules, jitter: float) -> float:
    """Return the seconds from a turn to the next one: the current delay, or a random one around it.

    ``jitter`` in [0, 1) spreads the configured delay over 0.5 to 1.5 times its length, which keeps its mean;
    the delay that the host demands is never undercut.
    """
    if not rules.random_delay or host.is_free:
        return delay_in_force(host, rules)
    return max(_own_delay(host, rules) * (0.5 + jitter), host.crawl_delay_s or 0.0, host.pace_s)


def _turn_start(host: HostState, delay_s: float, now: float) -> float:
    """From when a turn counts that is taken at ``now``: its own time, if it is not taken too late."""
    late_s = 0.0 if host.crawl_delay_s else delay_s * CATCH_UP_SHARE
    return host.next_at if host.next_at >= now - late_s else now


def start_by(host: HostState, rules: FrontierRules, now: float) -> float:
    """Return until when a lease granted at ``now`` may start without crowding the host's next turn.

    With one slot the next turn begins after this lease ends, so a late start crowds none.
    """
    if host.is_free:
        return now + UNBOUNDED
    delay_s = delay_in_force(host, rules)
    is_found = delay_s <= host.pace_s  # found by probing, not demanded
    is_alone = delay_s <= 0 or slots_of(host, rules) == 1 or is_found
    slack_s = max(LATE_FLOOR_S if is_alone else LATE_LEAST_S, delay_s * LATE_SHARE)
    return _turn_start(host, delay_s, now) + slack_s


def settle_lease(
    host: HostState,
    rules: FrontierRules,
    signal: HostSignal,
    *,
    now: float,
    is_page: bool,
    jitter: float,
    mark: int,
    failed: int | None = 0,
) -> HostState:
    """The host after a lease ended with ``signal``.

    ``jitter`` in [0, 1) spreads back-offs, ``mark`` (:func:`mark_of`) says which request it was, ``failed``
    how often that had failed before; ``None``: another URL was requested in its place.
    """
    if host.is_free:
        return expire_lease(host)
    is_used = signal.kind is not HostSignalKind.UNUSED
    last_at = max(host.last_at, signal.started_at) if is_used else host.last_at
    host = replace(host, in_flight=max(host.in_flight - 1, 0), pages=host.pages + is_page, last_at=last_at)
    if signal.robots_read:
        asked = signal.crawl_delay_s
        host = replace(
            host, crawl_delay_s=None if asked is None else min(max(asked, 0.0), rules.crawl_delay_cap_s)
        )
    if not is_used:
        return _give_turn_back(host, rules, signal, now)
    host = _adapt_delay(host, rules, signal)
    is_answer = signal.kind in (HostSignalKind.OK, HostSignalKind.FAULT)
    if is_answer:
        host = _record_answer(clear_pages(host, signal, failed), rules, signal, now)
    elif is_pages_own(host := blame_page(host, failed), signal, failed):
        host = _pass_over(host, rules, signal, now)
    elif signal.kind is HostSignalKind.UNREACHABLE and host.answered_at > signal.started_at:
        if signal.started_at >= host.incident_at:
            host = replace(_slow_down(host, rules, signal), incident_at=now)
    else:
        host = _put_on_hold(host, rules, signal, now=now, jitter=jitter, mark=mark, failed=failed)
    # The real start corrects the grant's, if it was later than may be caught up, or the delay has become
    # longer: two starts are never closer than the share of a delay that is always kept.
    delay_s = draw_delay(host, rules, 0.0)
    if host.next_at < signal.started_at + delay_s * (1.0 if host.crawl_delay_s else KEPT_SHARE):
        host = replace(host, next_at=signal.started_at + delay_s)
    return host


def _give_turn_back(host: HostState, rules: FrontierRules, signal: HostSignal, now: float) -> HostState:
    """No request was made: the next one need not wait for this one's turn.

    With other leases of the host out, a later turn may be built upon this one, and it is just lost.
    ``retry_after_s`` asks to come back later (another worker is at the host's robots.txt).
    """
    delay_s = delay_in_force(host, rules)
    if signal.retry_after_s is not None:
        wait_s = min(max(signal.retry_after_s, 0.0), rules.retry_after_cap_s)
        return replace(host, next_at=max(host.next_at, now + wait_s))
    if host.in_flight:
        return host
    earliest = max(host.last_at + delay_s if host.last_at else 0.0, host.hold_until)
    return replace(host, next_at=max(host.next_at - delay_s, earliest))


def _adapt_delay(host: HostState, rules: FrontierRules, signal: HostSignal) -> HostState:
    """Follow the response time: half-way to the last latency; a failure never makes the delay shorter."""
    if is_delay_set(host, rules) or signal.latency_s is None:
        return host
    current = host.delay_s or rules.initial_delay_s
    wanted = (current + signal.latency_s) / 2
    if signal.kind is not HostSignalKind.OK:
        wanted = max(wanted, current)
    return replace(host, delay_s=min(max(wanted, rules.min_delay_s), rules.max_delay_s))


def _record_answer(host: HostState, rules: FrontierRules, signal: HostSignal, now: float) -> HostState:
    """An answer to a request that was started since the latest incident ends the trouble."""
    if signal.started_at < host.incident_at:
        return replace(host, answered_at=now)
    if host.pace_s and signal.kind is HostSignalKind.OK:
        host = _speed_up(host, rules)
    return replace(host, answered_at=now, incidents=0, silences=0, troubled_since=0.0, troubled_by=0)


def _pass_over(host: HostState, rules: FrontierRules, signal: HostSignal, now: float) -> HostState:
    """The host after a failure of one of its pages, by which it had been slowed down for nothing."""
    if host.pace_s:
        pace_s = host.pace_s / SLOW_DOWN
        is_over = pace_s <= max(_own_delay(host, rules), SHORTEST_PACE_S)
        host = replace(host, pace_s=0.0 if is_over else pace_s, limit_s=host.limit_s / SLOW_DOWN)
    return replace(host, answered_at=now) if signal.kind is HostSignalKind.THROTTLED else host


def _speed_up(host: HostState, rules: FrontierRules) -> HostState:
    """Asked faster: by equal steps of the rate up to where it throttled last; beyond that by a share."""
    if host.pace_s > host.limit_s:
        step_s = host.limit_s * SPEED_UP_STEPS
        pace_s = host.pace_s * step_s / (host.pace_s + step_s)
    else:
        pace_s = host.pace_s * PROBING
    is_over = pace_s <= max(_own_delay(host, rules), SHORTEST_PACE_S)
    return replace(host, pace_s=0.0 if is_over else pace_s)


def _slow_down(host: HostState, rules: FrontierRules, signal: HostSignal) -> HostState:
    """Asked more slowly than now: by the delay, or where there is none, by as many as answer side by side."""
    side_by_side_s = (signal.latency_s or 0.0) / (host.in_flight + 1)
    limit_s = max(delay_in_force(host, rules), side_by_side_s, SHORTEST_PACE_S)
    longest_s = max(rules.max_delay_s, _own_delay(host, rules) * SLOW_DOWN)
    return replace(host, pace_s=min(limit_s * SLOW_DOWN, longest_s), limit_s=limit_s)


def _put_on_hold(
    host: HostState,
    rules: FrontierRules,
    signal: HostSignal,
    *,
    now: float,
    jitter: float,
    mark: int,
    failed: int | None,
) -> HostState:
    """Put the host on hold: for the time it demands, else for a pause that doubles per incident.

    A host that repeatedly demands zero seconds (``Retry-After: 0``, a slow clock) also gets the pauses.
    """
    is_silent = signal.kind is HostSignalKind.UNREACHABLE
    is_new = signal.started_at >= host.incident_at
    if not is_silent:
        host = replace(host, answered_at=now, silences=0)
    if is_new:
        host = _add_incident(host, rules, signal, now=now, mark=mark, failed=failed)
    else:
        host = replace(host, troubled_by=_add_witness(host.troubled_by, mark))
    if is_down(host, rules):
        return host  # no hold: what still waits for this host is given up without asking it
    if signal.retry_after_s is not None:
        hold = min(max(signal.retry_after_s, 0.0), rules.retry_after_cap_s)
        if is_new and host.incidents > 1 and rules.max_throttled:
            hold = max(hold, _pause_s(host, rules, host.incidents, jitter))
    elif is_new:
        hold = _pause_s(host, rules, host.incidents, jitter)
    else:
        return host
    until = now + hold
    return replace(host, next_at=max(host.next_at, until), hold_until=max(host.hold_until, until))


def _add_witness(troubled_by: int, mark: int) -> int:
    """Return the witnesses of the trouble, with one more request."""
    if mark in (NO_WITNESS, troubled_by):
        return troubled_by
    return mark if troubled_by == NO_WITNESS else SEVERAL


def _add_incident(
    host: HostState, rules: FrontierRules, signal: HostSignal, *, now: float, mark: int, failed: int | None
) -> HostState:
    """One trouble more. The first refusal of several slows down; the pauses between the others grow.

    That of a page which has failed before, right after an answer, tells of the page and not of the pace.
    """
    is_proof = bool(failed) and host.blamed > 0
    if signal.kind is HostSignalKind.THROTTLED and not host.incidents and not is_proof:
        host = _slow_down(host, rules, signal)
    since, troubled_by = host.troubled_since, host.troubled_by
    if since:
        unasked_s = signal.started_at - max(host.hold_until, host.incident_at)
        since += unasked_s if unasked_s > UNASKED_S else 0.0
        troubled_by = _add_witness(troubled_by, mark)
    return replace(
        host,
        incidents=host.incidents + 1,
        silences=host.silences + (signal.kind is HostSignalKind.UNREACHABLE),
        incident_at=now,
        troubled_since=since or now,
        troubled_by=troubled_by if since else mark,
    )
