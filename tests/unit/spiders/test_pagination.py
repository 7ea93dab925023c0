"""``Paginate`` on pages: which requests it makes, and what it refuses to be."""

import json
from typing import Any

import pytest

from gossamer import Paginate, Request
from gossamer.core.errors import UsageError
from gossamer.core.results import FetchResult
from gossamer.spiders.pagination import STATE
from gossamer.spiders.response import Response

URL = "http://shop.test/list?sort=name"


def page(content: Any, url: str = URL, **request: Any) -> Response:
    is_html = isinstance(content, str)
    fetched = FetchResult(
        url=url,
        status=200,
        headers=(("content-type", "text/html" if is_html else "application/json"),),
        body=content.encode() if is_html else json.dumps(content).encode(),
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="http",
    )
    return Response(Request(url, "parse_list", **request), fetched)


def urls(pages: Paginate, response: Response) -> list[str]:
    return [request.url for request in pages.follow(response)]


def test_the_link_to_the_next_page() -> None:
    pages = Paginate(next="a.next")
    response = page("<a class=next href='/list?page=2'>", cb_kwargs={"category": "lamps"}, priority=-1)
    (request,) = pages.follow(response)
    assert request.url == "http://shop.test/list?page=2"
    assert (request.callback, request.cb_kwargs, request.priority) == (
        "parse_list",
        {"category": "lamps"},
        -1,
    )
    assert urls(pages, page("<p>the last page")) == []
    assert urls(pages, page("<a class=next rel=nofollow href='/list?page=2'>")) == []
    assert urls(pages, page(f"<a class=next href='{URL}'>")) == [], "a page that links to itself ends"


def test_a_total_asks_for_all_pages_at_once_and_keeps_other_parameters() -> None:
    pages = Paginate(param="offset", step=16, total=".count::text")
    response = page("<p class=count>1-16 of 4,213</p>")
    found = urls(pages, response)
    assert len(found) == 263
    assert found[0] == f"{URL}&offset=16"
    assert found[-1] == f"{URL}&offset=4208"
    assert len(set(found)) == 263
    told = [request.meta for request in pages.follow(response)]
    assert urls(pages, page("<p class=count>17-32 of 4,213</p>", found[0], meta=told[0])) == []


def test_the_number_of_pages_of_a_pager() -> None:
    pages = Paginate(param="page", pages=".pager li::text")
    pager = "<ul class=pager><li>1<li>2<li>\u2026<li>12<li>Next</ul>"
    assert urls(pages, page(pager)) == [f"{URL}&page={number}" for number in range(2, 13)]
    assert urls(pages, page(pager, f"{URL}&page=11")) == [f"{URL}&page=12"]
    assert urls(pages, page("<p>a listing of one page")) == []


def test_pages_in_the_path() -> None:
    pages = Paginate(url="/list/page/{page}/", total=".n", entries="a.product")
    listed = "<p class=n>5 lamps</p><a class=product href=/1></a><a class=product href=/2></a>"
    assert urls(pages, page(listed, "http://shop.test/list")) == [
        "http://shop.test/list/page/2/",
        "http://shop.test/list/page/3/",
    ]


def test_without_any_number_a_chain_follows_what_is_listed() -> None:
    pages = Paginate(param="page", entries="a.product")
    first = page("<a class=product href=/1></a>")
    (second,) = pages.follow(first)
    assert second.url == f"{URL}&page=2"
    again = page("<a class=product href=/1></a>", second.url, meta=second.meta)
    assert urls(pages, again) == [], "the first page again"
    assert urls(pages, page("<p>nothing", second.url, meta=second.meta)) == []
    (third,) = pages.follow(page("<a class=product href=/2></a>", second.url, meta=second.meta))
    assert third.url == f"{URL}&page=3"


def test_a_cursor_in_json() -> None:
    pages = Paginate(cursor="$.meta.next", param="cursor")
    response = page({"meta": {"next": "a+b"}}, "http://api.test/items")
    assert urls(pages, response) == ["http://api.test/items?cursor=a%2Bb"]
    same = page({"meta": {"next": "a+b"}}, "http://api.test/items?cursor=a%2Bb")
    assert urls(pages, same) == [], "a cursor that leads to the same page ends"
    assert urls(pages, page({"meta": {"next": None}}, "http://api.test/items")) == []
    assert urls(pages, page({"meta": {"next": False}}, "http://api.test/items")) == []


def test_an_offset_in_the_body_of_a_post() -> None:
    pages = Paginate(param="paging.offset", step=2, total="$.total")
    body = json.dumps({"paging": {"limit": 2}, "query": "lamp"}).encode()
    response = page({"total": 5}, "http://api.test/search", method="POST", body=body)
    found = list(pages.follow(response))
    assert [json.loads(request.body)["paging"] for request in found] == [
        {"limit": 2, "offset": 2},
        {"limit": 2, "offset": 4},
    ]
    assert all(request.method == "POST" and request.url == "http://api.test/search" for request in found)
    form = page("<i>3</i>", "http://api.test/search", method="POST", body=b"q=lamp&page=1")
    assert [r.body for r in Paginate(param="page", pages="i").follow(form)] == [
        b"q=lamp&page=2",
        b"q=lamp&page=3",
    ]


