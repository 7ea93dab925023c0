"""What the frontier and the store in one SQLite file cost. Run: python benchmarks/frontier_sqlite.py

For one host and for 1,000 hosts, each in a process of its own: fills a frontier, closes it, opens it
again with leases to take back, and then lets requests live: lease 64, land them with an outlink, an item,
a page and a row of the ledger each. Prints a table; ``p50`` and ``p99`` are of ``lease`` as its caller
sees it, ``inside`` as the writer thread does. The default takes about a minute;
``--pending 1000000 --known 10000000`` is the figure of a large crawl and takes some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gossamer.disk.committer import SameFileCommitter
from gossamer.disk.database import Database
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.store.sqlite import SqliteStore
from gossamer.words.model import (
    Attempt,
    Change,
    Entry,
    Harvest,
    HostSignal,
    ItemRecord,
    Job,
    Lease,
    Outcome,
    PageRecord,
    Request,
    Rules,
    SignalKind,
    Verdict,
)

BATCH = 64
JOB = Job(id="shop-1", name="shop", target="shop", created_at=0.0)
COLUMNS = {
    "hosts": "hosts",
    "add": "added/s",
    "bytes": "bytes/pending",
    "known_bytes": "bytes/known",
    "open": "open+resume s",
    "cycles": "cycles/s",
    "cpu": "CPU us/cycle",
    "p50": "p50 ms",
    "p99": "p99 ms",
    "inside_p50": "inside p50",
    "inside_p99": "inside p99",
    "busy": "cycles/s busy",
    "rss": "peak MB",
}
_random = random.Random(1)


class _Clock:
    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def entries(count: int, hosts: int) -> list[Entry]:
    """Links as a crawl has them: URLs of 60 characters, pages of 50 that led there, a callback."""
    made = []
    for _ in range(count):
        host = f"shop{_random.randrange(hosts):03}.example"
        category = _random.randrange(100, 1000)
        url = f"https://{host}/catalogue/category-{category}/item-{_random.getrandbits(32):08x}.html"
        via = f"https://{host}/catalogue/{_random.choice(['category', 'overview'])}-{category}/page-7"
        request = Request(url, callback="parse_product", depth=3, via=via)
        made.append(Entry(request=request, fingerprint=_random.getrandbits(64) - 2**63, host=host))
    return made


def harvest(lease: Lease, outlinks: tuple[Entry, ...]) -> Harvest:
    """What a worker brings back: a page with one item."""
    now = time.time()
    request, fingerprint = lease.entry.request, lease.entry.fingerprint
    return Harvest(
        outcome=Outcome(
            lease=lease,
            verdict=Verdict.SUCCESS,
            is_page=True,
            signal=HostSignal(kind=SignalKind.OK, started_at=now, latency_s=0.05),
            outlinks=outlinks,
        ),
        attempts=(
            Attempt(at=now, url=request.url, fingerprint=fingerprint, verdict=Verdict.SUCCESS, status=200),
        ),
        items=(
            ItemRecord(type="Product", key=str(fingerprint), data=b'{"name":"x","price":"1.00"}', hash=1),
        ),
        page=PageRecord(url=request.url, fingerprint=fingerprint, status=200, title="A product", at=now),
    )


class Crawl:
    """A frontier and a store in one file."""

    def __init__(self, path: Path) -> None:
        self.db = Database(path)
        self.frontier = SqliteFrontier(self.db, JOB.id, Rules(delay_s=0.0, per_host=BATCH), _Clock())
        write = SqliteStore(self.db).write_within
        self.committer = SameFileCommitter(self.db, self.frontier.settle_within, write, JOB)
        self.inside: list[float] = []  # seconds the writer thread took, call by call
        thread = self.db._writer
        work = thread._work

        def timed(conn: Any, calls: Any) -> None:
            before = time.perf_counter()
            work(conn, calls)
            self.inside.append(time.perf_counter() - before)

        thread._work = timed  # type: ignore[method-assign]

    async def fill(self, count: int, hosts: int) -> float:
        """Requests added per second."""
        took = 0.0
        for at in range(0, count, 5000):
            batch = entries(min(5000, count - at), hosts)
            before = time.perf_counter()
            await self.frontier.add(batch)
            took += time.perf_counter() - before
        return count / took

    async def live(self, seconds: float, hosts: int) -> dict[str, float]:
        """Life cycles; only the calls are timed, not what the benchmark makes up between them."""
        took, inside, spent, cpu, done = [], [], 0.0, 0.0, 0
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            started, used = time.perf_counter(), time.process_time()
            grant = await self.frontier.lease("http", BATCH, 60)
            took.append(time.perf_counter() - started)
            inside.append(self.inside[-1])
            spent, cpu = spent + took[-1], cpu + time.process_time() - used
            links = entries(BATCH, hosts)
            batch = [harvest(lease, (link,)) for lease, link in zip(grant.leases, links, strict=True)]
            started, used = time.perf_counter(), time.process_time()
            assert all(await self.committer.commit(batch))
            spent, cpu = spent + time.perf_counter() - started, cpu + time.process_time() - used
            done += len(batch)
        return {
            "cycles": done / spent,
            "cpu": cpu / done * 1e6,
            "p50": _share(took, 0.5) * 1e3,
            "p99": _share(took, 0.99) * 1e3,
            "inside_p50": _share(inside, 0.5) * 1e3,
            "inside_p99": _share(inside, 0.99) * 1e3,
        }


async def one(hosts: int, pending: int, known: int, seconds: float) -> dict[str, float]:
    """The figures of one table row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crawl.db"
        crawl = Crawl(path)
        found = {"hosts": hosts, "add": await crawl.fill(pending, hosts)}
        crawl.db.close()
        found["bytes"] = path.stat().st_size / pending
        crawl = Crawl(path)
        if known > pending:
            await crawl.db.run(lambda conn: conn.executemany(_SEEN, _known(known - pending)))
        for _ in range(4):
            await crawl.frontier.lease("http", BATCH, 60)  # by a worker that will not come back
        crawl.db.close()
        found["known_bytes"] = path.stat().st_size / max(known, pending)

        started = time.perf_counter()
        crawl = Crawl(path)
        taken = await crawl.frontier.control(Change.RECOVER)
        grant = await crawl.frontier.lease("http", BATCH, 60)
        found["open"] = time.perf_counter() - started
        assert taken
        assert grant.leases
        await crawl.committer.commit([harvest(lease, ()) for lease in grant.leases])
        found |= await crawl.live(seconds, hosts)
        stop = threading.Event()
        threading.Thread(target=_busy, args=(stop,), daemon=True).start()
        found["busy"] = (await crawl.live(seconds / 2, hosts))["cycles"]
        stop.set()
        crawl.db.close()
        found["rss"] = _peak_mb()
        return found


