"""The sentences about a job that does not run: paused, given up, finished, or stopped with work left."""

from __future__ import annotations

from gossamer.core.lifecycle import FinishReason
from gossamer.core.text import format_count
from gossamer.policy.sentences.item_notes import describe_dropped
from gossamer.policy.sentences.job_facts import JobSituation, ObservedJobFacts
from gossamer.policy.sentences.words import SentenceTable, short_name, start_sentence


def count_waiting(facts: ObservedJobFacts) -> str:
    """How many requests wait: a main clause without its end."""
    if facts.unreadable:
        return "It is not known how many requests wait"
    if not facts.waiting:
        return "Nothing waits"
    return f"{format_count(facts.waiting, 'request')} {'waits' if facts.waiting == 1 else 'wait'}"


def count_dead(facts: ObservedJobFacts) -> str:
    """How many requests were given up: a main clause without its end."""
    return f"{format_count(facts.dead, 'request')} {'was' if facts.dead == 1 else 'were'} given up"


def _explain_no_page(facts: ObservedJobFacts) -> str:
    if facts.dead:
        return f"{count_dead(facts)}: the dead letters say why."
    return f"No request was given up either; `gossamer attempts {facts.id}` lists the attempts."


def _count_results(facts: ObservedJobFacts) -> str:
    kept = " Its requests are no longer kept." if facts.is_forgotten else ""
    return f"{format_count(facts.pages, 'page')}, {format_count(facts.items, 'item')}.{kept}"


def _note_dropped(facts: ObservedJobFacts) -> str:
    """Report that every item was dropped, as a sentence behind others; empty where that is not so."""
    text = describe_dropped(facts.id, facts.items, facts.dropped)
    return f" {start_sentence(text)}." if text else ""


def _explain_dropped(facts: ObservedJobFacts) -> str:
    dead = f" {count_dead(facts)}." if facts.dead else ""
    return f"{_count_results(facts)}{_note_dropped(facts)}{dead}"


def _describe_budget(facts: ObservedJobFacts) -> str:
    match facts.end_reason:
        case FinishReason.MAX_ITEMS:
            return f"{facts.id} reached its budget of items."
        case FinishReason.MAX_ERRORS:
            return f"{facts.id} reached its budget of errors ({facts.end_error})."
        case None | FinishReason.MAX_PAGES if facts.max_pages is not None:
            return f"{facts.id} reached its budget of {format_count(facts.max_pages, 'page')}."
        case FinishReason.MAX_PAGES:
            return (
                f"{facts.id} has nothing left that may be asked for: its hosts have spent their budget of "
                "pages (max_pages_per_host)."
            )
    which = f" ({facts.end_error})" if facts.end_reason is FinishReason.BUDGET and facts.end_error else ""
    return f"{facts.id} has spent its budget{which}."


def _raise_budget(facts: ObservedJobFacts) -> str:
    letters = "see its dead letters; " if facts.end_reason is FinishReason.MAX_ERRORS else ""
    return f"{count_waiting(facts)}; {letters}a larger budget lets it continue.{_note_dropped(facts)}"


def _take_back(facts: ObservedJobFacts) -> str:
    again = "" if facts.is_fleet else ", then the same `gossamer crawl` continues"
    return f"{count_waiting(facts)}; `gossamer host {facts.id} HOST --take` takes a host back{again}."


def _begin_again(facts: ObservedJobFacts) -> str:
    way = "`gossamer submit` starts it again" if facts.is_fleet else "the same `gossamer crawl` continues"
    return f"{count_waiting(facts)}; {way}.{_note_dropped(facts)}"


def _quote_error(facts: ObservedJobFacts) -> str:
    """The error that ended it as a sentence before another one; empty where it is not known."""
    error = short_name(facts.end_error, 300)
    return f"{error} " if error.endswith("?") else f"{error}. " if error else ""


def _explain_error(facts: ObservedJobFacts) -> str:
    return f"{_quote_error(facts)}{_begin_again(facts)}"


ENDED: SentenceTable[JobSituation, ObservedJobFacts] = {
    JobSituation.PAUSED: (
        lambda f, _: f"{f.id} is paused.",
        lambda f, _: f"No request is started. {count_waiting(f)}; resume it to continue from there.",
    ),
    JobSituation.CANCELLED: (
        lambda f, _: f"{f.id} was cancelled.",
        lambda f, _: (
            "Its stored results stay. It cannot be resumed, but the same target can be started again."
        ),
    ),
    JobSituation.NO_PAGE: (
        lambda f, _: f"{f.id} is finished, and has not got a single page.",
        lambda f, _: _explain_no_page(f),
    ),
    JobSituation.ALL_DROPPED: (
        lambda f, _: f"{f.id} is finished, and has no items.",
        lambda f, _: _explain_dropped(f),
    ),
    JobSituation.LOSSES: (
        lambda f, _: f"{f.id} is finished, and {count_dead(f)}.",
        lambda f, _: f"{_count_results(f)} `gossamer dead list {f.id}` lists the missing pages with reasons.",
    ),
    JobSituation.FINISHED: (
        lambda f, _: f"{f.id} is finished: nothing is left to do.",
        lambda f, _: _count_results(f),
    ),
    JobSituation.BUDGET_SPENT: (lambda f, _: _describe_budget(f), lambda f, _: _raise_budget(f)),
    JobSituation.TIME_SPENT: (
        lambda f, _: f"{f.id} reached its budget of time.",
        lambda f, _: _begin_again(f),
    ),
    JobSituation.ONLY_SKIPPED: (
        lambda f, _: f"{f.id} ended: all that waits is of hosts that are skipped.",
        lambda f, _: _take_back(f),
    ),
    JobSituation.ENDED_BY_SPIDER: (
        lambda f, _: f"{f.id} was stopped by its spider: {short_name(f.end_error, 300)}.",
        lambda f, _: _begin_again(f),
    ),
    JobSituation.FAILED: (
        lambda f, _: f"{f.id} ended with an error.",
        lambda f, _: _explain_error(f),
    ),
    JobSituation.START_FAILED: (
        lambda f, _: f"{f.id} has no requests: its start failed.",
        lambda f, _: f"{_quote_error(f)}The same command starts it again.",
    ),
    JobSituation.INTERRUPTED: (
        lambda f, _: f"{f.id} was interrupted.",
        lambda f, _: f"Its process ended without recording a reason. {_begin_again(f)}",
    ),
    JobSituation.STOPPED: (lambda f, _: f"{f.id} was stopped.", lambda f, _: _begin_again(f)),
}
"""The answer, and its reason."""
