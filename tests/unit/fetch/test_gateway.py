"""The rung ``gateway``, against a gateway that bills."""

import asyncio
import json
import logging

import pytest

from gossamer.config.layers import load_settings
from gossamer.core.errors import Fault, FetchError, MissingServiceError, OperatorError, SettingError
from gossamer.core.requests import Request
from gossamer.core.routes import Route
from gossamer.fetch.gateway.rendering import build_call
from gossamer.fetch.gateway.template import TEMPLATES, GatewayTemplate
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.runtime.clock import SystemClock
from gossamer.testing.answers import SiteResponse
from gossamer.testing.clock import ManualClock
from gossamer.testing.site import serve
from gossamer.wiring.fetchers import FetchParts, find_way
from kit.gateway import BillingGateway

KEY = "secret-key-42"
PAGE = "http://shop.example/page?a=%20b&c=%C3%A9"
SHOP = Route(rung="gateway:shop")


def shop_app(path, headers):
    if path == "/moved":
        return SiteResponse(302, headers=(("location", "/page"),))
    if path == "/gone":
        return SiteResponse(404, b"gone")
    if path == "/refused":
        return SiteResponse(403, b"no robots please")
    if path == "/cookies":
        return SiteResponse(200, headers.get("cookie", "none").encode(), headers=(("Set-Cookie", "a=1"),))
    return SiteResponse(200, f"<h1>{headers.get('host')}{path}</h1>".encode(), "text/html")


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("SHOP_KEY", KEY)


@pytest.fixture
async def site():
    async with serve(shop_app) as served:
        yield served


@pytest.fixture
async def gateway(site):
    async with BillingGateway({KEY: 1000}, price=5, sites={"shop.example": site.host}) as served:
        yield served


def settings_for(gateway, template="scraperapi", **more):
    url = TEMPLATES[template].url.replace("https://api.scraperapi.com", gateway.url)
    url = url.replace("https://api.zyte.com", gateway.url)
    said = {"template": template, "key_env": "SHOP_KEY", "url": url, **more}
    return load_settings(env={}, spider={"gateways": {"shop": said}}).settings


def open_fetcher(settings, clock=None):
    return find_way("gateway").open(
        FetchParts(settings, AddressGuard(), clock or SystemClock(), CookieJar(100))
    )


@pytest.fixture
async def fetch(gateway):
    """Fetches a page by a gateway of these settings, on the given clock."""
    opened = []

    async def fetch(
        url=PAGE, template="scraperapi", *, clock=None, again=False, session="", rung=SHOP, **more
    ):
        request = {name: more.pop(name) for name in ("method", "body", "headers") if name in more}
        if not again:
            opened.append(open_fetcher(settings_for(gateway, template, **more), clock))
        return await opened[-1].fetch(Request(url, session=session, **request), rung)

    yield fetch
    for fetcher in opened:
        await fetcher.close()
        await fetcher.close()


@pytest.mark.parametrize("template", ["scraperapi", "zyte"])
async def test_a_page_and_what_it_cost(fetch, gateway, site, template):
    fetched = await fetch(template=template, price=0.002)
    assert (fetched.status, fetched.body) == (200, b"<h1>shop.example/page?a=%20b&c=%C3%A9</h1>")
    assert (fetched.url, fetched.rung, fetched.address) == (PAGE, "gateway:shop", "")
    assert fetched.header("content-type") == "text/html"
    assert fetched.cost == pytest.approx(0.002 * (5 if template == "scraperapi" else 1))
    assert 0 < fetched.latency_s <= fetched.elapsed_s
    assert [hit.path for hit in site.hits] == ["/page?a=%20b&c=%C3%A9"]
    assert gateway.pages == [PAGE]


async def test_credits_are_counted_where_nobody_says_what_one_costs(fetch):
    assert (await fetch()).cost == 5
    assert (await fetch(template="zyte")).cost == 0


