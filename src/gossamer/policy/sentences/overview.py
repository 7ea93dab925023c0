"""All jobs together: does anything need a person, and does everything move? Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.sentences.time_left import describe_left
from gossamer.policy.sentences.troubles import describe_needs
from gossamer.policy.sentences.words import (
    Saying,
    SentenceFormatter,
    all_of,
    count_words,
    number_word,
    short_name,
    start_sentence,
)
from gossamer.policy.time_left import TimeEstimate
from gossamer.policy.troubles import Trouble, TroubleKind


class OverviewFacts(Record, frozen=True, kw_only=True):
    """Facts for the sentences about all jobs."""

    jobs: int = 0  # of any state
    running: int = 0
    need_you: int = 0  # jobs with a trouble that needs a person
    held_up: int = 0  # running jobs that need no person and are slowed
    well: int = 0  # running jobs that need no person and are not slowed
    place: tuple[Trouble, ...] = ()  # problems outside jobs that need a person, the worst first
    unchecked_s: float | None = None  # since the latest look for alerts, where the next one is overdue
    pages_per_s: float | None = 0.0  # None: too early to say
    allowed_per_s: float | None = None
    short_job: str = ""  # the job that lacks workers
    next_job: str = ""  # the next to be done
    next_left: TimeEstimate = TimeEstimate()  # how long it still takes


class OverviewSituation(StrEnum):
    """The subject of the first sentence about all jobs."""

    PLACE = "place"  # something that all jobs need is not there, or not well
    EMPTY = "empty"  # no job was ever made
    NEEDS_YOU = "needs_you"  # jobs need a person
    IDLE = "idle"  # no job runs, and none needs a person
    HELD_UP = "held_up"  # jobs run that do not get all that they ask for
    WELL = "well"  # all jobs that run go as they should


RULES: Mapping[OverviewSituation, Callable[[OverviewFacts], bool]] = {
    OverviewSituation.PLACE: lambda f: bool(f.place),
    OverviewSituation.EMPTY: lambda f: not f.jobs,
    OverviewSituation.NEEDS_YOU: lambda f: f.need_you > 0,
    OverviewSituation.IDLE: lambda f: not f.running,
    OverviewSituation.HELD_UP: lambda f: f.held_up > 0,
    OverviewSituation.WELL: lambda f: True,
}
"""From what facts each situation follows, if none before it does."""


def find_overview(facts: OverviewFacts) -> OverviewSituation:
    """The situation of all jobs: the first that holds, in the order of their table."""
    return next(situation for situation, holds in RULES.items() if holds(facts))


def describe_overview(facts: OverviewFacts, show: SentenceFormatter) -> Saying:
    """Whether anything is wrong, and whether everything moves."""
    unchecked = ""
    if facts.unchecked_s is not None:
        unchecked = f" Alerts were last looked for {show.span(facts.unchecked_s)} ago: some may be missing."
    return Saying(ANSWERS[find_overview(facts)](facts), f"{_describe_pace(facts, show)}{unchecked}")


def _describe_place(facts: OverviewFacts) -> str:
    """Describe missing or failing parts that all jobs need."""
    worst = start_sentence(describe_needs(facts.place))
    if facts.place[0].kind is not TroubleKind.AWAY or not facts.running:
        return f"{worst}.{_count_needy(facts, ' ')}"
    jobs = "the one job that runs" if facts.running == 1 else all_of(facts.running, "job").lower()
    waits = "waits" if facts.running == 1 else "wait"
    return f"{worst}: {jobs} {waits}, and nothing is lost.{_count_needy(facts, ' ')}"


def _count_needy(facts: OverviewFacts, before: str = "") -> str:
    if not facts.need_you:
        return ""
    needs = "needs" if facts.need_you == 1 else "need"
    return f"{before}{start_sentence(count_words(facts.need_you, 'job'))} {needs} you."


def _describe_others(facts: OverviewFacts) -> str:
    """Describe the running jobs that need no person."""
    others = facts.well + facts.held_up
    if not others:
        return ""
    if others == 1:
        return f" The other one {'is held up' if facts.held_up else 'takes care of itself'}."
    if facts.held_up:
        some = "all" if facts.held_up == others else number_word(facts.held_up)
        return f" Of the other {number_word(others)}, {some} {'is' if facts.held_up == 1 else 'are'} held up."
    return f" The other {number_word(others)} take care of themselves."


def _describe_held_up(facts: OverviewFacts) -> str:
    if facts.running == 1:
        return "Nothing needs you now, but the one job that runs is held up."
    if facts.held_up == facts.running:
        return f"Nothing needs you now, but {all_of(facts.running, 'job').lower()} are held up."
    verb = "is" if facts.held_up == 1 else "are"
    some = f"{number_word(facts.held_up)} of {count_words(facts.running, 'job')}"
    return f"Nothing needs you now, but {some} {verb} held up."


def _describe_well(facts: OverviewFacts) -> str:
    if facts.running == 1:
        return "The one job that runs takes care of itself."
    return f"{all_of(facts.running, 'job')} take care of themselves."


ANSWERS: Mapping[OverviewSituation, Callable[[OverviewFacts], str]] = {
    OverviewSituation.PLACE: _describe_place,
    OverviewSituation.EMPTY: lambda f: "Nothing has been crawled yet.",
    OverviewSituation.NEEDS_YOU: lambda f: f"{_count_needy(f)}{_describe_others(f)}",
    OverviewSituation.IDLE: lambda f: "Nothing runs, and nothing needs you.",
    OverviewSituation.HELD_UP: _describe_held_up,
    OverviewSituation.WELL: _describe_well,
}
"""The first sentence of each situation."""


def _describe_pace(facts: OverviewFacts, show: SentenceFormatter) -> str:
    if not facts.jobs:
        return "Start with a page of your own, or of a site whose owner does not mind."
    if not facts.running:
        return f"{format_count(facts.jobs, 'crawl')} {'is' if facts.jobs == 1 else 'are'} kept here."
    jobs = count_words(facts.running, "job")
    if facts.pages_per_s is None:
        pages = f"The pace of {jobs} shows in a moment"
    else:
        pages = f"Pages: {show.rate(facts.pages_per_s)} on {jobs}"
    whose = "its" if facts.running == 1 else "their"
    allowed = f"; {whose} hosts allow {show.rate(facts.allowed_per_s)}" if facts.allowed_per_s else ""
    missing = f" More slots would help {short_name(facts.short_job)}." if facts.short_job else ""
    if not facts.next_job or not facts.next_left.is_known:
        return f"{pages}{allowed}.{missing}"
    name = short_name(facts.next_job)
    return f"{pages}{allowed}.{missing} The next to finish is {name}: {describe_left(facts.next_left)}."
