"""Metrics of a crawl and of a worker, as the settings ask for them."""

from __future__ import annotations

import asyncio
import builtins
import socket
import sys
from importlib import import_module

import pytest

from gossamer import Spider
from gossamer.config.running import MetricsSettings
from gossamer.config.settings import Settings
from gossamer.core.errors import MissingServiceError, SettingError
from gossamer.crawl.run import crawl
from gossamer.engine.timed_committer import TimedCommitter
from gossamer.observe.run_stats import RunStats
from gossamer.wiring.metrics import serve_metrics, watched_committer
from kit.scraping import lint, scrape
from kit.server_process import free_port


@pytest.fixture
def replay(tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "page.html").write_text("<h1>One</h1>")
    urls = [f"http://one.example/{number}" for number in range(5)]
    rules = dict.fromkeys(urls, "page.html")
    return urls, {"replay.folder": str(saved), "replay.rules": rules, "data": str(tmp_path / "data")}


@pytest.mark.server
async def test_a_crawl_serves_its_metrics_as_long_as_it_lasts(replay):
    urls, settings = replay
    port, seen = free_port(), []

    class Looking(Spider):
        name = "looking"
        start_urls = urls

        async def parse(self, response):
            seen.append(await asyncio.to_thread(scrape, port))
            yield {"url": response.url}

    result = await crawl(Looking, **settings, concurrency=1, **{"metrics.port": port})
    job = {"job": result.job}
    assert result.pages == len(seen) == 5
    pages = [found.total("pages_total", **job) for found in seen]
    assert pages == sorted(pages)
    assert 3 <= pages[-1] == seen[-1].value("items_total", **job) <= 4, "what was recorded so far"
    assert seen[-1].value("frontier_requests", state="leased", **job) >= 0
    assert seen[-1].value("in_flight_requests") == 1
    assert seen[-1].value("store_lag_seconds") >= 0
    assert seen[-1].value("event_loop_lag_seconds") >= 0
    assert lint(seen[-1].text) == ""
    with pytest.raises(OSError, match="refused"):
        scrape(port)


async def test_a_port_that_is_taken_is_named_with_its_setting(replay):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingError) as raised, serve_metrics(MetricsSettings(port=port)):
            raise AssertionError("it cannot listen")
    assert str(raised.value) == (
        f"metrics.port: metrics cannot be served at 127.0.0.1:{port} (Address already in use); "
        "choose another port (--metrics-port) or metrics.host"
    )


async def test_without_a_port_nothing_is_imported_and_nothing_is_measured(monkeypatch):
    monkeypatch.setattr("gossamer.wiring.metrics.import_module", None)
    with serve_metrics(MetricsSettings()) as sinks:
        assert sinks == ()
    committer = object()
    assert watched_committer(committer, (RunStats(),)) is committer


async def test_commits_are_timed_for_a_sink_that_wants_to_know():
    with serve_metrics(MetricsSettings(port=free_port())) as sinks:
        assert isinstance(watched_committer(object(), (RunStats(), *sinks)), TimedCommitter)


async def test_without_the_package_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("prometheus_client"):
            raise ImportError(name="prometheus_client")
        return real(name, *args, **kwargs)

    for module in ("gossamer.observe.metrics_server", "gossamer.observe.exposition"):
        import_module(module)
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with (
        pytest.raises(MissingServiceError, match=r"prometheus_client is missing.*\[metrics\]"),
        serve_metrics(MetricsSettings(port=free_port())),
    ):
        pass


@pytest.mark.parametrize("wrong", [{"port": 0}, {"port": 65536}, {"host": "one.example"}, {"host": ""}])
def test_a_wrong_port_or_host_is_refused(wrong):
    with pytest.raises(ValueError, match="metrics"):
        Settings.model_validate({"metrics": wrong})