async def test_a_page_by_a_browser_of_the_gateway(fetch):
    fetched = await fetch("http://shop.example/é", "zyte-browser")
    assert fetched.body.decode() == "<h1>shop.example/%C3%A9</h1>"
    assert fetched.header("content-type") == "text/html; charset=utf-8"


@pytest.mark.parametrize("template", ["scraperapi", "zyte"])
async def test_the_status_of_the_page_is_passed_on_and_billed(fetch, gateway, template):
    moved = await fetch("http://shop.example/moved", template, price=1)
    assert (moved.status, moved.header("location")) == (302, "/page")
    for path, status in (("gone", 404), ("refused", 403)):
        fetched = await fetch(f"http://shop.example/{path}", template, price=1)
        assert fetched.status == status
        assert fetched.cost > 0
    assert gateway.billed == 15
    said = gateway.calls[0].said
    assert said.get("follow_redirect") == "false" or said["followRedirect"] is False


@pytest.mark.parametrize("template", ["scraperapi", "zyte"])
async def test_cookies_of_the_page_are_those_of_its_session(fetch, template):
    url = "http://shop.example/cookies"
    assert (await fetch(url, template, session="s")).body == b"none"
    assert (await fetch(url, template, session="s", again=True)).body == b"a=1"
    assert (await fetch(url, template, session="t", again=True)).body == b"none"
    own = await fetch(url, template, session="s", again=True, headers={"cookie": "b=2"})
    assert own.body == b"b=2"


async def test_what_each_call_says(fetch, gateway, site):
    await fetch(options={"render": True, "premium": "yes & no"}, session="s", headers={"X-Mine": "1"})
    said = gateway.calls[-1].said
    assert {**said, "session_number": ""} == {
        "api_key": KEY,
        "url": PAGE,
        "follow_redirect": "false",
        "keep_headers": "true",
        "session_number": "",
        "render": "true",
        "premium": "yes & no",
    }
    assert said["session_number"].isdecimal()
    assert site.hits[-1].headers["x-mine"] == "1"
    await fetch(template="zyte", options={"geolocation": "DE"}, method="POST", body=b"q=1")
    said = gateway.calls[-1].said
    assert (said["geolocation"], said["httpRequestMethod"]) == ("DE", "POST")
    assert "session" not in said
    assert "customHttpRequestHeaders" not in said


async def test_a_gateway_of_ones_own(fetch, gateway):
    own = {
        "template": "own",
        "key_env": "SHOP_KEY",
        "url": f"{gateway.url}/?token={{key}}&target={{url}}&where={{country}}",
        "headers": {"Authorization": "Bearer {key}"},
        "status": "header:X-Status",
        "content": "base64:result.0.page",
        "cost": "json:spent",
        "price": 0.5,
        "errors": {"409 busy": "wait"},
    }
    fetcher = open_fetcher(load_settings(env={}, spider={"gateways": {"shop": own}}).settings)
    answer = {"result": [{"page": "aGVsbG8="}], "spent": 3}
    gateway.troubles = [
        (200, [("X-Status", "203")], json.dumps(answer).encode()),
        (200, [], b'{"result": []}'),
        (409, [], b"we are BUSY"),
    ]
    fetched = await fetcher.fetch(
        Request(PAGE, headers={"Authorization": "of the page"}), Route(rung="gateway")
    )
    assert (fetched.status, fetched.body, fetched.cost) == (203, b"hello", 1.5)
    assert gateway.calls[0].headers["authorization"] == f"Bearer {KEY}"
    assert gateway.calls[0].said == {"token": KEY, "target": PAGE}
    for fault in (Fault.SERVICE_FAILED, Fault.SERVICE):
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(Request(PAGE), Route(rung="gateway"))
        assert caught.value.fault is fault
    await fetcher.close()


# --------------------------------------------------------------------------- troubles


