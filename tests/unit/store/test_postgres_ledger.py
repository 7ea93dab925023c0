"""The ledger in PostgreSQL as a person asks for it."""

import pytest
from msgspec.structs import replace

from gossamer.core.results import Attempt, Verdict
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.store import attempts as module
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.ledger import PostgresLedgerReader
from gossamer.store.postgres.store import PostgresStore
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.store import make_item, make_visit_result


@pytest.fixture
async def world(postgres_url):
    server = PostgresServer(postgres_url)
    book, store = PostgresJobStore(server, ManualClock()), PostgresStore(server)
    job, other = await book.create("a", "a"), await book.create("b", "b")
    rows = [
        Attempt(
            at=50_000.0 * n,  # over several days
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
    yield PostgresLedgerReader(server), job, other, rows, store
    await server.close()


async def test_newest_first_and_of_one_job(world):
    ledger, job, other, rows, _ = world
    assert await ledger.find_attempts(job, 100) == rows[::-1]
    assert await ledger.find_attempts(job, 3) == rows[:-4:-1]
    assert await ledger.find_attempts(other, 3) == rows[:1]


@pytest.mark.parametrize("read_at_once", [1, 3, 1000])
async def test_filters_look_as_far_back_as_needed(world, monkeypatch, read_at_once):
    monkeypatch.setattr(module, "ROUND", read_at_once)
    ledger, job, _, rows, _ = world
    found = [[r.fingerprint for r in await ledger.find_attempts(job, 2, **which)] for which in (
        {"verdict": "retry"}, {"status": 500, "host": "odd"}, {"host": "even.example:81"},
        {"host": "even.example"}, {"reason": "server"}, {"urls_": ["http://odd/7", "x"]},
        {"urls_": ["http://odd/7"], "status": 500}, {"method": "POST"}, {"flag": "truncated"},
        {"flag": "parse_truncated"}, {"flag": "trunc"}, {"fingerprint": 4},
    )]  # fmt: skip
    assert found == [
        [18, 15],
        [15, 9],
        [18, 16],
        [],
        [18, 15],
        [7],
        [],
        [15, 10],
        [19, 18],
        [18, 15],
        [],
        [4],
    ]
    assert len(await ledger.find_attempts(job, 100, verdict="retry")) == sum(r.status == 500 for r in rows)


async def test_a_page_and_its_items(world):
    ledger, job, other, _, store = world
    assert await ledger.find_page(job, 1) is None
    assert await ledger.items_on(job, "http://a/1") == 0
    found = make_visit_result(make_item("1"), make_item("2"), at=3)
    await store.write(job, [found])
    assert await ledger.find_page(job, 1) == found.page
    assert await ledger.find_page(other, 1) is None
    assert await ledger.items_on(job, "http://a/1") == 2
    newer = replace(found.page, at=9.0, title="new")
    await store.write(job, [replace(found, page=newer)])
    assert await ledger.find_page(job, 1) == newer
