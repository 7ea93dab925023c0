"""A misbehaving site on a thread, a crawl of it in a process of its own, and what became of every request."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gossamer.testing.badroutes import all_routes
from gossamer.testing.badsite import BadSite
from gossamer.testing.misbehaving.fine import GOOD_PAGES
from kit.environment import environment
from kit.programs import rows

QUICK = {
    "delay": 0.0,
    "per_host": 4,
    "max_retries": 1,
    "retry_backoff": 0.02,
    "retry_backoff_cap": 0.05,
    "retry_after_cap": 0.02,
    "http.connect_timeout": 5.0,
    "http.headers_timeout": 2.0,
    "http.read_timeout": 1.5,
    "http.total_timeout": 5.0,
}
"""Short limits, so that a missing answer is given up soon, and long enough for a busy machine: hosts wait
side by side."""

CALM = {
    **QUICK,
    "http.connect_timeout": 10.0,
    "http.headers_timeout": 20.0,
    "http.read_timeout": 20.0,
    "http.total_timeout": 120.0,
}
"""The default bounds of time and size."""

BUSY_S = 0.25
"""How long the loop may work without a breath (the aim is 0.2), in its own CPU time: on a busy machine it
comes late without fault of its own. Both figures are printed. A slower machine
may take as much longer."""
SPIN_S = 0.027
"""The duration of ``spin`` of ``crawl_it.py`` on the reference machine."""

GROWN_MB = 300.0


@contextmanager
def serving(**options: Any) -> Iterator[BadSite]:
    """A bad site on a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    site = BadSite(**options)
    try:
        asyncio.run_coroutine_threadsafe(site.__aenter__(), loop).result(10)
        try:
            yield site
        finally:
            asyncio.run_coroutine_threadsafe(site.__aexit__(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


class Crawled:
    """Results of a crawl: its result, its ledger, and its behaviour."""

    def __init__(self, data: Path, told: dict[str, Any]) -> None:
        self.result: dict[str, Any] = told["result"]
        self.left_out: dict[str, int] = told["left_out"]
        self.late_s: float = told["late_s"]
        self.busy_s: float = told["busy_s"]
        self.seen: str = told["seen"]  # where the loop was when it was latest
        self.grown_mb: float = told["grown_mb"]
        self.cpu_s: float = told["cpu_s"]
        self.spin_s: float = told["spin_s"]  # the time of a fixed piece of work there, before and after
        self.looked_up: dict[str, int] = told["looked_up"]
        self.data = data
        found = rows(data, "select url, verdict, reason, detail, status from attempt order by id")
        self.tries: dict[str, list[str]] = defaultdict(list)
        self.details: dict[str, str] = {}
        for url, verdict, reason, detail, _ in found:
            self.tries[url].append(reason or verdict)
            self.details[url] = detail

    def __repr__(self) -> str:
        where = f" at {self.seen}" if self.seen else ""
        loop = f"loop {self.late_s} s late{where}, {self.busy_s} s of that at work"
        cpu = f"{self.cpu_s} s CPU, {self.spin_s} s a spin"
        return f"<{len(self.tries)} URLs, {loop}, {self.grown_mb} MB more, {cpu}>"

    def ending(self, url: str) -> str:
        """How the last try at a URL ended; ``""`` when there was none."""
        return self.tries[url][-1] if url in self.tries else ""

    @property
    def let_others_work(self) -> bool:
        """Whether the loop never worked for too long without a breath."""
        return self.busy_s < BUSY_S * max(1.0, self.spin_s / SPIN_S)

    def behaved(self) -> None:
        """Nothing held the loop up, and memory stayed within bounds."""
        print(self)
        assert self.result["finish_reason"] == "finished", self.result
        assert not [url for url, tries in self.tries.items() if "internal" in tries]
        assert self.let_others_work, self
        assert self.grown_mb < GROWN_MB, self


def crawl(
    data: Path,
    urls: Iterable[str],
    *,
    spider: str = "Follower",
    names: Mapping[str, str | list[str]] | None = None,
    env: Mapping[str, str] | None = None,
    **settings: Any,
) -> Crawled:
    """Crawl in another process.

    ``settings`` are by name; ``attributes`` are the spider's own. ``names`` are the answers of the machine's
    resolver: addresses by host, or the name of an error of ``getaddrinfo``, or ``hang``.
    """
    attributes = {"start_urls": list(urls), **settings.pop("attributes", {})}
    chosen = {**QUICK, "data": str(data), **settings}
    asked = {"spider": spider, "attributes": attributes, "settings": chosen, "names": dict(names or {})}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("crawl_it.py"))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=120,
        env=environment() | dict(env or {}),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return Crawled(data, json.loads(done.stdout))


class Round:
    """Every route of a site on a host of its own, each among good pages, in one crawl."""

    def __init__(self, site: BadSite, data: Path, names: Iterable[str], **settings: Any) -> None:
        self.site = site
        self.host = dict(zip(names, site.hosts, strict=False))
        self.crawled = crawl(data, [self.url(name, f"hub/{name}") for name in self.host], **settings)

    def url(self, name: str, path: str) -> str:
        """A path on the host of a route."""
        return self.site.url(path, host=self.host[name])

    def endings(self, name: str) -> dict[str, str]:
        """How all requests of a route ended, by path."""
        start = self.url(name, name)
        return {
            url.removeprefix(self.url(name, "")): tries[-1]
            for url, tries in self.crawled.tries.items()
            if url == start or url.startswith((start + "/", start + "?"))
        }

    def hits(self, name: str) -> list[str]:
        """The paths that the host of a route was asked for."""
        wanted = f"{self.host[name]}:{self.site.port}"
        return [hit.path for hit in self.site.log if hit.headers.get("host") == wanted]

    def check(self, *names: str) -> None:
        """Each of the routes ended in its own class, and cost none of its neighbours anything."""
        self.crawled.behaved()
        for name in names:
            endings = self.endings(name)
            for path in all_routes()[name].paths:
                assert endings.get(path) in all_routes()[name].ends_in, (name, path, endings)
            good = [self.crawled.ending(self.url(name, f"good/{number}")) for number in range(GOOD_PAGES)]
            assert good == ["success"] * GOOD_PAGES, (name, good)


def of_row(*numbers: int) -> list[str]:
    """The routes of some rows."""
    return [name for name, route in all_routes().items() if route.row in numbers]


def headers_at(site: BadSite, path: str) -> list[dict[str, str]]:
    return [dict(hit.headers) for hit in site.log if hit.path.startswith(path)]
