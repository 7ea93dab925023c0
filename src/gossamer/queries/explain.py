"""Why a URL was, was not, or is not yet fetched. Pure: the facts in, an answer with its reasons out.

What the facts do not tell is not guessed: where the spider of a job is not at hand, nothing is said of its
scope. Sentences are for people; :class:`Answer` is for programs.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.hosts import FrontierRules, HostState
from gossamer.core.jobs import FrontierStats, Job, KnownRequest
from gossamer.core.lifecycle import FinishReason, JobState, RequestState
from gossamer.core.record import Record
from gossamer.core.requests import RequestPreview
from gossamer.core.results import Attempt, PageRecord, Verdict
from gossamer.core.text import format_count
from gossamer.policy import politeness, urls
from gossamer.policy.request_preview import describe_preview
from gossamer.policy.scope import MEDIA
from gossamer.queries.explain_scope import ScopeFacts, describe_left_out, scope_rule
from gossamer.queries.reasons import reason_text


class UrlState(StrEnum):
    """What has become of a URL, in one word."""

    BAD_URL = "bad_url"  # not a URL by the WHATWG standard
    DUPLICATE = "duplicate"  # of the URL under which the page is known
    OUT_OF_SCOPE = "out_of_scope"  # links to it are not taken; the rule is named
    TRAP = "trap"  # it looks like a page of a site that never ends
    NEVER_SEEN = "never_seen"  # no start URL, and no link that the spider followed, has led to it
    ROBOTS = "robots"  # robots.txt does not allow it
    WAITING = "waiting"  # for its host's turn
    OVER_BUDGET = "over_budget"  # it waits, and a budget of pages or time is spent
    STOPPED = "stopped"  # it waits, and nobody works on the job
    LEASED = "leased"  # being fetched just now
    RETRYING = "retrying"  # it failed, and waits for its next try
    DELAYED = "delayed"  # it was not to be fetched before a time
    DEAD = "dead"  # given up: a dead letter
    REDIRECTED = "redirected"  # its answer led to another URL, which is a request of its own
    SKIPPED = "skipped"  # for a reason that will not change
    DONE = "done"  # fetched


class UrlFacts(Record, frozen=True, kw_only=True):
    """Everything that is known of one URL in one job."""

    url: str  # as asked for
    now: float
    method: str = "GET"
    request: RequestPreview | None = None  # what else tells the request from others to the URL
    fingerprint: int = 0
    canonical: str = ""  # "": it has none
    scoping: ScopeFacts | None = None  # None: the spider is not at hand
    job: Job
    stats: FrontierStats
    rules: FrontierRules  # in force in the frontier
    is_at_work: bool = True  # a process crawls the job
    process: str = ""  # its number, where it is known
    found: KnownRequest | None = None
    since: float = 0.0  # LEASED, DEAD: since when
    deadline: float = 0.0  # LEASED: until when
    ahead: int = 0  # PENDING: requests of the host that go first
    letter: int = 0  # DEAD: the number of the dead letter
    attempts: tuple[Attempt, ...] = ()  # newest first
    target: Attempt | None = None  # of a redirect to a page that was known: the latest try at that page
    page: PageRecord | None = None
    items: int = 0  # stored from this page
    left_out: dict[str, int] = {}  # links that the job did not take, by reason
    is_forgotten: bool = False  # the job is over, and its requests are not kept any more
    is_denied: bool = False  # by robots.txt, as remembered
    others: tuple[UrlFacts, ...] = ()  # of other requests to the URL that the ledger has, the latest first
    has_more_others: bool = False  # than these


class UrlExplanation(NamedTuple):
    """The answer, and what it rests on: whole sentences, the first one the answer itself."""

    answer: UrlState
    lines: tuple[str, ...]
    page: UrlState  # what has become of the page: of a duplicate, the answer for its canonical URL
    others: tuple[UrlExplanation, ...] = ()  # of other requests to the URL


class NumberFormatter(NamedTuple):
    """How numbers are written for people."""

    span: Callable[[float], str]  # a duration in seconds
    time: Callable[[float], str]  # a point in time
    size: Callable[[float], str]  # a size in bytes


def explain_facts(facts: UrlFacts, show: NumberFormatter) -> UrlExplanation:
    """Why the URL was, was not, or is not yet fetched."""
    if not facts.canonical:
        return UrlExplanation(UrlState.BAD_URL, (_bad_url(facts),), UrlState.BAD_URL)
    others = tuple(explain_facts(other, show) for other in facts.others)
    answer, lines = _of_request(facts, show)
    if others:
        told = [_of_other(other, said) for other, said in zip(facts.others, others, strict=True)]
        if facts.found is None:  # then the latest of the others is what was meant
            answer = others[0].page
            lines = [
                f"{_explain_missing(facts)}, but other requests to this URL are: {_count_others(facts)}.",
                *told,
            ]
        else:
            lines = [*lines, f"Other requests to this URL: {_count_others(facts)}.", *told]
    is_known = facts.found is not None or bool(others)
    if is_known and _is_duplicate(facts):
        same = f"It is a duplicate: the same page as {facts.canonical}, under which it is known."
        return UrlExplanation(UrlState.DUPLICATE, (same, *lines, *_extra_notes(facts)), answer, others)
    return UrlExplanation(answer, (*lines, *_extra_notes(facts)), answer, others)


def _of_request(facts: UrlFacts, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    found = facts.found
    if found is None:
        return _explain_unknown(facts)
    if found.state is RequestState.LEASED:
        return _explain_leased(facts, show)
    if found.state is RequestState.DEAD:
        return _explain_dead(facts, found, show)
    if found.state is RequestState.DONE:
        return _explain_done(facts, show)
    return _to_come(facts, found, show)


def _count_others(facts: UrlFacts) -> str:
    count = f"{len(facts.others):,}"
    return f"more than {count}, of which the latest are told" if facts.has_more_others else count


def _explain_missing(facts: UrlFacts) -> str:
    details = describe_preview(facts.request)
    return f"No {facts.method} of it{f' ({details})' if details else ''} is known"


def _of_other(facts: UrlFacts, said: UrlExplanation) -> str:
    """One of the other requests in one line: what tells it apart, and what became of it."""
    details = describe_preview(facts.request)
    return f"{facts.method}{f' ({details})' if details else ''}: {said.lines[0]}"


def _is_duplicate(facts: UrlFacts) -> bool:
    """Whether the URL differs from the canonical one by more than its spelling."""
    spelt = urls.canonicalise_url(facts.url, urls.UrlOptions(drop_parameters=()))
    return spelt != facts.canonical or facts.url.partition("#")[2] != ""


def _extra_notes(facts: UrlFacts) -> list[str]:
    """What is worth knowing besides."""
    notes = []
    if facts.is_forgotten:
        notes.append(
            f"{facts.job.id} ended longer ago than frontier.keep says: its requests are forgotten, and what "
            "is said rests on its pages and the ledger."
        )
    if facts.scoping is None:
        notes.append(
            "The job's spider is not at hand, so nothing is said of its scope: name it with --spider."
        )
    elif facts.found is not None and facts.scoping.refused not in ("", MEDIA):
        notes.append(
            f"By today's settings it would not be taken: {scope_rule(facts.scoping, facts.canonical)}."
        )
    return notes


# --------------------------------------------------------------------------- not in the frontier


def _bad_url(facts: UrlFacts) -> str:
    if len(facts.url) > urls.MAX_URL_LENGTH:
        return f"It is longer than the {urls.MAX_URL_LENGTH} characters that a URL may have."
    return "It is no URL that can be crawled: that takes http or https, and a host."


def _explain_unknown(facts: UrlFacts) -> tuple[UrlState, list[str]]:
    if facts.scoping is not None and facts.scoping.refused:
        rule = scope_rule(facts.scoping, facts.canonical)
        if facts.scoping.refused.startswith("trap_"):
            return UrlState.TRAP, [f"It looks like a trap: {rule}. Links to it are not taken."]
        return UrlState.OUT_OF_SCOPE, [f"It is out of scope: {rule}. Links to it are not taken."]
    if facts.is_forgotten:
        return UrlState.NEVER_SEEN, ["It was never tried: the ledger has no attempt of it."]
    lines = ["It was never seen: no start URL and no link that the spider followed has led to it."]
    if facts.is_denied:
        lines.append("robots.txt does not allow it, so it would be skipped.")
    counts = describe_left_out(facts.left_out, facts.scoping, facts.rules)
    if counts:
        lines.append(f"Links that were left out are counted and not listed; it may be one of them: {counts}.")
    if facts.stats.waiting:
        is_over = facts.stats.state is JobState.CANCELLED
        hope = "" if is_over else " One of them may lead to it."
        lines.append(f"Requests that still wait: {facts.stats.waiting:,}.{hope}")
        lines += _held_up(facts)[1]
    return UrlState.NEVER_SEEN, lines


# --------------------------------------------------------------------------- still to come


def _to_come(facts: UrlFacts, found: KnownRequest, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    """It waits: for a time of its own, for the job to go on, for budget, or for its host."""
    held, why = _held_up(facts)
    if facts.stats.state is JobState.CANCELLED:
        return UrlState.STOPPED, [*why, *([_last_try(facts, show)] if facts.attempts else [])]
    if facts.is_denied:
        line = "robots.txt does not allow it: it will be skipped when its turn comes."
        return UrlState.ROBOTS, [line, *why]
    tries = [_last_try(facts, show)] if facts.attempts else []
    if found.state is RequestState.DELAYED:
        return _explain_delayed(facts, found, show, [*tries, *why])
    budget = _host_budget(facts, found)
    if budget:
        return UrlState.OVER_BUDGET, [budget, *why, *tries]
    if held is not None:
        return held, [*why, *tries]
    return UrlState.WAITING, [*_explain_turn(facts, found, show), *tries]


def _explain_delayed(
    facts: UrlFacts, found: KnownRequest, show: NumberFormatter, more: list[str]
) -> tuple[UrlState, list[str]]:
    wait_s = found.due_at - facts.now
    when = (
        f"in {_format_when(wait_s, found.due_at, show)}" if wait_s > 0 else "as soon as its host's turn comes"
    )
    if not (found.attempts or found.reason or facts.attempts):
        return UrlState.DELAYED, [f"It is not to be fetched before a time of its own: {when}.", *more]
    why = f", because the last attempt ended with {reason_text(found.reason)}" if found.reason else ""
    return UrlState.RETRYING, [f"Its next try is due {when}{why}.", *more]


def _held_up(facts: UrlFacts) -> tuple[UrlState | None, list[str]]:
    """Why nothing of this job is fetched now, whatever its hosts say."""
    job, stats = facts.job, facts.stats
    if stats.state is not JobState.RUNNING:
        ways = {
            JobState.PAUSED: "it goes on when it is resumed",
            JobState.CANCELLED: f"what waits is not fetched; `{_command_for(job)}` makes a new job",
            JobState.FINISHED: "what waits is fetched when it runs again",
        }
        return UrlState.STOPPED, [f"The job {job.id} is {stats.state}: {ways[stats.state]}."]
    if stats.budget_spent:
        line = f"The job's budget of {format_count(facts.rules.max_pages or 0, 'page')} is spent"
        more = "" if job.is_fleet else "; `gossamer crawl` with a larger --max-pages goes on"
        return UrlState.OVER_BUDGET, [f"{line}{more}."]
    if not facts.is_at_work and job.end_reason is FinishReason.MAX_TIME:
        line = "The last run's budget of time was spent (--max-time)"
        return UrlState.OVER_BUDGET, [f"{line}; the same `gossamer crawl` goes on with what waits."]
    if not facts.is_at_work:
        if job.is_fleet:
            line = f"What waits is not fetched now: no worker of the fleet works on the job {job.id}"
            return UrlState.STOPPED, [f"{line}; `gossamer fleet` shows the workers."]
        ended = f" (its last run ended: {job.end_text})" if job.end_reason else ""
        line = f"What waits is not fetched now: no process crawls the job {job.id}{ended}"
        return UrlState.STOPPED, [f"{line}; the same `gossamer crawl` goes on."]
    return None, []


def _command_for(job: Job) -> str:
    """What makes a crawl of this kind."""
    return "gossamer submit" if job.is_fleet else "gossamer crawl"


def _host_budget(facts: UrlFacts, found: KnownRequest) -> str:
    limit, host = facts.rules.max_pages_per_host, found.host
    if limit is None or host is None or host.pages < limit:
        return ""
    name = _host_name(facts, found)
    return f"The budget of {format_count(limit, 'page')} for the host {name} is spent (max_pages_per_host)."


def _explain_turn(facts: UrlFacts, found: KnownRequest, show: NumberFormatter) -> list[str]:
    """What its host's politeness says."""
    host, name, rules = found.host or HostState(), _host_name(facts, found), facts.rules
    if politeness.is_down(host, rules):
        return [f"The host {name} has not answered for so long that what waits for it is given up, untried."]
    wait_s = host.next_at - facts.now
    slots = politeness.slots_for(host, rules)
    if host.in_flight >= slots:
        busy = f"{host.in_flight} of {format_count(slots, 'request')}"
        lines = [f"It waits for the host {name}, which has {busy} in flight."]
        if wait_s > 0:
            lines.append(f"The host's next turn is in {_format_when(wait_s, host.next_at, show)}.")
    elif wait_s > 0:
        turn = _format_when(wait_s, host.next_at, show)
        lines = [f"It waits for politeness: the next turn of the host {name} is in {turn}."]
    else:
        lines = [f"It may be fetched now: the turn of the host {name} has come."]
    if facts.ahead:
        lines.append(f"Requests of this host that go before it: {facts.ahead:,}.")
    return [*lines, *_explain_pace(host, rules, facts.now, show)]


