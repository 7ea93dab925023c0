"""Sites in a process of their own, whose log of requests outlives whatever happens to the crawlers.

Every request is one line of a file (arrival, host, path, status), written before its answer goes. The process
ends when its standard input does, so it never outlives the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
import urllib.request
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from gossamer.testing.folder import serve_folder
from gossamer.testing.site import AccessLog, App, Hit, Site, SiteResponse, serve
from kit.environment import environment
from kit.fleet.site import Catalogue, Hosts
from kit.programs import free_port
from kit.saved_shop import served

TESTS = Path(__file__).resolve().parents[2]
BEGIN = "/-/begin"
"""The path that asks for a new log; it is in none."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that reached a site."""

    at: float  # seconds since the epoch, when its header was complete
    host: str
    path: str
    status: int

    @property
    def url(self) -> str:
        """As a crawler calls it."""
        return f"http://{self.host}{self.path}"


class ServedSite:
    """A site being served by a process of its own. A context manager: it serves within the block."""

    def __init__(self, folder: Path, kind: str, *args: str | int | float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._run = 0
        self._read = self._counted = 0  # bytes and lines of the log
        self.port = int(free_port())
        self.url = f"http://127.0.0.1:{self.port}"
        said = [kind, *map(str, args), "--port", str(self.port), "--log", str(folder / "hits")]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kit.fleet.serving", *said],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment() | {"PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent / 'src'}"},
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"serving\n", f"the site {' '.join(said)} did not start"

    def begin(self) -> None:
        """Begin a new log and an unvisited site."""
        with urllib.request.urlopen(self.url + BEGIN, timeout=30) as answer:
            answer.read()
        self._run += 1
        self._read = self._counted = 0

    def hits(self) -> list[Asked]:
        """Every request since the log began, in the order of their arrival."""
        with self._log.open() as log:
            return [asked(line) for line in log]

    def count(self) -> int:
        """How many there are."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            more = log.read()
        self._read += len(more)
        self._counted += more.count(b"\n")
        return self._counted

    def wait_for(self, count: int, *, within_s: float = 60.0) -> None:
        """Wait until it has had this many requests."""
        deadline = time.monotonic() + within_s
        while self.count() < count and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.count() >= count, f"{self.count()} requests in {within_s:.0f} s, not {count}"

    @property
    def _log(self) -> Path:
        return self._folder / f"hits.{self._run}"

    def __enter__(self) -> ServedSite:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def asked(line: str) -> Asked:
    """A line of the log."""
    at, status, host, path = line.rstrip("\n").split(" ", 3)
    return Asked(float(at), host, path, int(status))


# --------------------------------------------------------------------------- the program


class FileLog(AccessLog):
    """A log in a file; each line is one write, so that readers see whole lines."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._run = -1
        self._file = -1
        self.begin_anew()

    def begin_anew(self) -> None:
        """Go on in a new file."""
        if self._file >= 0:
            os.close(self._file)
        self._run += 1
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = os.open(f"{self._path}.{self._run}", flags, 0o644)

    def begin_hit(self, hit: Hit) -> None:
        """A request has come."""
        if hit.path != BEGIN:
            os.write(self._file, f"{hit.at:.6f} {hit.status} {hit.host} {hit.path}\n".encode())

    def end_hit(self, host: str) -> None:
        """Nothing: the file has arrivals only."""


def with_begin(app: App, log: FileLog) -> App:
    """The site, with a way to begin anew."""

    def respond(path: str, headers: object) -> SiteResponse:
        if path != BEGIN:
            return app(path, headers)  # type: ignore[arg-type]
        if isinstance(app, Catalogue | Hosts):
            app.again()
        log.begin_anew()
        return SiteResponse(204)

    return respond


def host_names(count: int) -> tuple[str, ...]:
    """Addresses of this machine, each a host of its own."""
    return tuple(f"127.0.1.{number}" for number in range(1, count + 1))


def site_of(options: argparse.Namespace) -> App:
    """Return the site to serve."""
    args: list[str] = options.args
    if options.kind == "catalogue":
        return Catalogue(int(args[0]), delay_s=float(args[1]))
    if options.kind == "hosts":
        return Hosts(host_names(int(args[0])), int(args[1]))
    if options.kind == "shop":
        return served(lambda: f"http://127.0.0.1:{options.port}", delay_s=float(args[0]))
    return serve_folder(args[0])


async def main(options: argparse.Namespace) -> None:
    """Serve until the standard input ends."""
    app, log = site_of(options), FileLog(options.log)
    names = app.names if isinstance(app, Hosts) else ()
    async with AsyncExitStack() as serving:
        for name in ("127.0.0.1", *names):
            site: Site = serve(with_begin(app, log), name, options.port)
            site.log = log
            await serving.enter_async_context(site)
        sys.stdout.write("serving\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("catalogue", "hosts", "shop", "folder"))
    parser.add_argument("args", nargs="*")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True)
    asyncio.run(main(parser.parse_args()))
