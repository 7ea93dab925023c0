"""A crawl with traces: each visit is one, with spans for what is done, and knows which visit led to it."""

from __future__ import annotations

import builtins
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN, StatusCode

from gossamer import DropItem, Spider
from gossamer.config.running import TraceSettings
from gossamer.core.errors import Fault, FetchError, MissingServiceError
from gossamer.core.requests import Request
from gossamer.crawl.run import crawl
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.observe import tracing
from gossamer.wiring.traces import traced_parts

SITE = "http://one.example/"


class Shop(Spider):
    name = "shop"
    start_urls = [SITE]

    async def parse(self, response):
        for number in (1, 2):
            yield response.follow(f"/{number}", callback=self.parse_item)
        yield response.follow("/gone", callback=self.parse_item)

    def parse_item(self, response):
        yield {"url": response.url}
        if response.url.endswith("/2"):
            raise ValueError("no")


@pytest.fixture
def spans(monkeypatch):
    """What was recorded, by the SDK that a user would bring."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "get_tracer", provider.get_tracer)
    return exporter


@pytest.fixture
def replay(tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "page.html").write_text("<h1>One</h1>")
    rules = {SITE: "page.html", f"{SITE}1": "page.html", f"{SITE}2": "page.html"}
    return {
        "replay.folder": str(saved),
        "replay.rules": rules,
        "data": str(tmp_path / "data"),
        "max_retries": 0,
    }


def below(spans, parent):
    return {
        span.name: span for span in spans if span.parent and span.parent.span_id == parent.context.span_id
    }


async def test_a_request_can_be_followed_from_its_seed_to_its_item(spans, replay):
    result = await crawl(Shop, **replay, **{"traces.enabled": True, "robots": False})
    assert (result.pages, result.items) == (3, 2)
    found = spans.get_finished_spans()
    visits = {span.attributes["url.full"]: span for span in found if span.name == "visit"}
    assert set(visits) == {SITE, f"{SITE}1", f"{SITE}2", f"{SITE}gone"}
    assert len({span.context.trace_id for span in visits.values()}) == 4, "each visit is a trace"

    seed = visits[SITE]
    assert (seed.parent, seed.links, seed.attributes["gossamer.verdict"]) == (None, (), "success")
    assert seed.attributes["gossamer.job"] == result.job
    done = below(found, seed)
    assert set(done) == {"robots", "fetch", "extract", "store"}
    assert done["fetch"].attributes["http.response.status_code"] == 200
    assert done["fetch"].attributes["gossamer.rung"] == "replay"
    assert done["extract"].attributes["gossamer.requests"] == 3
    assert done["store"].attributes["gossamer.kept"] is True
    assert done["store"].start_time >= seed.end_time, "what is stored was visited before"

    page = visits[f"{SITE}1"]
    (link,) = page.links
    assert link.context.span_id == seed.context.span_id, "it knows which visit led to it"
    assert page.attributes["gossamer.depth"] == 1
    assert set(below(found, page)) == {"robots", "fetch", "extract", "pipeline", "store"}
    assert below(found, page)["pipeline"].attributes["gossamer.item_type"] == "item"

    failed, missing = visits[f"{SITE}2"], visits[f"{SITE}gone"]
    assert (failed.status.status_code, failed.attributes["error.type"]) == (StatusCode.ERROR, "callback")
    assert below(found, missing)["fetch"].attributes["error.type"] == "not_archived"
    assert missing.attributes["gossamer.verdict"] == "dead"


async def test_spans_have_no_secrets(spans, replay):
    """Not in their URLs, not in what errors say."""
    secret = "hush-hush"
    url = f"{SITE}1?page=2&api_key={secret}&X-Amz-Signature={secret}#access_token={secret}"

    class Fetcher:
        touches_network = False

        async def fetch(self, request, route=None):
            raise FetchError(Fault.CONNECT, f"no way to {secret}")

    class Gate:
        async def check_request(self, request, route=None):
            raise ValueError(secret)

    tracer = tracing.open_tracer()
    with pytest.raises(FetchError):
        await tracing.TracedFetcher(Fetcher(), tracer).fetch(Request(url))
    with pytest.raises(ValueError, match=secret):
        await tracing.TracedRobotsGate(Gate(), tracer).check_request(Request(url))

    class Keyed(Spider):
        name = "keyed"
        start_urls = [url]

    await crawl(Keyed, **replay, **{"traces.enabled": True, "robots": False})
    found = spans.get_finished_spans()
    assert secret not in " ".join(span.to_json() for span in found)
    fetch, robots, *_ = found
    assert (fetch.status.description, robots.status.description) == ("FetchError", "ValueError")
    assert [span.attributes["url.full"] for span in found if span.name == "visit"] == [
        f"{SITE}1?page=2&api_key=***&X-Amz-Signature=***"
    ]


async def test_without_the_setting_nothing_is_traced_or_imported(spans, replay, monkeypatch):
    monkeypatch.setattr("gossamer.wiring.traces.import_module", None)
    await crawl(Shop, **replay)
    assert spans.get_finished_spans() == ()


async def test_without_an_sdk_nothing_is_carried(replay, monkeypatch):
    carried = []
    real = Request.replace
    monkeypatch.setattr(Request, "replace", lambda self, **new: carried.append(new) or real(self, **new))
    result = await crawl(Shop, **replay, **{"traces.enabled": True})
    assert result.pages == 3
    assert not [new for new in carried if "trace" in new]


def test_a_request_carries_its_trace_wherever_it_waits():
    trace = f"00-{7:032x}-{9:016x}-01"
    request = Request(f"{SITE}1", trace=trace)
    assert unpack_request(pack_request(request, "one.example"), "one.example") == request
    context = tracing.span_context_of(trace)
    assert (context.trace_id, context.span_id, context.is_remote) == (7, 9, True)


@pytest.mark.parametrize(
    "trace", ["", "x", "00-1-2-3", f"01-{7:032x}-{9:016x}-01", f"00-{'z' * 32}-{9:016x}-01"]
)
def test_what_is_no_trace_leads_nowhere(trace):
    assert tracing.span_context_of(trace) is None
    assert tracing.trace_of(INVALID_SPAN) == ""


async def test_dropped_items_are_no_errors_of_the_trace(spans, replay):
    class Picky(Spider):
        name = "picky"
        start_urls = [SITE]
        pipelines = ()

        def parse(self, response):
            yield {"url": ""}

    class Drop:
        async def process_item(self, item, response):
            raise DropItem("no url")

    Picky.pipelines = (Drop,)
    result = await crawl(Picky, **replay, **{"traces.enabled": True})
    assert result.items == 0
    found = {span.name: span for span in spans.get_finished_spans()}
    assert found["pipeline"].attributes["gossamer.dropped"] is True
    assert {span.status.status_code for span in found.values()} == {StatusCode.UNSET}


def test_without_the_package_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("opentelemetry"):
            raise ImportError(name="opentelemetry")
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "gossamer.observe.tracing")
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingServiceError, match=r"opentelemetry is missing.*\[otel\]"):
        traced_parts(TraceSettings(enabled=True), None)
