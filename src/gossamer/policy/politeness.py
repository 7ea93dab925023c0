"""When a host may be asked again. Pure: a :class:`HostState` and ``now`` in, a new one out.

A frontier calls :func:`grant` when it hands a request out and :func:`settle` when the lease ends, in
the same transaction as the lease itself; nobody else changes a host. Spacing is GCRA with a burst of
one (ITU-T I.371): ``next_at`` is the earliest next start. A turn that is taken a little late
(``CATCH_UP_SHARE`` of the delay, GCRA's tolerance) does not make the following ones late: the mean rate is
exactly the allowed one, and with one slot no two starts are closer than the rest of the delay. A Crawl-delay
of robots.txt is never caught up: what a site asks for lies between any two starts. Troubles are counted per
*incident*: failures of requests that were started before an incident began belong to it and do not
lengthen its back-off, so 64 requests that fail together count once.
"""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.policy.retry import backoff_s
from gossamer.words.model import HostSignal, HostState, Rules, SignalKind

CATCH_UP_SHARE, KEPT_SHARE = 0.05, 0.95
"""What of a delay may be caught up, and what of it always lies between two starts."""
LATE_SHARE = 0.1
"""A lease that is not started within this share of its host's delay is given back."""
LATE_FLOOR_S = 0.25
"""... but never sooner than this where nothing is crowded by it."""


def delay_in_force(host: HostState, rules: Rules) -> float:
    """Seconds between two starts at this host now.

    The job's fixed delay, else the adaptive one; robots.txt can only make it longer.
    """
    if rules.delay_s is not None:
        delay = rules.delay_s
    else:
        delay = min(max(host.delay_s or rules.initial_delay_s, rules.min_delay_s), rules.max_delay_s)
    return max(delay, host.crawl_delay_s or 0.0)


def may_start(host: HostState, rules: Rules, now: float) -> bool:
    """Whether the host has a free slot, budget left, and its time has come."""
    return host.next_at <= now and has_room(host, rules)


def has_room(host: HostState, rules: Rules) -> bool:
    """Whether the host has a free slot and page budget, whatever the time."""
    if host.in_flight >= rules.per_host:
        return False
    return rules.max_pages_per_host is None or host.pages + host.in_flight < rules.max_pages_per_host


def lost(host: HostState) -> HostState:
    """The host after a lease ran out: its slot is free, its turn is gone.

    The request may have been made or not, so nothing else of the host is known to have changed.
    """
    return replace(host, in_flight=max(host.in_flight - 1, 0))


def is_down(host: HostState, rules: Rules) -> bool:
    """Whether the host has been silent through so many incidents that its requests are given up."""
    return host.silences >= rules.max_silences


def revive(host: HostState) -> HostState:
    """The host after a person retried its dead letters: its troubles are forgotten, its pace is not."""
    return replace(host, incidents=0, silences=0, incident_at=0.0)


def grant(host: HostState, rules: Rules, now: float) -> HostState:
    """The host after one request was handed out at ``now``."""
    delay_s = delay_in_force(host, rules)
    return replace(host, in_flight=host.in_flight + 1, next_at=_turn(host, delay_s, now) + delay_s)


def _turn(host: HostState, delay_s: float, now: float) -> float:
    """From when a turn counts that is taken at ``now``: its own time, if it is not taken too late."""
    late_s = 0.0 if host.crawl_delay_s else delay_s * CATCH_UP_SHARE
    return host.next_at if host.next_at >= now - late_s else now


def start_by(host: HostState, rules: Rules, now: float) -> float:
    """Until when a lease granted at ``now`` may be started without crowding the host's next turn.

    With one slot there is no next turn before this lease ends, so being late crowds nobody.
    """
    delay_s = delay_in_force(host, rules)
    slack_s = delay_s * LATE_SHARE
    slack_s = slack_s if delay_s > 0 and rules.per_host > 1 else max(LATE_FLOOR_S, slack_s)
    return _turn(host, delay_s, now) + slack_s


def settle(
    host: HostState, rules: Rules, signal: HostSignal, *, now: float, is_page: bool, jitter: float
) -> HostState:
    """The host after a lease ended with ``signal``; ``jitter`` in [0, 1) spreads back-offs."""
    host = replace(host, in_flight=max(host.in_flight - 1, 0), pages=host.pages + is_page)
    if signal.robots_read:
        asked = signal.crawl_delay_s
        host = replace(
            host, crawl_delay_s=None if asked is None else min(max(asked, 0.0), rules.crawl_delay_cap_s)
        )
    if signal.kind is SignalKind.UNUSED:
        return _give_turn_back(host, rules, signal, now)
    host = replace(_adapt(host, rules, signal), last_at=max(host.last_at, signal.started_at))
    delay_s = delay_in_force(host, rules)
    if signal.kind is not SignalKind.UNREACHABLE:
        host = replace(host, silences=0)
    if signal.kind in (SignalKind.THROTTLED, SignalKind.UNREACHABLE):
        host = _trouble(host, rules, signal, now, jitter)
    elif signal.kind is SignalKind.OK and signal.started_at >= host.incident_at:
        host = replace(host, incidents=0)
    # The real start corrects the grant's, if it was later than what may be caught up, or the delay has become
    # longer: what lies between two starts is never less than what is always kept of a delay.
    if host.next_at < signal.started_at + delay_s * (1.0 if host.crawl_delay_s else KEPT_SHARE):
        host = replace(host, next_at=signal.started_at + delay_s)
    return host


def _give_turn_back(host: HostState, rules: Rules, signal: HostSignal, now: float) -> HostState:
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


def _adapt(host: HostState, rules: Rules, signal: HostSignal) -> HostState:
    """Follow the response time: half-way to the last latency; a failure never makes the delay shorter."""
    if rules.delay_s is not None or signal.latency_s is None:
        return host
    current = host.delay_s or rules.initial_delay_s
    wanted = (current + signal.latency_s) / 2
    if signal.kind is not SignalKind.OK:
        wanted = max(wanted, current)
    return replace(host, delay_s=min(max(wanted, rules.min_delay_s), rules.max_delay_s))


def _trouble(host: HostState, rules: Rules, signal: HostSignal, now: float, jitter: float) -> HostState:
    """Put the host on hold: for as long as it asks, else for a back-off that doubles per incident."""
    is_new = signal.started_at >= host.incident_at
    if is_new:
        silent = signal.kind is SignalKind.UNREACHABLE
        host = replace(host, incidents=host.incidents + 1, silences=host.silences + silent, incident_at=now)
    if is_down(host, rules):
        return host  # no hold: what still waits for this host is given up without asking it
    if signal.retry_after_s is not None:
        hold = min(max(signal.retry_after_s, 0.0), rules.retry_after_cap_s)
    elif is_new:
        hold = backoff_s(host.incidents, rules, jitter)
    else:
        return host
    until = now + hold
    return replace(host, next_at=max(host.next_at, until), hold_until=max(host.hold_until, until))
