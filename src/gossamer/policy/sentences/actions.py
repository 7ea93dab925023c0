"""Short descriptions of people's actions on a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.core.access import AT_TERMINAL, LOCAL, LoggedAction
from gossamer.policy.sentences.words import SentenceFormatter
from gossamer.policy.spider_switches import ADOPT


def describe_actor(action: LoggedAction) -> str:
    """Return the name of the person or place that acted."""
    if action.token == LOCAL:
        return "a user of this machine"
    return action.token if action.token.endswith(AT_TERMINAL) else f"token {action.token}"


def describe_action(action: LoggedAction, show: SentenceFormatter) -> str:
    """Describe an action: its target, and the values before and after."""
    if action.is_refused:
        return f"{_kind_and_subject(action)}: {'done in part' if action.after.get('undone') else 'refused'}"
    if action.kind in ("limits", "back"):
        back = ", as in the beginning" if action.kind == "back" else ""
        return f"{_list_changes(action) or 'limits'}{back}"
    if action.kind == ADOPT:
        return f"spider {action.before.get('version')} → {action.after.get('version')}"
    if action.kind == "pace":
        before, after = action.before.get("set_delay_s"), action.after.get("set_delay_s")
        return f"{_kind_and_subject(action)}, {_pace(before, show)} → {_pace(after, show)}"
    until = action.after.get("hold_until") if action.kind == "hold" else None
    return f"{_kind_and_subject(action)}{f' until {show.time(until)}' if until else ''}"


def _kind_and_subject(action: LoggedAction) -> str:
    kind = action.kind.replace("_", " ")
    if action.kind == "undo":
        kind = f"undo {action.before.get('kind', '')}".strip()
    return f"{kind}: {action.what}" if action.what and action.what != action.job else kind


def _list_changes(action: LoggedAction) -> str:
    before: Mapping[str, Any] = action.before.get("settings", {})
    after: Mapping[str, Any] = action.after.get("settings", {})
    return ", ".join(f"{name} {_value(before.get(name))} → {_value(value)}" for name, value in after.items())


def _value(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _pace(delay_s: float | None, show: SentenceFormatter) -> str:
    return "the job's" if delay_s is None else show.span(delay_s)
