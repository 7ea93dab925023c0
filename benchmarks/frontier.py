"""The cost of the frontiers alone. Run: make bench-frontier, or python benchmarks/frontier.py --only redis

For memory, SQLite and Redis, with one host, 1,000 and 100,000, each in its own process: fills a frontier,
opens it again with leases to take back, and then runs life cycles: leases 64 requests and settles each with a
new link, four of five to a page of the same host. Nothing is fetched, parsed or stored, and calls run one
after the other. ``server us`` is the CPU of Redis for one life cycle (add, lease, settle), including its
append-only file; ``server max/s`` is the rate of one of its cores for any number of clients; ``cycles/s`` is
the rate of this client. ``bytes/seen`` is the size of the fingerprints alone. The default, 200,000 pending,
takes some minutes; use BENCH="--pending 1000000" for a large crawl.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind
from gossamer.core.lifecycle import JobCommand
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Outcome, Verdict
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.ports.frontier import Frontier
from gossamer.runtime.clock import SystemClock

KINDS = ("memory", "sqlite", "redis")
BATCH = 64
RULES = FrontierRules(delay_s=0.0, per_host=BATCH)
COLUMNS = {
    "kind": "frontier",
    "hosts": "hosts",
    "add": "added/s",
    "pending_bytes": "bytes/pending",
    "seen_bytes": "bytes/seen",
    "open": "open+recover s",
    "cycles": "cycles/s",
    "client_us": "client us",
    "server_us": "server us",
    "server_max": "server max/s",
    "p50": "lease p50 ms",
    "p99": "p99 ms",
}
Figures = dict[str, float]
_random = random.Random(1)


@dataclass
class Subject:
    """A frontier to be measured."""

    frontier: Frontier
    reopen: Callable[[], Awaitable[Frontier]]
    used_bytes: Callable[[], Awaitable[float]]
    seen_bytes: Callable[[], Awaitable[float]] | None = None
    server_cpu_s: Callable[[], Awaitable[float]] | None = None


# ------------------------------------------------------------------------------------ subjects


@asynccontextmanager
async def memory(expected: int) -> AsyncIterator[Subject]:
    del expected
    frontier = MemoryFrontier(RULES, SystemClock())

    async def same() -> Frontier:
        return frontier

    async def resident() -> float:
        return _resident_bytes()

    yield Subject(frontier, same, resident)


@asynccontextmanager
async def sqlite(expected: int) -> AsyncIterator[Subject]:
    del expected
    with tempfile.TemporaryDirectory() as folder:
        path, opened = Path(folder) / "crawl.db", []

        def frontier() -> Frontier:
            opened.append(Database(path))
            return SqliteFrontier(opened[-1], "j", RULES, SystemClock())

        async def again() -> Frontier:
            opened[-1].close()
            return frontier()

        async def size() -> float:
            return _size_of(Path(folder))

        yield Subject(frontier(), again, size)
        opened[-1].close()


@asynccontextmanager
async def redis(expected: int) -> AsyncIterator[Subject]:
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        program = shutil.which("redis-server") or sys.exit(
            "redis-server is missing; scripts/servers.sh installs it"
        )
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
        command += ["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: ASYNC220 - nothing else runs
        server = RedisServer(f"redis://127.0.0.1:{port}/0")
        try:
            await _until_up(server)
            frontier = RedisFrontier(server, "j", RULES, SystemClock(), expected=expected)
            await frontier.create_shards()

            async def again() -> Frontier:
                return RedisFrontier(server, "j", RULES, SystemClock())

            async def used() -> float:
                return float((await server.client.info("memory"))["used_memory"])

            async def seen() -> float:
                keys = [key async for key in server.client.scan_iter(match="*:s:*", count=1000)]
                sizes = [await server.client.memory_usage(key, samples=0) for key in keys]
                return float(sum(sizes))

            async def cpu() -> float:
                info = await server.client.info("cpu")
                return float(info["used_cpu_user"] + info["used_cpu_sys"])

            yield Subject(frontier, again, used, seen, cpu)
        finally:
            await server.close()
            process.kill()
            process.wait()


async def _until_up(server: RedisServer) -> None:
    deadline = time.monotonic() + 10
    while True:
        with contextlib.suppress(StorageError):
            await server.check_server()
            break
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


# ------------------------------------------------------------------------------------ operations


def link(host: str) -> Entry:
    """A link as a crawl has them: a URL of 60 characters, a page of 50 that led there, a callback."""
    category = _random.randrange(100, 1000)
    url = f"https://{host}/catalogue/category-{category}/item-{_random.getrandbits(32):08x}.html"
    via = f"https://{host}/catalogue/{_random.choice(['category', 'overview'])}-{category}/page-7"
    request = Request(url, callback="parse_product", depth=3, via=via)
    return Entry(request=request, fingerprint=_random.getrandbits(64) - 2**63, host=host)


def any_host(hosts: int) -> str:
    return f"shop{_random.randrange(hosts):03}.example"


def outcome(lease: Lease, hosts: int) -> Outcome:
    """Return the outcome of a fetched page with one new link."""
    host = lease.entry.host if _random.random() < 0.8 else any_host(hosts)
    signal = HostSignal(kind=HostSignalKind.OK, started_at=lease.granted_at, latency_s=0.05)
    return Outcome(lease=lease, verdict=Verdict.SUCCESS, is_page=True, signal=signal, outlinks=(link(host),))


async def measured(kind: str, hosts: int, pending: int, seconds: float) -> Figures:
    """The figures of one table row."""
    async with {"memory": memory, "sqlite": sqlite, "redis": redis}[kind](2 * pending) as subject:
        found: Figures = {"hosts": hosts}
        before = await subject.used_bytes()
        spent = 0.0
        for first in range(0, pending, 500):
            entries = [link(any_host(hosts)) for _ in range(min(500, pending - first))]
            started = time.perf_counter()
            await subject.frontier.add(entries)
            spent += time.perf_counter() - started
        del entries
        found["add"] = pending / spent
        found["pending_bytes"] = (await subject.used_bytes() - before) / pending
        if subject.seen_bytes:
            found["seen_bytes"] = await subject.seen_bytes() / pending
        for _ in range(4):
            await subject.frontier.lease("http", BATCH, 60)  # by a worker that will not come back
        started = time.perf_counter()
        frontier = await subject.reopen()
        assert await frontier.apply_change(JobCommand.RECOVER)
        found["open"] = time.perf_counter() - started
        return found | await lived(frontier, subject, hosts, seconds)


async def lived(frontier: Frontier, subject: Subject, hosts: int, seconds: float) -> Figures:
    """Return the number of life cycles in this many seconds, without the time to make their links."""
    took: list[float] = []
    spent = used = served = 0.0
    done = 0
    server_cpu = subject.server_cpu_s
    ends_at = time.perf_counter() + seconds
    while time.perf_counter() < ends_at:
        served -= await server_cpu() if server_cpu else 0.0
        started, cpu = time.perf_counter(), time.process_time()
        grant = await frontier.lease("http", BATCH, 60)
        took.append(time.perf_counter() - started)
        spent, used = spent + took[-1], used + time.process_time() - cpu
        outcomes = [outcome(lease, hosts) for lease in grant.leases]
        started, cpu = time.perf_counter(), time.process_time()
        assert all(await frontier.settle(outcomes))
        spent, used = spent + time.perf_counter() - started, used + time.process_time() - cpu
        served += await server_cpu() if server_cpu else 0.0
        done += len(outcomes)
    found = {"cycles": done / spent, "client_us": used / done * 1e6}
    if server_cpu:
        found |= {"server_us": served / done * 1e6, "server_max": done / served}
    return found | {"p50": _share(took, 0.5) * 1e3, "p99": _share(took, 0.99) * 1e3}


def _share(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


# ------------------------------------------------------------------------------------ output


def _cell(value: float | None, width: int) -> str:
    if value is None:
        return "-".rjust(width)
    digits = 0 if value >= 100 or value == int(value) else 2
    return f"{value:{width},.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pending", type=int, default=200_000)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 1000, 100_000])
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seconds", type=float, default=8.0, help="of life cycles")
    parser.add_argument("--one", action="store_true", help="one row, in this process, as JSON")
    options = parser.parse_args()
    if options.one:
        row = measured(options.only[0], options.hosts[0], options.pending, options.seconds)
        print(json.dumps(asyncio.run(row)))
        return
    print("  ".join(COLUMNS.values()))
    for kind in options.only:
        for hosts in options.hosts:
            sizes = ["--pending", str(options.pending), "--seconds", str(options.seconds)]
            command = [sys.executable, __file__, "--one", "--only", kind, "--hosts", str(hosts), *sizes]
            figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            cells = [kind.ljust(len(COLUMNS["kind"]))]
            cells += [_cell(figures.get(name), len(COLUMNS[name])) for name in list(COLUMNS)[1:]]
            print("  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
