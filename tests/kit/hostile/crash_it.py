"""Crashes a small crawl at its n-th SQL statement, resumes it to its end, and tells what became of it.

A process of its own without threads, so that it may fork: each crawl runs in a child that has nothing to
import. Reads ``{"folder": ..., "points": [...]}`` from stdin; an empty ``points`` only counts the statements.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import sqlite3
import sys
import threading
from pathlib import Path

from gossamer import Item, Spider, key
from gossamer.crawl.run import crawl
from gossamer.testing.answers import SiteResponse
from gossamer.testing.fetcher import SiteFetcher
from gossamer.wiring import routing

SITE = "http://site.test"
DIED = 86


class Page(Item):
    number: str = key()
    title: str


class Small(Spider):
    """Eight pages with an item each, a redirect, a retry, a dead letter, and an item that is there twice."""

    name = "small"
    start_urls = [f"{SITE}/1"]

    def parse(self, response):
        yield Page(number=response.css("h1::text").get(), title=response.css("title::text").get())
        yield from response.follow_all(response.links())


class App:
    """The site. ``/6`` fails until it has been asked once, which a restart does not change."""

    def __init__(self, folder: Path) -> None:
        self.asked = folder / "asked"

    def __call__(self, path, headers):
        if path == "/robots.txt":
            return SiteResponse(404)
        if path == "/dead":
            return SiteResponse(400)
        if path == "/old":
            return SiteResponse(301, headers=(("location", "/8"),))
        if path == "/6" and not self.asked.exists():
            self.asked.touch()
            return SiteResponse(500)
        number = int(path.removeprefix("/").removeprefix("copy"))
        targets = [f"/{n}" for n in (2 * number, 2 * number + 1) if n < 8]
        targets += ["/dead", "/old", "/copy2"]
        links = "".join(f'<a href="{target}">x</a>' for target in targets)
        head = f"<title>Page {number}</title><h1>{number}</h1>"
        return SiteResponse(body=(head + links).encode())


def die_at(point: int, told: Path) -> None:
    """End this process before its ``point``-th statement; 0: only tell the kinds in their order."""
    connect, lock, numbers = sqlite3.connect, threading.Lock(), itertools.count(1)

    def trace(sql: str) -> None:
        with lock:
            number = next(numbers)
            if not point or number == point:
                with told.open("a") as file:
                    file.write(kind(sql) + "\n")
            if number == point:
                os._exit(DIED)

    def traced(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_trace_callback(trace)
        return connection

    sqlite3.connect = traced


def kind(sql: str) -> str:
    """A statement without its values."""
    return re.sub(r"x?'(?:[^']|'')*'|\b\d[\d.e+-]*\b", "?", " ".join(sql.split()))[:100]


def in_child(work) -> int:
    """Run ``work`` in a fork; its exit status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run(folder: Path) -> None:
    """The crawl, to its end."""
    routing.fetcher_of = lambda _settings, _guard, clock, **_more: SiteFetcher(
        App(folder), clock, latency_s=0.0
    )
    settings = {"delay": 0.0, "per_host": 4, "retry_backoff": 0.001, "retry_backoff_cap": 0.01}
    result = asyncio.run(crawl(Small, data=str(folder / "data"), **settings))
    (folder / "result.json").write_text(json.dumps(result.as_json()))


def state(folder: Path) -> dict:
    """Return the state of the database: counters beside recounts, and values that are equal in every run."""
    db = sqlite3.connect(folder / "data" / "gossamer.db")

    def ask(sql: str) -> list:
        return db.execute(sql).fetchall()

    tables = {name for (name,) in ask("select name from sqlite_master")}
    if "frontier" not in tables or not ask("select 1 from frontier"):
        return {}
    counters = ask("select pending, delayed, leased, dead, done from frontier")[0]
    by_state = dict(ask("select state, count(*) from request group by state"))
    totals = dict(ask("select name, value from tally"))
    found = {
        "counters": [*counters[:4], sum(counters)],
        "recounts": [*(by_state.get(code, 0) for code in range(4)), ask("select count(*) from seen")[0][0]],
        "totals": [totals.get(name, 0) for name in ("pages", "items", "bytes", "retries")],
        "retold": ask(
            "select (select count(*) from page), (select count(*) from sighting),"
            " (select coalesce(sum(size_bytes), 0) from attempt where reason <> 'stale'),"
            " (select count(*) from attempt where verdict = 'retry')"
        )[0],
        "twice": ask("select id from request group by id having count(*) > 1")
        + ask("select url from page group by url having count(*) > 1"),
        "sound": ask("pragma integrity_check") == [("ok",)],
        "items": sorted(ask("select key, data from item")),
        "pages": sorted(ask("select url, title, status from page")),
        "dead": counters[3],
        "done": counters[4],
    }
    db.close()
    return found


def crash(folder: Path, point: int) -> dict:
    """Die at a statement, look, resume to the end, look again."""
    folder.mkdir(parents=True)

    def dying() -> None:
        die_at(point, folder / "kinds")
        run(folder)

    died = in_child(dying)
    crashed = state(folder) if point and (folder / "data" / "gossamer.db").exists() else {}
    ended = in_child(lambda: run(folder)) if point else 0
    kinds = (folder / "kinds").read_text().splitlines() if (folder / "kinds").exists() else []
    return {
        "point": point,
        "died": died,
        "ended": ended,
        "kinds": kinds,
        "crashed": crashed,
        "end": state(folder),
    }


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    for number in asked["points"] or [0]:
        print(json.dumps(crash(Path(asked["folder"]) / str(number), number)), flush=True)
