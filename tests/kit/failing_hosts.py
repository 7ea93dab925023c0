"""A site on several hosts, each with some URLs that always fail in one way, and the results of a crawl of it.

One host has none of them: its time, measured at once on the same machine, is the measure for the others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

REASONS: Mapping[str, frozenset[str]] = {
    "503": frozenset({"throttled"}),
    "429": frozenset({"throttled"}),
    "500": frozenset({"server"}),
    "reset": frozenset({"connect", "protocol", "incomplete"}),
    "timeout": frozenset({"timeout_headers", "timeout_body"}),
    "drip": frozenset({"timeout_headers", "timeout_body"}),
}
"""The ways in which URLs fail, each with the reasons that its dead letters may have."""
PLAIN = ""
"""The host without URLs that fail."""
FILLED = 4
"""Pages of a host that only fills up."""
HANG_S = 6.0
"""For so long a URL that hangs or drips does so."""
SPIDER = """
from gossamer import Spider


class Failing(Spider):
    name = "failing"
    start_urls = {urls}

    def parse(self, response):
        pass
"""


@dataclass(frozen=True)
class Case:
    """A way to fetch, the kinds of hosts that are crawled together, and how: settings by their names."""

    rung: str
    kinds: Sequence[str]
    good: int  # pages of each host
    bad: int  # URLs of each host that always fail
    settings: Mapping[str, float]
    fillers: int = 0  # hosts with a few pages, so that a fleet has something to do for more than one worker

    def flags(self, **more: str | float) -> list[str]:
        """The options of a command line."""
        settings = {"fetch": self.rung, "robots": "false", "retry_backoff": 0.3, **self.settings, **more}
        return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]


SHORT = {"http.connect_timeout": 0.5, "http.headers_timeout": 0.5, "http.total_timeout": 0.6}
"""For URLs that hang: such a URL holds its host's turn for as long as the time limits say."""
TOGETHER = {**SHORT, "http.connect_timeout": 0.25, "http.headers_timeout": 0.25}
"""The same for a way to fetch with one limit for connecting and the header together."""
EVERY = tuple(REASONS)
CASES = {
    "http": Case("http", EVERY, 57, 3, {"min_delay": 0.2, **SHORT}),
    "impersonate": Case("impersonate", EVERY, 57, 3, {"min_delay": 0.2, **TOGETHER}),
    "browser-answers": Case("browser", EVERY[:3], 38, 2, {"min_delay": 0.7}),
    "browser-silence": Case("browser", EVERY[3:], 38, 2, {"min_delay": 0.7, "browser.timeout": 2.5}),
}
"""All of them, with 5 % URLs that fail. A page in a browser costs much: few at a time."""
SLACK_S = 2.0
"""On a busy machine answers are late, and the delay follows them. Virtual time holds the exact bound."""


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt of the ledger."""

    url: str
    verdict: str
    reason: str
    at: float


@dataclass(frozen=True)
class HostEnd:
    """How a crawl of one host ended."""

    arrived: int  # good pages
    seconds: float  # from its first request to its last good page
    dead: Mapping[str, str]  # the reason of each dead letter, by its path
    attempts: int


class FailingHosts:
    """Pages below ``/good``, and below ``/bad`` those that fail as their host does."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.bases: dict[str, str] = {}
        self.fillers: list[str] = []

    async def open(self) -> list[asyncio.Server]:
        """Serve each kind at an address of its own."""
        servers = []
        kinds = [PLAIN, *self.case.kinds]
        for number, kind in enumerate([*kinds, *[PLAIN] * self.case.fillers]):
            address = f"127.0.0.{10 + number}"
            server = await asyncio.start_server(partial(_serve, kind), address, 0)
            base = f"http://{address}:{server.sockets[0].getsockname()[1]}"
            if number < len(kinds):
                self.bases[kind] = base
            else:
                self.fillers.append(base)
            servers.append(server)
        return servers

    def urls(self) -> list[str]:
        """Every URL, host by host in turn; those that fail are spread over the good ones."""
        lists = [[f"{base}{path}" for path in self.paths(kind)] for kind, base in self.bases.items()]
        lists += [[f"{base}/good/{number}" for number in range(FILLED)] for base in self.fillers]
        longest = max(len(urls) for urls in lists)
        return [urls[number] for number in range(longest) for urls in lists if number < len(urls)]

    def paths(self, kind: str) -> list[str]:
        """Return the paths on a host of this kind, in the order of the requests."""
        good, bad = self.case.good, self.case.bad
        paths = [f"/good/{number}" for number in range(good)]
        for number in range(bad if kind != PLAIN else 0):
            paths.insert(5 + number * good // bad, f"/bad/{number}")
        return paths

    def write_spider(self, folder: Path) -> Path:
        """The file of a spider that asks for every URL."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "failing.py"
        file.write_text(SPIDER.replace("{urls}", repr(self.urls())))
        return file

    def ends(self, rows: Sequence[Row]) -> dict[str, HostEnd]:
        """How it ended, by the way of failing."""
        return {
            kind: _end_of([row for row in rows if row.url.startswith(f"{base}/")])
            for kind, base in self.bases.items()
        }

    def judge(self, rows: Sequence[Row], where: str, reasons: Mapping[str, frozenset[str]] = REASONS) -> None:
        """Good pages arrived within twice the time of the plain host, and each bad URL is a dead letter."""
        ends, wrong = self.ends(rows), []
        plain_s = ends[PLAIN].seconds
        for kind, end in ends.items():
            ratio = end.seconds / plain_s
            line = f"{where:9} {self.case.rung:11} {kind or 'plain':8} {end.seconds:6.1f} s {ratio:5.2f} x"
            print(f"{line}, {end.attempts} attempts, {dict(Counter(end.dead.values()))}")
            bad = {f"/bad/{number}" for number in range(self.case.bad if kind != PLAIN else 0)}
            if end.arrived != self.case.good:
                wrong.append(f"{line}: {end.arrived} of {self.case.good} good pages arrived")
            if set(end.dead) != bad or not set(end.dead.values()) <= reasons.get(kind, set()):
                wrong.append(f"{line}: dead letters {end.dead}")
            if end.seconds > 2 * plain_s + SLACK_S:
                wrong.append(f"{line}: too late")
        assert not wrong, "\n".join(wrong)


async def _serve(kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
            if "/bad/" in path:
                await _fail(kind, writer)
                break
            await _answer(writer, 200, f"<title>{path}</title>")
    writer.close()


async def _answer(writer: asyncio.StreamWriter, status: int, text: str) -> None:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: text/html\r\nContent-Length: {len(text)}\r\n\r\n"
    writer.write(f"{head}{text}".encode())
    await writer.drain()


async def _fail(kind: str, writer: asyncio.StreamWriter) -> None:
    if kind.isdigit():
        await _answer(writer, int(kind), "no")
    elif kind == "reset":
        writer.transport.abort()
    elif kind == "timeout":
        await asyncio.sleep(HANG_S)
    else:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n")
        for _ in range(int(HANG_S / 0.1)):
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.1)


def _end_of(rows: Sequence[Row]) -> HostEnd:
    """How the host of these attempts ended."""
    arrived: dict[str, float] = {}
    for row in rows:
        if row.verdict == "success" and "/good/" in row.url:
            arrived[row.url] = min(row.at, arrived.get(row.url, row.at))
    return HostEnd(
        arrived=len(arrived),
        seconds=max(arrived.values(), default=0.0) - min((row.at for row in rows), default=0.0),
        dead={urlsplit(row.url).path: row.reason for row in rows if row.verdict == "dead"},
        attempts=len(rows),
    )


@asynccontextmanager
async def serving(case: Case) -> AsyncIterator[FailingHosts]:
    """The hosts of a case, served within the block."""
    hosts = FailingHosts(case)
    servers = await hosts.open()
    try:
        yield hosts
    finally:
        for server in servers:
            server.close()
