"""Changes by a person while a crawl runs: a host's pace or hold, and the rules of all hosts. Pure.

A frontier applies a change in the transaction that stores it, so the next lease follows it. Earlier leases
stay granted.
"""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder, HostState
from gossamer.policy.politeness import delay_in_force, revive_host


def changes_delays(before: FrontierRules, after: FrontierRules) -> bool:
    """Whether by other rules hosts have other turns."""
    return _delays_of(before) != _delays_of(after)


def changes_room(before: FrontierRules, after: FrontierRules) -> bool:
    """Whether by other rules other hosts have room."""
    return _room_of(before) != _room_of(after)


def _room_of(rules: FrontierRules) -> tuple[object, ...]:
    return rules.per_host, rules.max_pages_per_host, rules.domains


def _delays_of(rules: FrontierRules) -> tuple[object, ...]:
    return rules.delay_s, rules.min_delay_s, rules.max_delay_s, rules.initial_delay_s, rules.domains


def move_turn(host: HostState, rules: FrontierRules, now: float) -> HostState:
    """The host after its delay became another one at ``now``: its next turn keeps that distance.

    Doing it twice changes nothing more. A hold stays.
    """
    after_last = host.last_at + delay_in_force(host, rules) if host.last_at else 0.0
    turn = max(min(host.next_at, _soonest(host, rules, now)), after_last, host.hold_until)
    return replace(host, next_at=turn)


def _soonest(host: HostState, rules: FrontierRules, now: float) -> float:
    """Return the earliest next request to a host without a hold: those in flight may have just started."""
    delay_s = delay_in_force(host, rules)
    return now + delay_s if host.in_flight else max(now, host.last_at + delay_s)


def steer_host(host: HostState, order: HostOrder, rules: FrontierRules, now: float) -> HostState:
    """The host after a person's order.

    The time of a hold does not count against the patience with a host in trouble: its troubles are forgotten.
    """
    match order.command:
        case HostCommand.PACE:
            paced = replace(host, is_paced=order.delay_s is not None, delay_s=order.delay_s or 0.0)
            return move_turn(paced, rules, now)
        case HostCommand.HOLD:
            held = replace(revive_host(host), is_held=True, hold_until=order.until)
            return replace(held, next_at=max(min(host.next_at, _soonest(held, rules, now)), order.until))
        case HostCommand.ASK:
            free = replace(host, is_held=False, hold_until=0.0)
            return replace(free, next_at=min(host.next_at, _soonest(free, rules, now)))
        case HostCommand.SKIP:
            return replace(host, is_skipped=True)
        case HostCommand.TAKE:
            return replace(host, is_skipped=False)


def order_back(before: HostState, order: HostOrder, now: float) -> HostOrder | None:
    """Return the order that undoes another, by the host's state before it; ``None`` if none is needed."""
    match order.command:
        case HostCommand.PACE:
            return HostOrder(command=HostCommand.PACE, delay_s=before.delay_s if before.is_paced else None)
        case HostCommand.HOLD | HostCommand.ASK if before.hold_until > now:
            return HostOrder(command=HostCommand.HOLD, until=before.hold_until)
        case HostCommand.HOLD:
            return HostOrder(command=HostCommand.ASK)
        case HostCommand.ASK:
            return None
        case HostCommand.SKIP:
            return None if before.is_skipped else HostOrder(command=HostCommand.TAKE)
        case HostCommand.TAKE:
            return HostOrder(command=HostCommand.SKIP) if before.is_skipped else None
