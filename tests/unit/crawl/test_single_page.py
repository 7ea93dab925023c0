"""Single pages go the way of a crawl: turns, robots.txt, redirects, scope; with one try, and nothing kept."""

import asyncio

import pytest

from gossamer.core.errors import Fault, FetchError, UsageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, Verdict
from gossamer.crawl.single_page import NoExtractor, PageVisitor
from gossamer.engine.parts import ShiftOptions, VisitParts
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.items.pipeline import DefaultPipeline
from gossamer.policy.scope import Scope
from gossamer.policy.traps import TrapRules
from gossamer.policy.urls import UrlOptions
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import EPOCH, run_virtual
from gossamer.wiring.preview import LEASE_S, PreviewAdmission, PreviewParts
from kit.engine import Pages, Site

URL = "http://site.test/"
RULES = FrontierRules(delay_s=5.0)


class Looking:
    """Somebody who looks at pages of a made-up site, one after the other."""

    def __init__(self, clock, *, domains=("site.test",), extractor=None, rules=RULES):
        self.clock = clock
        self.site = Site(self.clock)
        self.site.replies["http://site.test/robots.txt"] = 404
        self.site.replies["http://other.test/robots.txt"] = 404
        self.frontier = MemoryFrontier(rules, self.clock, seed=1)
        self.told = []
        traps = TrapRules()
        visit = VisitParts(
            rules=rules,
            fetcher=self.site,
            robots=RobotsCache(self.site, MemorySharedState(self.clock), self.clock, user_agent="gossamer"),
            extractor=extractor or NoExtractor(),
            pipeline=DefaultPipeline(),
            admission=PreviewAdmission(Scope(domains), UrlOptions(), max_depth=None, traps=traps),
            clock=self.clock,
        )
        shift = ShiftOptions(worker="preview", lease_ttl_s=LEASE_S, random=lambda: 0.0)
        self.parts = PreviewParts(visit, shift, self.frontier, None)
        self.pages = PageVisitor(self.parts, self.told.append)

    async def visit(self, url=URL, **request):
        return await self.pages.visit_page(Request(url, **request))

    @property
    def asked(self):
        """When each URL was asked for, in seconds from the start."""
        return [(round(at - EPOCH, 1), url) for at, url in self.site.log]

    async def is_empty(self):
        return (await self.frontier.read_stats()).waiting == 0


def virtually(main, **options):
    return run_virtual(lambda clock: main(Looking(clock, **options)))


def moved(to, status=301):
    return (status, {"location": to})


def test_robots_and_each_hop_have_turns_of_their_own():
    async def main(looking):
        looking.site.replies[URL] = moved("/b")
        looking.site.replies["http://site.test/b"] = moved("http://other.test/")
        visit = await looking.visit()
        assert [hop.status for hop in visit.hops] == [301, 301]
        assert (visit.fetched.url, visit.request.redirects) == (
            "http://other.test/",
            (URL, "http://site.test/b"),
        )
        assert looking.asked == [
            (0.0, "http://site.test/robots.txt"),
            (5.0, URL),
            (10.0, "http://site.test/b"),
            (10.0, "http://other.test/robots.txt"),
            (15.0, "http://other.test/"),
        ]
        assert looking.told == [
            "site.test: 5 s until the next request",
            "301 -> http://site.test/b",
            "site.test: 5 s until the next request",
            "301 -> http://other.test/",
            "other.test: 5 s until the next request",
        ]
        assert await looking.is_empty()

    virtually(main, domains=())


def test_robots_may_ask_for_a_longer_delay_and_refuse_a_hop():
    async def main(looking):
        robots = looking.site.page("http://site.test/robots.txt", headers={"content-type": "text/plain"})
        body = b"User-agent: *\nCrawl-delay: 20\nDisallow: /secret"
        fields = {name: getattr(robots, name) for name in robots.__struct_fields__}
        looking.site.replies["http://site.test/robots.txt"] = type(robots)(**{**fields, "body": body})
        looking.site.replies[URL] = moved("/secret")
        with pytest.raises(UsageError, match=r"does not allow http://site\.test/secret; --no-robots"):
            await looking.visit()
        assert looking.asked == [(0.0, "http://site.test/robots.txt"), (20.0, URL)]
        assert (await looking.visit("http://site.test/c")).fetched.status == 200
        assert looking.asked[2:] == [(40.0, "http://site.test/c")]

    virtually(main)


