"""Traces of OpenTelemetry: one trace for each visit, from its lease until its results are stored.

The spans of a visit: ``visit``, with ``robots``, ``fetch``, ``extract``, ``pipeline`` and ``store`` below it.
A request that a page led to carries the span of that visit, and its own visit *links* to it: a crawl as one
trace would never end, and a part of the visits can be sampled. The only place that knows the package
``opentelemetry-api``; who wants the spans brings an SDK.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace
from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    Span,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    get_current_span,
    get_tracer,
    set_span_in_context,
)

from gossamer.core.errors import DropItem, FetchError, GossamerError
from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.core.results import (
    ExtractResult,
    FetchResult,
    ItemRecord,
    RobotsDecision,
    Verdict,
    VisitResult,
)
from gossamer.core.routes import DIRECT, Block, Route
from gossamer.observe.text import shown_url
from gossamer.policy.secret_names import hide_parameters
from gossamer.ports.committer import Committer
from gossamer.ports.extractor import Extractor
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.pipeline import Pipeline
from gossamer.ports.robots_gate import RobotsGate
from gossamer.ports.visit_watcher import End, Visit
from gossamer.version import __version__

URL = 2000
"""Characters of a URL among the attributes of a span."""
_FAILED = (Verdict.DEAD, Verdict.RETRY)


def open_tracer() -> Tracer:
    """Return the tracer of this process's SDK; without an SDK, spans are dropped."""
    return get_tracer("gossamer", __version__)


class VisitTracer:
    """Port ``VisitWatcher``: a span for each visit of one job, and one for the storing of its results."""

    def __init__(self, tracer: Tracer, job: Job) -> None:
        self._tracer = tracer
        self._job = job.id
        self._ended: dict[int, Context] = {}  # by token: visits whose results are not stored yet

    def watch_visits(self, visit: Visit[End]) -> Visit[End]:
        """See :class:`~gossamer.ports.visit_watcher.VisitWatcher`."""

        async def watch(attempt: Any) -> End:
            lease = attempt.lease
            request: Request = lease.entry.request
            with _open_span(
                self._tracer,
                "visit",
                context=Context(),
                links=_links_of(request),
                attributes={
                    "gossamer.job": self._job,
                    "gossamer.attempt": lease.attempt,
                    "gossamer.depth": request.depth,
                    "http.request.method": request.method,
                    "url.full": hide_parameters(shown_url(request.url, URL)),
                },
            ) as span:
                end = await visit(attempt)
                if isinstance(end, VisitResult):
                    _describe_end(span, end)
                    self._ended[lease.token] = set_span_in_context(span, Context())
                else:
                    span.set_attribute("gossamer.verdict", "given_back")
                return end

        return watch

    def open_stores(self, results: Sequence[VisitResult]) -> list[Span]:
        """Open a span for the storing of a result, below the span of its visit."""
        return [self._open_store(result, len(results)) for result in results]

    def _open_store(self, result: VisitResult, batch: int) -> Span:
        context = self._ended.pop(result.outcome.lease.token, None)
        if context is None:  # committed once more
            return INVALID_SPAN
        return self._tracer.start_span("store", context, attributes={"gossamer.batch": batch})


class TracedCommitter:
    """Port ``Committer``: wraps another one, with spans of its work."""

    def __init__(self, committer: Committer, tracer: VisitTracer) -> None:
        self._committer = committer
        self._tracer = tracer

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        spans = self._tracer.open_stores(results)
        kept: Sequence[bool] = ()
        try:
            kept = accepted = await self._committer.commit(results)
            return accepted
        finally:
            for number, span in enumerate(spans):
                if number < len(kept):
                    span.set_attribute("gossamer.kept", kept[number])
                else:
                    span.set_status(Status(StatusCode.ERROR, "not stored"))
                span.end()


class TracedFetcher:
    """Port ``Fetcher``: another one, with a span for each fetch."""

    def __init__(self, fetcher: Fetcher, tracer: Tracer) -> None:
        self._fetcher = fetcher
        self._tracer = tracer
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        with _open_span(self._tracer, "fetch") as span:
            try:
                fetched = await self._fetcher.fetch(request, route)
            except FetchError as error:
                span.set_attribute("error.type", error.fault.value)
                _describe_way(span, error.rung, error.proxy)
                raise
            span.set_attribute("http.response.status_code", fetched.status)
            span.set_attribute("http.response.body.size", fetched.wire_bytes)
            _describe_way(span, fetched.rung, fetched.proxy)
            return fetched

    async def close(self) -> None:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        await self._fetcher.close()


