"""Whole crawls through proxies, of which some are dead and some are refused: nothing fails, and nobody is
asked without a proxy."""

from collections import Counter

from gossamer import Spider, crawl
from gossamer.core.errors import Fault
from gossamer.core.events import PageDoneEvent
from gossamer.core.results import Verdict
from gossamer.testing.site import SiteResponse, serve
from kit.fake_proxy import FakeProxy, Forwarding, hang_up, say
from kit.recording_sink import RecordingSink

PAGES = 40
REFUSAL = (
    b"HTTP/1.1 403 Forbidden\r\ncf-mitigated: challenge\r\nserver: cloudflare\r\nContent-Length: 0\r\n\r\n"
)


def site(path, headers):
    if path == "/robots.txt":
        return SiteResponse(404, b"")
    links = "".join(f"<a href='/{n}'>{n}</a>" for n in range(PAGES)) if path == "/" else "a page"
    return SiteResponse(200, f"<html><body><p>{links}</p></body></html>".encode())


async def test_dead_and_refused_proxies_cost_no_page(tmp_path):
    sink, works = RecordingSink(), Forwarding()
    async with (
        serve(site) as served,
        FakeProxy(hang_up) as dead,
        FakeProxy(say(*[REFUSAL] * 1000)) as refused,
        FakeProxy(works) as well,
    ):

        class Proxied(Spider):
            name = "proxied"
            start_urls = [served.url + "/"]

            def parse(self, response):
                yield from response.follow_all(css="a")

        urls = [f"http://me:hunter2@127.0.0.1:{one.port}" for one in (dead, refused, well)]
        result = await crawl(
            Proxied, sinks=[sink], data=str(tmp_path), delay=0, per_host=4, **{"proxies.urls": urls}
        )
        assert (result.dead, result.pages) == (0, PAGES + 1)
        assert len(works.heads) == len(served.log.hits), "nobody was asked but through the proxy"
    rows = [event.attempt for event in sink.events if isinstance(event, PageDoneEvent)]
    dead_name, refused_name, well_name = (f"http://127.0.0.1:{one.port}" for one in (dead, refused, well))
    verdicts = Counter((row.proxy.partition("#")[0], row.verdict, row.reason) for row in rows)
    assert verdicts.pop((well_name, Verdict.SUCCESS, "")) == PAGES + 1
    assert set(verdicts) <= {
        ("", Verdict.RETRY, Fault.PROXY),  # it was asked for robots.txt
        (dead_name, Verdict.RETRY, Fault.PROXY),
        (refused_name, Verdict.RETRY, Fault.BLOCKED),
    }
    assert sum(verdicts.values()) <= 12, "they were left alone"
    assert "hunter2" not in str(rows)
