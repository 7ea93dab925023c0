"""Why a URL was, was not, or is not yet fetched. Pure: the facts in, an answer with its reasons out.

What the facts do not tell is not guessed: where the spider of a job is not at hand, nothing is said of its
scope. Sentences are for people; :class:`Answer` is for programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from gossamer.policy import politeness, urls
from gossamer.policy.reasons import LEFT_OUT, reason_text
from gossamer.words.errors import Fault, Remark
from gossamer.words.lifecycle import JobState, State
from gossamer.words.model import (
    Attempt,
    Found,
    FrontierStats,
    HostState,
    Job,
    PageRecord,
    Record,
    Rules,
    Verdict,
)


class Answer(StrEnum):
    """What has become of a URL, in one word."""

    BAD_URL = "bad_url"  # no URL by the WHATWG standard
    DUPLICATE = "duplicate"  # of the URL under which the page is known and fetched
    OUT_OF_SCOPE = "out_of_scope"  # links to it are not taken; the rule is named
    TRAP = "trap"  # it looks like a page of a site that never ends
    NEVER_SEEN = "never_seen"  # no page has led to it
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


class Scoping(Record, frozen=True, kw_only=True):
    """What a job's spider and settings say of a URL."""

    refused: str = ""  # a reason of ``policy.scope``; "" when in scope
    allowed_domains: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class Facts(Record, frozen=True, kw_only=True):
    """Everything that is known of one URL in one job."""

    url: str  # as asked for
    now: float
    canonical: str = ""  # "": it has none
    scoping: Scoping | None = None  # None: the spider is not at hand
    job: Job
    stats: FrontierStats
    rules: Rules  # in force in the frontier
    is_at_work: bool = True  # a process crawls the job
    process: str = ""  # its number, where it is known
    found: Found | None = None
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


class Explanation(NamedTuple):
    """The answer, and what it rests on: whole sentences, the first one the answer itself."""

    answer: Answer
    lines: tuple[str, ...]
    page: Answer  # what has become of the page: of a duplicate, the answer for its canonical URL


class Show(NamedTuple):
    """How numbers are written for people."""

    span: Callable[[float], str]  # a duration in seconds
    time: Callable[[float], str]  # a point in time
    size: Callable[[float], str]  # a size in bytes


def explain(facts: Facts, show: Show) -> Explanation:
    """Why the URL was, was not, or is not yet fetched."""
    if not facts.canonical:
        return Explanation(Answer.BAD_URL, (_bad_url(facts),), Answer.BAD_URL)
    found = facts.found
    if found is None:
        answer, lines = _unknown(facts)
    elif found.state is State.LEASED:
        answer, lines = _leased(facts, show)
    elif found.state is State.DEAD:
        answer, lines = _dead(facts, found, show)
    elif found.state is State.DONE:
        answer, lines = _done(facts, show)
    else:
        answer, lines = _to_come(facts, found, show)
    if found is not None and _is_duplicate(facts):
        same = f"It is a duplicate: the same page as {facts.canonical}, under which it is known and fetched."
        return Explanation(Answer.DUPLICATE, (same, *lines, *_notes(facts)), answer)
    return Explanation(answer, (*lines, *_notes(facts)), answer)


def _is_duplicate(facts: Facts) -> bool:
    """Whether the URL differs from the canonical one by more than its spelling."""
    spelt = urls.canonicalise(facts.url, urls.UrlOptions(drop_parameters=()))
    return spelt != facts.canonical or facts.url.partition("#")[2] != ""


def _notes(facts: Facts) -> list[str]:
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
    elif facts.found is not None and facts.scoping.refused:
        notes.append(
            f"By today's settings it would not be taken: {scope_rule(facts.scoping, facts.canonical)}."
        )
    return notes


# --------------------------------------------------------------------------- not in the frontier


def _bad_url(facts: Facts) -> str:
    if len(facts.url) > urls.MAX_URL_LENGTH:
        return f"It is longer than the {urls.MAX_URL_LENGTH} characters that a URL may have."
    return "It is no URL that can be crawled: that takes http or https, and a host."


