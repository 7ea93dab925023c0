"""Sentences about all schedules together. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from gossamer.core.schedules import RunOutcome
from gossamer.core.text import format_count
from gossamer.policy.sentences.words import Saying, list_names, short_name


class ScheduleFacts(NamedTuple):
    """Facts about one schedule."""

    name: str
    zone: str
    is_on: bool
    next_at: float | None
    is_running: bool  # a crawl of it is under way
    outcomes: tuple[str, ...]  # of its latest runs


def say_schedules(facts: list[ScheduleFacts], *, is_watched: bool) -> Saying:
    """Describe the next run, and whether due runs took place; empty without schedules."""
    if not facts:
        return Saying("Nothing is crawled again by itself.")
    return Saying(_say_next(facts, is_watched=is_watched), " ".join(_say_past(facts)))


def _say_next(facts: list[ScheduleFacts], *, is_watched: bool) -> str:
    upcoming = [one for one in facts if one.next_at is not None]
    if not upcoming:
        return "All schedules are off."
    if not is_watched:
        return "No scheduler is running."
    first = min(upcoming, key=lambda one: one.next_at or 0.0)
    at = datetime.fromtimestamp(first.next_at or 0.0, ZoneInfo(first.zone))
    return f"The next crawl is {short_name(first.name)}, at {at:%H:%M} on {at:%Y-%m-%d} ({first.zone})."


def _say_past(facts: list[ScheduleFacts]) -> list[str]:
    said = []
    if running := [short_name(one.name) for one in facts if one.is_running]:
        said.append(f"{list_names(running)} {'runs' if len(running) == 1 else 'run'} now.")
    on = sum(one.is_on for one in facts)
    if 0 < on < len(facts):
        said.append(f"{on} of {format_count(len(facts), 'schedule')} {'is' if on == 1 else 'are'} on.")
    for outcome, word in ((RunOutcome.FAILED, "failed"), (RunOutcome.MISSED, "missed")):
        names = [short_name(one.name) for one in facts if outcome in one.outcomes]
        count = sum(one.outcomes.count(outcome) for one in facts)
        if names:
            verb = "was" if count == 1 else "were"
            verb = f"{verb} " if outcome is RunOutcome.MISSED else ""
            said.append(f"{format_count(count, 'run')} of {list_names(names)} {verb}{word} lately.")
    return said
