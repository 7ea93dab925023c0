"""Crawls in a separate process by one JSON object on stdin; prints the results as another.

Apart from the site, so that lateness of the loop and memory are the crawler's alone.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import resource
import socket
import statistics
import sys
import threading
import time
import traceback
from collections import Counter

from gossamer import Request, Spider
from gossamer.crawl.run import crawl

TICK_S = 0.02
TOO_LATE_S = 0.15


class Follower(Spider):
    """Follows every link anywhere."""

    name = "follower"

    def parse(self, response):
        for url in response.links():
            yield Request(url, session="one", errback=None)


class Poster(Follower):
    """Posts a form with credentials to its start URLs."""

    name = "poster"

    async def start(self):
        for url in self.start_urls:
            headers = {
                "Authorization": "Bearer canary",
                "Cookie": "id=canary",
                "Referer": url,
                "X-Api-Key": "canary",
            }
            body = b"secret=canary" if self.method == "POST" else b""
            yield Request(url, method=self.method, body=body, headers=headers, dont_filter=True)


class Demanding(Follower):
    """Counts a page as a success only when it has an article."""

    name = "demanding"
    require = ("article",)


class Rude(Follower):
    """Follows the order in the path of a page, in its callback."""

    name = "rude"
    allowed_domains = ("127.0.0.1",)

    def parse(self, response):
        return getattr(self, response.url.rpartition("/")[2])(response)

    def raises(self, response):
        raise LookupError("no such thing")

    def exits(self, response):
        sys.exit(3)

    def recurses(self, response):
        return self.recurses(response)

    def returns_junk(self, response):
        return 42

    def yields_junk(self, response):
        yield from (object(), None, "text", 3.5, type)

    async def waits_for_ever(self, response):
        await asyncio.Event().wait()

    def never_ends(self, response):
        number = 0
        while True:
            number += 1
            yield Request(f"http://elsewhere.invalid/{number}", dont_filter=True)

    def is_polite(self, response):
        yield {"url": response.url}


class Probe:
    """Measures how late the loop runs a task of every 20 ms, and the work that delayed it."""

    def __init__(self) -> None:
        self.worst_s = 0.0
        self.busiest_s = 0.0  # the part of it that the loop worked itself; the rest, the machine was busy
        self._cpu_s = time.thread_time()
        self.seen = ""
        self._worst_seen_s = TOO_LATE_S
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + TICK_S
        self._loop.call_at(self._due, self._tick)
        self._main = threading.get_ident()
        threading.Thread(target=self._watch, daemon=True).start()

    def _tick(self) -> None:
        now = self._loop.time()
        self.worst_s = max(self.worst_s, now - self._due)
        self._due = now + TICK_S
        cpu_s, self._cpu_s = self._cpu_s, time.thread_time()
        self.busiest_s = max(self.busiest_s, self._cpu_s - cpu_s)
        self._loop.call_at(self._due, self._tick)

    def _watch(self) -> None:
        """From another thread: where the loop is while it is late."""
        while True:
            time.sleep(TICK_S)
            late = self._loop.time() - self._due
            if late > self._worst_seen_s:
                self._worst_seen_s = late
                stack = traceback.extract_stack(sys._current_frames()[self._main])
                self.seen = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(stack[-6:]))


class Resolver:
    """Answers of ``getaddrinfo`` for made-up names; counts the calls."""

    def __init__(self, names: dict[str, str | list[str]]) -> None:
        self.asked: Counter[str] = Counter()
        self._names = names
        self._real = socket.getaddrinfo
        socket.getaddrinfo = self

    def __call__(self, host, port, *args, **kwargs):
        known = self._names.get(host)
        if known is None:
            return self._real(host, port, *args, **kwargs)
        self.asked[host] += 1
        if known == "hang":
            time.sleep(2)
            known = "EAI_AGAIN"
        if isinstance(known, str):
            raise socket.gaierror(getattr(socket, known), known)
        kinds = [
            (socket.AF_INET6, (a, port, 0, 0)) if ":" in a else (socket.AF_INET, (a, port)) for a in known
        ]
        return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place) for family, place in kinds]


def peak_mb() -> float:
    """Most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def spin() -> float:
    """The CPU seconds of a small piece of work that is always the same: the median of five times."""
    taken = []
    for _ in range(5):
        began, texts = time.thread_time(), {}
        for number in range(200_000):
            texts[number & 1023] = str(number)
        taken.append(time.thread_time() - began)
    return statistics.median(taken)


async def main(asked: dict) -> dict:
    """Crawl, watch, tell."""
    importlib.import_module("gossamer.wiring.assemble")
    spun_s = spin()
    before = peak_mb()
    resolver = Resolver(asked["names"])
    probe = Probe()
    start = time.process_time()
    spider = type("Chosen", (globals()[asked["spider"]],), asked["attributes"])
    result = await crawl(
        spider, sinks=[type("Silent", (), {"emit": lambda self, event: None})()], **asked["settings"]
    )
    grown_mb, cpu_s = peak_mb() - before, time.process_time() - start
    return {
        "result": result.as_json(),
        "left_out": result.left_out,
        "looked_up": resolver.asked,
        "late_s": round(probe.worst_s, 3),
        "busy_s": round(probe.busiest_s, 3),
        "seen": probe.seen,
        "grown_mb": round(grown_mb, 1),
        "cpu_s": round(cpu_s, 2),
        "spin_s": round(max(spun_s, spin()), 4),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