_SEEN = "INSERT INTO seen (frontier, fingerprint, request) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"


def _known(count: int) -> Iterator[tuple[int, int, int]]:
    """Done requests: the file keeps only their fingerprints. In order, which is quick to write."""
    step = 2**64 // count
    return ((1, number * step - 2**63 + _random.randrange(step), number) for number in range(count))


def _busy(stop: threading.Event) -> None:
    """What parsing does to the interpreter lock."""
    while not stop.is_set():
        sum(range(1000))


def _share(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _table(rows: list[dict[str, float]]) -> None:
    print("  ".join(COLUMNS.values()))
    for row in rows:
        cells = (f"{row[name]:{len(title)}.{_digits(row[name])}f}" for name, title in COLUMNS.items())
        print("  ".join(cells))


def _digits(value: float) -> int:
    return 0 if value >= 100 or value == int(value) else 2


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pending", type=int, default=200_000)
    parser.add_argument("--known", type=int, default=0, help="fingerprints, those of the pending included")
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 1000])
    parser.add_argument("--seconds", type=float, default=8.0, help="of life cycles")
    parser.add_argument("--json", action="store_true", help="one row, in this process")
    options = parser.parse_args()
    if options.json:
        figures = asyncio.run(one(options.hosts[0], options.pending, options.known, options.seconds))
        print(json.dumps(figures))
    else:
        rows = []
        for hosts in options.hosts:
            command = [sys.executable, *sys.argv, "--json", "--hosts", str(hosts)]
            rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
        _table(rows)
