"""How a job does, in two sentences: how fast and until when, and what decides that."""

from __future__ import annotations

from gossamer.core.jobs import DueCounts
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.goals import ListingGoal
from gossamer.policy.pace_limit import DelayReason, PaceLimit
from gossamer.policy.sentences.words import Saying, SentenceFormatter, describe_pace, list_names, short_name

YOUNG_S = 5.0
"""A job so young has just begun: nothing can be said of its pace."""
SOON_S = 5.0
"""So soon the turn of a host comes; what waits for longer waits for a time of its own."""

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


class SlowHost(Record, frozen=True, kw_only=True):
    """The host that decides when a job is done."""

    host: str
    pending: int
    delay_s: float
    why: DelayReason
    empties_s: float
    others_s: float | None = None  # when all others are through; None: there are none, or it cannot be said


class ObservedJobFacts(Record, frozen=True, kw_only=True):
    """What the sentences about a job rest on. Rates are per second."""

    id: str
    state: JobState
    now: float
    created_at: float
    end_reason: FinishReason | None = None  # of the last run; None: there is none, or it runs
    end_error: str = ""
    is_fleet: bool = False
    is_at_work: bool = True  # somebody works on it, or could
    has_supervisor: bool = True
    has_workers: bool = True  # that take a lane of the job
    unserved: tuple[DueCounts, ...] = ()  # what may start now on lanes that no worker takes
    is_forgotten: bool = False  # it is over, and its requests are no longer kept
    limit: PaceLimit | None = None
    pages: int = 0
    items: int = 0
    waiting: int = 0
    dead: int = 0
    max_pages: int | None = None
    pages_per_s: float | None = None
    allowed_per_s: float | None = None
    left_s: float | None = None
    left_note: str = ""  # why that cannot be said
    is_growing: bool = False  # it finds pages faster than it fetches them
    held_until: float | None = None  # when the first of the held hosts may be asked again
    held_hosts: int = 0
    skipped_hosts: int = 0  # of these, those that a person skips
    is_asked_for: bool = False  # the hold was the host's wish
    next_at: float | None = None  # when the next request may start
    due: int = 0  # requests that may start now
    more_workers: int = 0  # that would have something to do
    store: str = "the store"  # by its name
    store_lag_s: float = 0.0
    slowest: SlowHost | None = None
    goals: tuple[ListingGoal, ...] = ()  # how many of something the site announces, and how many there are


def describe_job(facts: ObservedJobFacts, show: SentenceFormatter) -> Saying:
    """How a job does."""
    return (
        _describe_end(facts)
        or _describe_start(facts)
        or _describe_limit(facts, show)
        or _on_its_way(facts, show)
    )


# --------------------------------------------------------------------------- not at work


def _describe_end(facts: ObservedJobFacts) -> Saying | None:
    """A job that does not run, or whose last run ended with work left."""
    waits = f"{format_count(facts.waiting, 'request')} {'waits' if facts.waiting == 1 else 'wait'}"
    if facts.state is JobState.PAUSED:
        return Saying(
            f"{facts.id} is paused.",
            f"Nothing new is begun. {waits}; resume it and it goes on where it was.",
        )
    if facts.state is JobState.CANCELLED:
        return Saying(
            f"{facts.id} was cancelled.",
            "What it had stored stays. It cannot be resumed; the same target can be started again.",
        )
    if facts.state is JobState.FINISHED:
        counts = (
            format_count(facts.pages, "page"),
            format_count(facts.items, "item"),
            format_count(facts.dead, "dead letter"),
        )
        if not facts.pages and facts.dead:
            return Saying(
                f"{facts.id} is finished, and has not got a single page.",
                f"{format_count(facts.dead, 'request')} {'was' if facts.dead == 1 else 'were'} given up: "
                "the dead letters say why.",
            )
        kept = " Its requests are no longer kept." if facts.is_forgotten else ""
        return Saying(f"{facts.id} is finished: nothing is left to do.", f"{', '.join(counts)}.{kept}")
    if facts.limit is PaceLimit.BUDGET and facts.end_reason is None:
        return Saying(_budget_sentence(facts), f"{waits}. A larger budget lets it go on.")
    return _describe_stop(facts, waits) if facts.end_reason is not None and not facts.is_at_work else None


