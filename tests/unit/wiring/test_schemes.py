"""The scheme of a URL says which back end is opened; installed packages bring further ones."""

import subprocess
import sys

import pytest

from gossamer import Spider
from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.crawl.run import crawl
from gossamer.drivers.redis.address import ADDRESSES
from gossamer.wiring import checks
from gossamer.wiring.backends import open_backends
from gossamer.wiring.open import check_serves_fleet, fleet_of, open_fleet
from gossamer.wiring.schemes import FRONTIERS, STORES, ServerReport
from kit.distributions import make_distribution
from kit.memory_backends import frontier_at, store_at

OURS = {
    "gossamer.frontiers": {"xyz": "kit.memory_backends:FRONTIER"},
    "gossamer.stores": {"xyz": "kit.memory_backends:STORE"},
}


class One(Spider):
    name = "one"
    start_urls = ["http://one.example/"]

    def parse(self, response):
        yield {"title": response.css("h1::text").get()}
        yield from response.follow_all(css="a")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a package that has these entry points."""

    def install_package(entry_points):
        make_distribution(tmp_path / "site", "xyz-backends", entry_points)
        monkeypatch.syspath_prepend(tmp_path / "site")

    return install_package


def settings(frontier=None, store=None, **more):
    return Settings.model_validate({"frontier": {"url": frontier}, "store": {"url": store}, **more})


@pytest.fixture
def replay(tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "1.html").write_text('<h1>One</h1><a href="/2">2</a>')
    (saved / "2.html").write_text("<h1>Two</h1>")
    rules = {"http://one.example/": "1.html", "http://one.example/2": "2.html"}
    return {"replay.folder": str(saved), "replay.rules": rules, "data": str(tmp_path / "data")}


@pytest.mark.parametrize("store", ["xyz://store-of-crawl/1", None])
async def test_a_crawl_keeps_everything_in_the_back_ends_of_an_installed_package(
    install, replay, tmp_path, store
):
    install(OURS)
    url = f"xyz://frontier-of-crawl/{bool(store)}"
    result = await crawl(One, **replay, **{"frontier.url": url}, **({"store.url": store} if store else {}))
    assert (result.finish_reason, result.pages, result.items) == ("finished", 2, 2)
    (frontier,) = frontier_at(url).frontiers.values()
    assert (await frontier.read_stats()).pages == 2
    assert (tmp_path / "data" / "gossamer.db").exists() is (store is None)
    if store:
        found = [item.data["title"] async for item in store_at(store).store.read_items()]
        assert found == ["One", "Two"]


async def test_only_the_store_of_an_installed_package(install, replay, tmp_path):
    """The requests are in the file, the items are not: there is no transaction that both could share."""
    install(OURS)
    url = "xyz://store-alone/1"
    result = await crawl(One, **replay, **{"store.url": url})
    assert (result.finish_reason, result.items) == ("finished", 2)
    assert len([item async for item in store_at(url).store.read_items()]) == 2


def test_an_unknown_scheme_is_refused_with_those_that_are_known(install):
    with pytest.raises(SettingError) as refused:
        FRONTIERS.find_scheme("mysql://u:secret@h/db")
    assert str(refused.value) == (
        "frontier.url = 'mysql://h/db': unsupported scheme; use sqlite:///FILE, "
        f"{', '.join([*ADDRESSES][:-1])} or {[*ADDRESSES][-1]}"
    )
    with pytest.raises(SettingError) as refused:
        STORES.find_scheme("x")
    assert str(refused.value) == (
        "store.url = 'x': unsupported scheme; use sqlite:///FILE, postgresql://USER@HOST/DATABASE or mongodb://HOST/DATABASE"
    )
    install(OURS)
    with pytest.raises(SettingError, match=r"use sqlite:///FILE, redis://HOST:PORT/DB, .* or xyz://\.\.\.$"):
        FRONTIERS.find_scheme("mysql://h/db")


@pytest.mark.parametrize("url", ["sqlite", "redis", "xyz", ""])
def test_a_scheme_without_its_colon_is_no_scheme(install, url):
    install(OURS)
    with pytest.raises(SettingError, match="unsupported scheme"):
        FRONTIERS.find_scheme(url)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("no_such_module_at_all:FRONTIER", "cannot be loaded .ModuleNotFoundError: No module named"),
        ("kit.memory_backends:MISSING", "cannot be loaded .AttributeError"),
        ("kit.memory_backends:STORE", "group gossamer.frontiers is a StoreScheme; it must be a Frontier"),
    ],
)
def test_a_package_that_does_not_do_is_named(install, entry, complaint):
    install({"gossamer.frontiers": {"xyz": entry}})
    with pytest.raises(SettingError, match=rf"frontier.url = 'xyz://h': .*'xyz-backends'.*{complaint}"):
        FRONTIERS.find_scheme("xyz://h")


def test_no_package_can_take_the_place_of_our_own(install):
    before = FRONTIERS.find_scheme(None)
    install({"gossamer.frontiers": {"sqlite": "kit.memory_backends:FRONTIER"}})
    assert FRONTIERS.find_scheme(None) is FRONTIERS.find_scheme("sqlite:///a.db") is before


def test_what_the_table_says_of_a_scheme_needs_no_driver():
    """What is missing can be said before anything is opened, and by machines that lack it."""
    code = (
        "import sys; from gossamer.wiring.schemes import FRONTIERS, STORES\n"
        "assert FRONTIERS.find_scheme('rediss://h').serves_fleet\n"
        "assert FRONTIERS.find_scheme('redis+cluster://h').extra == 'redis'\n"
        "assert STORES.find_scheme('postgres://h').extra == 'postgres'\n"
        "print({'gossamer.wiring.redis', 'gossamer.wiring.postgres'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "set()"


async def test_a_fleet_asks_the_back_end_whether_it_serves_one(install, tmp_path):
    install(OURS)
    for url in (None, f"sqlite:///{tmp_path / 'a.db'}", "xyz://h"):
        with pytest.raises(SettingError, match="a fleet keeps its requests in Redis"):
            check_serves_fleet(settings(url))
        with pytest.raises(SettingError, match="a fleet keeps its requests in Redis"):
            await open_fleet(settings(url))
        backends = await open_backends(settings(url, data=str(tmp_path)), create=True)
        with pytest.raises(SettingError, match="a fleet keeps its requests in Redis"):
            fleet_of(backends.requests)
        await backends.close()


async def test_a_frontier_in_redis_is_one_for_fleets(redis_url):
    check_serves_fleet(settings(redis_url))
    requests = await open_fleet(settings(redis_url))
    assert fleet_of(requests) is requests
    await requests.close()


async def test_what_is_looked_at(install):
    install(OURS)
    assert await checks.look_at_requests(settings()) is None
    assert await checks.look_at_requests(settings("sqlite:///a.db")) is None
    assert await checks.look_at_requests(settings("xyz://h")) == ServerReport(advice="its version is unknown")
    assert await checks.look_at_items(settings(store="xyz://h")) is None, "it has nothing to look at"


def test_extras_that_the_settings_need(install):
    install(OURS)
    assert checks.needed_extras(settings()) == set()
    assert checks.needed_extras(settings("xyz://h", "nonsense")) == set()
    everything = settings("redis+cluster://h", "postgres://h", broker={"url": "amqp://h"})
    assert checks.needed_extras(everything) == {"redis", "postgres", "cluster"}
    assert checks.needed_extras(settings(fetch="impersonate+mobile")) == {"impersonate"}
    ladder = {"rungs": ("http", "impersonate"), "hosts": {"shop.test": "browser"}}
    assert checks.needed_extras(settings(ladder=ladder)) == {"impersonate", "browser"}
    assert checks.needed_extras(settings(fetch="browser", browser={"stealth": True})) == {"stealth"}
