"""Visits single pages for people: each is a request in a frontier in memory, visited as by a worker.

robots.txt, the host's turns, the address guard and redirects work by the code of a crawl. Nothing is
committed: the result of the last hop is returned to the caller. A page is tried once: instead of a retry, the
failure is reported at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from msgspec.structs import replace

from gossamer.config.option import SettingOption
from gossamer.config.settings import Settings
from gossamer.core.errors import Fault, FetchError, UsageError
from gossamer.core.hosts import HostSignal
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import ExtractResult, FetchResult, Outcome, Verdict, VisitResult
from gossamer.core.routes import Block
from gossamer.crawl.typed_requests import PLAIN, TypedRequest
from gossamer.engine.attempt import OpenAttempt
from gossamer.engine.recorder import without_secrets
from gossamer.engine.visit import Visitor
from gossamer.observe.text import one_line, shown_url
from gossamer.policy import redirects
from gossamer.policy.answer_secrets import shown_answer_headers
from gossamer.policy.credentials import authorizations_for, passwords_in
from gossamer.ports.extractor import Extractor
from gossamer.runtime.known_secrets import remember_secrets
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import CrawlTarget, refuse_file
from gossamer.targets.loading import load_target
from gossamer.targets.start_url import absolute_url, find_start_url
from gossamer.wiring.preview import PreviewParts, wire_preview
from gossamer.wiring.scope import fragment_rule_of

TOLD_S = 1.0
"""Seconds from which a wait is reported."""
NO_PAGE = frozenset({Fault.REDIRECT_LIMIT, Fault.BAD_REDIRECT, Fault.OUT_OF_SCOPE, Fault.INTERNAL})
"""Faults of an answer that is not the page."""


class NoExtractor:
    """Port ``Extractor`` for pages that no spider is to see."""

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return ExtractResult()

    async def give_up(
        self, request: Request, fault: str, detail: str, fetched: FetchResult | None = None
    ) -> ExtractResult | None:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return None

    async def find_block(self, request: Request, fetched: FetchResult) -> Block | None:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return None

    def wants_status(self, request: Request, status: int) -> int:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return False


@dataclass(frozen=True)
class PageVisit:
    """One page that was fetched: the request that got it, the answer, and the answers on the way."""

    request: Request
    fetched: FetchResult
    hops: tuple[FetchResult, ...]  # redirects, oldest first
    result: VisitResult  # the result that a crawl would commit

    def shown_headers(self) -> list[tuple[str, str]]:
        """Return the headers of the response, without the values of credentials."""
        return shown_answer_headers(self.fetched.headers)


class PageVisitor:
    """Visits pages, one lease after the other. ``tell`` takes lines for people: redirects, and long waits."""

    def __init__(self, parts: PreviewParts, tell: Callable[[str], None]) -> None:
        self._visitor = Visitor(parts.visit, parts.shift)
        self._parts = parts
        self._tell = tell

    async def visit_page(self, request: Request) -> PageVisit:
        """Return the page that a request leads to, redirects followed.

        Raises ``UsageError`` if robots.txt does not allow it, and ``FetchError`` if it cannot be fetched.
        """
        entry = self._parts.visit.admission.admit_request(request.replace(dont_filter=True))
        if not isinstance(entry, Entry):
            raise UsageError(f"{shown_url(request.url)} cannot be fetched ({entry})")
        await self._parts.frontier.add([entry])
        hops: list[FetchResult] = []
        while True:
            attempt, result = await self._visit_entry(entry)
            result = without_secrets(result)
            if result.outcome.verdict is not Verdict.REDIRECT:
                break
            assert attempt.fetched is not None, "an answer redirects"
            hops.append(attempt.fetched)
            (entry,) = result.outcome.outlinks
            status = attempt.fetched.status
            way = str(status) if status in redirects.STATUSES else "meta refresh"
            self._tell(f"{way} -> {shown_url(entry.request.url)}")
        _refuse_what_is_no_page(attempt, result)
        assert attempt.fetched is not None, "requests without an answer were refused"
        return PageVisit(entry.request, attempt.fetched, tuple(hops), result)

    async def _visit_entry(self, entry: Entry) -> tuple[OpenAttempt, VisitResult]:
        """Visit one hop to its end, with as many leases as needed: robots.txt has a turn of its own.

        A page that its proxy failed is tried by the others, as long as one is free at once.
        """
        frontier = self._parts.frontier
        failed: tuple[OpenAttempt, VisitResult] | None = None
        while True:
            attempt = self._visitor.open_attempt(await self._lease_entry(entry))
            try:
                end = await self._visitor.visit(attempt)
            except BaseException:  # Ctrl-C, in a shell that continues: its host is free again
                await self._drop_lease(attempt.lease, attempt.unfinished_signal())
                raise
            if isinstance(end, VisitResult):
                if _is_through_another(end.outcome, self._parts.visit.clock.now()):
                    failed = attempt, end
                    await frontier.settle([replace(end.outcome, outlinks=())])
                    continue
                await frontier.settle([_as_last(end.outcome)])
                return attempt, end
            if failed is not None and (end.retry_after_s or 0.0) > TOLD_S:
                await self._drop_lease(attempt.lease, HostSignal())
                return _as_told(*failed)
            await frontier.release([attempt.lease], [end])

    async def _lease_entry(self, entry: Entry) -> Lease:
        """Lease this entry as soon as its host has a turn for it."""
        clock, shift = self._parts.visit.clock, self._parts.shift
        while True:
            grant = await self._parts.frontier.lease(shift.lane, 1, shift.lease_ttl_s)
            for lease in grant.leases:
                if lease.entry.fingerprint == entry.fingerprint:
                    return lease
                await self._drop_lease(lease, HostSignal())  # of a page that an earlier call gave up
            if not grant.leases:
                assert grant.next_at is not None, "the added request has a turn"
                wait_s = grant.next_at - clock.now()
                if wait_s > TOLD_S:
                    self._tell(f"{one_line(entry.host)}: {wait_s:.0f} s until the next request")
                await clock.sleep(wait_s)

    async def _drop_lease(self, lease: Lease, signal: HostSignal) -> None:
        await self._parts.frontier.settle([Outcome(lease=lease, verdict=Verdict.DEAD, signal=signal)])


def _is_through_another(outcome: Outcome, now: float) -> bool:
    """Whether the same page is to be asked for through another proxy, at once."""
    is_proxys = outcome.reason in (Fault.PROXY, Fault.PROXY_ANSWER)
    return outcome.verdict is Verdict.RETRY and is_proxys and outcome.due_at <= now


def _as_last(outcome: Outcome) -> Outcome:
    """Return the outcome for the frontier: redirects are followed, nothing else is retried or followed."""
    if outcome.verdict is Verdict.REDIRECT:
        return outcome
    verdict = Verdict.DEAD if outcome.verdict is Verdict.RETRY else outcome.verdict
    return replace(outcome, verdict=verdict, outlinks=())


def _as_told(attempt: OpenAttempt, result: VisitResult) -> tuple[OpenAttempt, VisitResult]:
    """Return the last proxy's error, without the promise of a retry."""
    (row,) = result.attempts
    promise, _, said = row.detail.partition("; ")
    detail = f"no proxy is left: {said or promise}"
    return attempt, replace(result, attempts=(replace(row, detail=detail),))


