"""Asking for files: what a spider writes, and what a request for a file cannot be."""

import pytest

from gossamer import Request
from gossamer.core.errors import UsageError
from gossamer.core.files import Saving
from gossamer.core.results import FetchResult
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.spiders.response import Response

BODY = b"""<base href="/base/"><a href="a.pdf">A</a><img src="b.png"><p>none</p>"""


@pytest.fixture
def page():
    fetched = FetchResult(
        url="http://a.example/x", status=200, headers=(("content-type", "text/html"),), body=BODY,
        started_at=0.0, latency_s=0.0, elapsed_s=0.0, rung="http",
    )  # fmt: skip
    return Response(Request("http://a.example/x"), fetched)


def test_a_file_is_a_url_or_an_element(page):
    asked = [
        page.file("c.zip", "The C", priority=2),
        page.file(page.css("a")[0]),
        page.file(page.css("img")[0]),
    ]
    asked.append(page.file(page.css("a::attr(href)")[0]))
    assert [request.url.rpartition("/")[2] for request in asked] == ["c.zip", "a.pdf", "b.png", "a.pdf"]
    assert {request.url.rpartition("/")[0] for request in asked} == {"http://a.example/base"}
    assert (asked[0].saves, asked[0].priority, asked[1].saves) == (Saving(name="The C"), 2, Saving())
    assert {request.fetch for request in asked} == {"http"}
    for nothing in ("", page.css("p")[0]):
        with pytest.raises(ValueError, match="names no file"):
            page.file(nothing)


@pytest.mark.parametrize("query", ["a", "video", "a::attr(href)"])
def test_a_list_of_elements_is_refused_in_words(page, query):
    found = page.css(query)
    with pytest.raises(UsageError, match=rf"takes one URL or element, and got a list of {len(found)}: for"):
        page.file(found)
    for links in (["a.pdf"], page.css("a::attr(href)")):
        with pytest.raises(UsageError, match=r"a list of 1: `response\.follow_all\(links\)` follows several"):
            page.follow(links)
    assert page.follow(page.css("a")).url.endswith("a.pdf"), "the first one"


def test_a_request_for_a_file_waits_as_others_do(page):
    for request in (
        page.file("c.zip"),
        page.file("c.zip", "C\t\ud800"),
        page.file("c.zip", fetch="impersonate"),
    ):
        assert unpack_request(pack_request(request, "a.example"), "a.example") == request


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"saves": True}, "takes a Saving"),
        ({"saves": Saving(), "callback": "parse"}, "has no callback"),
        ({"saves": Saving(), "fetch": "browser+residential"}, "not fetched in a browser"),
    ],
)
def test_what_cannot_be_a_file_is_refused_where_it_is_asked_for(fields, told):
    with pytest.raises(UsageError, match=told):
        Request("http://a.example/", **fields)
    with pytest.raises(UsageError, match="more than 1,000 characters"):
        Saving(name="x" * 1001)
