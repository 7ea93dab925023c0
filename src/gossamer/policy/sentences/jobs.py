"""How a job does, "in short": a sentence that answers, and others that say why. Pure.

This is one function of the whole state: the situation is found first (``job_facts``), and each has its
sentences. Alerts that need a person come before everything that they
contradict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gossamer.core.text import format_count
from gossamer.policy.pace_limit import DelayReason
from gossamer.policy.sentences.ended_jobs import ENDED, count_waiting
from gossamer.policy.sentences.idle_jobs import IDLE
from gossamer.policy.sentences.job_facts import (
    SOON_S,
    JobSituation,
    ObservedJobFacts,
    drop_refuted,
    find_situation,
)
from gossamer.policy.sentences.time_left import describe_left
from gossamer.policy.sentences.troubles import describe_needs
from gossamer.policy.sentences.words import (
    Saying,
    SentenceFormatter,
    SentenceTable,
    count_words,
    describe_pace,
    list_names,
    short_name,
    start_sentence,
)
from gossamer.policy.troubles import TroubleKind

WHOSE_DELAY = {
    DelayReason.ADAPTIVE: "following its answers",
    DelayReason.ROBOTS: "as its robots.txt asks",
    DelayReason.SET: "as set",
    DelayReason.PACE: "as it refused faster requests",
    DelayReason.RETRY_AFTER: "after it asked for time",
    DelayReason.BACKOFF: "as it refuses",
    DelayReason.DOWN: "as it does not answer",
    DelayReason.HOLD: "as it is on hold",
    DelayReason.SKIPPED: "but it is skipped",
    DelayReason.BUDGET: "but its budget of pages is spent",
}
"""Why a host is asked so often, to stand behind its delay."""


SAYS: Mapping[JobSituation, frozenset[TroubleKind]] = {
    JobSituation.UNREADABLE: frozenset({TroubleKind.UNREADABLE, TroubleKind.AWAY}),
    JobSituation.UNWRITABLE: frozenset({TroubleKind.AWAY, TroubleKind.REDIS_MEMORY}),
    JobSituation.BUDGET_SPENT: frozenset({TroubleKind.BUDGET}),
    JobSituation.LOSSES: frozenset({TroubleKind.DEAD_LETTERS}),
    JobSituation.NO_PAGE: frozenset({TroubleKind.DEAD_LETTERS}),
    JobSituation.ALL_DROPPED: frozenset({TroubleKind.DEAD_LETTERS}),
    JobSituation.FAILED: frozenset({TroubleKind.FAILED}),
    JobSituation.LEADER_CHANGES: frozenset({TroubleKind.NO_SUPERVISOR}),
    JobSituation.NO_SUPERVISOR: frozenset({TroubleKind.NO_SUPERVISOR, TroubleKind.NO_WORKER}),
    JobSituation.NO_WORKER: frozenset({TroubleKind.NO_WORKER}),
    JobSituation.REFUSED: frozenset({TroubleKind.NO_WORKER}),
    JobSituation.NO_LANE: frozenset({TroubleKind.NO_WORKER}),
    JobSituation.AWAY: frozenset({TroubleKind.AWAY}),
    JobSituation.STALLED: frozenset({TroubleKind.STALLED}),
    JobSituation.CLOSED: frozenset({TroubleKind.NO_SUCCESS}),
    JobSituation.REFUSES: frozenset({TroubleKind.NO_SUCCESS}),
    JobSituation.SILENT: frozenset({TroubleKind.NO_SUCCESS}),
}
"""Alerts that the sentences of a situation have said already."""


def describe_job(facts: ObservedJobFacts, show: SentenceFormatter) -> Saying:
    """How a job does."""
    situation = find_situation(facts)
    said = describe_situation(facts, situation, show)
    said_already = SAYS.get(situation, ())
    news = [one for one in drop_refuted(facts, facts.needs) if one.kind not in said_already]
    if not news:
        return said
    return Saying(
        f"{facts.id} needs you: {describe_needs(news)}.", " ".join(filter(None, (said.answer, said.reason)))
    )


def describe_situation(facts: ObservedJobFacts, situation: JobSituation, show: SentenceFormatter) -> Saying:
    """The sentences of one situation, whatever alerts are on."""
    answer, reason = SENTENCES[situation]
    return Saying(answer(facts, show), reason(facts, show))


_HELD_BY: Mapping[JobSituation, tuple[str, str]] = {
    JobSituation.CLOSED: ("its robots.txt cannot be fetched", "a robots.txt cannot be fetched"),
    JobSituation.ASKED_FOR_TIME: ("its host asked for time", "all of its {hosts} asked for time"),
    JobSituation.REFUSES: ("its host refuses requests", "all of its {hosts} refuse requests"),
    JobSituation.SILENT: ("its host does not answer", "none of its {hosts} answers"),
    JobSituation.ON_HOLD: ("its host is on hold", "all of its {hosts} are on hold"),
    JobSituation.LEFT_ALONE: ("its host is left alone", "all of its {hosts} are left alone"),
    JobSituation.SKIPPED: ("its host is skipped", "all of its {hosts} are skipped"),
}
"""Why no host may be asked: of one host, and of several."""


# --------------------------------------------------------------------------- no host may be asked


def _describe_first(facts: ObservedJobFacts, show: SentenceFormatter) -> str:
    """When the first request may start, if that is not soon; shared hosts keep the pauses of other crawls."""
    wait_s = (facts.next_at or 0.0) - facts.now
    if facts.due or wait_s < SOON_S:
        return ""
    return (
        f" The first one may start in {show.span(wait_s)}: its own delay or another crawl of the same "
        "host requires that."
    )


def _explain_hold(situation: JobSituation) -> Callable[[ObservedJobFacts, SentenceFormatter], str]:
    one, several = _HELD_BY[situation]

    def explain(facts: ObservedJobFacts, show: SentenceFormatter) -> str:
        hosts = format_count(facts.held_hosts, "host")
        until = f" until {show.time(facts.held_until)}" if facts.held_until else ""
        why = one if facts.held_hosts == 1 else several.format(hosts=hosts)
        return f"{facts.id} waits{until}: {why}."

    return explain


def _describe_hold(facts: ObservedJobFacts, _show: SentenceFormatter) -> str:
    known = "".join(f" {text}." for text in _list_troubles(facts))
    return f"Nothing is lost; it continues on its own. {count_waiting(facts)}.{known}"


def _list_troubles(facts: ObservedJobFacts) -> list[str]:
    """List the parts that give nothing now: proxies, and the first host that is closed or in trouble."""
    lost = "No proxy can be used now" if facts.has_lost_proxies else ""
    return [text for text in dict.fromkeys((lost, facts.closed, facts.troubled)) if text]


# --------------------------------------------------------------------------- at work


def _describe_work_now(facts: ObservedJobFacts, show: SentenceFormatter) -> str:
    return f"{_describe_work(facts, show)}{_describe_held_up(facts)}"


def _describe_slots(facts: ObservedJobFacts) -> str:
    if not facts.slots:
        return "all slots are"
    return "the one slot is" if facts.slots == 1 else f"all {count_words(facts.slots, 'slot')} are"


def _describe_held_up(facts: ObservedJobFacts) -> str:
    """Hosts that give nothing, where others do; and proxies by which nothing can be fetched."""
    parts = _list_troubles(facts)
    if 0 < facts.held_hosts < facts.hosts:
        held = start_sentence(count_words(facts.held_hosts, "host"))
        parts.insert(
            0, f"{held} of {facts.hosts:,} {'is' if facts.held_hosts == 1 else 'are'} not asked for now"
        )
    return "".join(f" {text}." for text in parts)


_PACES: Mapping[JobSituation, str] = {
    JobSituation.THROTTLED: "is throttled by all of its hosts",
    JobSituation.POLITENESS: "goes as fast as its hosts allow",
    JobSituation.UNDER_WAY: "is under way",
}


_PACES_OF_ONE: Mapping[JobSituation, str] = {JobSituation.THROTTLED: "is throttled by its host"}
"""The pace of a job with one host, where its wording differs."""


def _describe_way(situation: JobSituation) -> Callable[[ObservedJobFacts, SentenceFormatter], str]:
    several = _PACES[situation]
    one = _PACES_OF_ONE.get(situation, several)

    def describe(facts: ObservedJobFacts, _: SentenceFormatter) -> str:
        left = f" and is {describe_left(facts.left)}" if facts.left.is_known else ""
        return f"{facts.id} {one if facts.hosts == 1 else several}{left}."

    return describe


def _describe_progress(facts: ObservedJobFacts, show: SentenceFormatter) -> str:
    note = "" if facts.left.is_known else _describe_left(facts)
    more = f"{note}{_describe_last_host(facts, show)}{_describe_slowed(facts)}{_describe_held_up(facts)}"
    return f"{_describe_work(facts, show)}{more}"


def _describe_slowed(facts: ObservedJobFacts) -> str:
    if not facts.slowed:
        return ""
    some = f"{start_sentence(count_words(facts.slowed, 'host'))} of {facts.hosts:,}"
    return f" {'Its one host' if facts.hosts == 1 else some} refused faster requests."


def _describe_work(facts: ObservedJobFacts, show: SentenceFormatter) -> str:
    """Describe the pace beside the allowed one, the queue, and the share of announced items."""
    goals = list_names([goal.to_text() for goal in facts.goals])
    rest = f"{count_waiting(facts)}.{f' It has {short_name(goals, 300)}.' if goals else ''}"
    if facts.pages_per_s is None:
        return rest
    pace = describe_pace(facts.pages_per_s, facts.allowed_per_s, "its hosts allow", show)
    return f"Pages: {pace}. {rest}"


def _describe_left(facts: ObservedJobFacts) -> str:
    """How long it still takes as a sentence of its own, or why that is not known."""
    left = describe_left(facts.left)
    return f" {start_sentence(left)}." if left else ""


def _describe_last_host(facts: ObservedJobFacts, show: SentenceFormatter) -> str:
    last = facts.slowest
    if last is None or not facts.left.is_known or last.others_s is None:
        return ""
    requests = format_count(last.pending, "request")
    apart = f" {show.span(last.delay_s)} apart, {WHOSE_DELAY[last.why]}" if last.delay_s else ""
    others = show.time(facts.now + last.others_s)
    name = short_name(last.host)
    return f" The last host is {name}, with {requests}{apart}; all others are through by {others}."


SENTENCES: SentenceTable[JobSituation, ObservedJobFacts] = {
    **ENDED,
    **IDLE,
    **{situation: (_explain_hold(situation), _describe_hold) for situation in _HELD_BY},
    JobSituation.SKIPPED: (
        _explain_hold(JobSituation.SKIPPED),
        lambda f, _: (
            f"{count_waiting(f)}. `gossamer host {f.id} HOST --take` takes a host back; otherwise it ends "
            "ten minutes after its last request."
        ),
    ),
    JobSituation.ON_HOLD: (
        _explain_hold(JobSituation.ON_HOLD),
        lambda f, show: f"{_describe_hold(f, show)} `gossamer host {f.id} HOST --ask` ends a hold.",
    ),
    JobSituation.JUST_BEGUN: (
        lambda f, _: f"{f.id} has just begun.",
        lambda f, _: f"{count_waiting(f)}. Its pace shows in a moment.",
    ),
    JobSituation.NOT_BEGUN: (
        lambda f, _: f"{f.id} has not begun: no request has been tried yet.",
        lambda f, show: (
            f"It was made {show.span(f.now - f.created_at)} ago. {count_waiting(f)}."
            f"{_describe_first(f, show)}"
        ),
    ),
    JobSituation.STALLED: (
        lambda f, _: f"{f.id} stands still: work is due, and nothing is tried.",
        _describe_work_now,
    ),
    JobSituation.STORE_SLOW: (
        lambda f, show: (
            f"{f.id} waits for {f.store}{f', for {show.span(f.store_lag_s)}' if f.store_lag_s else ''}."
        ),
        lambda f, show: f"Nothing is lost; it continues on its own. {_describe_work_now(f, show)}",
    ),
    JobSituation.SLOTS_BUSY: (
        lambda f, _: f"{f.id} goes slower than its hosts allow: {_describe_slots(f)} busy.",
        lambda f, show: (
            f"{_describe_work_now(f, show)} More slots would help: `gossamer worker --slots N`, or "
            f"more workers.{_describe_left(f)}"
        ),
    ),
    JobSituation.CONCURRENCY: (
        lambda f, _: f"{f.id} goes slower than its hosts allow: no more may be in flight at once.",
        lambda f, show: (
            f"{_describe_work_now(f, show)} More at once would help: `--concurrency N`.{_describe_left(f)}"
        ),
    ),
    JobSituation.NOT_DUE: (
        lambda f, show: f"{f.id} waits: nothing may start before {show.time(f.next_at or f.now)}.",
        lambda f, _: (
            f"{count_waiting(f)}. The waiting requests have later times, such as that of a retry."
            f"{_describe_held_up(f)}"
        ),
    ),
    **{situation: (_describe_way(situation), _describe_progress) for situation in _PACES},
}
"""The answer and its reason for each situation."""
