"""Requests of Scrapy's on their way to the frontier and back."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import scrapy
from scrapy.http import FormRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import Settings

from gossamer.adapters.scrapy.options import RequestOptions
from gossamer.adapters.scrapy.page_methods import SCRIPT, PageMethod
from gossamer.adapters.scrapy.references import LostReferenceError
from gossamer.adapters.scrapy.requests import RequestMapper, RequestOrigin, identity_of, spell_urls, url_of
from gossamer.core.browsing import Browsing
from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.engine.admission import Admission
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.policy.redirects import follow_redirect
from gossamer.policy.scope import Scope
from gossamer.policy.urls import UrlOptions

URL = "http://a.example/x"


class Shop(scrapy.Spider):
    name = "shop"
    http_user: str
    http_pass: str
    http_auth_domain: str

    def parse(self, response: Any) -> Any: ...

    def parse_item(self, response: Any, **kwargs: Any) -> Any: ...

    def say(self, failure: Any) -> Any: ...


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def mapper(shop: Shop) -> RequestMapper:
    return RequestMapper(shop, options=RequestOptions(shop, Settings()))


def stored(mapper: RequestMapper, request: scrapy.Request, origin: str = "start") -> Request:
    ours = mapper.to_request(request, RequestOrigin(origin))
    return unpack_request(pack_request(ours, "a.example"), "a.example")


def test_everything_comes_back(shop: Shop, mapper: RequestMapper) -> None:
    given = scrapy.Request(
        URL + "?q=%C3%A4#part",
        shop.parse_item,
        "POST",
        {"X-Own": ["1", "2"], "Accept": "text/html"},
        b"body",
        meta={"n": 1, "item": {"a": [1]}, "depth": 7, "download_slot": "x"},
        encoding="latin-1",
        priority=5,
        dont_filter=True,
        errback=shop.say,
        flags=["f"],
        cb_kwargs={"page": 2, "tags": ("a",)},
    )
    back = mapper.to_scrapy(stored(mapper, given))
    assert type(back) is scrapy.Request
    for name in ("url", "method", "body", "encoding", "priority", "dont_filter", "flags", "cb_kwargs"):
        assert getattr(back, name) == getattr(given, name), name
    assert back.meta == {"n": 1, "item": {"a": [1]}}, "what the engine says is said anew"
    assert (back.callback, back.errback) == (shop.parse_item, shop.say)
    assert back.headers["X-Own"] == b"1, 2"
    assert back.replace(url="http://a.example/ä").url.endswith("%C3%A4"), "a copy is checked"


def test_a_plain_request_is_stored_as_one(mapper: RequestMapper) -> None:
    ours = mapper.to_request(scrapy.Request(URL), RequestOrigin("start"))
    assert ours == Request(URL)
    assert mapper.to_scrapy(ours).callback is None


def test_requests_are_told_apart_as_scrapy_does(mapper: RequestMapper) -> None:
    def key(url: str, *, dont_filter: bool = False, origin: str = "page") -> str:
        given = scrapy.Request(url, dont_filter=dont_filter)
        return mapper.to_request(given, RequestOrigin(origin)).unique_key

    assert key(URL + "?a=1&b=2") == ""
    assert key(URL + "?b=2&a=1") == URL + "?a=1&b=2"
    assert key(URL + "#a") == ""
    assert (
        key(URL, dont_filter=True) == key(URL, dont_filter=True) != key(URL, dont_filter=True, origin="other")
    )
    origin = RequestOrigin("page")
    twice = [mapper.to_request(scrapy.Request(URL, dont_filter=True), origin).unique_key for _ in range(2)]
    assert len(set(twice)) == 2, "a page that asks twice wants it twice"


@pytest.mark.parametrize("meta", [{}, {"cookiejar": 1}])
@pytest.mark.parametrize("url", [URL, URL + "?b=2&a=1", URL + "?q=%C3%A4"])
def test_routes_are_told_apart_where_fragments_count(
    mapper: RequestMapper, url: str, meta: dict[str, Any]
) -> None:
    """A bug it would catch: of all views of an application only the first is fetched."""
    kept, dropped = (Admission(Scope(), UrlOptions(keep_fragments=keeps), b"key") for keeps in (True, False))

    def ask(gate: Admission, number: int, **more: Any) -> Request:
        mapper.canonicalise = gate.canonicalise
        box = {"box": object()}
        return mapper.to_request(
            scrapy.Request(f"{url}#/p{number}", meta=meta | box | more), RequestOrigin("")
        )

    def count(gate: Admission, **more: Any) -> tuple[int, int]:
        asked = [ask(gate, number, **more) for number in (1, 2, 1)]
        return len({gate.fingerprint_of(one) for one in asked}), len({identity_of(one) for one in asked})

    assert count(kept)[0] == 2
    assert count(dropped)[0] == 1
    assert count(dropped, playwright=True)[0] == 2, "a browser gets its route"
    first, second = (ask(kept, number) for number in (1, 2))
    assert mapper.to_scrapy(first).meta["box"] is not mapper.to_scrapy(second).meta["box"]
    hops = [follow_redirect(one, one.url, 302, "/app/", limit=3) for one in (first, second)]
    assert len({kept.fingerprint_of(hop) for hop in hops}) == 2


def test_a_fragment_that_counts_is_spelt_once_behind_a_redirect(mapper: RequestMapper) -> None:
    mapper.canonicalise = Admission(Scope(), UrlOptions(keep_fragments=True), b"key").canonicalise
    asked = stored(mapper, scrapy.Request("http://a.example#/p1")).replace(url="http://a.example/#/p1")
    hop = follow_redirect(asked, asked.url, 302, "/app/", limit=3)
    assert spell_urls(hop) == ["http://a.example#/p1", "http://a.example/app/#/p1"]


@pytest.mark.parametrize("url", [URL, URL + "?b=2&a=1"])
def test_requests_that_the_frontier_tells_apart_share_nothing(mapper: RequestMapper, url: str) -> None:
    """The keys of their items, and the objects that are held for them, go by what they are known by."""
    given = [scrapy.Request(url, method=method) for method in ("GET", "POST")]
    given += [scrapy.Request(url, method="POST", body=body) for body in ("1", "2")]
    boxes = [object() for _ in given]
    asked = [
        mapper.to_request(one.replace(meta={"box": box}), RequestOrigin("start"))
        for one, box in zip(given, boxes, strict=True)
    ]
    assert len({identity_of(one) for one in asked}) == len(given)
    assert [mapper.to_scrapy(one).meta["box"] for one in asked] == boxes


def test_a_project_may_tell_them_apart_itself(shop: Shop) -> None:
    own = RequestMapper(shop, fingerprint=lambda request: request.url.encode())
    assert own.to_request(scrapy.Request(URL), RequestOrigin("")).unique_key == f"scrapy:{URL.encode().hex()}"
    every = RequestMapper(shop, filters=False)
    origin = RequestOrigin("")
    assert len({every.to_request(scrapy.Request(URL), origin).unique_key for _ in range(3)}) == 3


def test_what_is_held_is_the_very_object_until_its_process_ends(shop: Shop, mapper: RequestMapper) -> None:
    box = object()
    calls = [lambda response: 1, functools.partial(shop.parse_item, box)]
    for number, call in enumerate(calls):
        given = scrapy.Request(
            URL, call, meta={"box": box, "list": [1]}, cb_kwargs={"own": box}, dont_filter=True
        )
        ours = stored(mapper, given, f"page {number}")
        back = mapper.to_scrapy(ours)
        assert back.callback is call
        assert back.meta["box"] is back.cb_kwargs["own"] is box
        assert back.meta["list"] is given.meta["list"], "as in Scrapy: others see what a callback changes"
        with pytest.raises(LostReferenceError) as lost:
            RequestMapper(shop).to_scrapy(ours)
        for said in ("callback (", "meta['box'] (object)", "cb_kwargs['own'] (object)", "process has ended"):
            assert said in str(lost.value)
        assert "meta['list']" not in str(lost.value)


def test_a_partial_of_a_method_needs_no_process(shop: Shop, mapper: RequestMapper) -> None:
    ours = stored(mapper, scrapy.Request(URL, functools.partial(shop.parse_item, n=(1, 2))))
    back = RequestMapper(shop).to_scrapy(ours).callback
    assert isinstance(back, functools.partial)
    assert (back.func, back.keywords) == (shop.parse_item, {"n": (1, 2)})
    mapper.is_shared = True
    stored(mapper, scrapy.Request(URL, functools.partial(shop.parse_item, n=(1, 2))))


def test_where_others_take_requests_what_is_here_alone_is_refused(mapper: RequestMapper) -> None:
    mapper.is_shared = True
    assert stored(mapper, scrapy.Request(URL, meta={"tags": {1}})).meta
    with pytest.raises(UsageError, match=r"meta\['box'\] \(object\) of a request is known to this process"):
        stored(mapper, scrapy.Request(URL, meta={"box": object()}))


def test_what_has_a_stored_form_is_there_after_a_restart(shop: Shop, mapper: RequestMapper) -> None:
    ours = stored(mapper, scrapy.Request(URL, meta={"tags": {1, 2}, "pair": (1, b"x")}))
    assert RequestMapper(shop).to_scrapy(ours).meta == {"tags": {1, 2}, "pair": (1, b"x")}


def test_cookies_limits_and_who_asks(shop: Shop, mapper: RequestMapper) -> None:
    """Bug it would catch: bytes and numbers, which Scrapy takes, are refused or stored as ``b'x'``."""
    meta = {"download_timeout": 5, "download_maxsize": 100, "max_retry_times": 7}
    ours = stored(mapper, scrapy.Request(URL, cookies={"a": 1, b"b": b"x"}, meta=meta))
    assert ours.cookies == {"a": "1", "b": "x"}
    assert (ours.timeout, ours.max_size, ours.max_retries) == (5.0, 100, 7)
    listed = [{"name": "c", "value": 2, "domain": "a.example", "path": "/", "secure": True}]
    ours = stored(mapper, scrapy.Request(URL, cookies=listed, meta={"dont_retry": True}))
    assert isinstance(ours.cookies, list)
    assert ours.max_retries == 0
    ours = stored(mapper, scrapy.Request(URL, cookies={"a": "1"}, meta={"dont_merge_cookies": True}))
    assert (ours.cookies, ours.omit_headers) == (None, ("cookie",))
    beside = stored(mapper, scrapy.Request("http://a.example/shop/all?x=/", cookies={"a": None, "b": 1}))
    assert beside.cookies == [{"name": "b", "value": "1", "path": "/shop"}], "as Scrapy: sent there and below"
    listed = [{"name": "c", "value": "2"}, {"name": "d", "value": "3", "path": "/"}]
    beside = stored(mapper, scrapy.Request("http://a.example/shop/all", cookies=listed))
    assert [cookie["path"] for cookie in beside.cookies or ()] == ["/shop", "/"]
    shop.http_user, shop.http_pass, shop.http_auth_domain = "ada", "pw", "a.example"
    known = RequestMapper(shop, options=RequestOptions(shop, Settings()))
    assert stored(known, scrapy.Request(URL)).auth
    assert not known.to_request(scrapy.Request("http://b.example/"), RequestOrigin("")).auth


def test_what_has_no_effect_is_said_once(mapper: RequestMapper, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        stored(mapper, scrapy.Request(URL, meta={"bindaddress": "10.0.0.1"}))
    (said,) = caplog.messages
    assert said.startswith("'bindaddress' in the meta of requests has no effect")


def test_sessions_forms_and_no_callback(mapper: RequestMapper) -> None:
    ours = stored(mapper, FormRequest(URL, formdata={"a": "b c"}, meta={"cookiejar": 2}))
    assert (ours.method, ours.body, ours.session) == ("POST", b"a=b+c", "2")
    assert ours.headers == {"Content-Type": "application/x-www-form-urlencoded"}
    assert mapper.to_scrapy(stored(mapper, scrapy.Request(URL, NO_CALLBACK))).callback is NO_CALLBACK


def test_a_page_is_the_same_in_all_cookie_jars(mapper: RequestMapper) -> None:
    """As Scrapy's filter has it."""
    gate = Admission(Scope(), UrlOptions(), b"key")
    jars = [{}, {"cookiejar": 1}, {"cookiejar": 2}]
    same = [stored(mapper, scrapy.Request(URL, meta=meta)) for meta in jars]
    assert len({gate.fingerprint_of(request) for request in same}) == 1
    hops = [follow_redirect(request, URL, 302, "/next", limit=3) for request in same]
    assert len({gate.fingerprint_of(hop) for hop in hops}) == 1


