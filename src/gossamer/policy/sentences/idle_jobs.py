"""Sentences about a running job that no process can work on now."""

from __future__ import annotations

from gossamer.core.jobs import DueCounts
from gossamer.core.text import format_count
from gossamer.policy.sentences.ended_jobs import count_waiting
from gossamer.policy.sentences.job_facts import JobSituation, ObservedJobFacts, has_led_lately
from gossamer.policy.sentences.words import (
    SentenceFormatter,
    SentenceTable,
    all_of,
    count_words,
    short_name,
    start_sentence,
)

_SAME = "on any machine with the same settings"


def describe_lane(job: str, due: DueCounts) -> str:
    """Describe the requests on a lane without workers."""
    requests = format_count(due.requests, "request")
    return f"{requests} of {job} may start now, and no worker takes the lane {due.lane}."


def describe_unserved(job: str, due: int) -> str:
    """That no worker takes a lane of a job; its start may have to give its first requests yet."""
    waits = f"{format_count(due, 'request')} of {job} may start now" if due else f"{job} waits"
    return f"{waits}, and no worker takes its lane."


def describe_refused(job: str, refusal: str) -> str:
    """That workers are there, and none of them can do a job; why, if that is known."""
    return f"No worker can do {job}{f': {short_name(refusal, 200)}' if refusal else ''}."


def start_supervisor(led_s_ago: float | None, show: SentenceFormatter) -> str:
    """Return the remedy for a missing supervisor."""
    if led_s_ago is not None and has_led_lately(led_s_ago):
        return (
            f"One led {show.span(led_s_ago)} ago, and one may lead again at any moment; if none does within "
            "a minute, start one with `gossamer supervisor`."
        )
    return "`gossamer supervisor` starts one."


def _describe_absent(facts: ObservedJobFacts) -> str:
    """Workers that would take its lane."""
    silent, paused = facts.silent_workers, facts.paused_workers
    parts = [f"{count_words(silent, 'worker')} {'is' if silent == 1 else 'are'} silent"] if silent else []
    if paused:
        parts.append(f"{count_words(paused, 'worker')} {'is' if paused == 1 else 'are'} paused or leaving")
    return f"{start_sentence(', and '.join(parts))}. " if parts else ""


def _describe_refusal(facts: ObservedJobFacts) -> str:
    is_one = facts.refusing == 1
    workers = "The one worker" if is_one else all_of(facts.refusing, "worker")
    verbs = ("takes", "refuses") if is_one else ("take", "refuse")
    why = f": {_as_clause(facts.refusal)}" if facts.refusal else ""
    return f"{workers} that {verbs[0]} its lane {verbs[1]} it{why}. {count_waiting(facts)}."


def _as_clause(text: str) -> str:
    return short_name(text, 300).rstrip(".")


def _quote(text: str) -> str:
    return f"{start_sentence(_as_clause(text))}."


IDLE: SentenceTable[JobSituation, ObservedJobFacts] = {
    JobSituation.UNREADABLE: (
        lambda f, _: f"It is not known how {f.id} does: its requests cannot be read.",
        lambda f, _: f"{_quote(f.unreadable)} Its crawl waits until they can, and loses nothing.",
    ),
    JobSituation.UNWRITABLE: (
        lambda f, _: f"{f.id} waits: nothing can be stored now.",
        lambda f, _: (
            f"{_quote(f.unwritable)} Nothing is lost; it continues on its own when this is fixed. "
            f"{count_waiting(f)}."
        ),
    ),
    JobSituation.AWAY: (
        lambda f, _: f"{f.id} waits for {short_name(f.away)}, which does not answer.",
        lambda f, _: f"Nothing is lost; it continues on its own when that answers again. {count_waiting(f)}.",
    ),
    JobSituation.NO_PROCESS: (
        lambda f, _: f"No process crawls {f.id}.",
        lambda f, _: f"The same `gossamer crawl` continues. {count_waiting(f)}.",
    ),
    JobSituation.LEADER_CHANGES: (
        lambda f, _: f"{f.id} gets no new shifts at this moment: no supervisor leads.",
        lambda f, show: f"{start_supervisor(f.led_s_ago, show)} {count_waiting(f)}.",
    ),
    JobSituation.NO_SUPERVISOR: (
        lambda f, _: f"No supervisor looks after {f.id}.",
        lambda f, show: (
            f"Shifts under way end within a minute, and none begins. {start_supervisor(f.led_s_ago, show)} "
            f"{count_waiting(f)}."
        ),
    ),
    JobSituation.NO_WORKER: (
        lambda f, _: f"No worker takes the lane of {f.id}.",
        lambda f, _: (
            f"{_describe_absent(f)}`gossamer worker` starts one, {_SAME}. Nothing is lost meanwhile. "
            f"{count_waiting(f)}."
        ),
    ),
    JobSituation.REFUSED: (
        lambda f, _: f"No worker can run {f.id}.",
        lambda f, _: _describe_refusal(f),
    ),
    JobSituation.NO_LANE: (
        lambda f, _: describe_lane(f.id, f.unserved[0]),
        lambda f, _: f"`gossamer worker --lanes {f.unserved[0].lane}` starts one, {_SAME}.",
    ),
}
"""The answer, and the way out."""
