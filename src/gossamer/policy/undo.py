"""Undo of actions: the reverse orders, and their time limit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gossamer.core.access import LoggedAction
from gossamer.core.actions import ActionOrder

UNDO = "undo"
"""The kind of an undo's own record."""
UNDO_TAKES_S = 60.0
"""An undo of which nothing is noted after so long has failed."""
UNDO_S = 600.0
"""For so long an action can be undone."""
CANCEL_S = 10.0
"""A job that is to be cancelled is paused for so long before it is."""
UNDO_FOR_S: Mapping[str, float] = {
    "pause": UNDO_S,
    "resume": UNDO_S,
    "cancel": CANCEL_S,
    "limits": UNDO_S,
    "pace": UNDO_S,
    "hold": UNDO_S,
    "release": UNDO_S,
    "skip": 366 * 86_400.0,  # until the job ends
    "take": UNDO_S,
    "drain": UNDO_S,
    "keep": UNDO_S,
    "retry": UNDO_S,
    "drop": UNDO_S,
    "rest": UNDO_S,
    "try": UNDO_S,
    "run": CANCEL_S,
    "enable": UNDO_S,
    "disable": UNDO_S,
}
"""For how long an action can be undone, by its kind; those that are missing have no way back."""


def undo_until(kind: str, now: float) -> float | None:
    """Until when an action that is done now can be undone; ``None``: it cannot."""
    return now + UNDO_FOR_S[kind] if kind in UNDO_FOR_S else None


def find_failed_undos(actions: Iterable[LoggedAction], now: float) -> set[int]:
    """Return the actions marked as undone whose undo failed, or recorded nothing.

    The store, or the process that undoes, may go away before the mark is removed. An undo that began a moment
    ago may still finish.
    """
    listed = list(actions)
    failed = {
        (one.before.get("action"), one.at)
        for one in listed
        if one.kind == UNDO and (one.is_refused or (not one.after and one.at < now - UNDO_TAKES_S))
    }
    return {one.id for one in listed if (one.id, one.undone_at) in failed}


def orders_back(action: LoggedAction, by: str, now: float) -> tuple[ActionOrder, ...]:
    """Return the orders that undo an action, by its record; none if nothing has to be done.

    Each expects that the action's result is still in place: later changes by others stay. After a failed
    attempt to undo it, some orders have already reached their goal.
    """
    if action.is_refused:
        return ()
    found = _ORDERS.get(action.kind, _nothing)(action, now)
    return tuple(
        ActionOrder(kind=kind, by=by, job=action.job, who=who, given=given, expected=expected, goal=goal)
        for kind, who, given, expected, goal in found
    )


_Order = tuple[str, str, dict[str, Any], dict[str, Any], dict[str, Any]]
"""Kind, subject, arguments, expected state, and the state after success."""


def _nothing(_action: LoggedAction, _now: float) -> list[_Order]:
    return []


def _state_back(action: LoggedAction, _now: float) -> list[_Order]:
    """A job that ran runs again, one that was paused, or had ended with work left, is paused."""
    before, after = action.before.get("state"), action.after.get("state")
    if before == after:
        return []
    kinds = {
        "running": ("resume", "running"),
        "paused": ("pause", "paused"),
        "unfinished": ("pause", "paused"),
    }
    if before not in kinds:
        return []
    kind, goal = kinds[before]
    return [(kind, "", {}, {"state": after}, {"state": goal})]


def _limits_back(action: LoggedAction, _now: float) -> list[_Order]:
    """Settings that were changed before have that value again; the others are as the job was begun."""
    former, since = action.before.get("settings", {}), action.after.get("settings", {})
    changed = set(action.before.get("changed", ()))
    orders: list[_Order] = []
    for kind, names in (("limits", former.keys() & changed), ("back", former.keys() - changed)):
        if names:
            given = {name: former[name] for name in sorted(names)}
            orders.append((kind, "", given, {name: since.get(name) for name in given}, given))
    return orders


def _host_back(action: LoggedAction, now: float) -> list[_Order]:
    """Pace, hold and skip as they were."""
    before, after, host = action.before, action.after, str(action.before.get("host", ""))
    orders: list[_Order] = []
    for name in ("set_delay_s", "is_skipped", "hold_until"):
        former, seen = before.get(name), {name: after.get(name)}
        if former == after.get(name):
            continue
        if name == "set_delay_s":
            orders.append(("pace", host, {"delay": former}, seen, {name: former}))
        elif name == "is_skipped":
            orders.append(("skip" if former else "take", host, {}, seen, {name: former}))
        elif former is not None and former > now:
            orders.append(("hold", host, {"until": former}, seen, {name: former}))
        else:
            orders.append(("release", host, {}, seen, {name: None}))
    return orders


def _letters_back(action: LoggedAction, _now: float) -> list[_Order]:
    """Letters that were dropped come back, and of those that were retried the ones that still wait."""
    given = {"of": action.id, "were_dropped": action.kind == "drop", "count": action.after.get("done", 0)}
    return [("bury", "", given, {}, {})]


def _worker_back(action: LoggedAction, _now: float) -> list[_Order]:
    """Return the orders for workers; a worker that already had the state keeps it."""
    if action.before.get("state") == action.after.get("state"):
        return []
    kind = "keep" if action.kind == "drain" else "drain"
    return [(kind, str(action.before.get("worker", "")), {}, {}, {})]


def _proxy_back(action: LoggedAction, now: float) -> list[_Order]:
    """One that rested before rests until the same time again; any other is tried."""
    until, proxy = action.before.get("until"), str(action.before.get("proxy", ""))
    if until is not None and until > now:
        return [("rest", proxy, {"seconds": until - now}, {}, {})]
    return [("try", proxy, {}, {}, {})] if action.kind == "rest" else []


def _schedule_back(action: LoggedAction, _now: float) -> list[_Order]:
    """A crawl that was begun is cancelled; a schedule that was turned on or off is as it was."""
    name, before, after = str(action.before.get("schedule", "")), action.before, action.after
    if action.kind == "run":
        return [("unrun", name, {"job": after.get("job", "")}, {}, {})]
    if before.get("is_on") == after.get("is_on"):
        return []
    seen, goal = {"is_on": after.get("is_on")}, {"is_on": before.get("is_on")}
    return [("enable" if before.get("is_on") else "disable", name, {}, seen, goal)]


_ORDERS = {
    **dict.fromkeys(("pause", "resume", "cancel"), _state_back),
    "limits": _limits_back,
    **dict.fromkeys(("pace", "hold", "release", "skip", "take"), _host_back),
    **dict.fromkeys(("retry", "drop"), _letters_back),
    **dict.fromkeys(("drain", "keep"), _worker_back),
    **dict.fromkeys(("rest", "try"), _proxy_back),
    **dict.fromkeys(("run", "enable", "disable"), _schedule_back),
}