def _refuse_what_is_no_page(attempt: OpenAttempt, result: VisitResult) -> None:
    reason, url = result.outcome.reason, shown_url(attempt.lease.entry.request.url)
    if reason == Fault.ROBOTS:
        raise UsageError(f"robots.txt does not allow {url}; --no-robots fetches it nevertheless")
    if attempt.fetched is None or reason in NO_PAGE:
        raise FetchError(Fault(reason), result.attempts[0].detail)


@dataclass(frozen=True)
class PageCommand:
    """Which page a person wants to see: its URL as it is fetched, and for which spiders and settings."""

    url: str
    target: CrawlTarget
    settings: Settings
    authorizations: Mapping[str, str] = field(repr=False)
    options: TypedRequest = PLAIN  # the rest of the request

    @classmethod
    def of(
        cls,
        url: str,
        spider: str | None,
        arguments: Mapping[str, str],
        overrides: Sequence[SettingOption],
        options: TypedRequest = PLAIN,
    ) -> PageCommand:
        """Return the typed command. Raises ``UsageError`` for an invalid page, spider or setting."""
        canonical = canonical_page(url)
        found = load_target(spider or canonical, arguments, overrides)
        remember_secrets(passwords_in([absolute_url(url)]))
        given = {**found.target.authorizations, **authorizations_for([absolute_url(url)])}
        return cls(canonical, found.target, found.settings, given, options)

    def make_request(self, **more: Any) -> Request:
        """Return the request for the page. Raises ``UsageError``."""
        return self.options.make_request(self.url, **more)

    async def wire(self, extractor: Extractor | None = None) -> PreviewParts:
        """Assemble the visits of its pages. The operator named the page, so it may be a private address."""
        return await wire_preview(
            self.settings, self.target, self.url, self.authorizations, extractor=extractor
        )


def canonical_page(url: str) -> str:
    """Return the canonical form of a page's URL. Raises ``UsageError`` if it is not the URL of a page."""
    refuse_file(url, "name a page by its URL")
    canonical = find_start_url(url)
    if canonical is None:
        raise UsageError(f"{shown_url(url)!r} is not a URL that can be fetched (http or https with a host)")
    return canonical


class PageFetcher:
    """Fetches pages for code that has no event loop; no spider sees them."""

    def __init__(self, command: PageCommand, tell: Callable[[str], None]) -> None:
        self._command = command
        self._runner = asyncio.Runner()
        try:
            self._parts = self._runner.run(command.wire(NoExtractor()))
        except BaseException:
            self._runner.close()
            raise
        self._visitor = PageVisitor(self._parts, tell)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._parts.closing.aclose())
        self._runner.close()

    def spider_for(self, request: Request) -> Spider:
        """Return the spider that this request would have in a crawl."""
        return self._command.target.choose(request)

    def fetch(self, page: str | Request) -> Response:
        """Fetch a page. Raises ``FetchError``; ``UsageError`` if robots.txt does not allow it."""
        visit = self.visit_page(page)
        settings = self._command.settings
        return Response(
            visit.request,
            visit.fetched,
            follow_nofollow=settings.follow_nofollow,
            keeps_fragment=fragment_rule_of(settings),
        )

    def visit_page(self, page: str | Request, rung: str = "") -> PageVisit:
        """Visit a page and return all facts about the fetch; by a certain rung, if one is named."""
        request = Request(canonical_page(page)) if isinstance(page, str) else page
        request = request.replace(url=canonical_page(request.url), fetch=rung or request.fetch)
        return self._runner.run(self._visitor.visit_page(request))
