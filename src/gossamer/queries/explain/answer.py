"""Explain why a URL was fetched, was not, or has not been yet. Pure: facts in, answer out.

Unknown facts are not guessed: without a job's spider, the answer leaves its scope out. Sentences are for
people; :class:`UrlState` is for programs.
"""

from __future__ import annotations

from gossamer.core.lifecycle import JobState, RequestState
from gossamer.core.text import format_count
from gossamer.policy import urls
from gossamer.policy.budget_status import BudgetStatus
from gossamer.policy.request_preview import describe_preview
from gossamer.policy.scope import MEDIA
from gossamer.queries.explain.facts import NumberFormatter, UrlExplanation, UrlFacts, UrlState
from gossamer.queries.explain.hold import hold_on
from gossamer.queries.explain.known import describe_known
from gossamer.queries.explain.scope import describe_left_out, scope_rule
from gossamer.queries.explain.settled import explain_dead, explain_done
from gossamer.queries.explain.waiting import (
    explain_extraction,
    explain_leased,
    explain_waiting,
    is_extraction,
)
from gossamer.queries.reasons import LEFT_OUT


def explain_facts(facts: UrlFacts, show: NumberFormatter) -> UrlExplanation:
    """Why the URL was, was not, or is not yet fetched."""
    if not facts.canonical:
        return UrlExplanation(UrlState.BAD_URL, (_bad_url(facts),), UrlState.BAD_URL)
    others = tuple(explain_facts(other, show) for other in facts.others)
    answer, lines = _of_request(facts, show)
    if others:
        told = [_of_other(other, said) for other, said in zip(facts.others, others, strict=True)]
        if facts.found is None:  # the latest of the other requests is the likely one
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
        return UrlExplanation(UrlState.DUPLICATE, (same, *lines, *_extra_notes(facts, show)), answer, others)
    return UrlExplanation(answer, (*lines, *_extra_notes(facts, show)), answer, others)


def _of_request(facts: UrlFacts, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    found = facts.found
    if found is None:
        return _explain_unknown(facts)
    if found.state is RequestState.LEASED:
        return explain_leased(facts, show)
    if found.state is RequestState.DEAD:
        return explain_dead(facts, found, show)
    if found.state is RequestState.DONE:
        return explain_done(facts, show)
    if found.state is RequestState.PENDING and is_extraction(found):
        return explain_extraction(facts, show)
    return explain_waiting(facts, found, show)


def _count_others(facts: UrlFacts) -> str:
    count = f"{len(facts.others):,}"
    return f"more than {count}, of which the latest are shown" if facts.has_more_others else count


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


def _extra_notes(facts: UrlFacts, show: NumberFormatter) -> list[str]:
    """Return further notes."""
    notes = []
    if facts.is_forgotten:
        notes.append(
            f"{facts.job.id} ended longer ago than frontier.keep says: its requests are forgotten, and "
            "this answer is based on its pages and the ledger."
        )
    if facts.scoping is None:
        notes.append(
            "The job's spider is not at hand, so its scope is unknown; "
            "`gossamer explain --spider FILE` takes it."
        )
    elif facts.found is not None and facts.scoping.refused not in ("", MEDIA):
        notes.append(
            f"By the current settings it would not be crawled: {scope_rule(facts.scoping, facts.canonical)}."
        )
    if facts.archived:
        notes.append(f"Its latest answer is archived at {facts.archived}.")
    elif facts.archive_trouble:
        notes.append(f"Whether its answer is archived is not known: {facts.archive_trouble}.")
    if facts.trap is not None and facts.found is not None and facts.trap.worthless:
        notes.append(f"Its URL pattern: {facts.trap.line}.")
    if facts.budget is not None and facts.budget.over == "last" and _is_waiting(facts):
        notes.append(f"It goes last, since a budget is spent: {facts.budget.to_text()}.")
    return [*notes, *describe_known(facts, show), *_explain_rung(facts, show)]


def _is_waiting(facts: UrlFacts) -> bool:
    return facts.found is not None and facts.found.state in (RequestState.PENDING, RequestState.DELAYED)


def _explain_rung(facts: UrlFacts, show: NumberFormatter) -> list[str]:
    """Where its host is on the ladder, if it has ever left the lowest rung."""
    known = facts.ladder
    if not known.rung:
        return []
    host = urls.host_key(facts.canonical)
    lines = [
        f"The host {host} has been on the rung {known.rung} since {show.time(known.since)} ({known.why})."
    ]
    if known.probe_at:
        wait_s = known.probe_at - facts.now
        when = (
            f"in {show.span(wait_s)} ({show.time(known.probe_at)})" if wait_s > 0 else "with its next request"
        )
        lines.append(f"The next lower rung is tried again {when}.")
    return lines


# --------------------------------------------------------------------------- not in the frontier


def _bad_url(facts: UrlFacts) -> str:
    if len(facts.url) > urls.MAX_URL_LENGTH:
        return f"It is longer than the {urls.MAX_URL_LENGTH} characters that a URL may have."
    return "It is not a URL that can be crawled: http or https and a host are needed."


def _explain_budget(budget: BudgetStatus) -> str:
    """Why links to a URL are not taken, or, where only some of them are too deep, may not have been."""
    if budget.spent:
        return (
            f"It is over the budget {budget.budget} ({', '.join(budget.spent)}): links to it are not taken. "
            f"{budget.to_text()} (budgets.patterns.{budget.budget}, pattern {budget.pattern!r})."
        )
    return (
        f"Links to it that are too deep are not taken: it has the budget {budget.to_text()} "
        f"(budgets.patterns.{budget.budget}.depth, pattern {budget.pattern!r})."
    )


def _explain_unknown(facts: UrlFacts) -> tuple[UrlState, list[str]]:
    if facts.scoping is not None and facts.scoping.refused:
        rule = scope_rule(facts.scoping, facts.canonical)
        if facts.scoping.refused.startswith("trap_"):
            return UrlState.TRAP, [f"It looks like a trap: {rule}. Links to it are not followed."]
        return UrlState.OUT_OF_SCOPE, [f"It is out of scope: {rule}. Links to it are not followed."]
    if facts.known is not None and facts.known.checks and facts.is_recrawl:
        return UrlState.NOT_DUE, [
            f"It was not asked for by {facts.job.id}, which visits known pages when they are due."
        ]
    if facts.trap is not None and facts.trap.rule:
        kind = LEFT_OUT.get(facts.trap.rule, facts.trap.rule)
        return UrlState.TRAP, [
            f"It is in a trap, among links {kind}: such links are not followed any more.",
            f"The rule is {facts.trap.line}; {format_count(facts.trap.refused, 'link')} refused since.",
        ]
    if facts.budget is not None and facts.budget.over != "last":
        return UrlState.OVER_BUDGET, [_explain_budget(facts.budget)]
    return UrlState.NEVER_SEEN, _explain_unseen(facts)


def _explain_unseen(facts: UrlFacts) -> list[str]:
    if facts.is_forgotten:
        return ["It was never tried: the ledger has no attempt at it."]
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
        hold = hold_on(facts)
        lines += [hold.line] if hold else []
    return lines