def test_the_url_of_a_response_is_spelt_as_scrapy_spells_it(mapper: RequestMapper) -> None:
    ours = stored(mapper, scrapy.Request("http://a.example"))
    assert url_of(ours) == "http://a.example"
    assert url_of(ours.replace(url="http://a.example/y", redirects=("http://a.example/",))).endswith("/y")
    assert url_of(stored(mapper, scrapy.Request(URL + "#part"))) == URL


def test_identities_are_of_what_is_asked(mapper: RequestMapper) -> None:
    one, two = (stored(mapper, FormRequest(URL, formdata={"a": value})) for value in "12")
    assert len({identity_of(one), identity_of(two), identity_of(Request(URL))}) == 3
    assert identity_of(Request(URL)) == URL


# --------------------------------------------------------------------------- pages for Playwright


def test_page_methods_are_stored_and_their_results_reach_the_callback_in_another_process(shop: Shop) -> None:
    """The process that fetches a page need not be the one that asked for it."""
    methods = [PageMethod("click", "#more", timeout=10), PageMethod("screenshot")]
    meta = {"playwright": True, "playwright_page_methods": methods, "playwright_context": "one"}
    options = RequestOptions(shop, Settings())
    ours = stored(RequestMapper(shop, options=options), scrapy.Request(URL, meta=meta))
    assert (ours.fetch, ours.browser, ours.session) == ("browser", Browsing(script=SCRIPT), "one")
    other = RequestMapper(shop, options=options)
    click, picture = other.hold_meta(ours)["playwright_page_methods"]
    assert (click.method, click.args, click.kwargs) == ("click", ("#more",), {"timeout": 10})
    picture.result = b"PNG"
    assert other.to_scrapy(ours).meta["playwright_page_methods"][1].result == b"PNG"


def test_a_page_may_be_loaded_otherwise_and_need_no_method(mapper: RequestMapper) -> None:
    meta = {"playwright": True, "playwright_page_goto_kwargs": {"wait_until": "networkidle", "timeout": 5000}}
    ours = stored(mapper, scrapy.Request(URL, meta=meta))
    assert (ours.browser, ours.timeout) == (Browsing(wait_until="networkidle"), 5.0)
    assert stored(mapper, scrapy.Request(URL, meta={"playwright": False})).fetch == ""
