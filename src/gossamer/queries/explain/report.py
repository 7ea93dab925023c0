"""The whole answer about one URL, as a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec.structs import replace

from gossamer.core.lifecycle import JobState, RequestState
from gossamer.core.record import FieldMeaning, Fingerprint, Record, Time
from gossamer.core.redaction import hide_userinfo
from gossamer.core.requests import Request, RequestPreview
from gossamer.core.results import Attempt
from gossamer.queries.bounds import DETAIL, cut_attempt, cut_text, cut_values, fit_rows
from gossamer.queries.drops import DroppedItem
from gossamer.queries.explain.answer import explain_facts
from gossamer.queries.explain.chain import ViaStep
from gossamer.queries.explain.choice import choose_job
from gossamer.queries.explain.facts import NumberFormatter, UrlExplanation, UrlFacts, UrlState
from gossamer.queries.explain.job_scope import JobScopeCache
from gossamer.queries.explain.reading import read_facts
from gossamer.wiring.backends import Backends

LINES = 60
"""Sentences of a report that is cut."""
LONGEST_LINE = 4000
"""Maximum length of a line and of the latest error, in characters."""
OTHER_TRIES = 3
ITEM_BYTES = 15_000
"""Maximum size of all items of a report that is cut."""


class FoundItem(Record, frozen=True, kw_only=True):
    """An item that was found on the page."""

    id: int
    type: str
    key: str
    changed_at: Time  # when a page last showed it with other values
    data: dict[str, Any]


class RequestReport(Record, frozen=True, kw_only=True):
    """Another request to the URL, and what became of it."""

    method: str
    fingerprint: Fingerprint
    request: RequestPreview | None  # further options; None: none
    answer: UrlState
    lines: tuple[str, ...]
    tries: tuple[Attempt, ...]  # newest first


class UrlReport(Record, frozen=True, kw_only=True):
    """Why a URL was, was not, or is not yet fetched in a job."""

    url: str  # as asked for, without user and password
    method: str
    canonical: str | None
    duplicate_of: str | None
    job: str  # its id
    job_state: JobState
    answer: UrlState
    page_answer: UrlState  # of a duplicate, that of its canonical URL
    lines: tuple[str, ...]  # whole sentences, the first one the answer itself
    state: RequestState | None  # None: never seen
    scope_known: bool  # the job's spider is at hand
    refused: str  # by which rule of the scope
    due_at: Time | None
    host_next_at: Time | None
    leased_at: Time | None
    deadline: Time | None  # of the lease
    process: int | None  # that has the lease
    dead_letter: int | None
    attempts: int
    status: int | None  # of the latest attempt, like the next two
    reason: str
    last_at: Time | None
    items: int
    found_items: tuple[FoundItem, ...]  # the first of them
    dropped_items: tuple[DroppedItem, ...]  # examples of those on the page that were not taken
    via: tuple[
        ViaStep, ...
    ]  # the pages that led to it, the first one first, itself last; empty: it is a seed
    left_out: dict[str, int]  # links that the job did not take, by reason
    tries: tuple[Attempt, ...]  # newest first
    other_requests: tuple[RequestReport, ...]
    rung: str  # that its host is on; empty: it has never left the lowest
    rung_why: str  # what led the host there
    rung_since: Time | None
    probe_at: Time | None  # when the next lower rung is tried again
    archived: str = ""  # the place of its latest answer in the archive; empty: it is in none
    checked_at: Time | None = None  # when the page was last checked, in whichever job; None: not known
    changed_at: Time | None = None  # when it was last seen to have changed
    next_check_at: Time | None = None  # when it is worth another look
    gone_at: Time | None = None  # since when its host reports the page as missing
    target: Annotated[str, FieldMeaning.ASIDE] = ""  # of the job


async def explain_url(
    backends: Backends,
    scopes: JobScopeCache,
    wanted: Sequence[Request],
    show: NumberFormatter,
    *,
    job: str | None = None,
) -> UrlReport:
    """Why a URL was, was not, or is not yet fetched in the job of that name, or the newest that knows it."""
    chosen, meant = await choose_job(backends, scopes, wanted, job)
    facts = await read_facts(backends, chosen, scopes.scope_of(chosen), meant)
    return report_of(facts, explain_facts(facts, show))


def report_of(facts: UrlFacts, explanation: UrlExplanation) -> UrlReport:
    """The facts with the answer that they give."""
    found, last = facts.found, facts.attempts[0] if facts.attempts else None
    host = found.host if found else None
    is_leased = found is not None and found.state is RequestState.LEASED
    return UrlReport(
        url=hide_userinfo(facts.url),
        method=facts.method,
        canonical=facts.canonical or None,
        duplicate_of=facts.canonical if explanation.answer is UrlState.DUPLICATE else None,
        job=facts.job.id,
        job_state=facts.stats.state,
        answer=explanation.answer,
        page_answer=explanation.page,
        lines=explanation.lines,
        state=found.state if found else None,
        scope_known=facts.scoping is not None,
        refused=facts.scoping.refused if facts.scoping else "",
        due_at=(found.due_at or None) if found else None,
        host_next_at=(host.next_at or None) if host else None,
        leased_at=facts.since if is_leased else None,
        deadline=facts.deadline if is_leased else None,
        process=int(facts.process) if is_leased and facts.process.isdigit() else None,
        dead_letter=facts.letter if found and found.state is RequestState.DEAD else None,
        attempts=len(facts.attempts),
        status=last.status if last else None,
        reason=last.reason if last else "",
        last_at=last.at if last else None,
        items=facts.items,
        found_items=tuple(
            FoundItem(id=one.id, type=one.type, key=one.key, changed_at=one.changed_at, data=one.data)
            for one in facts.found_items
        ),
        dropped_items=facts.drops,
        via=facts.via,
        left_out=facts.left_out,
        tries=facts.attempts,
        other_requests=tuple(map(_report_other, facts.others, explanation.others)),
        rung=facts.ladder.rung,
        rung_why=facts.ladder.why,
        rung_since=facts.ladder.since or None,
        probe_at=facts.ladder.probe_at or None,
        **_kept_of(facts),
        target=facts.job.target,
    )


def _kept_of(facts: UrlFacts) -> dict[str, Any]:
    """Return the archive's place of the answer, and the times in the page's history."""
    page = facts.known
    if page is None:
        return {"archived": facts.archived}
    return {
        "archived": facts.archived,
        "checked_at": page.checked_at or None,
        "changed_at": page.changed_at or None,
        "next_check_at": page.due_at,
        "gone_at": page.gone_at,
    }


def cut_report(report: UrlReport) -> UrlReport:
    """The report in bounded size: long details are cut, but for that of the latest try."""
    return replace(
        report,
        lines=tuple(cut_text(line, LONGEST_LINE) for line in report.lines[:LINES]),
        found_items=tuple(
            fit_rows([replace(item, data=cut_values(item.data)) for item in report.found_items], ITEM_BYTES)
        ),
        dropped_items=tuple(fit_rows(report.dropped_items, ITEM_BYTES)),
        tries=tuple(
            cut_attempt(tried, LONGEST_LINE if at == 0 else DETAIL) for at, tried in enumerate(report.tries)
        ),
        other_requests=tuple(
            replace(
                other,
                lines=tuple(cut_text(line, DETAIL) for line in other.lines[:OTHER_TRIES]),
                tries=tuple(cut_attempt(tried) for tried in other.tries[:OTHER_TRIES]),
            )
            for other in report.other_requests
        ),
    )


def _report_other(facts: UrlFacts, explanation: UrlExplanation) -> RequestReport:
    return RequestReport(
        method=facts.method,
        fingerprint=facts.fingerprint,
        request=facts.request,
        answer=explanation.answer,
        lines=explanation.lines,
        tries=facts.attempts,
    )
