"""How a host does, and all hosts of a job together: who holds it up, and why."""

from __future__ import annotations

from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.pace_limit import STOPPED, DelayReason
from gossamer.policy.sentences.jobs import WHOSE_DELAY
from gossamer.policy.sentences.words import (
    Saying,
    SentenceFormatter,
    all_of,
    count_words,
    describe_pace,
    short_name,
    start_sentence,
)


class HostFacts(Record, frozen=True, kw_only=True):
    """Facts for the sentences about one host of a job."""

    host: str
    now: float
    pending: int = 0
    delay_s: float = 0.0
    why: DelayReason = DelayReason.ADAPTIVE
    hold_until: float = 0.0
    troubled_since: float = 0.0  # 0: it is well
    incidents: int = 0
    empties_s: float | None = None
    is_given_up: bool = False  # it was in trouble for so long that its requests are given up


def describe_delay(facts: HostFacts, show: SentenceFormatter) -> str:
    """Why a host is asked as often as it is, in a few words."""
    until = f" until {show.time(facts.hold_until)}" if facts.hold_until > facts.now else ""
    incidents = f" after {format_count(facts.incidents, 'refusal')}" if facts.incidents else ""
    since = f" since {show.time(facts.troubled_since)}" if facts.troubled_since else ""
    return {
        DelayReason.ADAPTIVE: "follows its answers",
        DelayReason.ROBOTS: f"robots.txt asks for {show.span(facts.delay_s)}",
        DelayReason.SET: "as set",
        DelayReason.PACE: "refused faster requests",
        DelayReason.RETRY_AFTER: f"asked for time{until}",
        DelayReason.BACKOFF: f"backs off{incidents}",
        DelayReason.DOWN: f"is silent{since}",
        DelayReason.HOLD: f"on hold{until}",
        DelayReason.SKIPPED: "is skipped",
        DelayReason.BUDGET: "its budget is spent",
    }[facts.why]


class HostsFacts(Record, frozen=True, kw_only=True):
    """Facts for the sentences about all hosts of a job that have waiting requests."""

    job: str
    hosts: int = 0
    held: dict[DelayReason, int] = {}  # hosts that are not asked for now, by the reason
    robots: int = 0  # hosts whose robots.txt decides the delay
    slowest: str = ""  # the host that decides when the job is done
    slowest_s: float | None = None  # when it will be through
    allowed_per_s: float | None = None
    started_per_s: float | None = None


def describe_host(facts: HostFacts, show: SentenceFormatter) -> Saying:
    """How one host does."""
    name = short_name(facts.host)
    waits = f"{format_count(facts.pending, 'request')} {'waits' if facts.pending == 1 else 'wait'} for it."
    since = f" since {show.time(facts.troubled_since)}" if facts.troubled_since else ""
    until = f" until {show.time(facts.hold_until)}" if facts.hold_until > facts.now else ""
    if facts.is_given_up:
        return Saying(
            f"{name} has been in trouble for so long that its waiting requests are given up.",
            start_sentence(waits),
        )
    match facts.why:
        case DelayReason.DOWN:
            first = f"{name} does not answer{since}; it is left alone{until}."
            second = f"One request at a time asks it again, after pauses that grow. {waits}"
        case DelayReason.BACKOFF:
            tries = f" after {format_count(facts.incidents, 'refusal')}" if facts.incidents else ""
            first = f"{name} refuses requests{since}; it is left alone{until}{tries}."
            second = f"One request at a time asks it again. {waits}"
        case DelayReason.RETRY_AFTER:
            first, second = f"{name} asked for time: it is left alone{until}.", waits
        case DelayReason.HOLD:
            first, second = f"{name} is on hold{until}.", waits
        case DelayReason.SKIPPED:
            first, second = f"{name} is skipped: nothing of it is fetched.", waits
        case DelayReason.BUDGET:
            first, second = f"The budget of pages of {name} is spent.", waits
        case _:
            return _describe_asked(facts, name, waits, show)
    return Saying(first, second)


def _describe_asked(facts: HostFacts, name: str, waits: str, show: SentenceFormatter) -> Saying:
    if facts.delay_s:
        pace = f"every {show.span(facts.delay_s)}, {WHOSE_DELAY[facts.why]}"
    else:
        pace = "without a delay, as set"
    end = f" At this pace it is through in {show.span(facts.empties_s)}." if facts.empties_s else ""
    return Saying(f"{name} is asked {pace}.", f"{waits}{end}")


def describe_hosts(facts: HostsFacts, show: SentenceFormatter) -> Saying:
    """How the hosts of a job do together."""
    if not facts.hosts:
        return Saying(
            f"No request of {facts.job} waits for a host.", "The first host shows with the first seed."
        )
    held = sum(count for why, count in facts.held.items() if why in STOPPED)
    if held >= facts.hosts:
        everyone = "Its one host is" if facts.hosts == 1 else f"{all_of(facts.hosts, 'host')} are"
        first = f"{everyone} left alone for now."
    elif held:
        has = "is" if held == 1 else "are"
        first = f"{start_sentence(count_words(held, 'host'))} of {facts.hosts:,} {has} left alone for now."
    elif facts.hosts == 1:
        first = "The one host answers and is asked."
    else:
        first = f"{all_of(facts.hosts, 'host')} answer and are asked."
    return Saying(first, " ".join(_more_about_hosts(facts, show)))


_HELD_WORDS = {
    DelayReason.RETRY_AFTER: ("asked for time", "asked for time"),
    DelayReason.BACKOFF: ("refuses", "refuse"),
    DelayReason.DOWN: ("does not answer", "do not answer"),
    DelayReason.HOLD: ("is on hold", "are on hold"),
    DelayReason.SKIPPED: ("is skipped", "are skipped"),
    DelayReason.BUDGET: ("has spent its budget", "have spent their budgets"),
}


def _more_about_hosts(facts: HostsFacts, show: SentenceFormatter) -> list[str]:
    lines = [
        f"{facts.held[why]:,} {one if facts.held[why] == 1 else many}"
        for why, (one, many) in _HELD_WORDS.items()
        if facts.held.get(why)
    ]
    more = [f"{', '.join(lines)}."] if lines else []
    if facts.allowed_per_s and facts.started_per_s is not None:
        who, they = ("It was", "it allows") if facts.hosts == 1 else ("They were", "they allow")
        more.append(f"{who} asked {describe_pace(facts.started_per_s, facts.allowed_per_s, they, show)}.")
    if facts.slowest and facts.slowest_s:
        more.append(
            f"The last to be through is {short_name(facts.slowest)}, in {show.span(facts.slowest_s)}."
        )
    return more
