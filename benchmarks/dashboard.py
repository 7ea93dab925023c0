"""The first answer of each view of the dashboard over a large crawl. Run: make bench-dashboard

``large_crawl.py`` makes up a crawl with the requests, attempts, items and hosts of a broad crawl, in one file
or, with ``--fleet``, in Redis and PostgreSQL. Then each view is requested from a newly started dashboard,
once cold and three times more, a second apart. Exits with 1 if a first answer takes longer than 300 ms or has
more than 200 kB.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from cluster_servers import postgres_server, redis_server
from large_crawl import make_crawl, url_of
from servers import free_ports, wait_for

from gossamer.config.layers import load_settings
from gossamer.core.jobs import Job

HOSTS = 10_000
FIRST_MS, LARGEST_BYTES = 300, 200_000
AGAIN = 3
JOB_VIEWS = (
    "",
    "/series?range=1h",
    "/series?range=all",
    "/hosts",
    "/hosts?q=shop00007",
    "/hosts/shop00007.example",
    "/errors",
    "/errors/heat?by=host",
    "/dead",
    "/dead?reason=server",
    "/dead?host=shop00007.example",
    "/items",
    "/items?missing=description",
    "/items?q=Thing",
    "/attempts",
    "/attempts?status=503",
    "/attempts?host=shop00007.example",
    "/settings",
)
VIEWS = ("/me", "/overview", "/jobs", *(f"/jobs/{{job}}{view}" for view in JOB_VIEWS), "/proxies", "/actions")


@contextlib.contextmanager
def place(is_fleet: bool, folder: Path) -> Iterator[dict[str, str]]:
    """Return the settings of an empty place."""
    if not is_fleet:
        yield {"data": str(folder / "data")}
        return
    output = folder / "servers.log"
    with redis_server(output) as redis, postgres_server(output) as postgres:
        yield {"frontier.url": redis.url, "store.url": postgres.url, "data": str(folder / "data")}


@contextlib.contextmanager
def dashboard(settings: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Run a dashboard over a place; yield the address of its API."""
    (port,) = free_ports(1)
    named = {f"GOSSAMER_{key.upper().replace('.', '__')}": value for key, value in settings.items()}
    command = [sys.executable, "-m", "gossamer", "dashboard", "--port", str(port)]
    with (folder / "dashboard.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | named, cwd=folder)
        try:
            wait_for(port)
            base = f"http://127.0.0.1:{port}"
            ask(f"{base}/healthz")  # it listens before it serves
            yield base
        finally:
            process.terminate()
            process.wait(10)


def ask(url: str) -> tuple[int, float, int]:
    """Return the status, the milliseconds and the bytes of an answer."""
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            body = answer.read()
            return answer.status, (time.perf_counter() - began) * 1000, len(body)
    except urllib.error.HTTPError as error:
        return error.code, (time.perf_counter() - began) * 1000, len(error.read())


def pages(rows: int, hosts: int) -> list[str]:
    """Return queries about pages: the first, the last, one in between, one that was never seen."""
    urls = [url_of(number, hosts) for number in (7, rows // 2 + 1, rows - 1)]
    named = [quote(url, safe="") for url in (*urls, "https://shop00007.example/new")]
    return [f"/explain?job={{job}}&url={url}" for url in named]


def measure(base: str, job: Job, rows: int, hosts: int) -> list[str]:
    """Print a row for each view; those that are out of bounds."""
    bad = []
    print(f"{'view':<50} {'first ms':>9} {'again ms':>9} {'kB':>8}")
    for view in (*VIEWS, *pages(rows, hosts)):
        path = view.format(job=job.id)
        status, first_ms, size = ask(f"{base}/api/v1{path}")
        again = []
        for _ in range(AGAIN):
            time.sleep(1.1)  # the same question within a second is answered from memory
            again.append(ask(f"{base}/api/v1{path}")[1])
        said = "" if status == 200 else f"  status {status}"
        shown = path if len(path) <= 50 else f"{path[:12]}…{path[-37:]}"
        print(f"{shown:<50} {first_ms:9.1f} {min(again):9.1f} {size / 1000:8.1f}{said}", flush=True)
        if status != 200 or first_ms > FIRST_MS or size > LARGEST_BYTES:
            bad.append(path)
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="requests, attempts and items, each")
    parser.add_argument("--hosts", type=int, default=HOSTS, help="on which they are, half of them on a tenth")
    parser.add_argument("--fleet", action="store_true", help="in Redis and PostgreSQL")
    parser.add_argument("--quick", action="store_true", help="50,000 rows")
    options = parser.parse_args()
    rows = 50_000 if options.quick else options.rows
    with (
        tempfile.TemporaryDirectory(prefix="bench-dashboard-") as name,
        place(options.fleet, Path(name)) as where,
    ):
        settings = load_settings(overrides=where, env={}).settings
        began, shown = time.monotonic(), ""

        def report(what: str, number: int) -> None:
            nonlocal shown
            if what != shown:
                print(f"{time.monotonic() - began:6.1f} s  {what}", file=sys.stderr, flush=True)
            shown = what

        job = asyncio.run(make_crawl(settings, rows, options.hosts, report))
        with dashboard(where, Path(name)) as base:
            bad = measure(base, job, rows, options.hosts)
        if bad:
            print(Path(name, "dashboard.log").read_text()[-2000:], file=sys.stderr)
            sys.exit(f"out of bounds: {', '.join(bad)}")


if __name__ == "__main__":
    main()
