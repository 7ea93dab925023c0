"""Rules of spiders: which links they take, what becomes of the pages, and which rules are refused."""

import asyncio
import re
import time
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from gossamer import Request, Response, Rule, Spider
from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.core.errors import UsageError
from gossamer.core.results import FetchResult
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.spiders.rules import links_by_rule
from gossamer.targets.discovery import find_target

URL = "http://shop.test/list"
PAGE = """
<nav><a href="/about">about</a> <a href="/c/1" class="category">one</a></nav>
<main><a href="/p/1">p</a> <a href="/p/2#top">p</a> <a href="/p/1">again</a> <a href="/p/flyer.PDF">flyer</a>
<a href="http://other.test/p/3">other</a> <a href="http://www.shop.test/p/4" rel="nofollow">no</a>
<img src="/p/picture" alt=""><span data-url="/p/5">five</span></main>
"""
FEED = """<rss><channel><link>http://shop.test/</link>
<item><title>t</title><link>/p/6</link></item><item><link>/c/7</link></item></channel></rss>"""


def fetched(body: str = PAGE, content_type: str = "text/html; charset=utf-8", url: str = URL) -> FetchResult:
    return FetchResult(
        url=url, status=200, headers=(("content-type", content_type),), body=body.encode(),
        started_at=0.0, latency_s=0.0, elapsed_s=0.0, rung="http",
    )  # fmt: skip


def page(body: str = PAGE, content_type: str = "text/html; charset=utf-8") -> Response:
    return Response(Request(URL), fetched(body, content_type))


def paths(urls):
    return [url.removeprefix("http://shop.test") for url in urls]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"allow": "/p/"}, ["/p/1", "/p/2", "/p/flyer.PDF", "http://other.test/p/3"]),
        ({"allow": ["/c/", re.compile(r"/ABOUT$", re.IGNORECASE)]}, ["/about", "/c/1"]),
        ({"allow": "/p/", "deny": [r"\.PDF$", "other"]}, ["/p/1", "/p/2"]),
        ({"css": "nav"}, ["/about", "/c/1"]),
        ({"css": "nav a.category"}, ["/c/1"]),
        ({"css": ["a.category", "main > a:first-child::attr(href)"]}, ["/c/1", "/p/1"]),
        ({"xpath": "//main", "allow_domains": "shop.test"}, ["/p/1", "/p/2", "/p/flyer.PDF"]),
        ({"css": "nothing"}, []),
        ({"deny_domains": ["shop.test"]}, ["http://other.test/p/3"]),
        ({"deny_extensions": [".pdf"], "allow": "/p/", "allow_domains": ["shop.test"]}, ["/p/1", "/p/2"]),
        ({"tags": "img", "attrs": "src"}, ["/p/picture"]),
        ({"tags": ["span", "a"], "attrs": ["data-url", "href"], "deny": "c|about|p/[12f]"},
         ["http://other.test/p/3", "/p/5"]),
    ],
)  # fmt: skip
def test_links_and_follow_all_choose_by_the_same_options(options, expected):
    links = page().links(**options)
    assert paths(links) == expected
    followed = [request.url for request in page().follow_all(**options)]
    assert paths(dict.fromkeys(followed)) == expected
    ((_, taken),) = links_by_rule([Rule(**{"deny_extensions": (), **options})], page())
    assert taken == links


def test_an_element_without_an_address_stands_for_the_links_in_it():
    found = page()
    assert paths(request.url for request in found.follow_all(found.css("nav"))) == ["/about", "/c/1"]
    assert paths(request.url for request in found.follow_all(css="main", deny="other|PDF")) == [
        "/p/1", "/p/2", "/p/1",
    ]  # fmt: skip
    assert list(found.follow_all(css="img")) == []
    assert found.dropped["link:bad_url"] == 1
    assert found.dropped["link:nofollow"] == 1


def test_a_link_is_nofollow_only_if_all_of_its_elements_are():
    twice = page("<a rel=nofollow href=/a>a</a><p><a href=/a>a</a> <a rel=nofollow href=/b>b</a></p>")
    assert paths(twice.links(css="a")) == ["/a"]
    assert paths(twice.links(css="body > a")) == []


