"""One attempt in the making, and the result of its visit: the only place that fills in those records."""

from __future__ import annotations

import msgspec

from gossamer.core.archive import ARCHIVE_RUNG
from gossamer.core.drops import DropSample
from gossamer.core.errors import Fault
from gossamer.core.freshness import KnownPage
from gossamer.core.hooks import HOOK_RUNG, INSTEAD_OF_FAILURE
from gossamer.core.hosts import HostSignal, HostSignalKind
from gossamer.core.requests import Entry, Lease, RequestPreview
from gossamer.core.results import (
    EXTRACTED,
    Attempt,
    ExtractResult,
    FetchResult,
    ItemRecord,
    Outcome,
    PageRecord,
    Verdict,
    VisitResult,
)
from gossamer.core.routes import DIRECT, Block, BlockKind, Route, RouteReport
from gossamer.policy.request_preview import preview_of

MAX_DETAIL = 4000
"""Characters of a traceback that the ledger keeps, from its end."""


class OpenAttempt(msgspec.Struct):
    """The state of one attempt."""

    lease: Lease
    entry: Entry  # of the page: the lease's own, or that of the page which is extracted
    started_at: float
    worker: str
    rung: str = ""  # the rung that answered or failed; empty: none was tried
    proxy: str = ""  # the proxy through which it answered, or failed; empty: none
    route: Route = DIRECT  # how it is to be fetched
    fetched: FetchResult | None = None
    failure_cost: float = 0.0  # cost of a fetch without a response
    block: Block | None = None  # that the answer refuses us
    flags: tuple[str, ...] = ()  # flags of parsing, besides those of fetching
    picture: bytes = b""  # the page as a PNG, where a browser took one
    log_in: int = 0  # the number of the log-in since which its session is logged in; 0: it needs none
    is_asked: bool = False  # the host was asked for the page: its turn is used up, whatever comes of it
    known: KnownPage | None = None  # the page as earlier checks have found it
    is_conditional: bool = False  # the host was asked whether the page has changed since
    is_unchanged: bool = False  # it has not
    is_by_hook: bool = False  # a hook ended it, or answered, before anybody was asked
    preview: RequestPreview | None = None  # made before a callback changes the request

    def __post_init__(self) -> None:
        self.preview = preview_of(self.entry.request)

    def note_answer(self, fetched: FetchResult) -> None:
        """Record the answer; hooks may have taken their time before the host was asked."""
        self.fetched = fetched
        self.rung, self.proxy, self.picture = fetched.rung, fetched.proxy, fetched.screenshot
        self.is_by_hook = fetched.rung == HOOK_RUNG
        self.started_at += fetched.held_s

    def note_hook(self, fetched: FetchResult | None) -> None:
        """Record that a hook ends the attempt; ``fetched`` is the answer that had come by then."""
        self.is_by_hook = True
        if fetched is not None:
            self.note_answer(fetched)

    def unfinished_signal(self) -> HostSignal:
        """Return the signal for giving back or failing the lease of an interrupted visit."""
        return self.host_signal(HostSignalKind.FAULT) if self.is_asked else HostSignal()

    def host_signal(
        self, kind: HostSignalKind = HostSignalKind.OK, retry_after_s: float | None = None
    ) -> HostSignal:
        """Return the attempt's signal about its host: none if an archive answered."""
        if self.is_archived:
            return HostSignal()
        if self.is_by_hook:
            return self._signal_by_hook()
        latency_s = self.fetched.latency_s if self.fetched else None
        return HostSignal(
            kind=kind, started_at=self.started_at, latency_s=latency_s, retry_after_s=retry_after_s
        )

    def _signal_by_hook(self) -> HostSignal:
        """Nothing, unless the host was asked, and has failed before a hook answered."""
        if self.fetched is None or INSTEAD_OF_FAILURE not in self.fetched.flags:
            return HostSignal()
        return HostSignal(kind=HostSignalKind.FAULT, started_at=self.started_at)

    def make_page(self, result: ExtractResult, items: int) -> PageRecord:
        """Return the record of a parsed page with its number of kept items."""
        request, fetched = self.entry.request, self.fetched
        assert fetched is not None, "a page comes from a response"
        return PageRecord(
            url=request.url,
            fingerprint=self.entry.fingerprint,
            status=fetched.status,
            content_type=result.content_type,
            title=result.title,
            depth=request.depth,
            size_bytes=len(fetched.body),
            at=fetched.started_at if self.is_archived else self.started_at,  # it is as old as it was then
            items=items,
        )

    def make_result(
        self,
        verdict: Verdict,
        fault: Fault | None = None,
        *,
        detail: str = "",
        signal: HostSignal | None = None,
        due_at: float = 0.0,
        charged: bool = True,
        is_excused: bool = False,
        outlinks: tuple[Entry, ...] = (),
        items: tuple[ItemRecord, ...] = (),
        is_page: bool = False,
        page: PageRecord | None = None,
        dropped: dict[str, int] | None = None,
        samples: tuple[DropSample, ...] = (),
        lane: str = "",
        expected: dict[str, int] | None = None,
        stop: str = "",
    ) -> VisitResult:
        """Return all results of this attempt."""
        reason = fault.value if fault else ""
        return VisitResult(
            outcome=Outcome(
                lease=self.lease,
                verdict=verdict,
                reason=reason,
                due_at=due_at,
                charged=charged,
                is_excused=is_excused,
                lane=lane,
                is_page=is_page,
                signal=signal or HostSignal(),
                outlinks=outlinks,
            ),
            attempts=(self._make_attempt(verdict, reason, detail),),
            items=items,
            page=page,
            dropped=dropped or {},
            samples=samples,
            expected=expected or {},
            stop=stop,
        )

    def make_report(self, result: VisitResult, *, is_probe: bool) -> RouteReport:
        """Return the report on the attempt's route, for the router."""
        entry = self.lease.entry
        return RouteReport(
            request=entry.request,
            host=entry.host,
            route=self.route,
            result=result,
            fetched=self.fetched,
            block=self.block,
            is_probe=is_probe,
        )

    def _make_attempt(self, verdict: Verdict, reason: str, detail: str) -> Attempt:
        lease, fetched = self.lease, self.fetched
        request = self.entry.request
        return Attempt(
            at=self.started_at,
            url=request.url,
            fingerprint=self.entry.fingerprint,
            verdict=verdict,
            reason=reason,
            detail=detail,
            attempt=lease.attempt,
            status=fetched.status if fetched else 0,
            size_bytes=fetched.size_bytes if fetched else 0,
            elapsed_ms=round(fetched.elapsed_s * 1000, 2) if fetched else 0.0,
            worker=self.worker,
            rung=self.rung,
            depth=request.depth,
            via=request.via,
            method=request.method,
            flags=self._all_flags(),
            request=self.preview,
            proxy=self.proxy,
            session=self.route.session_for(request),
            cost=fetched.cost if fetched else self.failure_cost,
            wire_bytes=fetched.wire_bytes if fetched else 0,
            address=fetched.address if fetched else "",
        )

    @property
    def sets_cookie(self) -> bool:
        """Whether its response sets a cookie: a repeated request may get another response."""
        return self.fetched is not None and bool(self.fetched.header("set-cookie"))

    @property
    def is_archived(self) -> bool:
        """Whether an archive gave the response."""
        return self.fetched is not None and self.fetched.rung == ARCHIVE_RUNG

    @property
    def is_extraction(self) -> bool:
        """Whether another worker has fetched its page before."""
        return self.entry is not self.lease.entry

    @property
    def is_marked(self) -> bool:
        """Whether the ledger names a refusal: a status without any mark is in its column already."""
        return self.block is not None and self.block.kind is not BlockKind.STATUS

    def _all_flags(self) -> tuple[str, ...]:
        """Return the flags of fetching and parsing, each once."""
        fetched = self.fetched.flags if self.fetched else ()
        if self.is_extraction:
            fetched = (*fetched, EXTRACTED)
        if not self.flags and self.block is None:
            return fetched
        block = (f"block:{self.block.kind}",) if self.block is not None and self.is_marked else ()
        return tuple(dict.fromkeys((*fetched, *self.flags, *block)))