def _budget_sentence(facts: ObservedJobFacts) -> str:
    if facts.max_pages is not None and facts.end_reason in (None, FinishReason.MAX_PAGES):
        return f"{facts.id} reached its budget of {format_count(facts.max_pages, 'page')}."
    if facts.end_reason is FinishReason.MAX_PAGES:
        return (
            f"{facts.id} has nothing left that may be asked for: its hosts have spent their budget of pages "
            "(max_pages_per_host)."
        )
    which = f" ({facts.end_error})" if facts.end_reason is FinishReason.BUDGET and facts.end_error else ""
    return f"{facts.id} has spent its budget{which}."


def _describe_stop(facts: ObservedJobFacts, waits: str) -> Saying:
    """The last run ended although there is more to do."""
    way = "the same `gossamer crawl` goes on" if not facts.is_fleet else "`gossamer submit` begins it again"
    budget = "a larger budget lets it go on"
    first, second = {
        FinishReason.MAX_PAGES: (_budget_sentence(facts), f"{waits}; {budget}."),
        FinishReason.SKIPPED: (
            f"{facts.id} ended: all that waits is of hosts that are skipped.",
            f"{waits}; `gossamer host {facts.id} HOST --take` takes a host back"
            + ("." if facts.is_fleet else f", then {way}."),
        ),
        FinishReason.BUDGET: (_budget_sentence(facts), f"{waits}; {budget}."),
        FinishReason.MAX_ITEMS: (f"{facts.id} reached its budget of items.", f"{waits}; {budget}."),
        FinishReason.MAX_ERRORS: (
            f"{facts.id} reached its budget of errors ({facts.end_error}).",
            f"{waits}; see its dead letters; {budget}.",
        ),
        FinishReason.STOPPED: (
            f"{facts.id} was stopped by its spider: {short_name(facts.end_error, 300)}.",
            f"{waits}; {way}.",
        ),
        FinishReason.MAX_TIME: (f"{facts.id} reached its budget of time.", f"{waits}; {way}."),
        FinishReason.ERROR: (
            f"{facts.id} ended with an error.",
            f"{short_name(facts.end_error, 300)}. {waits}; {way}.".removeprefix(". "),
        ),
        FinishReason.INTERRUPTED: (
            f"{facts.id} was interrupted.",
            f"Its process ended without a word. {waits}; {way}.",
        ),
    }.get(facts.end_reason or FinishReason.SIGNAL, (f"{facts.id} was stopped.", f"{waits}; {way}."))
    return Saying(first, second)


def _describe_start(facts: ObservedJobFacts) -> Saying | None:
    """A job that has just begun, or that nobody works on."""
    if facts.now - facts.created_at < YOUNG_S:
        return Saying(
            f"{facts.id} has just begun.", f"{_describe_waiting(facts)} Its pace shows in a moment."
        )
    if not facts.is_fleet:
        if facts.is_at_work:
            return None
        return Saying(
            f"Nobody works on {facts.id}: no process crawls it.", "The same `gossamer crawl` goes on."
        )
    if not facts.has_supervisor:
        return Saying(
            f"Nobody looks after {facts.id}: no supervisor is there.",
            "Shifts under way end within a minute, and none begins. `gossamer supervisor` starts one.",
        )
    if facts.has_workers:
        return _describe_unserved(facts)
    return Saying(
        f"Nobody works on {facts.id}: no worker takes its lane.",
        "`gossamer worker` starts one, on any machine with the same settings. Nothing is lost meanwhile.",
    )


def describe_lane(job: str, due: DueCounts) -> str:
    """What waits on a lane that no worker takes."""
    requests = format_count(due.requests, "request")
    return f"{requests} of {job} may start now, and no worker takes the lane {due.lane}."


def _describe_unserved(facts: ObservedJobFacts) -> Saying | None:
    """Where everything that may start waits for workers that are not there, though others are."""
    if not facts.unserved or facts.due > sum(one.requests for one in facts.unserved):
        return None
    first = facts.unserved[0]
    return Saying(
        describe_lane(facts.id, first),
        f"`gossamer worker --lanes {first.lane}` starts one, on any machine with the same settings.",
    )


# --------------------------------------------------------------------------- at work


