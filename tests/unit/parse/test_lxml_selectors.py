"""The engine ``lxml`` gives what parsel gives, on any page; where pages are sound, both engines agree."""

import asyncio
import time

import parsel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.parse.html_engine import HTML
from gossamer.parse.lxml_html import LXML_HTML, MAX_ATTRIBUTES
from gossamer.parse.selectors import Selector
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider

URL = "http://h.test/"
ENGINES = pytest.mark.parametrize("engine", [HTML, LXML_HTML], ids=["turbohtml", "lxml"])
SOUP = st.lists(
    st.sampled_from(
        ["<p>", "</p>", "<a href=/x>", "</a>", "<a href='/y' class='b c'>", "<div id=i>", "</div>", "<ul>",
         "<li>", "</li>", "<table>", "<tr>", "<td>", "</table>", "<b>", "</b>", "<br>", "<img src=/z>",
         "<!-- c -->",
         "<script>1<2</script>", "text", " ", "&amp;", "&nbsp;", "ä", "<", ">", "\x00", "<form>",
         "<input name=q>", "<title>",
         "</title>", "<h1>"]
    ),
    max_size=20,
).map("".join)  # fmt: skip
QUERIES = (
    "a", "a::attr(href)", "::text", "p::text", "li a", "#i *", ".b", "td, b::text", "*:not(p)",
    "div > a::text", "h1", "[class~=c]::attr(class)", "p ~ a", "title::text", "input", "li:first-child",
    "ul *::text", "body",
)  # fmt: skip
BLOCKS = st.recursive(
    st.builds("<p>{}</p>".format, st.sampled_from(["one", "two &amp; three", ""]))
    | st.builds('<p><a href="/{}">{}</a></p>'.format, st.integers(0, 5), st.sampled_from(["a", "<b>c</b>"])),
    lambda inner: st.builds(
        '<{0} class="{1}">{2}</{0}>'.format,
        st.sampled_from(["div", "section"]),
        st.sampled_from("xy"),
        st.lists(inner, max_size=3).map("".join),
    ),
    max_leaves=12,
)  # fmt: skip


def selected(engine, text):
    return Selector(engine.parse_document(text)[0], engine=engine)


def response(body: str, engine, content_type="text/html; charset=utf-8") -> Response:
    return Response(Request(URL), fetched(body, content_type), engine=engine)


def fetched(body: str, content_type="text/html; charset=utf-8") -> FetchResult:
    return FetchResult(
        url=URL, status=200, headers=(("content-type", content_type),), body=body.encode(),
        started_at=0.0, latency_s=0.0, elapsed_s=0.0, rung="http",
    )  # fmt: skip


@pytest.mark.slow
@given(text=SOUP)
def test_any_page_gives_what_parsel_gives(text):
    ours, theirs = selected(LXML_HTML, text), parsel.Selector(text=text, type="html")
    for query in QUERIES:
        assert ours.css(query).getall() == theirs.css(query).getall(), query
    assert [a.attrib for a in ours.css("*")] == [a.attrib for a in theirs.css("*")]
    assert [a.xpath("string()").get() for a in ours.css("p")] == [
        a.xpath("string()").get() for a in theirs.css("p")
    ]


@pytest.mark.long
@given(
    blocks=st.lists(BLOCKS, max_size=4).map("".join),
    css=st.sampled_from(["a", ".x", "section", "div .y", "p"]),
)
def test_sound_pages_give_the_same_by_both_engines(blocks, css):
    text = f"<!DOCTYPE html><html><head><title>t</title></head><body>{blocks}</body></html>"
    one, other = (response(text, engine) for engine in (HTML, LXML_HTML))
    for query in (css, f"{css}::text", f"{css} ::text", f"{css}::attr(class)"):
        assert one.css(query).getall() == other.css(query).getall()
    assert one.links(css=css, deny="/4") == other.links(css=css, deny="/4")
    assert [r.url for r in one.follow_all(css=css)] == [r.url for r in other.follow_all(css=css)]
    assert one.links() == other.links()


@ENGINES
def test_forms_and_structured_data_work_on_either(engine):
    text = '<form action="/s"><input name=q value=1><input type=hidden name=t value=x></form><a href=/n>n</a>'
    page = response(text, engine)
    assert page.form({"q": "2"}).url == "http://h.test/s?q=2&t=x"
    assert page.links() == ["http://h.test/n"]
    assert page.css("input::attr(name)").getall() == ["q", "t"]
    assert page.page.title == ""


def test_what_is_left_out_of_a_page_is_said():
    attributes = " ".join(f"a{number}=1" for number in range(MAX_ATTRIBUTES * 20))
    page = response(f"<p {attributes}>start</p><a href='/end'>the end</a>", LXML_HTML)
    start = time.process_time()
    assert page.css("a::attr(href)").get() == "/end"
    assert time.process_time() - start < 0.5, "the attributes would take libxml2 longer"
    assert page.flags == ("parse_truncated", "cut_attributes")
    assert page.dropped == {"page:parse_truncated": 1}
    assert len(page.css("p")[0].attrib) == MAX_ATTRIBUTES


@pytest.mark.parametrize("errors", ["</p>", "<body a=1>", "&#1;", "<p b=1 b=2>"])
def test_a_deep_page_is_read_to_its_end_however_many_errors_are_before(errors):
    page = selected(LXML_HTML, f"{errors * 500}{'<div>' * 5000}<a href='/end'>the end</a>")
    assert page.css("a::attr(href)").get() == "/end"


def test_feeds_and_json_do_not_depend_on_the_engine():
    feed = response("<?xml version='1.0'?><rss><item><link>/a</link></item></rss>", LXML_HTML, "text/xml")
    assert (feed.css("link::text").get(), feed.selector.type) == ("/a", "xml")
    assert response('{"a": 1}', LXML_HTML, "application/json").jmespath("a").get() == 1


class Counting(Spider):
    name = "counting"
    require = ("p",)

    def parse(self, page):
        yield {"paragraphs": len(page.css("p"))}


@pytest.mark.parametrize(("engine", "paragraphs"), [(HTML, 2), (LXML_HTML, 1)])
def test_callbacks_get_the_engine_of_the_crawl(engine, paragraphs):
    extractor = SpiderExtractor(lambda _: Counting(), engine=engine)
    result = asyncio.run(extractor.extract(Request(URL), fetched("<p>one</p></p>")))
    assert result.items == ({"paragraphs": paragraphs},)


def test_a_saved_page_may_have_either_engine():
    page = "<p>one</p></p>"
    assert len(Response.from_html(URL, page).css("p")) == 2
    assert len(Response.from_html(URL, page, engine="lxml").css("p")) == 1
    with pytest.raises(UsageError, match="unknown engine 'bs4' for selectors; known are turbohtml and lxml"):
        Response.from_html(URL, page, engine="bs4")


def test_the_setting_has_two_values():
    assert Settings().parse.engine == "turbohtml"
    with pytest.raises(ValueError, match="engine"):
        Settings.model_validate({"parse": {"engine": "bs4"}})