def _unknown(facts: Facts) -> tuple[Answer, list[str]]:
    if facts.scoping is not None and facts.scoping.refused:
        rule = scope_rule(facts.scoping, facts.canonical)
        if facts.scoping.refused.startswith("trap_"):
            return Answer.TRAP, [f"It looks like a trap: {rule}. Links to it are not taken."]
        return Answer.OUT_OF_SCOPE, [f"It is out of scope: {rule}. Links to it are not taken."]
    lines = ["It was never seen: no page that was fetched has led to it."]
    if facts.is_denied:
        lines.append("robots.txt does not allow it, so it would be skipped.")
    counts = _left_out(facts)
    if counts:
        lines.append(f"Links that were left out are counted and not listed; it may be one of them: {counts}.")
    if facts.stats.waiting:
        lines.append(f"Requests that still wait: {facts.stats.waiting:,}. One of them may lead to it.")
        lines += _held_up(facts)[1]
    return Answer.NEVER_SEEN, lines


JUDGED_ALONE = {
    *("offsite", "excluded", "not_included", "extension", "scheme", "too_long", "bad_url"),
    *("trap_segments", "trap_repeats"),
}
"""Reasons that a URL has by itself, whatever else was crawled."""


def _left_out(facts: Facts) -> str:
    """The links that were left out, among which this one may be: where the scope is known, it is in it."""
    said = []
    for reason, count in sorted(facts.left_out.items()):
        if facts.scoping is None or reason not in JUDGED_ALONE:
            depth = facts.rules.max_depth if reason == "too_deep" else None
            limit = "" if depth is None else f" {depth}"
            said.append(f"{count:,} {LEFT_OUT.get(reason, reason.replace('_', ' '))}{limit}")
    return ", ".join(said)


def scope_rule(scoping: Scoping, url: str) -> str:
    """The rule by which a URL is refused, in words."""
    if scoping.refused == "offsite":
        domains = ", ".join(scoping.allowed_domains)
        return f"its host {urls.host_key(url)} is none of allowed_domains ({domains}) nor below one of them"
    if scoping.refused == "excluded":
        pattern = next((pattern for pattern in scoping.exclude if re.search(pattern, url)), "")
        return f"the setting exclude has {pattern!r}, which matches it"
    if scoping.refused == "not_included":
        return f"none of the setting include matches it ({_quoted(scoping.include)})"
    known = {
        "extension": "the setting deny_extensions has its suffix",
        "scheme": "only http and https are crawled",
        "too_long": f"it is longer than {urls.MAX_URL_LENGTH} characters",
        "bad_url": "it is no URL",
        "trap_segments": "its path has more segments than the setting traps.max_segments",
        "trap_repeats": "its path repeats itself more often than the setting traps.max_repeats",
    }
    return known.get(scoping.refused, scoping.refused)


def _quoted(patterns: Sequence[str]) -> str:
    return ", ".join(map(repr, patterns))


# --------------------------------------------------------------------------- still to come


def _to_come(facts: Facts, found: Found, show: Show) -> tuple[Answer, list[str]]:
    """It waits: for a time of its own, for the job to go on, for budget, or for its host."""
    held, why = _held_up(facts)
    if facts.is_denied:
        line = "robots.txt does not allow it: it will be skipped when its turn comes."
        return Answer.ROBOTS, [line, *why]
    tries = [_last_try(facts, show)] if facts.attempts else []
    if found.state is State.DELAYED:
        return _delayed(facts, found, show, [*tries, *why])
    budget = _host_budget(facts, found)
    if budget:
        return Answer.OVER_BUDGET, [budget, *why, *tries]
    if held is not None:
        return held, [*why, *tries]
    return Answer.WAITING, [*_turn(facts, found, show), *tries]


def _delayed(facts: Facts, found: Found, show: Show, more: list[str]) -> tuple[Answer, list[str]]:
    wait_s = found.due_at - facts.now
    when = f"in {_when(wait_s, found.due_at, show)}" if wait_s > 0 else "as soon as its host's turn comes"
    if not (found.attempts or found.reason or facts.attempts):
        return Answer.DELAYED, [f"It is not to be fetched before a time of its own: {when}.", *more]
    why = f", because the last attempt ended with {reason_text(found.reason)}" if found.reason else ""
    return Answer.RETRYING, [f"It is tried again {when}{why}.", *more]


