"""Crawls of the site with features switched on, as processes of the command line, with or without a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

from gossamer.testing.site import Site, serve_in_thread
from kit.command_line import asked
from kit.environment import environment
from kit.fake_proxy import served_proxies
from kit.pairs.features import Feature
from kit.pairs.outcome import Outcome, item_text, path_of
from kit.pairs.site import EveryPage
from kit.pairs.spider import Parts, write_spider
from kit.programs import rows, run, start

FAST = ("--delay", "0", "--per-host", "8", "-s", "retry_backoff=0.05", "-s", "max_retries=2")
"""One's own server."""
NO_TRAPS = ("-s", "traps.max_worthless=none", "-s", "traps.max_same_body=none")
"""The plain crawl looks for none, so that the default limits are a feature like any other."""
SIGN = """
class Sign:
    def on_request(self, request):
        request.headers["X-Signature"] = "good"


class Middleware:
    def process_request(self, request, spider):
        request.headers["X-Signature"] = "good"

    def process_response(self, request, response, spider):
        return response
"""
START_S, STEPS_S = 60.0, 0.001
"""How long a crawl may take until it is to be killed, and how often that is looked at."""
RUN_S, WAITS = 90.0, 3
"""How long a crawl may take to its end, and how often its features may wait: proxies rest meanwhile."""


@dataclass
class Crawl:
    """One crawl with some features. ``kill_at``: it is killed after this many requests, and continued."""

    folder: Path
    features: Sequence[Feature]
    site: Site
    kill_at: int = 0
    proxies: Sequence[str] = ()
    was_killed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        is_scrapy = self.is_scrapy
        parts = [feature.for_scrapy if is_scrapy else feature.parts for feature in self.features]
        (self.folder / "signing.py").write_text(SIGN)
        self.spider = write_spider(
            self.folder, self.site.url, reduce(Parts.__add__, parts, Parts()), is_scrapy=is_scrapy
        )

    @property
    def is_scrapy(self) -> bool:
        """Whether the spider is written for Scrapy."""
        return any(feature.is_scrapy for feature in self.features)

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def is_stored(self) -> bool:
        """Whether pages and dead letters can be read afterwards."""
        return all(feature.is_stored for feature in self.features)

    @property
    def longest_s(self) -> float:
        """How long it may take to its end."""
        return RUN_S + WAITS * sum(feature.waits_s for feature in self.features)

    def flags(self, *more: str) -> list[str]:
        """The options that switch the features on."""
        flags = [*FAST, *NO_TRAPS, *(flag for feature in self.features for flag in feature.flags), *more]
        places = {"{proxies}": json.dumps(list(self.proxies)), "{archive}": str(self.folder / "pages")}
        for name, place in places.items():
            flags = [flag.replace(name, place) for flag in flags]
        return flags

    def command(self, *more: str) -> list[str | Path]:
        """The command line."""
        return ["crawl", self.spider, "--data", self.data, "-O", self._items, "--json", *self.flags(*more)]

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return run(*self.command(*more), cwd=self.folder, timeout=self.longest_s)

    def expected(self, plain: Outcome, *, is_again: bool = False) -> Outcome:
        """Return the plain crawl's outcome, changed as the features' documentation says."""
        spider = "scrapy" if self.is_scrapy else "native"
        for feature in self.features:
            for difference in feature.differences:
                if (is_again or not difference.is_again) and spider in difference.spiders:
                    plain = difference.change(plain)
        return plain if self.is_stored else replace(plain, pages=set(), letters={}, skipped={})

    def may_differ(self, line: str) -> bool:
        """Whether a difference is about a page that may be as it is, or otherwise."""
        differences = [difference for feature in self.features for difference in feature.differences]
        return any(path in line for difference in differences for path in difference.paths)

    def outcome(self, *more: str) -> Outcome:
        """Crawl, and return the outcome."""
        if self.kill_at:
            self._crawl_until_killed(*more)
        done = self.run(*more)
        assert done.returncode == 0, f"exit code {done.returncode}: {done.stdout}{done.stderr}"
        summary = json.loads(done.stdout)
        assert summary["finish_reason"] == "finished", done.stdout + done.stderr
        items = {item_text(line, self.site.url) for line in self._items.read_text().splitlines()}
        return self._stored(items, summary["job"]) if self.is_stored else Outcome(items, set(), {}, {})

    @property
    def _items(self) -> Path:
        return self.folder / "items.jsonl"

    def _crawl_until_killed(self, *more: str) -> None:
        process = start(*self.command(*more), cwd=self.folder, env=environment())
        wanted, deadline = len(self.site.hits) + self.kill_at, time.monotonic() + START_S
        while len(self.site.hits) < wanted and process.poll() is None and time.monotonic() < deadline:
            time.sleep(STEPS_S)
        self.was_killed = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        self.kill_at = 0

    def _stored(self, items: set[str], job: str) -> Outcome:
        where = f"where job = (select id from job where name = '{job}')"
        pages = {path_of(url) for (url,) in rows(self.data, f"select url from page {where}")}
        tried = rows(self.data, f"select url, verdict, reason, flags from attempt {where} order by id")
        pages |= {path_of(url) for url, verdict, _, flags in tried if verdict + flags == "successunchanged"}
        ends = {path_of(url): (verdict, reason) for url, verdict, reason, _ in tried}
        letters = {
            path_of(letter["url"]): letter["reason"]
            for letter in asked("dead list", job, "--data", self.data, cwd=self.folder)
        }
        skipped = {path: reason for path, (verdict, reason) in ends.items() if verdict == "skipped"}
        return Outcome(items, pages, letters, skipped)


@contextmanager
def served_crawl(folder: Path, *features: Feature, kill_at: int = 0) -> Iterator[Crawl]:
    """A crawl with its site and its proxies being served."""
    with ExitStack() as stack:
        site = stack.enter_context(serve_in_thread(EveryPage()))
        wants = any("{proxies}" in flag for feature in features for flag in feature.flags)
        proxies = stack.enter_context(served_proxies(2)) if wants else ()
        urls = [f"http://127.0.0.1:{proxy.port}" for proxy in proxies]
        yield Crawl(folder, features, site, kill_at, urls)
