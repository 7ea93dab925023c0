"""Actions on one host of a job: set its pace, hold, release or skip it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gossamer.core.actions import ActionOrder
from gossamer.core.errors import UsageError
from gossamer.core.hosts import HostCommand, HostOrder, HostState
from gossamer.jobs.action_kind import ActionFacts, ActionKind, ActionParts
from gossamer.jobs.hosts import LONGEST_HOLD_S, steer_host

MOST = 2**53
"""Larger numbers are not the same in every place."""
Reader = Callable[[dict[str, Any], float], HostOrder]


async def _look_at_host(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    job = await parts.find_job(order)
    report = await parts.backends.open_frontier(job).find_host(order.who)
    if report is None:
        raise UsageError(f"{job.id} has no host {order.who!r}")
    seen = _seen_of(report.state, parts.backends.clock.now())
    return ActionFacts(order.who, {"host": order.who, **seen}, seen)


def _seen_of(state: HostState, now: float) -> dict[str, Any]:
    """Return the values of a host as people see them."""
    return {
        "set_delay_s": state.delay_s if state.is_paced else None,
        "hold_until": state.hold_until if state.hold_until > now else None,
        "is_skipped": state.is_skipped,
    }


def _steering(read: Reader, *takes: str) -> ActionKind:
    async def act(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
        now, job = parts.backends.clock.now(), await parts.find_job(order)
        await steer_host(parts.backends, job, order.who, read(order.given, now))
        report = await parts.backends.open_frontier(job).find_host(order.who)
        return {"host": order.who, **(_seen_of(report.state, now) if report else {})}

    return ActionKind(_look_at_host, act, takes=takes)


def _plain(command: HostCommand) -> Reader:
    return lambda _given, _now: HostOrder(command=command)


def _pace(given: dict[str, Any], _now: float) -> HostOrder:
    if "delay" not in given:
        raise UsageError("say which delay: a number of seconds, or null for that of the job")
    return HostOrder(command=HostCommand.PACE, delay_s=_number(given.get("delay"), "delay"))


def _hold(given: dict[str, Any], now: float) -> HostOrder:
    """Return a hold until a time, for some seconds, or (without either) until it is released."""
    until, seconds = _number(given.get("until"), "until"), _number(given.get("seconds"), "seconds")
    if until is None:
        until = now + (LONGEST_HOLD_S if seconds is None else seconds)
    return HostOrder(command=HostCommand.HOLD, until=until)


def _number(value: Any, name: str) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) <= MOST:  # NaN is not
        return float(value)
    raise UsageError(f"{name} is a number, or null")


HOST_ACTIONS = {
    "pace": _steering(_pace, "delay"),
    "hold": _steering(_hold, "until", "seconds"),
    "release": _steering(_plain(HostCommand.ASK)),
    "skip": _steering(_plain(HostCommand.SKIP)),
    "take": _steering(_plain(HostCommand.TAKE)),
}
"""Actions on a host."""
