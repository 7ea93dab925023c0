"""The cost of the stores alone. Run: make bench-store, or python benchmarks/store.py --only postgres

Each in an empty back end: new items, the same ones found unchanged (by the same job, and by another one), the
same ones changed, and rows of the ledger. Nothing is fetched or parsed; results are made before. Batches have
``--batch`` items; ``--writers`` batches run concurrently. ``rows written`` are the rows of the table of items
that PostgreSQL wrote, by its own statistics: none for unchanged items, except for the mark of a second job.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from cluster_servers import postgres_server
from msgspec.structs import replace

from gossamer.core.jobs import Job
from gossamer.core.results import ItemRecord, VisitResult
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sqlite.database import Database
from gossamer.ports.store import Store
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.store_harness import make_item, make_visit_result

KINDS = ("sqlite", "postgres")
PER_PAGE = 10
JOBS = [Job(id=f"shop-{number}", name="shop", target="t", created_at=0.0) for number in (1, 2)]
UPDATED = "SELECT coalesce(sum(n_tup_upd), 0) FROM pg_stat_user_tables WHERE relname = 'item'"
STATISTICS_S = 1.5
"""The time after which PostgreSQL has counted its writes."""


def make_results(items: int, at: float, price: int) -> list[VisitResult]:
    """Pages of ten items each; an item has ten fields and some 300 bytes."""
    return [
        make_visit_result(
            *(_item(page * PER_PAGE + n, price) for n in range(PER_PAGE)), at=at, number=page + 1
        )
        for page in range(items // PER_PAGE)
    ]


def _item(number: int, price: int) -> ItemRecord:
    fields = "".join(f',"field_{n}":"value {n} of item {number}"' for n in range(8))
    data = f'{{"sku":"{number:08}","price":{price}{fields}}}'.encode()
    return make_item(f"{number:08}", data, url=f"http://a/{number // PER_PAGE + 1}")


async def measure(store: Store, args: argparse.Namespace, written: Callable[[], Awaitable[int]]) -> None:
    """All steps, a line each."""
    steps = (
        ("new", JOBS[0], 100.0, 1),
        ("found again as they were", JOBS[0], 200.0, 1),
        ("found as they were by another job", JOBS[1], 300.0, 1),
        ("changed", JOBS[1], 400.0, 2),
    )
    for name, job, at, price in steps:
        results = [replace(result, attempts=()) for result in make_results(args.items, at, price)]
        before = await written()
        seconds = await _in_batches(args, results, lambda batch, job=job: store.write(job, batch))  # type: ignore[misc]
        rows = await written() - before
        print(f"  items {name:36} {args.items / seconds:>10,.0f}/s  rows written {rows:>9,}", flush=True)
    attempt = make_visit_result(at=500.0).attempts[0]
    attempts = [
        replace(attempt, fingerprint=n, url=f"http://a/{n}", at=500.0 + n / 1e3) for n in range(args.rows)
    ]
    seconds = await _in_batches(
        args, attempts, lambda batch: store.record_attempts(JOBS[0], batch), args.ledger_batch
    )
    print(f"  rows of the ledger {'':29} {args.rows / seconds:>10,.0f}/s", flush=True)


async def _in_batches(
    args: argparse.Namespace,
    values: Sequence[Any],
    write: Callable[[Sequence[Any]], Awaitable[None]],
    size: int | None = None,
) -> float:
    """The seconds that it took."""
    size = size or max(1, args.batch // PER_PAGE)
    batches = [values[start : start + size] for start in range(0, len(values), size)]
    batches.reverse()

    async def work() -> None:
        while batches:
            await write(batches.pop())

    begin = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(args.writers)))
    return time.perf_counter() - begin


@asynccontextmanager
async def sqlite_store(
    folder: Path, args: argparse.Namespace
) -> AsyncIterator[tuple[Store, Callable[[], Awaitable[int]]]]:
    """A store in a new file."""

    async def written() -> int:
        return 0  # it does not say

    with closing(Database(folder / "store.db")) as db:
        yield SqliteStore(db, history=args.history, follows_changes=args.follow), written


@asynccontextmanager
async def postgres_store(
    folder: Path, args: argparse.Namespace
) -> AsyncIterator[tuple[Store, Callable[[], Awaitable[int]]]]:
    """A store on a server of its own."""

    async def written(server: PostgresServer) -> int:
        await asyncio.sleep(STATISTICS_S)
        return int(await server.run(lambda conn: conn.fetchval(UPDATED)))

    with postgres_server(folder / "postgres.log") as process:
        server = make_server(process.url, connections=args.writers)
        try:
            store = PostgresStore(server, history=args.history, follows_changes=args.follow)
            yield store, lambda: written(server)
        finally:
            await server.close()


async def run(kind: str, args: argparse.Namespace) -> None:
    """One kind of store."""
    print(f"{kind}: {args.items:,} items, batches of {args.batch}, {args.writers} writers", flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-store-") as folder:
        opener = {"sqlite": sqlite_store, "postgres": postgres_store}[kind]
        async with opener(Path(folder), args) as (store, written):
            await measure(store, args, written)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=KINDS, action="append", help="one of the stores")
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=500_000, help="of the ledger")
    parser.add_argument("--batch", type=int, default=1000, help="items that are written at once")
    parser.add_argument("--ledger-batch", type=int, default=5000)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--history", action="store_true")
    parser.add_argument("--follow", action="store_true", help="note changes for outputs")
    args = parser.parse_args()
    for kind in args.only or KINDS:
        asyncio.run(run(kind, args))


if __name__ == "__main__":
    main()
