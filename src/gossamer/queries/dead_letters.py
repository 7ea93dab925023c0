"""The dead letters of a job: requests that were given up, with every try that was made."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec.structs import asdict, replace

from gossamer.core.jobs import DeadLetter, DeadLetterFilter, Job
from gossamer.core.record import FieldMeaning, Fingerprint, Record, Time
from gossamer.core.results import Attempt, AttemptFilter
from gossamer.policy.request_preview import (
    describe_preview,
    preview_of,
    shown_body,
    shown_headers,
    shown_options,
    shown_values,
)
from gossamer.policy.sentences.errors import words_for
from gossamer.queries.bounds import DETAIL, cut_attempt, fit_rows
from gossamer.queries.cursors import cursor_of, read_place
from gossamer.queries.ledger import find_attempts, spellings_of
from gossamer.wiring.backends import Backends

TRIES = 1000
"""Tries of one letter that a report has."""
SHOWN_TRIES = 50
"""Those that one which is shown has."""
LONGEST_DETAIL = 16_000
"""Maximum length of the latest error, in characters."""
MOST_BYTES = 59_000
"""Maximum size of a listing."""


class LetterSummary(Record, frozen=True, kw_only=True):
    """A dead letter and its request, without secrets."""

    id: int
    url: str
    fingerprint: Fingerprint
    host: str
    reason: str
    reason_text: str  # the same in words
    attempts: int
    died_at: Time
    method: str
    headers: dict[str, str]
    body: str
    body_bytes: int
    callback: str | None  # None: the default, ``parse``
    errback: str | None
    cb_kwargs: dict[str, Any]
    meta: dict[str, Any]
    priority: int
    dont_filter: bool
    lane: str
    session: str
    depth: int
    via: str
    redirects: tuple[str, ...]
    options: tuple[str, ...]  # other options, without secrets: ``timeout 5``, ``auth``
    details: Annotated[str, FieldMeaning.ASIDE] = ""  # what tells it from other requests to its URL


class LetterReport(LetterSummary, frozen=True, kw_only=True):
    """A dead letter with the tries at its request."""

    tries: tuple[Attempt, ...] = ()  # newest first


class LetterPage(Record, frozen=True, kw_only=True):
    """Dead letters, oldest first."""

    letters: tuple[LetterSummary, ...] = ()
    has_more: bool = False  # younger ones that fit


class LetterReportPage(Record, frozen=True, kw_only=True):
    """Dead letters with their tries, oldest first."""

    letters: tuple[LetterReport, ...] = ()
    has_more: bool = False  # younger ones that fit


class LetterListing(Record, frozen=True, kw_only=True):
    """A part of the dead letters of a job, newest first."""

    at: Time
    letters: tuple[LetterSummary, ...]
    total: int  # that fit
    total_is_at_least: bool  # there are too many to count all
    by_reason: dict[str, int]  # of those that fit but for the reason
    next_cursor: str | None  # where the next part begins; None: this is the last part


async def page_letters(
    backends: Backends, job: Job, which: DeadLetterFilter, limit: int, cursor: str = ""
) -> LetterListing:
    """A part of the dead letters in bounded time and size; one that ends early may have none.

    Raises ``UsageError`` for a cursor that is none, ``LostRequestsError`` where the requests are gone.
    """
    at = backends.clock.now()
    if await backends.read_stats(job) is None:  # forgotten
        return LetterListing(
            at=at, letters=(), total=0, total_is_at_least=False, by_reason={}, next_cursor=None
        )
    frontier = backends.open_frontier(job)
    found = await frontier.page_letters(which, limit, read_place(cursor))
    rows = fit_rows(map(summarise_letter, found.letters), MOST_BYTES)
    after = (rows[-1].died_at, rows[-1].id) if len(rows) < len(found.letters) else found.next_before
    counts = await frontier.count_letters(replace(which, reason=None))
    total = sum(counts.by_reason.values()) if which.reason is None else counts.by_reason.get(which.reason, 0)
    return LetterListing(
        at=at,
        letters=tuple(rows),
        total=total,
        total_is_at_least=not counts.is_all,
        by_reason=counts.by_reason,
        next_cursor=cursor_of(after),
    )


async def read_letter(backends: Backends, job: Job, number: int) -> LetterReport | None:
    """One dead letter with its latest tries, in bounded size; ``None``: there is none of this number."""
    if await backends.read_stats(job) is None:
        return None
    found = await backends.open_frontier(job).dead_letters(DeadLetterFilter(ids=(number,)), 1)
    if not found:
        return None
    summary = summarise_letter(found[0])
    which = AttemptFilter(fingerprint=summary.fingerprint)
    tries = (await backends.ledger.page_attempts(job, SHOWN_TRIES, which)).attempts
    cut = [
        cut_attempt(tried, LONGEST_DETAIL if number == 0 else DETAIL) for number, tried in enumerate(tries)
    ]
    return LetterReport(**asdict(summary), tries=tuple(cut))


async def list_letters(backends: Backends, job: Job, which: DeadLetterFilter, limit: int) -> LetterPage:
    """The oldest dead letters that fit, no more than ``limit``."""
    found = await backends.open_frontier(job).dead_letters(which, limit + 1)
    return LetterPage(letters=tuple(map(summarise_letter, found[:limit])), has_more=len(found) > limit)


async def read_letters(backends: Backends, job: Job, which: DeadLetterFilter, limit: int) -> LetterReportPage:
    """The same with every try that was made at each."""
    page = await list_letters(backends, job, which, limit)
    reports = [
        LetterReport(
            **asdict(letter),
            tries=await _tries_at(backends, job, letter),
        )
        for letter in page.letters
    ]
    return LetterReportPage(letters=tuple(reports), has_more=page.has_more)


async def _tries_at(backends: Backends, job: Job, letter: LetterSummary) -> tuple[Attempt, ...]:
    """The tries at exactly this request: there may be others to its URL."""
    which = AttemptFilter(urls=spellings_of(letter.url), fingerprint=letter.fingerprint)
    return (await find_attempts(backends, job, which, TRIES)).attempts


def summarise_letter(letter: DeadLetter) -> LetterSummary:
    """A dead letter as it is shown: nothing in it is a secret."""
    entry, request = letter.entry, letter.entry.request
    return LetterSummary(
        id=letter.id,
        url=request.url,
        fingerprint=entry.fingerprint,
        host=entry.host,
        reason=letter.reason,
        reason_text=words_for(letter.reason),
        attempts=letter.attempts,
        died_at=letter.died_at,
        method=request.method,
        headers=shown_headers(request.headers),
        body=shown_body(request.body),
        body_bytes=len(request.body),
        callback=request.callback,
        errback=request.errback,
        cb_kwargs=shown_values(request.cb_kwargs),
        meta=shown_values(request.meta),
        priority=request.priority,
        dont_filter=request.dont_filter,
        lane=request.lane,
        session=request.session,
        depth=request.depth,
        via=request.via,
        redirects=request.redirects,
        options=shown_options(request),
        details=describe_preview(preview_of(request)),
    )
