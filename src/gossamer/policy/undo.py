"""What undoes what, and for how long. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.core.access import LoggedAction
from gossamer.core.actions import ActionOrder

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
}
"""For how long an action can be undone, by its kind; those that are missing have no way back."""


def undo_until(kind: str, now: float) -> float | None:
    """Until when an action that is done now can be undone; ``None``: it cannot."""
    return now + UNDO_FOR_S[kind] if kind in UNDO_FOR_S else None


def orders_back(action: LoggedAction, by: str, now: float) -> tuple[ActionOrder, ...]:
    """What undoes an action, by what was noted of it; nothing where nothing has to be done.

    Each expects that the action's own result is still there: what somebody else has done since stays.
    """
    if action.is_refused:
        return ()
    found = _ORDERS.get(action.kind, _nothing)(action, now)
    return tuple(
        ActionOrder(kind=kind, by=by, job=action.job, who=who, given=given, expected=expected)
        for kind, who, given, expected in found
    )


_Order = tuple[str, str, dict[str, Any], dict[str, Any]]
"""Kind, who it is about, what goes with it, what is expected."""


def _nothing(_action: LoggedAction, _now: float) -> list[_Order]:
    return []


def _state_back(action: LoggedAction, _now: float) -> list[_Order]:
    """A job that ran runs again, one that was paused, or had ended with work left, is paused."""
    before, after = action.before.get("state"), action.after.get("state")
    if before == after:
        return []
    kinds = {"running": "resume", "paused": "pause", "unfinished": "pause"}
    return [(kinds[str(before)], "", {}, {"state": after})] if before in kinds else []


def _limits_back(action: LoggedAction, _now: float) -> list[_Order]:
    """Settings that were changed before have that value again; the others are as the job was begun."""
    former, since = action.before.get("settings", {}), action.after.get("settings", {})
    changed = set(action.before.get("changed", ()))
    orders: list[_Order] = []
    for kind, names in (("limits", former.keys() & changed), ("back", former.keys() - changed)):
        if names:
            given = {name: former[name] for name in sorted(names)}
            orders.append((kind, "", given, {name: since.get(name) for name in given}))
    return orders


def _host_back(action: LoggedAction, now: float) -> list[_Order]:
    """Pace, hold and skip as they were."""
    before, after, host = action.before, action.after, str(action.before.get("host", ""))
    orders: list[_Order] = []
    if before.get("set_delay_s") != after.get("set_delay_s"):
        seen = {"set_delay_s": after.get("set_delay_s")}
        orders.append(("pace", host, {"delay": before.get("set_delay_s")}, seen))
    if before.get("is_skipped") != after.get("is_skipped"):
        seen = {"is_skipped": after.get("is_skipped")}
        orders.append(("skip" if before.get("is_skipped") else "take", host, {}, seen))
    if before.get("hold_until") != after.get("hold_until"):
        until, seen = before.get("hold_until"), {"hold_until": after.get("hold_until")}
        is_held = until is not None and until > now
        orders.append(("hold", host, {"until": until}, seen) if is_held else ("release", host, {}, seen))
    return orders


def _letters_back(action: LoggedAction, _now: float) -> list[_Order]:
    """Letters that were dropped come back, and of those that were retried the ones that still wait."""
    given = {"of": action.id, "were_dropped": action.kind == "drop", "count": action.after.get("done", 0)}
    return [("bury", "", given, {})]


def _worker_back(action: LoggedAction, _now: float) -> list[_Order]:
    """One that did already what it was told to goes on doing so."""
    if action.before.get("state") == action.after.get("state"):
        return []
    kind = "keep" if action.kind == "drain" else "drain"
    return [(kind, str(action.before.get("worker", "")), {}, {})]


def _proxy_back(action: LoggedAction, now: float) -> list[_Order]:
    """One that rested before rests until the same time again; any other is tried."""
    until, proxy = action.before.get("until"), str(action.before.get("proxy", ""))
    if until is not None and until > now:
        return [("rest", proxy, {"seconds": until - now}, {})]
    return [("try", proxy, {}, {})] if action.kind == "rest" else []


_ORDERS = {
    **dict.fromkeys(("pause", "resume", "cancel"), _state_back),
    "limits": _limits_back,
    **dict.fromkeys(("pace", "hold", "release", "skip", "take"), _host_back),
    **dict.fromkeys(("retry", "drop"), _letters_back),
    **dict.fromkeys(("drain", "keep"), _worker_back),
    **dict.fromkeys(("rest", "try"), _proxy_back),
}