def _format_when(wait_s: float, at: float, show: NumberFormatter) -> str:
    return f"{show.span(wait_s)} ({show.time(at)})"


def _explain_pace(host: HostState, rules: FrontierRules, now: float, show: NumberFormatter) -> list[str]:
    lines = []
    if host.troubled_since:
        what = "has not answered" if host.silences else "has refused every request"
        lines.append(
            f"The host {what} since {show.time(host.troubled_since)}; one request at a time asks again."
        )
    if host.hold_until > now:
        held = show.span(host.hold_until - now)
        lines.append(f"The host asked for time, or was in trouble: it is left alone for {held}.")
    delay_s = politeness.delay_in_force(host, rules)
    whose = _whose_delay(host, rules, delay_s)
    return [*lines, f"Two requests to this host are {show.span(delay_s)} apart ({whose})."]


def _whose_delay(host: HostState, rules: FrontierRules, delay_s: float) -> str:
    if (host.crawl_delay_s or 0.0) >= delay_s > 0:
        return "robots.txt asks for it"
    if host.pace_s >= delay_s > 0:
        return "it refused what came faster"
    return "it follows the host's response time" if rules.delay_s is None else "as set"


def _host_name(facts: UrlFacts, found: KnownRequest) -> str:
    return found.entry.host if found.entry is not None else urls.host_key(facts.canonical)