@pytest.mark.parametrize("status", [404, 500, 503])
def test_an_error_status_is_an_answer_and_is_not_asked_for_again(status):
    async def main(looking):
        looking.site.replies[URL] = status
        visit = await looking.visit()
        assert visit.fetched.status == status
        assert [url for _, url in looking.asked].count(URL) == 1
        assert await looking.is_empty()

    virtually(main)


def test_no_answer_is_said_at_once_and_the_next_page_waits_for_the_hosts_pause():
    async def main(looking):
        looking.site.replies[URL] = FetchError(Fault.CONNECT, "refused")
        with pytest.raises(FetchError) as raised:
            await looking.visit()
        assert (raised.value.fault, raised.value.detail) == (Fault.CONNECT, "refused")
        assert looking.clock.now() == EPOCH + 5.0
        assert await looking.is_empty()
        assert (await looking.visit("http://site.test/b")).fetched.status == 200

    virtually(main)


def test_the_same_page_twice_is_fetched_twice():
    async def main(looking):
        await looking.visit()
        await looking.visit()
        assert [url for _, url in looking.asked].count(URL) == 2

    virtually(main)


def test_a_redirect_out_of_a_spiders_scope_is_what_it_is_in_a_crawl():
    async def main(looking):
        looking.site.replies[URL] = moved("http://other.test/")
        with pytest.raises(FetchError, match=r"redirects to http://other\.test/ \(offsite\)") as raised:
            await looking.visit()
        assert raised.value.fault is Fault.OUT_OF_SCOPE
        assert await looking.is_empty()

    virtually(main)


def test_a_page_out_of_a_spiders_scope_was_named_by_hand_and_so_were_its_redirects():
    async def main(looking):
        looking.site.replies["http://other.test/"] = moved("http://third.test/x/x/x/x/x")
        looking.site.replies["http://third.test/robots.txt"] = 404
        visit = await looking.visit("http://other.test/")
        assert visit.fetched.url == "http://third.test/x/x/x/x/x"

    virtually(main)


def test_redirects_without_end_are_the_fault_of_a_crawl():
    async def main(looking):
        looking.site.replies[URL] = moved("/")
        with pytest.raises(FetchError) as raised:
            await looking.visit()
        assert raised.value.fault is Fault.REDIRECT_LIMIT
        assert [url for _, url in looking.asked].count(URL) == looking.parts.shift.max_redirects + 1

    virtually(main)


def test_a_page_that_was_broken_off_keeps_nobody_from_its_host():
    """As with Ctrl-C in a shell: while it is fetched, and while it waits for its turn."""

    async def main(looking):
        async def hang(request):
            await asyncio.Event().wait()

        looking.site.replies[URL] = hang
        for seconds in (7.0, 2.0):
            task = asyncio.ensure_future(looking.visit())
            await looking.clock.sleep(seconds)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        del looking.site.replies[URL]
        visit = await looking.visit("http://site.test/b")
        assert visit.fetched.url == "http://site.test/b"
        assert [url for _, url in looking.asked] == ["http://site.test/robots.txt", URL, "http://site.test/b"]
        assert await looking.is_empty()

    virtually(main)


def test_what_a_spider_makes_of_a_page_is_handed_back_and_nothing_follows():
    pages = Pages()
    pages.yields[URL] = ExtractResult(items=({"a": 1},), requests=(Request("http://site.test/b"),))

    async def main(looking):
        visit = await looking.visit()
        assert visit.result.outcome.verdict is Verdict.SUCCESS
        assert [item.data for item in visit.result.items] == [b'{"a":1}']
        assert [entry.request.url for entry in visit.result.outcome.outlinks] == ["http://site.test/b"]
        assert await looking.is_empty()

    virtually(main, extractor=pages)


def test_a_meta_refresh_is_a_redirect():
    pages = Pages()
    pages.yields[URL] = ExtractResult(refresh_to="/b")

    async def main(looking):
        visit = await looking.visit()
        assert (visit.fetched.url, [hop.status for hop in visit.hops]) == ("http://site.test/b", [200])
        assert "meta refresh -> http://site.test/b" in looking.told

    virtually(main, extractor=pages)
