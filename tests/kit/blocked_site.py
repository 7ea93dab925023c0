"""A site that blocks plain clients by address, with proxies and a gateway in front of it, as a process.

It has two hosts. Each allows every address some pages; then ``127.0.0.1`` wants a client that looks like a
browser, and ``shop.example`` answers only the gateway. Each proxy has an address of its own; some are dead
(their ports are closed), and some are refused from the start. Every request to the site is one line of a
file.

The process ends with its standard input, so it never outlives the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

from kit.environment import environment
from kit.fake_proxy import FakeProxy, Forwarding
from kit.programs import free_port

HOSTS = ("127.0.0.1", "shop.example")
WELL, BANNED, DEAD = 5, 2, 3
PRICE = 0.25
"""The price of a call of the gateway."""
IN_FLIGHT_S = 1.0
"""Seconds after the first failure of a proxy in which requests that began before may fail as well."""
GATEWAY = "gateway"
"""The client's name for requests of the gateway."""
TESTS = Path(__file__).resolve().parents[1]

SPIDER = """
from gossamer import Spider


class Blocked(Spider):
    name = "blocked"
    start_urls = {urls}

    def parse(self, response):
        yield {"page": response.url}
        yield from response.follow_all(css="a")
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request that reached the site."""

    at: float  # seconds since the epoch
    address: str  # who asked: an address, or ``gateway``
    is_plain: bool
    status: int
    host: str  # without the port
    path: str


@dataclass(frozen=True, slots=True)
class Try:
    """One row of the ledger."""

    url: str
    verdict: str
    reason: str
    rung: str
    proxy: str
    cost: float
    at: float
    detail: str
    worker: str

    @property
    def host(self) -> str:
        """Without the port."""
        return urlsplit(self.url).hostname or ""


class BlockedSite:
    """The site being served. A context manager: it serves within the block."""

    def __init__(self, folder: Path, *, pages: int, free: int) -> None:
        self.pages = pages  # of each host
        self._log = folder / "visits"
        self._log.touch()
        self._said = [str(pages), str(free), str(self._log)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kit.blocked_site", *self._said],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment() | {"PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent / 'src'}"},
        )
        assert self._process.stdout is not None
        self._ports = json.loads(self._process.stdout.readline())
        self.dead = {f"http://127.0.0.1:{free_port()}" for _ in range(DEAD)}
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)

    @property
    def urls(self) -> list[str]:
        """Where a crawl begins."""
        return [f"http://127.0.0.1:{self._ports['site']}/", "http://shop.example/"]

    @property
    def settings(self) -> dict[str, str]:
        """How such a site is crawled, by the names of the settings."""
        proxies = [f"http://127.0.0.1:{port}" for port in self._ports["proxies"]]
        settings = {
            "fetch": "auto",
            "traps.max_worthless": "none",  # its pages are all alike
            "proxies.urls": sorted([*proxies, *self.dead]),
            "ladder.rungs": ["http", "impersonate"],
            "ladder.hosts": {"shop.example": ["http", "gateway:shop"]},
            "gateways.shop.url": f"http://127.0.0.1:{self._ports['gateway']}/?url={{url}}",
            "gateways.shop.price": PRICE,
        }
        return {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()
        }

    def write_spider(self, folder: Path) -> Path:
        """The file of a spider that follows every link."""
        file = folder / "blocked.py"
        file.write_text(SPIDER.replace("{urls}", str(self.urls)))
        return file

    def visits(self) -> list[Visit]:
        """Every request, in the order of arrival."""
        return [read_visit(line) for line in self._log.read_text().splitlines()]

    def wait_for_climbed(self, count: int, crawl: subprocess.Popen[str], within_s: float = 50.0) -> bool:
        """Wait until ``crawl`` has this many pages of each host by a better than plain client.

        Return ``False`` if the crawl ended before, or was too slow.
        """
        deadline = time.monotonic() + within_s
        while min(self._climbed().values()) < count:
            if crawl.poll() is not None or time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _climbed(self) -> dict[str, int]:
        given = Counter(visit.host for visit in self.visits() if not visit.is_plain and visit.status == 200)
        return {host: given[host] for host in HOSTS}


def read_visit(line: str) -> Visit:
    """A line of the log."""
    at, address, plain, status, host, path = line.split(" ")
    return Visit(float(at), address, plain == "plain", int(status), host, path)


