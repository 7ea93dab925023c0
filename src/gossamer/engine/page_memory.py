"""The pages that earlier crawls of a spider have seen, and notes for later crawls.

Pages are read for all leases of a grant at once, and for all links of a batch of results. Notes are stored
with the results, so that they are there if, and only if, the page is settled or was at least answered.

A re-crawl requests a page with the validators of its latest response (RFC 9110, 13), but never with those
that the same job has noted: a lease may have been lost between store and frontier, and only the callback
finds the links of a page that is fetched again because of that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b

from msgspec.structs import replace

from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault, StorageError
from gossamer.core.freshness import NOT_DUE, UNCHANGED, KnownPage
from gossamer.core.jobs import Job
from gossamer.core.requests import LAST, Entry, Lease, Request
from gossamer.core.results import DEFERRED, FetchResult, Verdict, VisitResult
from gossamer.core.rungs import way_of
from gossamer.engine.attempt import OpenAttempt
from gossamer.policy.freshness import (
    CheckedPage,
    FreshnessRules,
    again_of,
    asks_same,
    brings_news,
    is_due,
    known_fingerprint_of,
    note_again,
    note_check,
    note_gone,
    note_read,
    note_unchanged,
    note_unread,
)
from gossamer.policy.request_secrets import secret_values_of
from gossamer.policy.retry import fault_of_status
from gossamer.policy.validators import is_conditional, question_of, validator_of
from gossamer.ports.clock import Clock
from gossamer.ports.known_page_store import KnownPageStore

MAX_REQUEST = 65_536
"""Characters of a request that is kept for later crawls; it may carry much in ``meta``."""
ASKED_AT_ONCE = 5000
"""Pages that one question to the store is about, at most."""
_WAYS = frozenset({"http", "impersonate"})
"""Ways to fetch that send the headers as given: a browser has its own cache, a gateway its own headers."""

PackRequest = Callable[[Request, str], str]
"""From a request and its host to the form in which it is kept."""
UnpackRequest = Callable[[str, str], Request]
"""Back from that form and the host. Raises ``StorageError`` for text that is none."""


class PageMemory:
    """The known pages of one worker's job.

    ``asks_conditionally``: the crawl comes back, and asks whether pages have changed. ``leaves_out``: links
    to known pages that are not due are not followed. ``is_watched``: pages that are always due. ``own_meta``:
    names in the ``meta`` of requests that are not the spider's. ``has_callback``: whether the spider has the
    callback of a request, which another version of it may have made.
    """

    def __init__(
        self,
        pages: KnownPageStore,
        job: Job,
        rules: FreshnessRules,
        clock: Clock,
        *,
        pack_request: PackRequest,
        unpack_request: UnpackRequest,
        own_meta: Collection[str] = (),
        is_watched: Callable[[Request], bool] = lambda _: False,
        has_callback: Callable[[Request], bool] = lambda _: True,
        asks_conditionally: bool = False,
        leaves_out: bool = False,
    ) -> None:
        self._pages = pages
        self._job = job
        self._rules = rules
        self._clock = clock
        self._pack_request = pack_request
        self._unpack_request = unpack_request
        self._own_meta = own_meta
        self._is_watched = is_watched
        self.has_callback = has_callback
        self._asks_conditionally = asks_conditionally
        self._leaves_out = leaves_out
        self._of_leases: dict[int, KnownPage | None] = {}  # by their tokens, until they are visited

    def __repr__(self) -> str:
        return f"<PageMemory of {self._job.id}>"

    # ------------------------------------------------------------------ before a visit

    async def load_pages(self, leases: Sequence[Lease]) -> None:
        """Read the known pages of a grant."""
        self._of_leases = dict(list(self._of_leases.items())[-ASKED_AT_ONCE:])  # some were given back
        places = {lease.token: known_fingerprint_of(lease.entry.request) for lease in leases}
        found = await self._find_pages(places.values())
        for token, fingerprint in places.items():
            self._of_leases[token] = found.get(fingerprint)

    async def prepare_request(self, attempt: OpenAttempt, request: Request) -> Request:
        """Return the request, made conditional if the page's validators are known."""
        if request.saves is not None:
            return request
        token = attempt.lease.token
        if token not in self._of_leases:
            await self.load_pages([attempt.lease])
        page = attempt.known = self._of_leases.pop(token)
        if page is None or not self._asks_conditionally or not self._can_ask(page, attempt, request):
            return request
        attempt.is_conditional = True
        return request.replace(headers={**request.headers, **question_of(page.etag, page.modified)})

    def _can_ask(self, page: KnownPage, attempt: OpenAttempt, request: Request) -> bool:
        return (
            bool(page.etag or page.modified)
            and not attempt.is_extraction
            and page.job != self._job.id
            and request.method in ("GET", "HEAD")
            and way_of(attempt.route.rung) in _WAYS
            and not is_conditional(request.headers)
            and (former := self._former_request(page)) is not None
            and asks_same(request, former, self._own_meta)
        )

    def _former_request(self, page: KnownPage) -> Request | None:
        """Return the request of the page's latest check; ``None``: it cannot be read."""
        try:
            return self._unpack_request(page.request, page.host)
        except StorageError:
            return None

    # ------------------------------------------------------------------ after a visit

    def note_visit(self, attempt: OpenAttempt, result: VisitResult) -> VisitResult:
        """Return the result with the new state of the known page, as far as the host's answer tells it."""
        fetched, request = attempt.fetched, attempt.entry.request
        if fetched is None or request.saves is not None:
            return result
        if attempt.is_extraction:
            page = self._note_extraction(attempt, result, fetched)
        else:
            page = self._note_answer(attempt, result, fetched)
            result = _flag_unchanged(result, page)
        if page is None:
            return result
        if self._is_watched(request):
            page = replace(page, interval_s=0.0, due_at=page.checked_at)
        return replace(result, known=(page,))

    def _note_answer(
        self, attempt: OpenAttempt, result: VisitResult, fetched: FetchResult
    ) -> KnownPage | None:
        """Return the page after this answer; ``None``: the answer has no news of it, or cannot be kept."""
        verdict, entry = result.outcome.verdict, attempt.entry
        page = attempt.known or self._first_page(entry, attempt.started_at)
        if page is None:
            return None
        found = CheckedPage(
            at=attempt.started_at,
            job=self._job.id,
            request=self._pack_entry(entry) or page.request,
            etag=validator_of(fetched, "etag"),
            modified=validator_of(fetched, "last-modified"),
        )
        if attempt.is_unchanged:
            return note_unchanged(page, found, self._rules)
        is_gone = fault_of_status(fetched.status) is Fault.GONE  # also where the spider wants such answers
        if is_gone and (verdict is Verdict.SUCCESS or result.outcome.reason == Fault.GONE):
            return self._note_gone(page, found)
        if verdict is Verdict.SUCCESS:
            page = self._note_check(page, replace(found, body_hash=_hash_of(fetched.body)))
            return note_unread(page) if DEFERRED in attempt.flags else page
        if verdict is Verdict.REDIRECT:  # the target of the redirect stands for the page's content
            target = _hash_of(result.attempts[0].detail.encode())
            return self._note_check(page, replace(found, body_hash=target, etag="", modified=""))
        return None

    def _note_check(self, page: KnownPage, found: CheckedPage) -> KnownPage:
        is_again = page.job == self._job.id and page.gone_at is None
        return note_again(page, found) if is_again else note_check(page, found, self._rules)

    def _note_gone(self, page: KnownPage, found: CheckedPage) -> KnownPage:
        if page.job == self._job.id and page.gone_at is not None:
            return note_again(page, replace(found, body_hash=page.body_hash, etag="", modified=""))
        return note_gone(page, found, self._rules)

    def _note_extraction(
        self, attempt: OpenAttempt, result: VisitResult, fetched: FetchResult
    ) -> KnownPage | None:
        """Return the page after another worker has read it; ``None``: not read, or not its latest answer."""
        verdict, page = result.outcome.verdict, attempt.known
        if page is None or page.job != self._job.id or page.body_hash != _hash_of(fetched.body):
            return None
        if verdict is Verdict.SUCCESS:
            return note_read(page, validator_of(fetched, "etag"), validator_of(fetched, "last-modified"))
        return note_read(page, "", "") if verdict is Verdict.REDIRECT else None  # the page itself redirects

    async def note_links(self, results: Sequence[VisitResult]) -> list[VisitResult]:
        """Results before they are committed: their links to unknown pages are noted.

        Links to known pages that are not due are left out, where this crawl does so, and counted.
        """
        links = {place: known_fingerprint_of(entry.request) for place, entry in _pages_among(results)}
        if not links:
            return list(results)
        found = await self._find_pages(links.values())
        now = self._clock.now()
        return [
            self._note_links_of(number, result, links, found, now) for number, result in enumerate(results)
        ]

    def _note_links_of(
        self,
        number: int,
        result: VisitResult,
        links: Mapping[tuple[int, int], int],
        found: Mapping[int, KnownPage],
        now: float,
    ) -> VisitResult:
        kept: list[Entry] = []
        heard_of: list[KnownPage] = []
        for place, entry in enumerate(result.outcome.outlinks):
            fingerprint = links.get((number, place))
            page = None if fingerprint is None else found.get(fingerprint)
            if page is not None and self._is_left_out(page, result, entry, now):
                continue
            noted = None
            if page is not None and result.outcome.verdict is not Verdict.REDIRECT:
                entry, noted = self._follow_known(page, entry, now)  # noqa: PLW2901 - the same link
            elif page is None and fingerprint is not None:
                noted = self._first_page(entry, now)
            kept.append(entry)
            if noted is not None:
                heard_of.append(noted)
        return _with_links(result, tuple(kept), heard_of)

    def _is_left_out(self, page: KnownPage, result: VisitResult, entry: Entry, now: float) -> bool:
        """Whether a link is not followed. One to a page of this job is the frontier's to recognise.

        A link that brings the callback of its page something new is.
        """
        return (
            self._leaves_out
            and page.job != self._job.id
            and result.outcome.verdict is not Verdict.REDIRECT
            and not entry.request.dont_filter
            and not is_due(page, now, entry.lastmod)
            and (former := self._former_request(page)) is not None
            and not brings_news(entry.request, former, self._own_meta)
        )

    def _follow_known(self, page: KnownPage, entry: Entry, now: float) -> tuple[Entry, KnownPage | None]:
        """Return a link to a known page that is followed, and its page if that is to be noted.

        A page that is due may be in flight with its earlier request: if the link adds something new, it is
        requested once more, with that. A page that is not due by its own time stays due until it was read:
        the page that leads to it now may be unchanged, and not be read, the next time.
        """
        is_ours = page.job == self._job.id
        was_known = page.checks > (1 if is_ours else 0)
        if not (self._asks_conditionally and was_known) or entry.request.dont_filter:
            return entry, None
        former = self._former_request(page)
        has_news = (
            former is not None
            and former.depth > 0  # how a crawl begins, the spider says itself
            and brings_news(entry.request, former, self._own_meta)
        )
        is_on_its_way = is_ours or page.due_at <= now or not self._leaves_out
        noted = None
        if has_news and not is_ours and (request := self._pack_entry(entry)):
            noted = replace(page, request=request, etag="", modified="", due_at=min(page.due_at, now))
        elif not is_on_its_way:
            noted = replace(page, due_at=now)
        return again_of(entry) if has_news and is_on_its_way else entry, noted

    # ------------------------------------------------------------------ pages

    def _first_page(self, entry: Entry, now: float) -> KnownPage | None:
        """Return a page of which only a request is known; ``None``: it cannot be kept."""
        request = self._pack_entry(entry)
        if not request:
            return None
        return KnownPage(
            fingerprint=known_fingerprint_of(entry.request),
            url=entry.request.url,
            host=entry.host,
            request=request,
            due_at=now,
            rate=self._rules.prior,
        )

    def _pack_entry(self, entry: Entry) -> str:
        """Pack a request for later crawls; empty if it has secrets or is too large.

        Spent budgets of this crawl do not matter to later ones.
        """
        if secret_values_of(entry.request):
            return ""
        request = entry.request.replace(
            redirects=(),
            redirect_statuses=(),
            trace="",
            archived="",
            is_trap_probe=False,
            dont_filter=False,
        )
        if request.priority == LAST:
            request = request.replace(priority=0)
        packed = self._pack_request(request, entry.host)
        return packed if len(packed) <= MAX_REQUEST else ""

    async def _find_pages(self, fingerprints: Iterable[int]) -> dict[int, KnownPage]:
        asked = list(dict.fromkeys(fingerprints))
        found: dict[int, KnownPage] = {}
        for start in range(0, len(asked), ASKED_AT_ONCE):
            found |= await self._pages.find_pages(self._job.name, asked[start : start + ASKED_AT_ONCE])
        return found