def test_links_of_feeds_are_chosen_too():
    feed = page(FEED, "application/rss+xml")
    assert paths(feed.links(allow="/p/|/c/")) == ["/p/6", "/c/7"]
    assert paths(feed.links(css="item", allow="/p/")) == ["/p/6"]
    assert paths(request.url for request in feed.follow_all(css="item > link")) == ["/p/6", "/c/7"]
    assert page('{"a": "<a href=/x>"}', "application/json").links(css="a") == []


URLS = st.builds(
    "http://{}/{}".format,
    st.sampled_from(["a.test", "sub.a.test", "b.test"]),
    st.sampled_from(["p/1", "p/2", "c/1?x=2", "p/1.pdf", "c/a.html", "", "p.html"]),
)
CHOICES = {
    "allow": st.lists(st.sampled_from(["/p/", r"\d$", "x=", r"^http://b"]), max_size=2),
    "deny": st.lists(st.sampled_from(["/c/", r"html$", "(?!x)2"]), max_size=2),
    "allow_domains": st.lists(st.sampled_from(["a.test", "b.test"]), max_size=1),
    "deny_domains": st.lists(st.sampled_from(["sub.a.test", "b.test"]), max_size=1),
    "css": st.lists(st.sampled_from(["div", "div.x", "p"]), max_size=2),
}


@given(
    links=st.lists(st.tuples(st.sampled_from(["div", "div class=x", "p"]), URLS), max_size=8), data=st.data()
)
def test_rules_take_the_links_that_scrapys_link_extractors_take(links, data):
    body = "".join(f"<{part}><a href='{escape(url)}'>x</a></{part.split()[0]}>" for part, url in links)
    options = {name: data.draw(choices, label=name) for name, choices in CHOICES.items()}
    response = HtmlResponse(URL, body=body.encode(), encoding="utf-8")
    scrapys = LinkExtractor(
        restrict_css=options["css"], **{name: value for name, value in options.items() if name != "css"}
    )
    expected = {link.url for link in scrapys.extract_links(response)}
    ((_, taken),) = links_by_rule([Rule(**options)], page(body))
    assert len(taken) == len(set(taken))
    assert set(taken) == expected


def test_a_misspelt_option_takes_no_links():
    found = page("<a href='/p/1'>x</a><a href='/q'>y</a>")
    with pytest.raises(UsageError, match=r"^alow is not an option for links; options are allow, deny, css"):
        found.links(alow="/p/")
    with pytest.raises(UsageError, match=r"^alow is not an option for links"):
        found.links(css="a", alow="/p/")


def test_an_expression_takes_no_longer_than_the_url_is_long():
    found = page(f"<a href='/{'a' * 7000}!'>x</a>")
    start = time.process_time()
    for pattern in ("(a+)+$", "(a|aa)+$", "(.*a){20}b"):
        assert found.links(allow=pattern) == list(found.follow_all(allow=pattern)) == []
    assert time.process_time() - start < 1


# --------------------------------------------------------------------------- crawling by rules


class Ruled(Spider):
    name = "ruled"
    start_urls = [URL]
    rules = [
        Rule(allow="/p/1", callback="parse_product", follow=True, priority=3, cb_kwargs={"seen": 1}),
        Rule(allow="/p/", callback="parse_product", allow_domains="shop.test", errback="failed"),
        Rule(css="nav"),
    ]

    def parse_product(self, response, seen=0):
        yield {"url": response.url, "seen": seen}

    def failed(self, failure):
        yield {}


def extracted(spider: Spider, request: Request, body: str = PAGE):
    return asyncio.run(SpiderExtractor(lambda _: spider).extract(request, fetched(body, url=request.url)))


def test_the_first_rule_that_fits_takes_a_link():
    result = extracted(Ruled(), Request(URL))
    found = {request.url.removeprefix("http://shop.test"): request for request in result.requests}
    assert {path: request.callback for path, request in found.items()} == {
        "/p/1": "parse_product", "/p/2": "parse_product", "/about": "follow_rules", "/c/1": "follow_rules",
    }  # fmt: skip
    assert [request.follow_rules for request in found.values()] == [True, False, False, False]
    assert (found["/p/1"].priority, found["/p/1"].cb_kwargs) == (3, {"seen": 1})
    assert found["/p/2"].errback == "failed"
    assert result.items == ()
    assert not result.fault


