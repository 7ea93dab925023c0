"""A crash at every statement of a small crawl: whatever instant the process dies at, nothing is lost.

Before each statement the file and its WAL are copied as they are, which is what a killed process leaves.
Each copy is opened and held against what had been acknowledged by then.
"""

import asyncio
import shutil

import pytest
from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import JobCommand
from gossamer.core.results import Outcome, Verdict
from gossamer.drivers.sqlite.committer import SameFileCommitter
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.store_harness import make_item, make_visit_result

JOB = Job(id="shop-1", name="shop", target="x", created_at=0.0)
RULES = FrontierRules(delay_s=0.0, per_host=2)


class Crawl:
    """A crawl of seven pages at two hosts, where each page has an item; it can be resumed anywhere."""

    def __init__(self, path, clock):
        self.db = Database(path)
        self.frontier = SqliteFrontier(self.db, JOB.id, RULES, clock)
        self.store = SqliteStore(self.db)
        self.committer = SameFileCommitter(
            self.db, self.frontier.settle_within, self.frontier.known_within, self.store.write_within, JOB
        )
        self.clock = clock
        self.acknowledged = 0  # results that the crawl was told are stored

    async def run(self):
        await self.frontier.apply_change(JobCommand.RECOVER)
        self.clock.advance(RULES.backoff_cap_s)  # what was lost waits for a while
        await self.frontier.add([make_entry(1, "a"), make_entry(2, "b")])
        while (grant := await self.frontier.lease("http", 3, 60)).leases:
            self.acknowledged += sum(await self.committer.commit([self.fetch(x) for x in grant.leases]))

    def fetch(self, lease):
        number = lease.entry.fingerprint
        links = tuple(make_entry(n, "ab"[n % 2]) for n in (2 * number, 2 * number + 1) if n < 8)
        return replace(
            make_visit_result(make_item(str(number)), number=number),
            outcome=Outcome(lease=lease, verdict=Verdict.SUCCESS, is_page=True, outlinks=links),
        )


def consistent(conn):
    """The invariants that hold between any two commits."""
    pending, delayed, leased, done, dead, pages = conn.execute(
        "SELECT pending, delayed, leased, done, dead, pages FROM frontier"
    ).fetchone()
    rows = dict(conn.execute("SELECT state, count(*) FROM request GROUP BY state").fetchall())
    assert [rows.get(code, 0) for code in range(4)] == [pending, delayed, leased, dead]
    assert conn.execute("SELECT count(*) FROM seen").fetchone()[0] == pending + delayed + leased + done + dead
    assert conn.execute("SELECT count(*) FROM item").fetchone()[0] == pages == done
    assert conn.execute("SELECT count(*) FROM attempt").fetchone()[0] == done
    assert (conn.execute("SELECT total(state ->> '$.in_flight') FROM pace").fetchone()[0]) == leased
    return done


@pytest.mark.long
def test_a_crash_at_any_statement_loses_nothing_and_doubles_nothing(tmp_path):
    images = []
    clock = ManualClock()
    crawl = Crawl(tmp_path / "live.db", clock)

    def snap(_sql):
        target = tmp_path / f"image{len(images)}.db"
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{tmp_path}/live.db{suffix}", f"{target}{suffix}")
        images.append((target, crawl.acknowledged))

    crawl.db._writer._conn.set_trace_callback(snap)
    asyncio.run(crawl.run())
    crawl.db._writer._conn.set_trace_callback(None)
    crawl.db.close()
    assert crawl.acknowledged == 7
    assert len(images) > 80

    for image, acknowledged in images:
        resumed = Crawl(image, clock)
        assert resumed.db.run_sync(consistent) >= acknowledged
        asyncio.run(resumed.run())
        assert resumed.db.run_sync(consistent) == 7
        resumed.db.close()


@pytest.mark.slow
def test_a_failure_inside_any_statement_changes_nothing(tmp_path):
    """An interrupted statement (as by a full disk) is told to the caller; the same crawl then goes on."""
    clock = ManualClock()
    failures = 0
    for steps in range(20, 1500, 77):
        crawl = Crawl(tmp_path / f"{steps}.db", clock)
        left = [steps]

        def count_down(left=left):
            left[0] -= 1
            return left[0] == 0

        crawl.db._writer._conn.set_progress_handler(count_down, 10)
        try:
            asyncio.run(crawl.run())
        except StorageError:
            failures += 1
        crawl.db._writer._conn.set_progress_handler(None, 0)
        assert crawl.db.run_sync(consistent) >= crawl.acknowledged
        asyncio.run(crawl.run())
        assert crawl.db.run_sync(consistent) == 7
        crawl.db.close()
    assert failures > 3