def _pages_among(results: Sequence[VisitResult]) -> Iterable[tuple[tuple[int, int], Entry]]:
    """Yield the links to pages, by the numbers of their result and their own; no files or extractions."""
    for number, result in enumerate(results):
        for place, entry in enumerate(result.outcome.outlinks):
            if entry.request.saves is None and not entry.request.archived:
                yield (number, place), entry


def _with_links(result: VisitResult, kept: tuple[Entry, ...], heard_of: Sequence[KnownPage]) -> VisitResult:
    """Return the result with the links that are followed; the others are counted."""
    dropped = result.dropped
    if left_out := len(result.outcome.outlinks) - len(kept):
        key = DropKind.LINK.key_of(NOT_DUE)
        dropped = {**dropped, key: dropped.get(key, 0) + left_out}
    outcome = replace(result.outcome, outlinks=kept)
    return replace(result, outcome=outcome, dropped=dropped, known=(*result.known, *heard_of))


def _flag_unchanged(result: VisitResult, page: KnownPage | None) -> VisitResult:
    """Return the result, with a flag in its rows if the page is unchanged since an earlier check."""
    if page is None or page.checks < 2 or page.has_changed or page.gone_at is not None:
        return result
    rows = tuple(replace(row, flags=(*row.flags, UNCHANGED)) for row in result.attempts)
    return replace(result, attempts=rows)


def _hash_of(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)