def _held_up(facts: Facts) -> tuple[Answer | None, list[str]]:
    """Why nothing of this job is fetched now, whatever its hosts say."""
    job, stats = facts.job, facts.stats
    if stats.state is not JobState.RUNNING:
        ways = {
            JobState.PAUSED: "it goes on when it is resumed",
            JobState.CANCELLED: "what waits is not fetched; `gossamer crawl` makes a new job",
            JobState.FINISHED: "`gossamer crawl` goes on with what waits",
        }
        return Answer.STOPPED, [f"The job {job.id} is {stats.state}: {ways[stats.state]}."]
    if stats.budget_spent:
        line = (
            f"The job's budget of {facts.rules.max_pages:,} pages is spent; `gossamer crawl` with a larger "
        )
        return Answer.OVER_BUDGET, [f"{line}--max-pages goes on."]
    if not facts.is_at_work and job.finish_reason == "max_time":
        line = "The last run's budget of time was spent (--max-time)"
        return Answer.OVER_BUDGET, [f"{line}; the same `gossamer crawl` goes on with what waits."]
    if not facts.is_at_work:
        ended = f" (its last run ended: {job.finish_reason})" if job.finish_reason else ""
        line = (
            f"It waits, but no process crawls the job {job.id} now{ended}; the same `gossamer crawl` goes on."
        )
        return Answer.STOPPED, [line]
    return None, []


def _host_budget(facts: Facts, found: Found) -> str:
    limit, host = facts.rules.max_pages_per_host, found.host
    if limit is None or host is None or host.pages < limit:
        return ""
    name = _host_name(facts, found)
    return f"The budget of {limit:,} pages for the host {name} is spent (max_pages_per_host)."


def _turn(facts: Facts, found: Found, show: Show) -> list[str]:
    """What its host's politeness says."""
    host, name, rules = found.host or HostState(), _host_name(facts, found), facts.rules
    if politeness.is_down(host, rules):
        return [f"The host {name} has not answered for so long that what waits for it is given up, untried."]
    wait_s = host.next_at - facts.now
    if host.in_flight >= rules.per_host:
        busy = f"{host.in_flight} of {rules.per_host}"
        lines = [f"It waits for the host {name}, which has {busy} requests in flight."]
        if wait_s > 0:
            lines.append(f"The host's next turn is in {_when(wait_s, host.next_at, show)}.")
    elif wait_s > 0:
        turn = _when(wait_s, host.next_at, show)
        lines = [f"It waits for politeness: the next turn of the host {name} is in {turn}."]
    else:
        lines = [f"It may be fetched now: the turn of the host {name} has come."]
    if facts.ahead:
        lines.append(f"Requests of this host that go before it: {facts.ahead:,}.")
    return [*lines, *_pace(host, rules, facts.now, show)]


def _when(wait_s: float, at: float, show: Show) -> str:
    return f"{show.span(wait_s)} ({show.time(at)})"


def _pace(host: HostState, rules: Rules, now: float, show: Show) -> list[str]:
    lines = []
    if host.hold_until > now:
        held = show.span(host.hold_until - now)
        lines.append(f"The host asked for time, or was in trouble: it is left alone for {held}.")
    delay_s = politeness.delay_in_force(host, rules)
    whose = (
        "robots.txt asks for it"
        if (host.crawl_delay_s or 0.0) >= delay_s > 0
        else ("it follows the host's response time" if rules.delay_s is None else "as set")
    )
    return [*lines, f"Two requests to this host are {show.span(delay_s)} apart ({whose})."]


def _host_name(facts: Facts, found: Found) -> str:
    return found.entry.host if found.entry is not None else urls.host_key(facts.canonical)