def test_options_and_meta_of_the_spider_stay() -> None:
    pages = Paginate(next="a")
    response = page("<a href=/2>", meta={"user": 1, STATE: "nonsense"}, dont_filter=True)
    (request,) = pages.follow(response, "parse_other", priority=2, meta={"more": 2})
    assert (request.callback, request.priority, request.dont_filter) == ("parse_other", 2, False)
    assert request.meta["user"] == 1
    assert request.meta["more"] == 2


def test_what_is_refused_is_counted() -> None:
    response = page("<p>9,999")
    assert len(urls(Paginate(param="page", pages="p", limit=3), response)) == 2
    assert response.dropped == {"link:too_many_pages": 9996}


def test_what_a_page_claims_never_grows_beyond_what_a_store_can_add_up() -> None:
    response = page("<p>999999999999999999")
    assert len(urls(Paginate(param="page", pages="p", limit=3), response)) == 2
    assert response.dropped == {"link:too_many_pages": 10**9}


@pytest.mark.parametrize("said", ["0 lamps", "1 lamp", "no lamps"])
def test_a_listing_of_nothing_or_one_thing_has_one_page(said: str) -> None:
    assert urls(Paginate(param="page", total="p"), page(f"<p>{said}")) == []


@pytest.mark.parametrize("way", [{"param": "page"}, {"url": "/list?sort=name&page={page}"}])
def test_a_page_whose_number_a_redirect_has_hidden_is_still_that_page(way: dict[str, Any]) -> None:
    """Servers redirect ``?page=2`` to ``/2/``; the third page is asked for as the second one was."""
    pages = Paginate(**way, entries="a")
    (second,) = pages.follow(page("<a href=/1></a>"))
    seen = page("<a href=/2></a>", "http://shop.test/list/2/", meta=second.meta, redirects=(second.url,))
    (third,) = pages.follow(seen)
    assert (third.url, third.redirects) == (f"{URL}&page=3", ())
    moved = page("<a href=/1></a>", redirects=("http://old.test/",))
    assert urls(pages, moved) == [f"{URL}&page=2"], "a listing that has moved is at its new place"


@pytest.mark.parametrize("end", [False, None, "", {}])
def test_an_api_has_many_ways_to_say_that_there_is_no_next_page(end: Any) -> None:
    assert urls(Paginate(next="$.next"), page({"next": end})) == []
    assert urls(Paginate(param="cursor", cursor="$.next"), page({"next": end})) == []


@pytest.mark.parametrize(
    "said", [{"next": "$.it"}, {"param": "c", "cursor": "$.it"}, {"param": "p", "total": "$.it"}]
)
def test_an_object_where_a_text_is_looked_for_is_said(said: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\(\$\.it\) finds an object or a list: say what of it"):
        urls(Paginate(**said), page({"it": {"value": 40, "href": "/2"}}))


def test_an_api_that_does_not_know_its_total_is_followed_by_what_it_lists() -> None:
    pages = Paginate(param="page", total="$.total", entries="$.items[*].id")
    assert urls(pages, page({"total": -1, "items": [{"id": 1}]})) == [f"{URL}&page=2"]
    assert len(urls(pages, page({"total": 7.0, "items": [{"id": 1}, {"id": 2}]}))) == 3


def test_pages_that_show_all_before_them_are_followed_however_long_they_get() -> None:
    pages = Paginate(param="page", entries="a")
    listed = "".join(f"<a href=/{n}></a>" for n in range(600))
    (second,) = pages.follow(page(listed))
    assert len(urls(pages, page(f"{listed}<a href=/600></a>", second.url, meta=second.meta))) == 1


def test_the_parts_of_a_total_are_listings_wherever_the_number_is_in_their_urls() -> None:
    pages = Paginate(param="page", pages="i", total="p", size=9, of="lamps")
    said = set[str]()
    for url in (URL, f"{URL}&page=2", "http://shop.test/list?page=3&sort=name"):
        response = page("<p>40 lamps", url)
        urls(pages, response)
        said.update(response.expected)
    assert len(said) == 1
    other = page("<p>7 lamps", "http://shop.test/list?sort=price")
    urls(pages, other)
    assert said.isdisjoint(other.expected)


def test_a_total_without_a_size_says_what_to_give() -> None:
    with pytest.raises(ValueError, match=r"has 40 entries, and nothing says how many .* size="):
        urls(Paginate(param="page", total="p"), page("<p>40 lamps"))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "say how pages follow"),
        ({"param": "page"}, "the end of the listing"),
        ({"total": "p"}, "param or url"),
        ({"next": "a..b"}, r"next: invalid CSS selector 'a\.\.b'"),
        ({"cursor": "$.next"}, "which parameter"),
        ({"cursor": "$x", "param": "c"}, "invalid JSON path"),
        ({"url": "/list/", "pages": "p"}, "page} once"),
        ({"next": "a", "step": 0}, "step is 0"),
        ({"param": "page", "total": "p", "of": "a/b"}, "without /"),
    ],
)
def test_what_says_no_way_is_refused_where_it_is_made(said: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Paginate(**said)
