"""A batch that cannot be recorded as a whole is recorded page by page, and no page of it counts twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.core.events import LeaseLostEvent
from gossamer.core.hosts import FrontierRules
from gossamer.core.lifecycle import JobCommand
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Outcome, Verdict, VisitResult
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.committer import SameFileCommitter
from gossamer.drivers.sqlite.database import Database
from gossamer.engine.admission import Admission
from gossamer.engine.recorder import ResultRecorder, without_secrets
from gossamer.engine.store_then_settle import SplitCommitter
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.policy.scope import Scope
from gossamer.policy.urls import UrlOptions
from gossamer.ports.committer import Committer
from gossamer.ports.frontier import Frontier
from gossamer.ports.store import Store
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from kit.engine import JOB, Events
from kit.servers import on_servers

RULES = FrontierRules(delay_s=0.0, per_host=64)
BAD = 2


@asynccontextmanager
async def in_one_file(folder: Path) -> AsyncIterator[tuple[Frontier, Store, Committer]]:
    with closing(Database(folder / "gossamer.db")) as db:
        frontier, store = SqliteFrontier(db, JOB.id, RULES, ManualClock()), SqliteStore(db)
        yield (
            frontier,
            store,
            SameFileCommitter(db, frontier.settle_within, frontier.known_within, store.write_within, JOB),
        )


@asynccontextmanager
async def in_two_places(
    redis_url: str, postgres_url: str
) -> AsyncIterator[tuple[Frontier, Store, Committer]]:
    async with AsyncExitStack() as opening:
        redis, postgres = RedisServer(redis_url), make_server(postgres_url)
        opening.push_async_callback(redis.close)
        opening.push_async_callback(postgres.close)
        frontier = RedisFrontier(redis, JOB.id, RULES, ManualClock(), uses_server_time=False)
        await frontier.create_shards()
        store = PostgresStore(postgres)
        yield frontier, store, SplitCommitter(frontier, store, JOB)


def brought_by(lease: Lease) -> VisitResult:
    """A page with an item and a link; that of the bad page holds what no frontier can store."""
    number = lease.entry.fingerprint
    link = make_entry(100 + number)
    if number == BAD:
        link.request.meta["junk"] = object()
    outcome = Outcome(lease=lease, verdict=Verdict.SUCCESS, is_page=True, outlinks=(link,))
    return replace(
        make_visit_result(make_item(str(number)), number=number, at=lease.granted_at), outcome=outcome
    )


Making = Callable[[], AbstractAsyncContextManager[tuple[Frontier, Store, Committer]]]


@pytest.fixture(params=["sqlite", *on_servers("postgres")])
def making(tmp_path: Path, request: pytest.FixtureRequest) -> Making:
    if request.param == "sqlite":
        return lambda: in_one_file(tmp_path)
    urls = [request.getfixturevalue(name) for name in ("redis_url", "postgres_url")]
    return lambda: in_two_places(*urls)


def landing_of(committer: Committer, store: Store, events: Events) -> ResultRecorder:
    return ResultRecorder(JOB, committer, store, Admission(Scope([]), UrlOptions(), JOB.key), events)


async def test_what_cannot_be_stored_is_one_dead_letter_and_the_others_count_once(making: Making) -> None:
    async with making() as (frontier, store, committer):
        await frontier.add([make_entry(number) for number in (1, BAD, 3)])
        leases = (await frontier.lease("http", 9, 60.0)).leases
        await landing_of(committer, store, Events()).record_results([brought_by(lease) for lease in leases])
        stats = await frontier.read_stats()
        assert (stats.done, stats.dead, stats.pending) == (2, 1, 2)
        for number in (1, 3):
            (row,) = await store.latest_attempts(JOB, f"http://a/{number}")
            assert row.verdict is Verdict.SUCCESS
        latest, *_ = await store.latest_attempts(JOB, f"http://a/{BAD}")
        assert (latest.verdict, latest.reason) == (Verdict.DEAD, "callback")
        assert "objects of type object" in latest.detail
        assert (await store.read_totals(JOB)).duplicates == 0


@pytest.mark.slow
async def test_the_ledger_says_which_rows_are_of_leases_that_were_lost(making: Making) -> None:
    async with making() as (frontier, store, committer):
        await frontier.add([make_entry(1), make_entry(3)])
        lost = (await frontier.lease("http", 1, 60.0)).leases
        await frontier.apply_change(JobCommand.RECOVER)
        leases = (await frontier.lease("http", 9, 60.0)).leases
        kept = [lease for lease in leases if lease.entry.fingerprint != lost[0].entry.fingerprint]
        events = Events()
        await landing_of(committer, store, events).record_results(
            [brought_by(lease) for lease in (*lost, *kept)]
        )
        assert [event.url for event in events.of(LeaseLostEvent)] == ["http://a/1"]
        rows = await store.latest_attempts(JOB)
        assert sorted((row.url, row.reason) for row in rows) == [("http://a/1", "stale"), ("http://a/3", "")]
        tally = await store.read_totals(JOB)
        assert (tally.attempts, tally.successes, tally.by_reason) == (2, 1, {"stale": 1})


def test_reasons_that_differ_in_a_secret_alone_are_counted_together() -> None:
    request = Request("http://a.example/1", meta={"password": "hush-hush", "token": "hush-still"})
    entry = Entry(request=request, fingerprint=1, host="a.example")
    lease = Lease(entry=entry, token=1, attempt=1, granted_at=1.0, start_by=2.0, deadline=3.0)
    made = replace(brought_by(lease), dropped={"no hush-hush": 2, "no hush-still": 3, "odd": 1})
    assert without_secrets(made).dropped == {"no ***": 5, "odd": 1}