def _describe_limit(facts: ObservedJobFacts, show: SentenceFormatter) -> Saying | None:
    """What decides the pace, where that is the answer."""
    match facts.limit:
        case PaceLimit.HELD if facts.held_hosts:  # else one has been let go since that was found
            return _describe_hold(facts, show)
        case PaceLimit.STORE:
            lag = f", for {show.span(facts.store_lag_s)}" if facts.store_lag_s else ""
            return Saying(
                f"{facts.id} waits for {facts.store}{lag}.",
                f"Nothing is lost; it goes on by itself. {_describe_work(facts, show)}",
            )
        case PaceLimit.WORKERS:
            more = format_count(facts.more_workers, "more worker")
            help_ = f" All slots are busy; {more} would have something to do." if facts.more_workers else ""
            return Saying(
                f"{facts.id} goes slower than its hosts allow: it lacks workers.",
                f"{_describe_work(facts, show)}{help_}{_describe_growth(facts)}",
            )
        case PaceLimit.NOTHING_DUE if (
            facts.next_at is not None and facts.next_at > facts.now + SOON_S and facts.waiting
        ):
            return Saying(
                f"{facts.id} waits: nothing may start before {show.time(facts.next_at)}.",
                f"{_describe_waiting(facts)} What waits has a time of its own, such as that of a next try.",
            )
    return None


def _describe_hold(facts: ObservedJobFacts, show: SentenceFormatter) -> Saying:
    if facts.skipped_hosts == facts.held_hosts:
        hosts = "its one host is" if facts.held_hosts == 1 else f"all of its {facts.held_hosts:,} hosts are"
        return Saying(
            f"{facts.id} waits: {hosts} skipped.",
            f"{_describe_waiting(facts)} `gossamer host {facts.id} HOST --take` takes a host back; otherwise "
            "it ends ten minutes after its last request.",
        )
    until = f" until {show.time(facts.held_until)}" if facts.held_until else " for now"
    why = ", as its host asked" if facts.is_asked_for and facts.held_hosts == 1 else ""
    if facts.held_hosts == 1:
        first = f"{facts.id} is left alone{until}{why}."
    else:
        first = f"{facts.id} is left alone{until}: all of its {facts.held_hosts:,} hosts are on hold."
    return Saying(first, f"Nothing is lost: {_waiting_words(facts)}, and it goes on by itself.")


def _on_its_way(facts: ObservedJobFacts, show: SentenceFormatter) -> Saying:
    """It goes on: as fast as its hosts allow, or without anything that is known to hold it up."""
    pace = "goes as fast as its hosts allow" if facts.limit is PaceLimit.POLITENESS else "is under way"
    if facts.left_s is not None:
        done = show.time(facts.now + facts.left_s)
        first = f"{facts.id} {pace} and is done at about {done}, in {show.span(facts.left_s)}."
    elif facts.is_growing:
        first = f"{facts.id} {pace}; it finds pages faster than it fetches them."
    else:
        first = f"{facts.id} {pace}."
    note = f" Its end cannot be said yet: {facts.left_note}." if _is_note_new(facts) else ""
    return Saying(first, f"{_describe_work(facts, show)}{note}{_describe_last_host(facts, show)}")


def _is_note_new(facts: ObservedJobFacts) -> bool:
    return facts.left_s is None and not facts.is_growing and bool(facts.left_note)


def _describe_work(facts: ObservedJobFacts, show: SentenceFormatter) -> str:
    """Pace of what is allowed, what waits, and how much of what is announced is there."""
    goals = list_names([goal.to_text() for goal in facts.goals])
    rest = f"{_describe_waiting(facts)}{f' It has {short_name(goals, 300)}.' if goals else ''}"
    if facts.pages_per_s is None:
        return rest
    pace = describe_pace(facts.pages_per_s, facts.allowed_per_s, "its hosts allow", show)
    return f"Pages: {pace}. {rest}"


def _describe_waiting(facts: ObservedJobFacts) -> str:
    words = _waiting_words(facts)
    return f"{words[:1].upper()}{words[1:]}."


def _waiting_words(facts: ObservedJobFacts) -> str:
    if not facts.waiting:
        return "nothing waits"
    return f"{format_count(facts.waiting, 'request')} {'waits' if facts.waiting == 1 else 'wait'}"


def _describe_growth(facts: ObservedJobFacts) -> str:
    return (
        " It finds pages faster than it fetches them, so its end cannot be said yet."
        if facts.is_growing
        else ""
    )


def _describe_last_host(facts: ObservedJobFacts, show: SentenceFormatter) -> str:
    last = facts.slowest
    if last is None or facts.left_s is None or last.others_s is None:
        return ""
    requests = format_count(last.pending, "request")
    apart = f" {show.span(last.delay_s)} apart, {WHOSE_DELAY[last.why]}" if last.delay_s else ""
    others = show.time(facts.now + last.others_s)
    name = short_name(last.host)
    return f" The last host is {name}, with {requests}{apart}; all others are through by {others}."
