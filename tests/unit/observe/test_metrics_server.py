"""The small server of a process's metrics: it answers, says no, and is not to be held up."""

from __future__ import annotations

import asyncio
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from gossamer.core.health import PartHealth
from gossamer.observe import loop_lag, metrics_server
from gossamer.observe.health import ProcessHealth
from gossamer.observe.loop_lag import LoopLagMonitor
from gossamer.observe.metrics_server import READERS, MetricsServer
from gossamer.observe.metrics_sink import MetricsSink
from gossamer.policy.health import HELD_UP_S
from gossamer.testing.clock import run_virtual
from gossamer.version import __version__
from kit.scraping import lint, scrape
from kit.server_process import free_port

HELD_UP = [0.0]
AWAY: list[PartHealth] = []


@pytest.fixture
def port() -> Iterator[int]:
    found, HELD_UP[0] = free_port(), 0.0
    AWAY.clear()
    health = ProcessHealth()
    health.watch_loop(lambda: HELD_UP[0])
    health.watch_work(lambda: AWAY)
    server = MetricsServer("127.0.0.1", found, MetricsSink().read_samples, health)
    yield found
    server.close()


def answer(port: int, path: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.server
def test_metrics_are_served_with_those_of_the_process(port: int) -> None:
    found = scrape(port)
    assert found.value("build_info", version=__version__) == 1
    assert found.samples["process_resident_memory_bytes", frozenset()] > 1e6
    assert 0 < found.value("scrape_duration_seconds") < 10
    assert lint(found.text) == ""
    assert scrape(port, "/metrics?x=1").samples.keys() == found.samples.keys()


def test_a_reader_may_ask_for_the_newer_format(port: int) -> None:
    _, text = answer(port, "/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")


def test_health_is_that_of_the_event_loop(port: int) -> None:
    assert answer(port, "/healthz") == (200, "ok\n")
    HELD_UP[0] = HELD_UP_S + 1
    status, body = answer(port, "/healthz")
    assert (status, body.partition(",")[0]) == (503, "the event loop has not run for 61 s")
    assert answer(port, "/readyz")[0] == 503, "then it does no work either"


@pytest.mark.parametrize(
    ("reader", "is_told"),
    [
        *(("127.0.0.1", True), ("::1", True), ("::ffff:127.0.0.1", True)),
        *(("10.1.2.3", False), ("::ffff:10.1.2.3", False)),
    ],
)
def test_only_readers_on_this_machine_see_why_a_server_does_not_answer(reader: str, is_told: bool) -> None:
    part = PartHealth(failure="Redis has not answered", seen_at=-99.0, within_s=1.0, detail="10.0.0.7:6379")
    health = ProcessHealth()
    health.watch_work(lambda: [part])
    server = MetricsServer("0.0.0.0", free_port(), MetricsSink().read_samples, health)
    try:
        status, _, body = server.answer_request("/readyz", "worker:9100", "", reader)
    finally:
        server.close()
    assert (status, body.startswith(b"Redis has not answered")) == (503, True)
    assert (part.detail.encode() in body) == is_told


def test_a_process_whose_servers_are_away_lives_and_is_not_ready(port: int) -> None:
    assert answer(port, "/readyz") == (200, "ok\n")
    names = ("Redis", "PostgreSQL")
    AWAY.extend(PartHealth(failure=f"{name} has not answered", seen_at=0.0, within_s=15.0) for name in names)
    status, body = answer(port, "/readyz")
    assert status == 503
    assert [line.partition(" for ")[0] for line in body.splitlines()] == [
        "Redis has not answered",
        "PostgreSQL has not answered",
    ]
    assert answer(port, "/healthz") == (200, "ok\n")


def test_there_is_nothing_else(port: int) -> None:
    assert answer(port, "/")[0] == 404
    assert answer(port, "/metrics/../healthz")[0] == 404
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", method="POST", data=b"x")
    with pytest.raises(urllib.error.HTTPError, match="501"):
        urllib.request.urlopen(request, timeout=10)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil", "[2001:db8::1]"])
def test_a_page_in_a_browser_that_took_a_name_for_this_machine_reads_nothing(port: int, host: str) -> None:
    assert answer(port, "/metrics", Host=host)[0] == 403
    assert answer(port, "/healthz", Host=host)[0] == 403


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:9", "localhost:9"])
def test_readers_on_this_machine_may_call_it_as_they_like(port: int, host: str) -> None:
    assert answer(port, "/healthz", Host=host)[0] == 200


def test_at_every_address_it_has_any_name() -> None:
    port = free_port()
    server = MetricsServer("0.0.0.0", port, MetricsSink().read_samples, ProcessHealth())
    assert answer(port, "/healthz", Host="worker-1.fleet:9")[0] == 200
    server.close()


def test_readers_that_say_nothing_are_turned_away_and_do_not_stay(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_server._AnswerHandler, "timeout", 0.2)
    with ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            for _ in range(READERS)
        ]
        one_more = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        assert one_more.recv(1) == b"", "all places are taken"
        for waiting in silent:
            assert waiting.recv(1) == b"", "nobody waits for them for long"
    until = time.monotonic() + 10
    said = 0
    while said != 200:  # their threads give the places back a moment later
        with suppress(OSError):
            said, _ = answer(port, "/healthz")
        assert time.monotonic() < until


# --------------------------------------------------------------------------- the event loop


def test_the_delay_of_the_loop_is_the_longest_lately() -> None:
    async def main(clock: object) -> None:
        loop = asyncio.get_running_loop()
        monitor = LoopLagMonitor()
        await asyncio.sleep(3)
        assert monitor.longest_s() == 0.0
        loop.virtual_s += 2.0  # a callback that computes for two seconds
        assert monitor.held_up_s() == pytest.approx(2.0, abs=loop_lag.EVERY_S)
        assert monitor.longest_s() == monitor.held_up_s(), "it is told while it lasts"
        await asyncio.sleep(loop_lag.WINDOW_S / 2)
        assert monitor.longest_s() == pytest.approx(2.0, abs=loop_lag.EVERY_S)
        await asyncio.sleep(loop_lag.WINDOW_S)
        assert monitor.longest_s() == 0.0, "it is long ago"
        monitor.close()

    run_virtual(main)
