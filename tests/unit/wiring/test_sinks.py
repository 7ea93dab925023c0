"""Sinks of installed packages, named by the settings: for crawls, workers and supervisors."""

import asyncio

import pytest

from gossamer import Spider
from gossamer.cluster.running import make_supervisor
from gossamer.cluster.worker_process import WorkerProcess
from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError, UsageError
from gossamer.core.events import NoticeEvent
from gossamer.crawl.run import crawl
from gossamer.wiring.backends import open_backends
from gossamer.wiring.sinks import open_sinks, sinks_of
from kit.distributions import make_distribution
from kit.recording_sink import ENTRY, OPENED

NOTICE = NoticeEvent(at=1.0, level="info", text="hello")


class One(Spider):
    name = "one"
    start_urls = ["http://one.example/"]

    def parse(self, response):
        yield {"title": response.css("h1::text").get()}


@pytest.fixture
def install(tmp_path, monkeypatch):
    def install_package(entries):
        make_distribution(tmp_path / "site", "xyz-sinks", entries)
        monkeypatch.syspath_prepend(tmp_path / "site")

    OPENED.clear()
    return install_package


def settings(*sinks, **more):
    return Settings.model_validate({"log": {"sinks": sinks}, **more})


@pytest.fixture
def replay(tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "1.html").write_text("<h1>One</h1>")
    rules = {"http://one.example/": "1.html"}
    return {"replay.folder": str(saved), "replay.rules": rules, "data": str(tmp_path / "data")}


async def test_a_crawl_tells_the_sinks_that_its_settings_name(install, replay):
    install(ENTRY)
    result = await crawl(One, **replay, **{"log.sinks": ["recording"]})
    (sink,) = OPENED
    assert (result.items, sink.is_closed) == (1, True)
    assert sink.kinds[0] == "JobStarted"
    assert "PageDone" in sink.kinds
    assert sink.kinds[-1] == "JobFinished"


async def test_a_sink_that_fails_is_left_out_and_costs_no_page(install, replay, caplog):
    install(ENTRY)
    result = await crawl(One, **replay, **{"log.sinks": ["failing", "recording"]})
    failing, other = OPENED
    assert (result.finish_reason, result.items) == ("finished", 1)
    assert failing.kinds[-1] == "PageDone"
    assert other.kinds[-1] == "JobFinished"
    assert caplog.text.count("the sink 'failing' failed, and gets no more events") == 1
    assert "RuntimeError: no room" in caplog.text


def test_a_name_that_no_package_has(install):
    with (
        pytest.raises(SettingError, match=r"no installed package has a sink 'statsd'; installed: none$"),
        open_sinks(settings("statsd")),
    ):
        pass
    install(ENTRY)
    with pytest.raises(SettingError, match=r"installed: failing, recording$"), open_sinks(settings("statsd")):
        pass


@pytest.mark.parametrize(
    "entry", ["no_such_module_at_all:x", "kit.recording_sink:MISSING", "kit.recording_sink:ENTRY"]
)
def test_a_sink_that_does_not_open_is_named_and_those_before_it_are_closed(install, entry):
    install({"gossamer.sinks": {**ENTRY["gossamer.sinks"], "broken": entry}})
    with (
        pytest.raises(SettingError, match=r"log\.sinks: 'broken' cannot be opened"),
        open_sinks(settings("recording", "broken")),
    ):
        pass
    assert [sink.is_closed for sink in OPENED] == [True]


async def test_a_worker_opens_its_sinks_once_and_closes_them_at_its_end(install, redis_url, tmp_path):
    install(ENTRY)
    own = settings("recording", frontier={"url": redis_url}, data=str(tmp_path))
    worker = WorkerProcess(own, slots=1, lanes=("http",))
    await asyncio.to_thread(worker.begin)
    assert await asyncio.to_thread(worker.start)
    (sink,) = OPENED
    worker._sinks[0].emit(NOTICE)
    assert (sink.events, sink.is_closed) == ([NOTICE], False)
    await asyncio.to_thread(worker.close)
    assert sink.is_closed


async def test_a_supervisor_has_its_sinks(install, redis_url, tmp_path):
    install(ENTRY)
    own = settings("recording", frontier={"url": redis_url}, data=str(tmp_path))
    backends = await open_backends(own, create=True)
    with open_sinks(own) as sinks:
        make_supervisor(own, backends, None, "me", sinks)._parts.sink.emit(NOTICE)
    await backends.close()
    assert OPENED[0].events == [NOTICE]


def test_what_is_no_sink_of_a_spider_is_named():
    spider = type("Shop", (Spider,), {"name": "shop", "sinks": [5]})()
    with pytest.raises(UsageError, match=r"the spider 'shop': sinks has 5, and a sink is"):
        sinks_of(spider)