async def test_a_wrong_key_and_an_empty_account_stop_the_crawl(fetch, gateway):
    gateway.credit[KEY] = 3
    with pytest.raises(MissingServiceError, match=r"'shop' has no more credit \(403: You have exhausted"):
        await fetch()
    with pytest.raises(MissingServiceError, match=r"'shop' has no more credit \(402: "):
        await fetch(template="zyte")
    del gateway.credit[KEY]
    for template in ("scraperapi", "zyte"):
        with pytest.raises(MissingServiceError) as caught:
            await fetch(template=template)
        assert "refuses the key in the environment variable SHOP_KEY (401: " in str(caught.value)
        assert KEY not in str(caught.value), "the gateway repeats the key, and nobody else does"
    assert gateway.billed == 0


async def test_a_key_that_is_not_set(fetch, gateway, monkeypatch):
    monkeypatch.delenv("SHOP_KEY")
    with pytest.raises(MissingServiceError, match=r"has no key: .* SHOP_KEY, which is not set"):
        await fetch()
    assert not gateway.calls


async def test_a_gateway_that_asks_for_time_is_left_alone(fetch, gateway):
    clock = ManualClock()
    gateway.troubles = [(429, [("retry-after", "30")], b"too many"), 503]
    with pytest.raises(FetchError) as caught:
        await fetch(clock=clock)
    assert (caught.value.fault, caught.value.retry_after_s) == (Fault.SERVICE, 30)
    assert caught.value.rung == "gateway:shop"
    waiting = asyncio.ensure_future(fetch(again=True))
    await asyncio.sleep(0)
    clock.advance(5.0)
    with pytest.raises(FetchError) as caught:
        await waiting
    assert (caught.value.fault, caught.value.retry_after_s) == (Fault.SERVICE, 25)
    assert len(gateway.calls) == 1, "it was not called again"
    clock.advance(25.0)
    with pytest.raises(FetchError) as caught:
        await fetch(again=True)
    assert caught.value.fault is Fault.SERVICE_FAILED, "503 is a failure where the template says no more"
    assert (await fetch(again=True)).status == 200


async def test_a_gateway_that_is_left_alone_for_longer_is_told_of_once(fetch, gateway, caplog):
    clock = ManualClock()
    gateway.troubles = [(429, [("retry-after", "2")], b"soon"), 200, *[(429, [], KEY.encode())] * 3]
    with pytest.raises(FetchError):
        await fetch(clock=clock)
    clock.advance(2.0)
    await fetch(again=True)
    assert not caplog.records, "a moment is not worth a word"
    for _ in range(3):
        with pytest.raises(FetchError):
            await fetch(again=True)
        clock.advance(60.0)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "the gateway 'shop': 429: ***; its requests wait, and the next try is in 2 s"
    )


async def test_failed_calls_are_the_gateways_and_not_the_hosts(fetch, gateway):
    gateway.troubles = [500, (502, [("sa-credit-cost", "4")], b""), 400, None]
    for fault, cost in ((Fault.SERVICE_FAILED, 0), (Fault.SERVICE_FAILED, 2.0), (Fault.CLIENT, 0)):
        with pytest.raises(FetchError) as caught:
            await fetch(price=0.5)
        assert (caught.value.fault, caught.value.cost) == (fault, cost)
    with pytest.raises(FetchError) as caught:
        await fetch(timeout=0.05)
    assert caught.value.fault is Fault.SERVICE_FAILED


async def test_a_gateway_that_is_not_there():
    async with BillingGateway({}) as gone:
        pass
    with pytest.raises(FetchError) as caught:
        await open_fetcher(settings_for(gone)).fetch(Request(PAGE), SHOP)
    assert caught.value.fault is Fault.SERVICE
    assert caught.value.retry_after_s == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://10.1.2.3/",
        "http://0x7f.1/",
        "http://169.254.169.254/latest",
        "http://localhost:9200/",
        "http://intranet/",
        "http://wiki.internal/",
        "http://printer.local./",
    ],
)
async def test_no_private_url_is_told_to_a_gateway(fetch, gateway, url):
    with pytest.raises(FetchError) as caught:
        await fetch(url)
    assert caught.value.fault is Fault.GUARD
    assert not gateway.calls


