"""How the fleet does, and all jobs together: is anybody missing, and does anything need a person?"""

from __future__ import annotations

from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.sentences.idle_jobs import start_supervisor
from gossamer.policy.sentences.words import (
    Saying,
    SentenceFormatter,
    all_of,
    count_words,
    number_word,
    short_name,
)

CLOCK_OFF_S = 2.0
"""So far a machine's clock may be from the server's before it is worth a word."""


def judge_clock(ahead_s: float, show: SentenceFormatter, server: str = "Redis") -> Saying | None:
    """How far a machine's clock is from a server's, and what depends on it; ``None``: it is right."""
    if abs(ahead_s) < CLOCK_OFF_S:
        return None
    return Saying(
        f"{show.span(abs(ahead_s))} {'ahead of' if ahead_s > 0 else 'behind'} {server}",
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
    """Facts for the sentences about a fleet."""

    workers: int = 0  # whose beats come
    silent: int = 0  # whose beats stay away
    slots: int = 0
    shifts: int = 0  # at work
    leader: str = ""  # the supervisor that leads; "": none
    led_s_ago: float | None = None  # since a supervisor led; None: that is not known
    more_workers: int = 0  # that would have something to do
    due: int = 0  # requests that may start now
    short_job: str = ""  # the job that lacks most workers
    short_per_s: float = 0.0  # its present rate
    short_allowed_per_s: float = 0.0  # what its hosts allow


def describe_fleet(facts: FleetFacts, show: SentenceFormatter) -> Saying:
    """How the workers do."""
    second = _describe_leader(facts, show)
    if facts.slots:
        second = f"{format_count(facts.shifts, 'shift')} on {format_count(facts.slots, 'slot')}. {second}"
    if facts.short_job and facts.short_allowed_per_s:
        allowed, got = show.rate(facts.short_allowed_per_s), show.rate(facts.short_per_s)
        name = short_name(facts.short_job)
        second = (
            f"{second} {name} is allowed {allowed} and gets {got}: more slots would help "
            "(`gossamer worker --slots N`, or more workers)."
        )
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


def _describe_leader(facts: FleetFacts, show: SentenceFormatter) -> str:
    if facts.leader:
        return f"{short_name(facts.leader)} leads."
    return f"No supervisor leads. {start_supervisor(facts.led_s_ago, show)}"
