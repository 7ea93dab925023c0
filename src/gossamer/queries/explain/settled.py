"""Explain a settled request: fetched, redirected, skipped, or given up. Pure."""

from __future__ import annotations

from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.jobs import KnownRequest
from gossamer.core.results import DEFERRED, EXTRACTED, Attempt, Verdict
from gossamer.core.routes import BlockKind
from gossamer.core.text import format_count
from gossamer.policy.sentences.errors import words_for
from gossamer.queries.drops import DroppedItem
from gossamer.queries.explain.facts import NumberFormatter, UrlFacts, UrlState
from gossamer.queries.explain.tries import describe_origin, last_try
from gossamer.queries.explain.waiting import is_extraction


def explain_dead(facts: UrlFacts, found: KnownRequest, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    """It was given up: when, why, and how it is tried again."""
    tries = format_count(found.attempts, "attempt")
    when = f" {show.span(facts.now - facts.since)} ago" if facts.since else ""
    lines = [f"It was given up{when} after {tries}: {words_for(found.reason)}."]
    if facts.attempts:
        lines.append(last_try(facts, show))
    way = f"`gossamer dead retry {facts.job.id} {facts.letter}`"
    then = "the fleet fetches it then" if facts.job.is_fleet else "and then the same `gossamer crawl`"
    if is_extraction(found):
        then = "its callback then runs on the archived answer"
    lines.append(f"To try it again: {way}, {then}.")
    return UrlState.DEAD, lines


_SKIPPED: dict[str, UrlState] = {
    Fault.ROBOTS: UrlState.ROBOTS,
    Fault.BUDGET: UrlState.OVER_BUDGET,
    Fault.OUT_OF_SCOPE: UrlState.OUT_OF_SCOPE,
    Fault.TRAP: UrlState.TRAP,
}


def explain_done(facts: UrlFacts, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    """Explain a settled request by its latest attempt in the ledger."""
    if not facts.attempts:
        return UrlState.DONE, ["It is settled; the ledger has no row of it."]
    last = facts.attempts[0]
    when = f"{show.span(facts.now - last.at)} ago ({show.time(last.at)})"
    if last.verdict is Verdict.REDIRECT:
        return UrlState.REDIRECTED, _explain_redirect(facts, when, show)
    if last.verdict is Verdict.SKIPPED:
        return _SKIPPED.get(last.reason, UrlState.SKIPPED), [_explain_skipped(last, when)]
    if last.verdict is Verdict.SUCCESS:
        return UrlState.DONE, _explain_fetch(facts, show)
    if last.verdict is Verdict.DEAD:
        line = f"It was given up {when} ({words_for(last.reason)})"
        answer, end = (
            (UrlState.DEAD, "")
            if facts.is_forgotten
            else (UrlState.DONE, ", and its dead letter was dropped")
        )
        return answer, [f"{line}{end}."]
    # A retry, or a lost lease: its end is not in the ledger.
    end = "how it ended is no longer known" if facts.is_forgotten else "how it ended is not in the ledger"
    return UrlState.DONE, [f"It was tried; {end}.", last_try(facts, show)]


def _explain_skipped(last: Attempt, when: str) -> str:
    detail = f" ({last.detail.splitlines()[0]})" if last.detail else ""
    verb = "It was fetched and skipped" if last.status else "It was skipped, without asking its host,"
    return f"{verb} {when}: {words_for(last.reason)}{detail}."


def _explain_redirect(facts: UrlFacts, when: str, show: NumberFormatter) -> list[str]:
    last = facts.attempts[0]
    line = f"It was fetched {when}: status {last.status}, a redirect to {last.detail}"
    is_log_in = f"block:{BlockKind.LOG_IN}" in last.flags
    door = ["That looks like a page where one logs in: this one is for members."] if is_log_in else []
    if last.reason == LedgerReason.KNOWN_TARGET:
        return [f"{line}, which was known already.", *door, _other_request(facts.target, show)]
    return [f"{line}, which is a request of its own.", *door]


def _explain_fetch(facts: UrlFacts, show: NumberFormatter) -> list[str]:
    last = next((row for row in facts.attempts if EXTRACTED not in row.flags), facts.attempts[0])
    when = f"{show.span(facts.now - last.at)} ago ({show.time(last.at)})"
    what = f"status {last.status}, {show.size(last.size_bytes)}, {last.elapsed_ms:,.0f} ms"
    lines = [f"It was fetched {when}: {what}."]
    if last is not facts.attempts[0]:
        read = facts.attempts[0]
        lines.append(
            f"Its callback ran {show.span(facts.now - read.at)} ago ({show.time(read.at)}), from the archive."
        )
    if facts.page is not None:
        title = f" {facts.page.title!r}" if facts.page.title else ""
        items = f"Items of this job that were last found at this URL: {facts.items:,}"
        lines.append(f"The page{title} was parsed. {items}.")
    else:
        lines.append("Nothing on it was parsed.")
    lines += [_explain_drop(drop) for drop in facts.drops]
    if flags := [flag for flag in last.flags if flag != DEFERRED]:
        lines.append(f"Flags of the page: {', '.join(flags)}.")
    origin = describe_origin(last)
    return [*lines, f"What led to it: {origin}."] if origin else lines


def _explain_drop(drop: DroppedItem) -> str:
    by = f" by {drop.stage}" if drop.stage else ""
    value = f" (it had {drop.value})" if drop.value else ""
    return f"An item of it was dropped{by}: {drop.reason}{value}."


def _other_request(target: Attempt | None, show: NumberFormatter) -> str:
    """Whose the page is that a redirect led to, instead of the redirected request's."""
    if target is None:
        return "That is a request of its own: the callback was not run for the page of this one."
    origin = describe_origin(target)
    came = f" (what led to it: {origin})" if origin else ""
    fetched = "was fetched" if target.status else "was tried"
    return (
        f"That {fetched} by a request of its own at {show.time(target.at)}{came}: "
        "the callback was not run for the page of this one."
    )
