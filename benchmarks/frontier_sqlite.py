"""How fast the frontier and the store in one SQLite file are. Run: python benchmarks/frontier_sqlite.py

Prints: URL life-cycles/s (lease 64, settle with outlinks, item, page and ledger row, through the async
API), a lease's p50 and p99, the cost of a page of 300 known links, look-ups/s, bytes per known URL.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

from gossamer.disk.committer import SameFileCommitter
from gossamer.disk.database import Database
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.store.sqlite import SqliteStore
from gossamer.words.model import (
    Attempt,
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
LINKS = 300
_random = random.Random(1)


class _Clock:
    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def entries(count: int, hosts: int) -> list[Entry]:
    """Entries as a crawl has them: an 80-byte URL, the page it came from, a callback."""
    made = []
    for _ in range(count):
        host = f"shop{_random.randrange(hosts)}.example"
        url = (
            f"https://{host}/catalogue/category-{_random.randrange(999)}/item-{_random.getrandbits(40):012x}"
        )
        request = Request(url, callback="parse_product", depth=3, via=f"https://{host}/catalogue/page-7.html")
        made.append(Entry(request=request, fingerprint=_random.getrandbits(64) - 2**63, host=host))
    return made


def harvest(lease: Lease, outlinks: tuple[Entry, ...]) -> Harvest:
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


async def life_cycles(
    frontier: SqliteFrontier,
    committer: SameFileCommitter,
    seconds: float,
    fresh: list[Entry],
    known: list[Entry],
) -> tuple[float, list[float]]:
    """Life-cycles per second, and each lease's seconds; every page brings one new link and ``known``."""
    done, took = 0, []
    started = time.perf_counter()
    while time.perf_counter() - started < seconds and len(fresh) >= BATCH:
        before = time.perf_counter()
        grant = await frontier.lease("http", BATCH, 60)
        took.append(time.perf_counter() - before)
        batch = [harvest(lease, (fresh.pop(), *known)) for lease in grant.leases]
        accepted = await committer.commit(batch)
        assert all(accepted)
        done += len(accepted)
    return done / (time.perf_counter() - started), took


async def main(pending: int, hosts: int, seconds: float, delay_s: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crawl.db"
        db = Database(path)
        rules = Rules(delay_s=delay_s, per_host=BATCH)
        frontier = SqliteFrontier(db, "shop-1", rules, _Clock())
        job = Job(id="shop-1", name="shop", target="shop", created_at=0.0)
        committer = SameFileCommitter(db, frontier.settle_within, SqliteStore(db).write_within, job)
        seeds = entries(pending, hosts)
        started = time.perf_counter()
        for at in range(0, pending, 5000):
            await frontier.add(seeds[at : at + 5000])
        print(f"add                     {pending / (time.perf_counter() - started):10.0f} URLs/s")
        size = sum(file.stat().st_size for file in path.parent.iterdir())
        print(f"file after adding       {size / pending:10.0f} bytes/pending URL (WAL included)")

        fresh = entries(60_000, hosts)
        rate, took = await life_cycles(frontier, committer, seconds, fresh, [])
        _report("life-cycles", rate, took)
        rate, took = await life_cycles(frontier, committer, seconds, fresh, _random.sample(seeds, 20))
        _report("... with 20 known links", rate, took)

        grant = await frontier.lease("http", BATCH, 60)
        settle_s = []
        for lease in grant.leases:
            page = harvest(lease, tuple(_random.sample(seeds, LINKS)))
            before = time.perf_counter()
            await committer.commit([page])
            settle_s.append(time.perf_counter() - before)
        print(
            f"commit, {LINKS} known links   {statistics.median(settle_s) * 1e3:10.3f} ms a page, one by one"
        )
        grant = await frontier.lease("http", BATCH, 60)
        batch = [harvest(lease, tuple(_random.sample(seeds, LINKS))) for lease in grant.leases]
        before = time.perf_counter()
        await committer.commit(batch)
        took_s = time.perf_counter() - before
        print(f"                        {took_s * 1e3 / BATCH:10.3f} ms a page, {BATCH} at once")
        before = time.perf_counter()
        for at in range(0, pending, 5000):
            await frontier.add(seeds[at : at + 5000])
        print(f"duplicate checks        {pending / (time.perf_counter() - before):10.0f} /s")

        stop = threading.Event()
        threading.Thread(target=_busy, args=(stop,), daemon=True).start()
        rate, took = await life_cycles(frontier, committer, seconds, fresh, [])
        stop.set()
        _report("beside a busy thread", rate, took)
        db.close()


def _busy(stop: threading.Event) -> None:
    while not stop.is_set():
        sum(range(1000))


def _report(name: str, rate: float, took: list[float]) -> None:
    p99 = sorted(took)[int(len(took) * 0.99)]
    median = statistics.median(took)
    print(f"{name:<24}{rate:10.0f} /s   lease of {BATCH}: p50 {median * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pending", type=int, default=100_000)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--delay", type=float, default=0.0)
    options = parser.parse_args()
    asyncio.run(main(options.pending, options.hosts, options.seconds, options.delay))