def _explain_leased(facts: UrlFacts, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    left_s = facts.deadline - facts.now
    worker = f"A worker of process {facts.process}" if facts.process.isdigit() else "A worker"
    if not facts.is_at_work and facts.job.is_fleet:
        line = "A worker had it when it was lost; it is taken back, and another one tries it again."
    elif not facts.is_at_work:
        line = "A worker had it when its process ended; the same `gossamer crawl` tries it again."
    elif left_s > 0:
        held = show.span(facts.now - facts.since)
        until = f"{show.time(facts.deadline)} (in {show.span(left_s)})"
        line = f"{worker} has had it for {held}, and has it until {until}."
    else:
        late = show.span(-left_s)
        line = f"{worker} had it until {late} ago and is late; it is taken back and tried again."
    return UrlState.LEASED, [line, *([_last_try(facts, show)] if facts.attempts else [])]


# --------------------------------------------------------------------------- settled


def _explain_dead(facts: UrlFacts, found: KnownRequest, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    tries = format_count(found.attempts, "attempt")
    when = f" {show.span(facts.now - facts.since)} ago" if facts.since else ""
    lines = [f"It was given up{when} after {tries}: {reason_text(found.reason)}."]
    if facts.attempts:
        lines.append(_last_try(facts, show))
    way = f"`gossamer dead retry {facts.job.id} {facts.letter}`"
    then = "the fleet fetches it then" if facts.job.is_fleet else "and then the same `gossamer crawl`"
    lines.append(f"To try it again: {way}, {then}.")
    return UrlState.DEAD, lines


_SKIPPED: dict[str, UrlState] = {Fault.ROBOTS: UrlState.ROBOTS, Fault.OUT_OF_SCOPE: UrlState.OUT_OF_SCOPE}


def _explain_done(facts: UrlFacts, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    if not facts.attempts:
        return UrlState.DONE, ["It is settled; the ledger has no row of it."]
    last = facts.attempts[0]
    when = f"{show.span(facts.now - last.at)} ago ({show.time(last.at)})"
    if last.verdict is Verdict.REDIRECT:
        return UrlState.REDIRECTED, _explain_redirect(facts, when, show)
    if last.verdict is Verdict.SKIPPED:
        return _SKIPPED.get(last.reason, UrlState.SKIPPED), [_explain_skipped(last, when)]
    if last.verdict is Verdict.SUCCESS:
        return UrlState.DONE, _explain_fetch(facts, when, show)
    if last.verdict is Verdict.DEAD:
        line = f"It was given up {when} ({reason_text(last.reason)})"
        answer, end = (
            (UrlState.DEAD, "")
            if facts.is_forgotten
            else (UrlState.DONE, ", and its dead letter was dropped")
        )
        return answer, [f"{line}{end}."]
    # A retry, or a lease that nobody came back from: its end is not in the ledger.
    end = "how it ended is not known any more" if facts.is_forgotten else "how it ended is not in the ledger"
    return UrlState.DONE, [f"It was tried; {end}.", _last_try(facts, show)]


def _explain_skipped(last: Attempt, when: str) -> str:
    detail = f" ({last.detail.splitlines()[0]})" if last.detail else ""
    verb = "It was fetched and skipped" if last.status else "It was skipped, without asking its host,"
    return f"{verb} {when}: {reason_text(last.reason)}{detail}."


def _explain_redirect(facts: UrlFacts, when: str, show: NumberFormatter) -> list[str]:
    last = facts.attempts[0]
    line = f"It was fetched {when}: status {last.status}, a redirect to {last.detail}"
    if last.reason == LedgerReason.KNOWN_TARGET:
        return [f"{line}, which was known already.", _other_request(facts.target, show)]
    return [f"{line}, which is a request of its own."]


def _explain_fetch(facts: UrlFacts, when: str, show: NumberFormatter) -> list[str]:
    last = facts.attempts[0]
    what = f"status {last.status}, {show.size(last.size_bytes)}, {last.elapsed_ms:,.0f} ms"
    lines = [f"It was fetched {when}: {what}."]
    if facts.page is not None:
        title = f" {facts.page.title!r}" if facts.page.title else ""
        items = f"Items of this job that were last found at this URL: {facts.items:,}"
        lines.append(f"The page{title} was parsed. {items}.")
    else:
        lines.append("Nothing on it was parsed.")
    if last.flags:
        lines.append(f"What is known of the page besides: {', '.join(last.flags)}.")
    origin = _describe_origin(last)
    return [*lines, f"What led to it: {origin}."] if origin else lines


def _describe_origin(tried: Attempt) -> str:
    """What led to a request; "" for a start URL."""
    redirected_by = tried.request.redirected_by if tried.request else ""
    if not redirected_by:
        return f"a link on {tried.via}" if tried.via else ""
    link = f", to which {tried.via} has a link" if tried.via else ""
    return f"a redirect of {redirected_by}{link}"


def _other_request(target: Attempt | None, show: NumberFormatter) -> str:
    """Whose the page is that a redirect led to, instead of the redirected request's."""
    if target is None:
        return "That is a request of its own: the callback was not run for the page of this one."
    origin = _describe_origin(target)
    came = f" (what led to it: {origin})" if origin else ""
    fetched = "was fetched" if target.status else "was tried"
    return (
        f"That {fetched} by a request of its own at {show.time(target.at)}{came}: "
        "the callback was not run for the page of this one."
    )


def _last_try(facts: UrlFacts, show: NumberFormatter) -> str:
    tried = facts.attempts[0]
    status = f"status {tried.status}, " if tried.status else ""
    reason = f": {reason_text(tried.reason)}" if tried.reason else ""
    if tried.detail and "\n" not in tried.detail and tried.detail != f"status {tried.status}":
        reason += f"; {tried.detail}"
    ago = show.span(facts.now - tried.at)
    return f"The last attempt, number {tried.attempt}, was {ago} ago ({status}{tried.verdict}{reason})."
