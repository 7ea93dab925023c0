"""The ledger as a person asks for it."""

import pytest

from gossamer.core.results import Attempt, Verdict
from gossamer.drivers.sqlite.database import Database
from gossamer.store import attempts as module
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.ledger import SqliteLedgerReader
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.clock import ManualClock


@pytest.fixture
async def world(tmp_path):
    db = Database(tmp_path / "x.db")
    book = SqliteJobStore(db, ManualClock())
    job, other = await book.create("a", "a"), await book.create("b", "b")
    store = SqliteStore(db)
    rows = [
        Attempt(
            at=float(n),
            url=f"http://{'odd' if n % 2 else 'even.example:81'}/{n}",
            fingerprint=n,
            verdict=Verdict.RETRY if n % 3 == 0 else Verdict.SUCCESS,
            reason="server" if n % 3 == 0 else "",
            status=500 if n % 3 == 0 else 200,
            method="POST" if n % 5 == 0 else "GET",
            flags=(("truncated", "parse_truncated"), ("truncated",), ())[n % 3],
        )
        for n in range(20)
    ]
    await store.record_attempts(job, rows)
    await store.record_attempts(other, rows[:1])
    yield SqliteLedgerReader(db), job, other, rows
    db.close()


async def test_newest_first_and_of_one_job(world):
    ledger, job, other, rows = world
    assert await ledger.find_attempts(job, 100) == rows[::-1]
    assert await ledger.find_attempts(job, 3) == rows[:-4:-1]
    assert await ledger.find_attempts(other, 3) == rows[:1]


@pytest.mark.parametrize("read_at_once", [1, 3, 1000])
async def test_filters_look_as_far_back_as_needed(world, monkeypatch, read_at_once):
    monkeypatch.setattr(module, "ROUND", read_at_once)
    ledger, job, _, rows = world
    at = [[r.at for r in await ledger.find_attempts(job, 2, **which)] for which in (
        {"verdict": "retry"}, {"status": 500, "host": "odd"}, {"host": "even.example:81"},
        {"host": "even.example"}, {"reason": "server"}, {"urls_": ["http://odd/7", "x"]},
        {"urls_": ["http://odd/7"], "status": 500}, {"method": "POST"}, {"flag": "truncated"},
        {"flag": "parse_truncated"}, {"flag": "trunc"}, {"fingerprint": 4},
    )]  # fmt: skip
    assert at == [[18, 15], [15, 9], [18, 16], [], [18, 15], [7], [], [15, 10], [19, 18], [18, 15], [], [4]]
    assert len(await ledger.find_attempts(job, 100, verdict="retry")) == sum(r.status == 500 for r in rows)


async def test_a_page_that_is_not_there(world):
    ledger, job, _, _ = world
    assert await ledger.find_page(job, 1) is None
    assert await ledger.items_on(job, "http://odd/1") == 0
