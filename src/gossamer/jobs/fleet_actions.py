"""Actions on proxies and on workers of a fleet."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from gossamer.core.actions import ActionOrder
from gossamer.core.errors import JobBusyError, UsageError
from gossamer.core.shifts import WorkerInfo, WorkerState
from gossamer.core.text import format_count
from gossamer.fleet.worker_orders import give_order
from gossamer.jobs.action_kind import ActionFacts, ActionKind, ActionParts
from gossamer.policy.proxies import ProxyHealth, Quarantine
from gossamer.wiring.backends import Backends
from gossamer.wiring.proxies import change_proxy_health, read_listed, read_proxy_health

REST_S = 3600.0
"""Seconds for which a proxy rests by default."""


# --------------------------------------------------------------------------- workers


async def _find_worker(parts: ActionParts, order: ActionOrder) -> WorkerInfo:
    view = await parts.backends.require_fleet().roster.read_roster()
    found = next((worker for worker in view.workers if worker.id == order.who), None)
    if found is None:
        raise UsageError(f"the fleet has no worker {order.who!r}")
    return found


async def _look_at_worker(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    worker = await _find_worker(parts, order)
    return ActionFacts(
        worker.id, {"worker": worker.id, "state": worker.state.value}, {"state": worker.state.value}
    )


async def _set_worker(state: WorkerState, parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    worker = await _find_worker(parts, order)
    await give_order(parts.backends.requests.shared, worker.id, state)
    return {"worker": worker.id, "state": state.value}


async def _forget_worker(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    """Forget a worker; if it is alive, it registers again with its next beat."""
    worker = await _find_worker(parts, order)
    roster = parts.backends.require_fleet().roster
    await roster.remove_worker(worker.id)
    await roster.notify_supervisor()
    return {"worker": worker.id}


async def adopt_store_here(backends: Backends) -> None:
    """Let the fleet work with this store from now on. Raises ``JobBusyError`` while the other is in use."""
    roster, ours = backends.require_fleet().roster, await backends.read_store()
    view = await roster.read_roster()
    if view.store is not None and view.store.id == ours.id:
        return
    workers = sum(not worker.is_silent(view.at) for worker in view.workers)
    if view.store is not None and (workers or view.leader):
        there = [format_count(workers, "worker")] * bool(workers) + ["a supervisor"] * bool(view.leader)
        raise JobBusyError(
            f"the fleet works with {view.store.place}: {' and '.join(there)} of it "
            f"{'are' if len(there) > 1 or workers > 1 else 'is'} there; end them first"
        )
    await roster.adopt_store(ours)


# --------------------------------------------------------------------------- proxies


async def _look_at_proxy(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    settings = parts.loaded.settings
    listed = await read_listed(settings, parts.backends.clock) if settings.proxies.are_there else ()
    if order.who not in {proxy.name for proxy in listed}:
        raise UsageError(f"the settings list no proxy {order.who!r}")
    asked = [proxy for proxy in listed if proxy.name == order.who]
    (health,) = await read_proxy_health(parts.backends.requests.shared, asked)
    until = _rests_until(health, parts.backends.clock.now())
    return ActionFacts(order.who, {"proxy": order.who, "until": until}, {"quarantined_until": until})


def _rests_until(health: ProxyHealth, now: float) -> float | None:
    whole = health.whole
    return whole.until if whole is not None and not whole.ended_at and whole.until > now else None


async def _change_rest(seconds: float | None, parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    """Let it rest for so long; or let the next request try it out, whatever it was left alone for."""
    now, shared = parts.backends.clock.now(), parts.backends.requests.shared
    if seconds is not None:
        given = order.given.get("seconds")
        seconds = seconds if given is None else given
        if not isinstance(seconds, int | float) or not 0 < seconds <= 366 * 86_400:
            raise UsageError("seconds is a number of seconds, more than 0")
    until = now if seconds is None else now + seconds

    def change(health: ProxyHealth) -> ProxyHealth:
        former = health.whole
        strikes = former.strikes if former is not None else 1
        if seconds is not None:
            return replace(health, whole=Quarantine(strikes=strikes, began_at=now, until=until))
        hosts = {host: _tried_now(quarantine, now) for host, quarantine in health.hosts.items()}
        return replace(health, whole=former and _tried_now(former, now), hosts=hosts)

    await change_proxy_health(shared, parts.backends.clock, order.who, change)
    return {"proxy": order.who, "until": None if seconds is None else until}


def _tried_now(quarantine: Quarantine, now: float) -> Quarantine:
    """Let one request try the proxy from now on."""
    return replace(quarantine, until=min(quarantine.until, now), claimed_until=0.0)


FLEET_ACTIONS = {
    "drain": ActionKind(_look_at_worker, partial(_set_worker, WorkerState.DRAINING)),
    "keep": ActionKind(_look_at_worker, partial(_set_worker, WorkerState.WORKING)),
    "forget": ActionKind(_look_at_worker, _forget_worker),
    "rest": ActionKind(_look_at_proxy, partial(_change_rest, REST_S), takes=("seconds",)),
    "try": ActionKind(_look_at_proxy, partial(_change_rest, None)),
}
"""Actions on workers and proxies."""