def test_rules_apply_to_pages_that_a_rule_follows_after_its_callback():
    by_rule = extracted(Ruled(), Request(URL)).requests
    followed = extracted(Ruled(), by_rule[0])
    assert followed.items == ({"url": "http://shop.test/p/1", "seen": 1},)
    assert len(followed.requests) == 4
    product = extracted(Ruled(), by_rule[1])
    assert (len(product.items), product.requests) == (1, ())
    assert len(extracted(Ruled(), Request(URL, "follow_rules")).requests) == 4
    assert extracted(Ruled(), Request(URL, "parse_product")).requests == ()


def test_what_a_rule_follows_is_stored_with_the_request():
    request = Request("http://shop.test/p/1", "parse_product", follow_rules=True)
    assert unpack_request(pack_request(request, "shop.test"), "shop.test") == request


def test_start_pages_have_a_callback_besides_the_rules():
    class Scrapys(Ruled):
        def parse_start_url(self, response):
            return [{"start": response.url}]

    class Own(Ruled):
        async def parse(self, response):
            yield {"own": response.url}

    for spider, item in ((Scrapys(), {"start": URL}), (Own(), {"own": URL})):
        result = extracted(spider, Request(URL))
        assert (result.items, len(result.requests)) == ((item,), 4)


def test_a_spider_may_change_what_rules_follow():
    class Picky(Ruled):
        async def follow_rules(self, response):
            for request in super().follow_rules(response):
                if request.callback == "parse_product":
                    yield request.replace(session="s")

    assert [request.session for request in extracted(Picky(), Request(URL)).requests] == ["s", "s"]


def test_rules_do_not_apply_to_a_page_whose_callback_failed():
    class Failing(Ruled):
        def parse(self, response):
            yield {"before": 1}
            raise RuntimeError

    result = extracted(Failing(), Request(URL))
    assert (result.fault, len(result.items), result.requests) == ("callback", 1, ())


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            [Rule(allow="/a"), Rule(allow="(")],
            r"rules\[1\] of the spider 'bad': allow: '\(' is not a regular",
        ),
        ([Rule(deny=7)], r"rules\[0\] of the spider 'bad': deny: 7 is neither a string nor a list"),
        ([Rule(deny=[b"x"])], r"rules\[0\] of the spider 'bad': deny: b'x' is not a regular expression"),
        ([Rule(css="a[")], r"rules\[0\] of the spider 'bad': css: invalid CSS selector 'a\['"),
        ([Rule(xpath=["//a", "//["])], r"rules\[0\] of the spider 'bad': xpath: invalid XPath expression"),
        ([Rule(tags="a b")], r"tags: 'a b' is not a name"),
        ([Rule(allow_domains="a b")], r"allow_domains names 'a b', which is not a domain"),
        ([Rule(deny_domains=["?"])], r"deny_domains names '\?', which is not a domain"),
        ([Rule(callback="parse_it")], r"callback: the spider has no method 'parse_it'"),
        ([Rule(callback=lambda response: 1)], r"callback must be a method of the spider"),
        ([Rule(callback="parse", errback="no")], r"errback: the spider has no method 'no'"),
        ([Rule(follow="yes")], r"follow: 'yes' is neither True nor False"),
        ([Rule(follow=False)], r"no callback and follow=False"),
        ([Rule(cb_kwargs={"a": 1})], r"cb_kwargs: the rule has no callback"),
        ([Rule(callback="parse", cb_kwargs={"a": object()})], r"rules\[0\].*cb_kwargs\['a'\] is a"),
        ([Rule(fetch="rocket")], r"rules\[0\] of the spider 'bad': .*rocket"),
        (["/a"], r"rules\[0\] of the spider 'bad': '/a' is not a Rule"),
        (Rule(), r"rules of the spider 'bad' is a Rule, and has to be a list: rules = \[Rule\(...\)\]"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_at_the_start(rules, message):
    bad = type("Bad", (Spider,), {"name": "bad", "rules": rules})
    with pytest.raises(UsageError, match=message):
        find_target(bad, {}, None)


def test_rules_may_name_the_methods_of_their_class():
    class Named(Spider):
        name = "named"

        def parse_product(self, response):
            yield {}

        rules = (Rule(allow="/p/", callback=parse_product),)

    spider = find_target(Named, {}, None).spider
    assert {request.callback for request in extracted(spider, Request(URL)).requests} == {"parse_product"}
