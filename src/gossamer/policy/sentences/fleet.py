"""How the fleet does, and all jobs together: is anybody missing, and does anything need a person?"""

from __future__ import annotations

from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.sentences.words import (
    Saying,
    SentenceFormatter,
    all_of,
    count_words,
    number_word,
    short_name,
    start_sentence,
)

CLOCK_OFF_S = 2.0
"""So far a machine's clock may be from the server's before it is worth a word."""


def judge_clock(ahead_s: float, show: SentenceFormatter) -> Saying | None:
    """How far a machine's clock is from Redis's, and what depends on it; ``None``: it is right."""
    if abs(ahead_s) < CLOCK_OFF_S:
        return None
    return Saying(
        f"{show.span(abs(ahead_s))} {'ahead of' if ahead_s > 0 else 'behind'} Redis",
        "certificates, schedules and the times in logs go by the machine's clock: "
        "set it by NTP (`timedatectl set-ntp true`)",
    )


def describe_other_store(fleet: str, redis: str, theirs: str, ours: str) -> str:
    """Why a process may not work with a fleet, and the ways out."""
    return (
        f"the fleet {fleet!r} in {redis} works with the store {theirs}, and the settings name another one, "
        f"{ours}: set store.url to the fleet's, or give this store a fleet of its own (cluster.fleet=NAME, "
        "or another database of Redis in frontier.url); where the fleet's store is gone for good, end its "
        "processes, and `gossamer fleet --adopt-store` lets it work with this one"
    )


class FleetFacts(Record, frozen=True, kw_only=True):
    """What the sentences about a fleet rest on."""

    workers: int = 0  # whose beats come
    silent: int = 0  # whose beats stay away
    slots: int = 0
    shifts: int = 0  # at work
    leader: str = ""  # the supervisor that leads; "": none
    more_workers: int = 0  # that would have something to do
    due: int = 0  # requests that may start now
    short_job: str = ""  # the job that lacks most workers
    short_per_s: float = 0.0  # what it gets
    short_allowed_per_s: float = 0.0  # what its hosts allow


def describe_fleet(facts: FleetFacts, show: SentenceFormatter) -> Saying:
    """How the workers do."""
    second = _describe_leader(facts)
    if facts.slots:
        second = f"{format_count(facts.shifts, 'shift')} on {format_count(facts.slots, 'slot')}. {second}"
    if facts.short_job and facts.short_allowed_per_s:
        allowed, got = show.rate(facts.short_allowed_per_s), show.rate(facts.short_per_s)
        name = short_name(facts.short_job)
        second = f"{second} {name} is allowed {allowed} and gets {got}: it waits for slots."
    return Saying(_describe_workers(facts), second)


def _describe_workers(facts: FleetFacts) -> str:
    if not facts.workers:
        if not facts.due:
            return "No worker is there, and nothing waits for one."
        waits = "request waits" if facts.due == 1 else "requests wait"
        return f"No worker is there, and {facts.due:,} {waits}. `gossamer worker` starts one."
    parts = [_describe_presence(facts)]
    if facts.silent:
        parts.append(f"{number_word(facts.silent)} {'is' if facts.silent == 1 else 'are'} silent")
    if facts.more_workers:
        parts.append(f"{number_word(facts.more_workers)} more would have something to do")
    return f"{', '.join(parts[:-1])} and {parts[-1]}." if len(parts) > 1 else f"{parts[0]}."


def _describe_presence(facts: FleetFacts) -> str:
    if facts.silent:
        everyone = count_words(facts.workers + facts.silent, "worker")
        return f"{facts.workers:,} of {everyone} {'is' if facts.workers == 1 else 'are'} there"
    return "The one worker is there" if facts.workers == 1 else f"{all_of(facts.workers, 'worker')} are there"


def _describe_leader(facts: FleetFacts) -> str:
    if facts.leader:
        return f"{short_name(facts.leader)} leads."
    return "No supervisor leads: `gossamer supervisor` starts one."


# --------------------------------------------------------------------------- all jobs


class OverviewFacts(Record, frozen=True, kw_only=True):
    """What the sentences about all jobs rest on."""

    jobs: int = 0  # of any state
    running: int = 0
    need_you: int = 0  # jobs with a trouble that needs a person
    well: int = 0  # jobs that run, without one
    has_place_trouble: bool = False  # something that is no job's needs a person
    pages_per_s: float | None = 0.0  # None: too early to say
    allowed_per_s: float | None = None
    short_job: str = ""  # the job that lacks workers
    next_job: str = ""  # the next to be done
    next_s: float | None = None


def describe_overview(facts: OverviewFacts, show: SentenceFormatter) -> Saying:
    """Whether anything is wrong, and whether everything moves."""
    return Saying(_describe_needs(facts), _describe_pace(facts, show))


def _describe_needs(facts: OverviewFacts) -> str:
    if not facts.jobs:
        return "Nothing has been crawled yet."
    if facts.need_you:
        needs = "needs" if facts.need_you == 1 else "need"
        return f"{start_sentence(count_words(facts.need_you, 'job'))} {needs} you.{_describe_others(facts)}"
    if facts.has_place_trouble:
        return "The jobs are well, but something that they need is not."
    if not facts.running:
        return "Nothing runs, and nothing needs you."
    if facts.running == 1:
        return "The one job that runs takes care of itself."
    return f"{all_of(facts.running, 'job')} take care of themselves."


def _describe_others(facts: OverviewFacts) -> str:
    if not facts.well:
        return ""
    if facts.well == 1:
        return " The other one takes care of itself."
    return f" The other {number_word(facts.well)} take care of themselves."


def _describe_pace(facts: OverviewFacts, show: SentenceFormatter) -> str:
    if not facts.jobs:
        return "Start with any page of yours, or of somebody who does not mind."
    if not facts.running:
        return f"{format_count(facts.jobs, 'crawl')} {'is' if facts.jobs == 1 else 'are'} kept here."
    jobs = count_words(facts.running, "job")
    if facts.pages_per_s is None:
        pages = f"The pace of {jobs} shows in a moment"
    else:
        pages = f"Pages: {show.rate(facts.pages_per_s)} on {jobs}"
    whose = "its" if facts.running == 1 else "their"
    allowed = f"; {whose} hosts allow {show.rate(facts.allowed_per_s)}" if facts.allowed_per_s else ""
    missing = f" {short_name(facts.short_job)} lacks workers." if facts.short_job else ""
    if not facts.next_job or facts.next_s is None:
        return f"{pages}{allowed}.{missing}"
    name = short_name(facts.next_job)
    return f"{pages}{allowed}.{missing} The next to finish is {name}, in {show.span(facts.next_s)}."
