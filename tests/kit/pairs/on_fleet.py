"""The same crawls on a fleet: a supervisor and a worker that are processes, with Redis and PostgreSQL."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kit.fleet.processes import Fleet, Servers
from kit.pairs.crawls import START_S, STEPS_S, Crawl, served_crawl
from kit.pairs.features import Feature
from kit.pairs.outcome import Outcome, item_text, path_of


@dataclass
class FleetCrawl:
    """One crawl on a fleet. Where it is killed, that is the worker, and another one takes its place."""

    crawl: Crawl
    fleet: Fleet
    kill_at: int
    was_killed: bool = field(default=False, init=False)

    def command(self, *more: str) -> list[str | Path]:
        """The command line that submits it."""
        flags = [
            flag for flag in self.crawl.flags(*more) if flag != "--fresh"
        ]  # each submission is a new job
        return ["submit", self.crawl.spider, "--json", *flags]

    def outcome(self, *more: str) -> Outcome:
        """Crawl, and return the outcome."""
        done = self.fleet.run(*self.command(*more))
        assert done.returncode == 0, done.stdout + done.stderr
        job = json.loads(done.stdout)["job"]
        if self.kill_at:
            self._kill_worker()
        summary = self.fleet.wait(job, timeout_s=self.crawl.longest_s)
        assert summary["finish_reason"] == "finished", summary
        return self._stored(job)

    def _kill_worker(self) -> None:
        site, deadline = self.crawl.site, time.monotonic() + START_S
        wanted = len(site.hits) + self.kill_at
        while len(site.hits) < wanted and time.monotonic() < deadline:
            time.sleep(STEPS_S)
        (worker,) = self.fleet.workers
        worker.restart()
        self.was_killed, self.kill_at = True, 0

    def _stored(self, job: str) -> Outcome:
        stored = self.fleet.stored(job)
        letters = json.loads(self.fleet.run("dead", "list", job, "--json").stdout)
        ends = {path_of(tried.url): (tried.verdict, tried.reason) for tried in stored.ledger}
        return Outcome(
            {item_text(line, self.crawl.site.url) for line in stored.lines},
            {path_of(url) for url in stored.pages},
            {path_of(letter["url"]): letter["reason"] for letter in letters},
            {path: reason for path, (verdict, reason) in ends.items() if verdict == "skipped"},
        )


@contextmanager
def fleet_crawl(folder: Path, servers: Servers, *features: Feature, kill_at: int = 0) -> Iterator[FleetCrawl]:
    """A crawl with its site, its proxies and its fleet."""
    with served_crawl(folder, *features) as crawl:
        env = {"PYTHONPATH": str(folder)}
        if crawl.proxies:
            env["GOSSAMER_PROXIES__URLS"] = json.dumps(list(crawl.proxies))
        with Fleet(folder, servers, workers=1, env=env) as fleet:
            yield FleetCrawl(crawl, fleet, kill_at)
