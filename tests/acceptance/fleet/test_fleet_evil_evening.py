"""An evening on which all goes wrong, one thing after the other: every place that a person looks at says so.

At each step the first sentence of the dashboard, ``status``, ``alerts`` and the webhook agree with the truth,
which is in the script; and all are calm again when the step is over. The words are not compared: which
trouble is named, of which thing, and whether a sentence says that all is well.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gossamer.testing.site import SiteResponse, serve_in_thread
from kit.alert_services import AlertService, serve_webhook
from kit.dashboard.served import serve_dashboard
from kit.fake_proxy import FakeProxy, hang_up, served_proxies
from kit.fleet.processes import Fleet, Servers
from kit.fleet.upset import tell
from kit.servers import PostgresProcess, RedisProcess

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]

PATIENCE_S = 90.0
"""Within this time every place agrees with the script, on a busy machine too."""
SETTINGS = {
    "delay": 0.2,
    "per_host": 1,
    "concurrency": 4,
    "robots": "false",
    "alerts.holds": 1,
    "alerts.clears": 1,
    "alerts.away": 2,
    "alerts.no_success": 4,
    "alerts.no_items_pages": 15,
    "alerts.targets.ops.url_env": "OPS_URL",
    "proxies.max_quarantine": 2,
}
SPIDER = """
from gossamer import Spider


class Shop(Spider):
    name = "shop"
    start_urls = %r

    def parse(self, response):
        for title in response.css("h1.title::text").getall():
            yield {"title": title}
        yield from response.follow_all(css="a")
"""
CALM = ("takes care of itself", "take care of themselves", "nothing is wrong", "nothing needs you")
"""A sentence with one of these says that a person need not do anything."""


@dataclass
class Hosts:
    """Two hosts with a page after the other, without an end; and how they fare."""

    mark: str = "title"
    refuses: bool = False  # whether the second host does
    first: str = ""
    second: str = ""

    def answer(self, path: str, _headers: object) -> SiteResponse:
        number = int(path.strip("/") or 0)
        text = f'<h1 class="{self.mark}">Page {number}</h1><a href="/{number + 1}">next</a>'
        return SiteResponse(200, text.encode(), "text/html")

    def answer_second(self, path: str, headers: object) -> SiteResponse:
        return SiteResponse(503, b"", "text/plain") if self.refuses else self.answer(path, headers)


@contextmanager
def serve_hosts() -> Iterator[Hosts]:
    hosts = Hosts()
    with (
        serve_in_thread(hosts.answer) as first,
        serve_in_thread(hosts.answer_second, host="127.0.0.2") as second,
    ):
        hosts.first, hosts.second = f"{first.url}/", f"{second.url}/"
        yield hosts


@dataclass
class Look:
    """All that a person can see at one time."""

    overview: str = ""  # the dashboard's first sentence
    status: str = ""  # the first sentence about the job
    alerts: set[str] = field(default_factory=set)  # the kinds that ``gossamer alerts`` lists
    notified: set[str] = field(default_factory=set)  # the kinds that began and have not ended, at the webhook

    @property
    def is_calm(self) -> bool:
        """Whether the dashboard says that all is well."""
        return any(words in self.overview for words in CALM)


@dataclass
class Evening:
    """The fleet, and where one looks."""

    fleet: Fleet
    hosts: Hosts
    hook: AlertService
    proxy: FakeProxy
    dashboard: str
    job: str

    def look(self) -> Look:
        alerts = self.fleet.run("alerts", "--json")
        notified: set[str] = set()
        for document in self.hook.received:
            (notified.add if document["change"] == "begun" else notified.discard)(document["alert"])
        return Look(
            overview=self._read_overview(),
            status=self._read_status(),
            alerts=_kinds_of(alerts),
            notified=notified,
        )

    def _read_overview(self) -> str:
        try:
            with urlopen(f"{self.dashboard}/api/v1/overview", timeout=20) as answer:
                say = json.load(answer)["say"]
        except HTTPError as error:
            return error.read().decode()
        return say[0] if isinstance(say, list) else say["first"]

    def _read_status(self) -> str:
        shown = self.fleet.run("status", self.job)
        found = [line for line in shown.stdout.splitlines() if line.startswith("in short")]
        return found[0].removeprefix("in short").strip() if found else shown.stderr

    def expect(self, agrees: Callable[[Look], bool]) -> Look:
        """Look until all places agree with the truth; the look at which they did."""
        end = time.monotonic() + PATIENCE_S
        while True:
            seen = self.look()
            if agrees(seen):
                return seen
            assert time.monotonic() < end, f"after {PATIENCE_S:.0f} s: {seen}"

    def expect_trouble(self, kind: str, *, names: str) -> None:
        """An alert of this kind is everywhere, and the sentence about the job names its thing."""
        seen = self.expect(
            lambda seen: (
                kind in seen.alerts
                and kind in seen.notified
                and not seen.is_calm
                and names.lower() in seen.status.lower()
            )
        )
        print(f"{kind}: {seen}")

    def expect_calm(self) -> None:
        """All of it is over everywhere."""
        seen = self.expect(lambda seen: not seen.alerts and not seen.notified and seen.is_calm)
        print(f"calm: {seen}")


def _kinds_of(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The kinds of the alerts that the command listed; Redis away, it says so itself."""
    if done.returncode:
        assert "Redis" in done.stderr, done
        return {"away"}
    return {one["kind"] for one in json.loads(done.stdout)["alerts"]}