def _leased(facts: Facts, show: Show) -> tuple[Answer, list[str]]:
    left_s = facts.deadline - facts.now
    worker = f"A worker of process {facts.process}" if facts.process else "A worker"
    if not facts.is_at_work:
        line = "A worker had it when its process ended; the same `gossamer crawl` tries it again."
    elif left_s > 0:
        held = show.span(facts.now - facts.since)
        until = f"{show.time(facts.deadline)} (in {show.span(left_s)})"
        line = f"{worker} has had it for {held}, and has it until {until}."
    else:
        late = show.span(-left_s)
        line = f"{worker} had it until {late} ago and is late; it is taken back and tried again."
    return Answer.LEASED, [line, *([_last_try(facts, show)] if facts.attempts else [])]


# --------------------------------------------------------------------------- settled


def _dead(facts: Facts, found: Found, show: Show) -> tuple[Answer, list[str]]:
    tries = f"{found.attempts:,} attempt{'s' * (found.attempts != 1)}"
    when = f" {show.span(facts.now - facts.since)} ago" if facts.since else ""
    lines = [f"It was given up{when} after {tries}: {reason_text(found.reason)}."]
    if facts.attempts:
        lines.append(_last_try(facts, show))
    way = f"`gossamer dead retry {facts.job.id} {facts.letter}`"
    lines.append(f"To try it again: {way}, and then the same `gossamer crawl`.")
    return Answer.DEAD, lines


_SKIPPED: dict[str, Answer] = {Fault.ROBOTS: Answer.ROBOTS, Fault.OUT_OF_SCOPE: Answer.OUT_OF_SCOPE}


def _done(facts: Facts, show: Show) -> tuple[Answer, list[str]]:
    last = facts.attempts[0] if facts.attempts else None
    if last is None:
        return Answer.DONE, ["It is settled; the ledger has no row of it."]
    when = f"{show.span(facts.now - last.at)} ago ({show.time(last.at)})"
    if last.verdict is Verdict.REDIRECT:
        line = f"It was fetched {when}: status {last.status}, a redirect to {last.detail}"
        if last.reason == Remark.KNOWN_TARGET:
            return Answer.REDIRECTED, [
                f"{line}, which was known already.",
                _other_request(facts.target, show),
            ]
        return Answer.REDIRECTED, [f"{line}, which is a request of its own."]
    if last.verdict is Verdict.SKIPPED:
        detail = f" ({last.detail.splitlines()[0]})" if last.detail else ""
        answer = _SKIPPED.get(last.reason, Answer.SKIPPED)
        verb = "It was fetched and skipped" if last.status else "It was skipped, without asking its host,"
        return answer, [f"{verb} {when}: {reason_text(last.reason)}{detail}."]
    if last.verdict is Verdict.DEAD:
        return Answer.DONE, [
            f"It was given up {when} ({reason_text(last.reason)}), and its dead letter was dropped."
        ]
    what = f"status {last.status}, {show.size(last.size_bytes)}, {last.elapsed_ms:,.0f} ms"
    lines = [f"It was fetched {when}: {what}."]
    if facts.page is not None:
        title = f" {facts.page.title!r}" if facts.page.title else ""
        lines.append(
            f"The page{title} was parsed. Items of this job that were last found on it: {facts.items:,}."
        )
    else:
        lines.append("Nothing on it was parsed.")
    if last.via:
        lines.append(f"The link to it was found on {last.via}.")
    return Answer.DONE, lines


def _other_request(target: Attempt | None, show: Show) -> str:
    """Whose the page is that a redirect led to, instead of the redirected request's."""
    if target is None:
        return "That is a request of its own: the callback was not run for the page of this one."
    came = f", with a link from {target.via}" if target.via else ""
    fetched = "was fetched" if target.status else "was tried"
    return (
        f"That {fetched} by a request of its own at {show.time(target.at)}{came}: "
        "the callback was not run for the page of this one."
    )


def _last_try(facts: Facts, show: Show) -> str:
    tried = facts.attempts[0]
    status = f"status {tried.status}, " if tried.status else ""
    reason = f": {reason_text(tried.reason)}" if tried.reason else ""
    if tried.detail and "\n" not in tried.detail and tried.detail != f"status {tried.status}":
        reason += f"; {tried.detail}"
    ago = show.span(facts.now - tried.at)
    return f"The last attempt, number {tried.attempt}, was {ago} ago ({status}{tried.verdict}{reason})."