class TracedRobotsGate:
    """Port ``RobotsGate``: another one, with a span for each answer."""

    def __init__(self, gate: RobotsGate, tracer: Tracer) -> None:
        self._gate = gate
        self._tracer = tracer

    async def check_request(self, request: Request, route: Route = DIRECT) -> RobotsDecision:
        """See :class:`~gossamer.ports.robots_gate.RobotsGate`."""
        with _open_span(self._tracer, "robots") as span:
            answer = await self._gate.check_request(request, route)
            span.set_attribute("gossamer.allowed", answer.allowed)
            return answer

    def crawl_delay_for(self, url: str) -> float | None:
        """See :class:`~gossamer.ports.robots_gate.RobotsGate`."""
        return self._gate.crawl_delay_for(url)


class TracedExtractor:
    """Port ``Extractor``: another one, with a span for each page; its requests carry that of the visit."""

    def __init__(self, extractor: Extractor, tracer: Tracer) -> None:
        self._extractor = extractor
        self._tracer = tracer

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        trace = trace_of(get_current_span())
        with _open_span(self._tracer, "extract") as span:
            span.set_attribute("gossamer.callback", request.callback or "parse")
            result = await self._extractor.extract(request, fetched)
            span.set_attribute("gossamer.items", len(result.items))
            span.set_attribute("gossamer.requests", len(result.requests))
            if result.fault:
                span.set_status(Status(StatusCode.ERROR, result.fault))
        return _with_trace(result, trace)

    async def give_up(
        self, request: Request, fault: str, detail: str, fetched: FetchResult | None = None
    ) -> ExtractResult | None:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        result = await self._extractor.give_up(request, fault, detail, fetched)
        return None if result is None else _with_trace(result, trace_of(get_current_span()))

    async def find_block(self, request: Request, fetched: FetchResult) -> Block | None:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return await self._extractor.find_block(request, fetched)

    def wants_status(self, request: Request, status: int) -> int:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return self._extractor.wants_status(request, status)


class TracedPipeline:
    """Port ``Pipeline``: another one, with a span for each item."""

    def __init__(self, pipeline: Pipeline, tracer: Tracer) -> None:
        self._pipeline = pipeline
        self._tracer = tracer

    async def process(self, item: Any, url: str, page: Any = None) -> ItemRecord:
        """See :class:`~gossamer.ports.pipeline.Pipeline`."""
        with self._tracer.start_as_current_span(
            "pipeline", record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                record = await self._pipeline.process(item, url, page)
            except DropItem:
                span.set_attribute("gossamer.dropped", True)
                raise
            except GossamerError as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise
            span.set_attribute("gossamer.item_type", record.type)
            return record


@contextmanager
def _open_span(tracer: Tracer, name: str, **options: Any) -> Iterator[Span]:
    """Open the current span. It has only the type of an error: the text may hold a secret."""
    with tracer.start_as_current_span(
        name, record_exception=False, set_status_on_exception=False, **options
    ) as span:
        try:
            yield span
        except Exception as error:
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def trace_of(span: Span) -> str:
    """Return a span for a request: the ``traceparent`` of W3C; empty if it is not recorded."""
    context = span.get_span_context()
    if not context.is_valid:
        return ""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def span_context_of(trace: str) -> SpanContext | None:
    """Return the span from the text of :func:`trace_of`; ``None`` for other text."""
    version, _, rest = trace.partition("-")
    parts = rest.split("-")
    if version != "00" or [len(part) for part in parts] != [32, 16, 2]:
        return None
    try:
        trace_id, span_id, flags = (int(part, 16) for part in parts)
    except ValueError:
        return None
    context = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))
    return context if context.is_valid else None


def _links_of(request: Request) -> Sequence[Link]:
    context = span_context_of(request.trace)
    return () if context is None else (Link(context),)


def _with_trace(result: ExtractResult, trace: str) -> ExtractResult:
    if not trace:
        return result
    return replace(result, requests=tuple(request.replace(trace=trace) for request in result.requests))


def _describe_end(span: Span, end: VisitResult) -> None:
    outcome = end.outcome
    span.set_attribute("gossamer.verdict", outcome.verdict.value)
    if outcome.reason:
        span.set_attribute("error.type", outcome.reason)
    if outcome.verdict in _FAILED:
        span.set_status(Status(StatusCode.ERROR, outcome.reason))


def _describe_way(span: Span, rung: str, proxy: str) -> None:
    """Add the way a page was fetched, as far as known; names of proxies have no credentials."""
    if rung:
        span.set_attribute("gossamer.rung", rung)
    if proxy:
        span.set_attribute("gossamer.proxy", proxy)