@pytest.fixture
def evening(
    redis_server: RedisProcess, postgres_server: PostgresProcess, postgres_url: str, tmp_path: Path
) -> Iterator[Evening]:
    servers = Servers(redis_server.start(), postgres_server.start(), postgres_url)
    servers.empty()
    with serve_webhook() as hook, serve_hosts() as hosts, served_proxies(1) as [proxy]:
        env = {"OPS_URL": f"http://127.0.0.1:{hook.port}/"}
        settings = {**SETTINGS, "proxies.urls": json.dumps([f"http://127.0.0.1:{proxy.port}"])}
        with Fleet(tmp_path, servers, workers=2, supervisors=2, settings=settings, env=env) as fleet:
            file = tmp_path / "shop.py"
            file.write_text(SPIDER % [hosts.first, hosts.second])
            with serve_dashboard(tmp_path, env=fleet._env) as dashboard:
                yield Evening(fleet, hosts, hook, proxy, dashboard, fleet.submit(file))


def test_every_place_says_the_truth_all_evening(evening: Evening) -> None:
    """Bug it would catch: a display that says that all is well while an alert lasts."""
    fleet, hosts, redis = evening.fleet, evening.hosts, evening.fleet.servers.redis
    evening.expect_calm()

    hosts.refuses = True  # a host that limits everything
    evening.expect_trouble("no_success", names="127.0.0.2")
    hosts.refuses = False
    evening.expect_calm()

    works, evening.proxy.behaviour = evening.proxy.behaviour, hang_up  # the only proxy dies
    evening.expect_trouble("proxies", names="prox")
    evening.proxy.behaviour = works
    evening.expect_calm()

    fleet.workers[0].freeze()  # the other one goes on; that is a thing to know, and no alert
    try:
        evening.expect(lambda seen: "silent" in fleet.run("fleet").stdout)
        assert not evening.look().alerts - {"silent_worker"}
    finally:
        fleet.workers[0].thaw()
    evening.expect_calm()

    redis.kill()
    evening.expect(
        lambda seen: (
            "away" in seen.alerts and "away" in seen.notified and "Redis" in seen.overview + seen.status
        )
    )
    redis.start()
    evening.expect_calm()

    hosts.mark = "headline"  # the shop has new markup
    evening.expect_trouble("no_items", names="item")
    hosts.mark = "title"
    evening.expect_calm()

    tell(redis, "CONFIG", "SET", "maxmemory", "1mb")  # as a full disk: it takes no writes
    try:
        seen = evening.expect(lambda seen: not seen.is_calm and bool(seen.alerts) and bool(seen.notified))
        print(f"full: {seen}")
    finally:
        tell(redis, "CONFIG", "SET", "maxmemory", "0")
    evening.expect_calm()
    fleet.all_alive()