def judge(site: BlockedSite, tries: Sequence[Try], said: str) -> None:
    """Every page arrived once, each host climbed once, the dead were left alone, and the cost is right."""
    arrived = Counter(attempt.url for attempt in tries if attempt.verdict == "success")
    assert arrived == dict.fromkeys(arrived, 1)
    assert len(arrived) == site.pages * len(HOSTS)
    climbs = [line for line in said.splitlines() if " climbs from " in line]
    assert [sum(host in line for line in climbs) for host in HOSTS] == [1, 1], climbs
    dead = {name: [one.at for one in tries if name in (one.proxy, *one.detail.split())] for name in site.dead}
    assert all(dead.values()), "each of them was tried"
    late = [at for times in dead.values() for at in times if at > min(times) + IN_FLIGHT_S]
    assert len(late) <= 0.01 * len(tries)
    by_gateway = sum(attempt.rung == "gateway:shop" for attempt in tries)
    assert sum(attempt.cost for attempt in tries) == PRICE * by_gateway > 0


# --------------------------------------------------------------------------- the program


class Pages:
    """The site's answers to each client."""

    def __init__(self, pages: int, free: int, log: Path) -> None:
        self._pages, self._free = pages, free
        self._given: Counter[tuple[str, str]] = Counter()
        self._banned: set[str] = set()
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def ban(self, address: str) -> None:
        """Refuse this address from the start."""
        self._banned.add(address)

    def answer(self, address: str, host: str, path: str, agent: str) -> bytes:
        """The answer as it goes over the wire; it is in the log before that."""
        is_plain = address != GATEWAY and "Mozilla" not in agent
        status = 404 if path == "/robots.txt" else self._judge(address, host, is_plain=is_plain)
        kind = "plain" if is_plain else "other"
        os.write(self._log, f"{time.time():.6f} {address} {kind} {status} {host} {path}\n".encode())
        links = "".join(f"<a href='/{number}'>{number}</a>" for number in range(1, self._pages))
        body = f"<html><title>{path}</title>{links if path == '/' else ''}</html>" if status == 200 else ""
        mark = "cf-mitigated: challenge\r\n" if status == 403 else ""
        head = f"HTTP/1.1 {status} Said\r\n{mark}Content-Type: text/html\r\nContent-Length: {len(body)}"
        return f"{head}\r\n\r\n{body}".encode()

    def _judge(self, address: str, host: str, *, is_plain: bool) -> int:
        if address == GATEWAY:
            return 200
        if address in self._banned or (host == "shop.example" and not is_plain):
            return 403
        if is_plain:
            self._given[address, host] += 1
            return 403 if self._given[address, host] > self._free else 200
        return 200


Answer = Callable[[asyncio.StreamWriter, str, dict[str, str]], bytes]


async def serve(answer: Answer, opening: AsyncExitStack) -> int:
    """A small server of ``answer``; its port."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            await asyncio.sleep(0.02)  # so that some requests are in flight when a process is killed
            writer.write(answer(writer, first.split(" ")[1], headers))

    return (await opening.enter_async_context(FakeProxy(behave))).port


def addresses() -> Iterator[str]:
    """One for each proxy that is alive."""
    return (f"127.0.0.{number}" for number in range(11, 11 + WELL + BANNED))


async def main(options: argparse.Namespace) -> None:
    """Serve until the standard input ends."""
    pages = Pages(options.pages, options.free, options.log)

    def answer_page(writer: asyncio.StreamWriter, target: str, headers: dict[str, str]) -> bytes:
        host = headers["host"].partition(":")[0]
        return pages.answer(writer.get_extra_info("peername")[0], host, target, headers.get("user-agent", ""))

    def answer_call(_: asyncio.StreamWriter, target: str, __: dict[str, str]) -> bytes:
        url = urlsplit(parse_qs(urlsplit(target).query)["url"][0])
        return pages.answer(GATEWAY, url.hostname or "", url.path, "")

    async with AsyncExitStack() as opening:
        ports = {"site": await serve(answer_page, opening), "gateway": await serve(answer_call, opening)}
        proxies = []
        for number, address in enumerate(addresses()):
            proxy = await opening.enter_async_context(FakeProxy(Forwarding(address, ports["site"])))
            proxies.append(proxy.port)
            if number < BANNED:
                pages.ban(address)
        sys.stdout.write(json.dumps({**ports, "proxies": proxies}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", type=int)
    parser.add_argument("free", type=int)
    parser.add_argument("log", type=Path)
    asyncio.run(main(parser.parse_args()))
