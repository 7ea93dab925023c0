"""Which router and which ways a crawl gets by its settings and its spider."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from gossamer import Spider
from gossamer.config.layers import load_settings
from gossamer.core.errors import MissingServiceError, SettingError, UsageError
from gossamer.core.requests import Entry, Request
from gossamer.core.routes import Route
from gossamer.engine.fixed_router import FixedRouter
from gossamer.fetch.routing.router import LadderRouter
from gossamer.targets.loading import load_target
from gossamer.wiring import fetchers
from gossamer.wiring.assemble import wire_crawl
from gossamer.wiring.fetchers import FetchWay

URL = "http://127.0.0.1:9/"
MOBILE = {"proxies.urls": ["127.0.0.1:9 kind=mobile"], "proxies.always": False}


class Plain(Spider):
    name = "plain"
    start_urls = [URL]


class ByCallback(Plain):
    name = "by-callback"
    fetch = {"parse": "auto", "parse_price": "browser"}

    def parse_price(self, response):
        return ()


class Named(Plain):
    name = "named"
    fetch = "impersonate"


class Door:
    """A fetcher that is never asked."""

    touches_network = True

    async def close(self):
        pass


def refuse(parts):
    raise MissingServiceError("there is no Chromium: install it")


@pytest.fixture
def opened(monkeypatch):
    """The ways that are opened; ``browser`` cannot be."""
    log = []

    def open_as(name):
        def open_way(parts):
            log.append(name)
            return Door()

        return open_way

    for name in ("http", "impersonate", "gateway"):
        monkeypatch.setitem(fetchers.WAYS, name, FetchWay(open_as(name)))
    monkeypatch.setitem(fetchers.WAYS, "browser", FetchWay(refuse))
    return log


async def wire(tmp_path, closing, spider=Plain, **given):
    found = load_target(spider, {}, {"data": str(tmp_path), **given}, env={}, start=tmp_path)
    wired = await wire_crawl(found.settings, found.target, fresh=False, sinks=(notes := Notes(),))
    closing.push_async_callback(wired.close)
    return wired.parts, notes


class Notes(list):
    def emit(self, event):
        self.append(event.text)


@pytest.fixture
async def closing():
    async with AsyncExitStack() as stack:
        yield stack


async def rung(parts, **request):
    route = await parts.router.choose_route(Request(URL, **request), "127.0.0.1:9")
    assert isinstance(route, Route)
    return route.rung


async def test_a_plain_crawl_learns_nothing_and_opens_http_alone(tmp_path, closing, opened):
    parts, _ = await wire(tmp_path, closing)
    assert type(parts.router) is FixedRouter
    assert opened == ["http"]
    assert parts.admission._lane_for is None


async def test_a_ladder_opens_its_ways_and_leaves_out_what_is_missing(tmp_path, closing, opened):
    rungs = ["http", "browser", "impersonate"]
    parts, notes = await wire(tmp_path, closing, **{"ladder.rungs": rungs})
    assert type(parts.router) is LadderRouter
    assert opened == ["http", "impersonate"]
    why = "since it cannot be used here: there is no Chromium: install it"
    assert notes == [f"the rung browser is skipped, {why}"]
    assert await rung(parts) == "http"


@pytest.mark.parametrize(
    ("spider", "given"),
    [
        (Plain, {"fetch": "browser"}),
        (Plain, {"ladder.rungs": ["browser", "browser+mobile"]}),
        (Plain, {"ladder.hosts": {"shop.example": "browser"}}),
        (Plain, {"ladder.hosts": {"shop.example": ["browser", "browser+mobile"]}}),
        (ByCallback, {}),
    ],
)
async def test_what_a_crawl_cannot_do_without_is_said_before_the_first_page(
    tmp_path, closing, opened, spider, given
):
    with pytest.raises(MissingServiceError, match="no Chromium"):
        await wire(tmp_path, closing, spider, **given)


async def test_a_spider_names_a_rung_for_all_and_the_command_line_is_stronger(tmp_path, closing, opened):
    parts, _ = await wire(tmp_path / "a", closing, Named)
    assert await rung(parts) == "impersonate"
    assert await rung(parts, fetch="http") == "http"
    parts, _ = await wire(tmp_path / "b", closing, Named, fetch="gateway:zyte")
    assert await rung(parts) == "gateway:zyte"


async def test_a_spider_names_rungs_by_callback(tmp_path, closing, opened, monkeypatch):
    monkeypatch.setitem(fetchers.WAYS, "browser", FetchWay(lambda parts: Door()))
    parts, _ = await wire(tmp_path, closing, ByCallback)
    assert await rung(parts, callback="parse_price") == "browser"
    assert await rung(parts) == "http"


@pytest.mark.parametrize(
    ("fetch", "error", "message"),
    [
        ("brwser", SettingError, "fetch = 'brwser' (the spider): 'brwser' is not a rung"),
        ({"parse": "brwser"}, UsageError, "for 'parse': 'brwser' is not a rung"),
        ({"prase": "browser"}, UsageError, "names 'prase', which is not one of its methods"),
    ],
)
def test_wrong_rungs_of_a_spider(tmp_path, fetch, error, message):
    class Wrong(Plain):
        name = "wrong"

    Wrong.fetch = fetch
    with pytest.raises(error) as raised:
        load_target(Wrong, {}, env={}, start=tmp_path)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("ladder.rungs", ["http", "http"], "'http' is named twice"),
        ("ladder.rungs", [], "a ladder needs a rung"),
        ("ladder.rungs", "http,browser", "is not a rung"),
        ("ladder.rungs", ["http", "impresonate"], "did you mean 'impersonate'?"),
        ("ladder.hosts", {"a.test": "browser+mobil"}, "did you mean 'browser+mobile'?"),
        ("ladder.hosts", {"a.test": ["http", "htp"]}, "'htp' is not a rung"),
        ("ladder.rungs", "http,browser", 'a list of them is written ["http", "browser"]'),
        ("ladder.hosts", {"https://a.test/": "http"}, "'https://a.test/' is not a host as it stands in URLs"),
        ("ladder.hosts", {"*.a.test": "http"}, "is not a host"),
        ("ladder.hosts", {"ä.test": "http"}, "is not a host"),
        ("ladder.hosts", {"a.test": 3}, "should be a rung, or a list of rungs"),
        ("fetch", "firefox", "'firefox' is not a rung"),
    ],
)
def test_wrong_settings(setting, value, message):
    with pytest.raises(SettingError) as raised:
        load_settings(env={}, overrides={setting: value})
    assert str(raised.value).startswith(f"{setting} = ")
    assert ";" not in str(raised.value).partition("; did you mean")[0], "one problem is said once"
    assert message in str(raised.value)


def test_the_environment_can_say_it_all():
    env = {
        "GOSSAMER_LADDER__RUNGS": '["http", "browser"]',
        "GOSSAMER_LADDER__HOSTS": '{"a.test": ["http"], "b.test": "browser"}',
        "GOSSAMER_FETCH": "gateway:zyte+residential",
    }
    settings = load_settings(env=env).settings
    assert settings.ladder.rungs == ("http", "browser")
    assert settings.ladder.hosts == {"a.test": ("http",), "b.test": "browser"}
    assert settings.fetch == "gateway:zyte+residential"


async def test_replayed_pages_have_no_ladder(tmp_path, closing):
    parts, _ = await wire(
        tmp_path, closing, **{"replay.folder": str(tmp_path), "ladder.rungs": ["http", "browser"]}
    )
    assert type(parts.router) is FixedRouter


async def test_new_links_of_a_host_go_to_the_lane_of_its_rung(tmp_path, closing, opened):
    """Of a fleet that has one; a crawl on one machine has one lane."""
    parts, _ = await wire(tmp_path, closing, **{"ladder.rungs": ["http", "impersonate"]})
    entry = parts.admission.admit_request(Request(URL + "x", fetch="browser"))
    assert isinstance(entry, Entry)
    assert entry.request.lane == "http"


async def test_with_proxies_every_request_has_one_or_those_of_rungs_that_name_a_kind(
    tmp_path, closing, opened
):
    async def route_of(parts):
        return await parts.router.choose_route(Request(URL), "127.0.0.1:9")

    parts, _ = await wire(tmp_path, closing, **{**MOBILE, "proxies.always": True})
    assert (await route_of(parts)).proxy.kind == "mobile"
    parts, _ = await wire(tmp_path / "kinds", closing, **{"ladder.rungs": ["http", "http+mobile"], **MOBILE})
    assert (await route_of(parts)).proxy is None
    parts, _ = await wire(tmp_path / "named", closing, **{"fetch": "http+mobile", **MOBILE})
    assert (await route_of(parts)).proxy.kind == "mobile"
    gateway = {"fetch": "gateway:zyte", **MOBILE, "proxies.always": True}
    parts, _ = await wire(tmp_path / "gateway", closing, **gateway)
    assert (await route_of(parts)).proxy is None, "it has proxies of its own"