async def test_pages_that_are_too_large(fetch, gateway):
    settings = settings_for(gateway).model_copy(
        update={"http": settings_for(gateway).http.model_copy(update={"max_size_bytes": 10})}
    )
    fetcher = open_fetcher(settings)
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch(Request(PAGE), SHOP)
    assert (caught.value.fault, caught.value.cost) == (Fault.TOO_LARGE, 5)
    await fetcher.close()


async def test_a_method_that_the_gateway_cannot_send(fetch, gateway):
    with pytest.raises(FetchError) as caught:
        await fetch(template="zyte-browser", method="POST", body=b"x")
    assert caught.value.fault is Fault.BAD_URL
    assert not gateway.calls


# --------------------------------------------------------------------------- secrets and settings


async def test_the_key_is_nowhere_but_in_the_call(fetch, gateway, caplog):
    caplog.set_level(logging.DEBUG)
    settings = settings_for(gateway)
    fetcher = open_fetcher(settings)
    fetched = await fetcher.fetch(Request(PAGE), SHOP)
    gateway.troubles = [500]
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch(Request(PAGE), SHOP)
    told = f"{fetched!r} {fetcher!r} {caught.value!r} {caught.value.detail} {settings!r} {caplog.text}"
    assert KEY not in told + repr(fetcher.open_name("shop")) + repr(fetcher.open_name("shop").account)
    await fetcher.close()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, r"write a section \[gateways.NAME\]"),
        (
            {"other": {"template": "zyte", "key_env": "K"}},
            "unknown gateway 'shop' among the settings; there are other",
        ),
        ({"shops": {"template": "zyte", "key_env": "K"}}, "did you mean 'shops'"),
        ({"shop": {"template": "zyte"}}, "gateways.shop.key_env is not set"),
        ({"shop": {"url": "http://g/{ur}"}}, r"nothing has a value for \{ur\}; did you mean \{url\}"),
        ({"shop": {"url": "http://:9x/{url}"}}, "gateways.shop.url cannot be called"),
    ],
)
async def test_settings_that_do_not_fit(said, message):
    settings = load_settings(env={}, spider={"gateways": said} if said else {}).settings
    with pytest.raises(OperatorError, match=message):
        await open_fetcher(settings).fetch(Request(PAGE), SHOP)


async def test_the_first_gateway_is_the_one_without_a_name(gateway):
    settings = load_settings(
        env={},
        spider={
            "gateways": {
                "b": {"url": f"{gateway.url}/?url={{url}}"},
                "a": {"template": "zyte", "key_env": "K"},
            }
        },
    ).settings
    fetcher = open_fetcher(settings)
    gateway.troubles = [(200, [], b"first")]
    fetched = await fetcher.fetch(Request(PAGE), Route(rung="gateway"))
    assert (fetched.rung, fetched.body) == ("gateway:b", b"first")
    await fetcher.close()


def test_placeholders_are_encoded_and_headers_cannot_be_broken():
    template = GatewayTemplate(
        url="https://g.example/{method}?u={url}&c={country}&k=1", body={"x": "a {url} b"}
    )
    call = build_call(
        template, Request("http://a/?q=1&r=2#f"), key="k&k", session="", cookies="", options={"n": 3}
    )
    assert call.url == "https://g.example/GET?u=http%3A%2F%2Fa%2F%3Fq%3D1%26r%3D2%23f&k=1"
    assert json.loads(call.body) == {"x": "a http://a/?q=1&r=2#f b", "n": 3}


def test_setting_errors_are_about_settings():
    with pytest.raises(SettingError, match=r"gateways.shop.errors"):
        load_settings(env={}, spider={"gateways": {"shop": {"url": "http://g", "errors": {"401": "kee"}}}})
