"""What only the SQL frontier has to prove: its cost, its plans, and many users of one file."""

import asyncio
import random
import re

import pytest

from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder, HostSignal, HostSignalKind
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import JobCommand, RequestState
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Verdict
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.frontier.sqlite import hosts as sqlite_hosts
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.frontier.sqlite.hosts import SQL as HOSTS
from gossamer.frontier.sqlite.session import CODES
from gossamer.frontier.sqlite.session import SQL as FRONTIER
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import fingerprints_of, make_entry, make_outcome

SQL = FRONTIER | HOSTS
FREE = FrontierRules(delay_s=0.0, per_host=64)


@pytest.fixture
def db(tmp_path):
    database = Database(tmp_path / "x.db")
    yield database
    database.close()


def vm_steps(db, work):
    """How many virtual machine steps SQLite takes for ``work``: a cost that no other load changes."""
    count = [0]

    def tick():
        count[0] += 1

    conn = db._writer._conn
    conn.set_progress_handler(tick, 10)
    asyncio.run(work())
    conn.set_progress_handler(None, 0)
    return count[0]


@pytest.mark.parametrize("priority", [0, 1000])
@pytest.mark.parametrize("hosts", [1, 50])
def test_a_lease_costs_the_same_however_much_waits(tmp_path, hosts, priority):
    """Also where each request has a priority of its own."""
    costs = []
    for waiting in (200, 6000):
        db = Database(tmp_path / f"{waiting}.db")
        frontier = SqliteFrontier(db, "j", FREE, ManualClock())
        asyncio.run(
            frontier.add(
                [make_entry(n, f"h{n % hosts}", priority=priority and priority + n) for n in range(waiting)]
            )
        )
        costs.append(vm_steps(db, lambda frontier=frontier: frontier.lease("http", 32, 60)))
        db.close()
    assert costs[1] < costs[0] * 1.2


def test_a_lease_costs_the_same_however_many_hosts_wait_for_their_time(tmp_path):
    costs = []
    for hosts in (50, 3000):
        db, clock = Database(tmp_path / f"{hosts}.db"), ManualClock()
        frontier = SqliteFrontier(db, "j", FrontierRules(delay_s=100.0, per_host=2), clock)
        asyncio.run(frontier.add([make_entry(n, f"h{n % hosts}") for n in range(2 * hosts)]))
        while asyncio.run(frontier.lease("http", 1000, 60)).leases:
            pass  # all hosts have been asked, and now wait
        asyncio.run(frontier.add([make_entry(-n, f"new{n}") for n in range(1, 9)]))
        costs.append(vm_steps(db, lambda frontier=frontier: frontier.lease("http", 8, 60)))
        db.close()
    assert costs[1] < costs[0] * 1.2


@pytest.mark.parametrize("name", sorted(SQL))
def test_no_statement_scans_a_table(db, name):
    sql = SQL[name]
    rows = max(
        2, len(re.findall(r"\w+", (re.search(r"\(([^()]*)\)\s*(?:AS \()?VALUES", sql) or [0, "a b"])[1]))
    )
    sql = sql.replace(":rows", "(" + ", ".join("?" * rows) + ")")
    try:
        slots = max([int(n) for n in re.findall(r"\?(\d)", sql)], default=sql.count("?"))
        plan = db.run_sync(lambda conn: conn.execute("EXPLAIN QUERY PLAN " + sql, ["[]"] * slots).fetchall())
    except Exception as error:  # the number of columns was guessed
        pytest.fail(f"{name}: {error}")
    scans = [row[3] for row in plan if row[3].startswith("SCAN")]
    harmless = (
        "SCAN json_each",
        "SCAN wanted VIRTUAL",
        "SCAN CONSTANT",
        "SCAN bands",
        "SCAN ready",
        "SCAN later",
        "SCAN next_request",
        "SCAN (subquery",
    )
    assert [scan for scan in scans if not scan.startswith(harmless)] == []


async def test_of_jobs_that_were_alone_at_a_host_the_latest_counts(db):
    """Each met a hold when nobody else was there; what a person ordered of one job is not for others."""
    clock, rules = ManualClock(), FrontierRules(delay_s=1.0, per_host=1)
    waits = {"held": None, "first": 60.0, "longest": 90.0, "last": 30.0}
    for name, wait_s in waits.items():
        job = SqliteFrontier(db, name, rules, clock)
        _set_alone(db, "job = ?", name)
        await job.add([make_entry(1), make_entry(2)])
        if wait_s is None:
            await job.steer_host("a.example", HostOrder(command=HostCommand.HOLD, until=clock.now() + 900.0))
            continue
        (lease,) = (await job.lease("http", 9, 60)).leases
        asked_for = HostSignal(
            kind=HostSignalKind.THROTTLED, started_at=clock.now(), latency_s=0.1, retry_after_s=wait_s
        )
        await job.settle([make_outcome(lease, Verdict.SUCCESS, clock.now(), signal=asked_for)])
    _set_alone(db, "? IS NOT NULL", "all of them")
    new = SqliteFrontier(db, "new", rules, clock)
    await new.add([make_entry(1)])
    grant = await new.lease("http", 9, 60)
    assert (grant.leases, grant.next_at) == ((), clock.now() + 90.0)


def _set_alone(db, which, value):
    """Only these jobs are at work, and nothing is known to all."""
    states = f"UPDATE frontier SET state = CASE WHEN {which} THEN 'running' ELSE 'finished' END"
    db.run_sync(lambda conn: conn.execute(states, (value,)))
    db.run_sync(lambda conn: conn.execute("DELETE FROM host_pace"))
    db.memory.clear()


async def test_two_users_of_one_file_never_get_the_same_request(tmp_path):
    clock = ManualClock()
    files = [Database(tmp_path / "x.db") for _ in range(2)]
    users = [SqliteFrontier(db, "j", FREE, clock) for db in files]
    await users[0].add([make_entry(n, f"h{n % 5}") for n in range(200)])

    got = []
    while len(got) < 200:  # at the same time, from two connections
        grants = await asyncio.gather(*(user.lease("http", 7, 60) for user in users))
        assert all(grant.leases for grant in grants) or len(got) > 190
        for user, grant in zip(users, grants, strict=True):
            got += fingerprints_of(grant.leases)
            assert all(
                await user.settle([make_outcome(x, Verdict.SUCCESS, clock.now()) for x in grant.leases])
            )
    assert sorted(got) == list(range(200))
    for db in files:
        db.close()


async def test_what_is_remembered_is_forgotten_when_another_process_writes(tmp_path):
    clock = ManualClock()
    files = [Database(tmp_path / "x.db") for _ in range(2)]
    one, two = (SqliteFrontier(db, "j", FrontierRules(delay_s=5.0, per_host=1), clock) for db in files)
    await one.add([make_entry(1), make_entry(2)])
    (lease,) = (await one.lease("http", 9, 60)).leases
    await two.settle([make_outcome(lease, Verdict.SUCCESS, clock.now())])
    await two.apply_change(JobCommand.PAUSE, FrontierRules(delay_s=1.0))
    assert (await one.lease("http", 9, 60)).leases == ()  # paused
    await two.apply_change(JobCommand.RESUME)
    clock.advance(5)
    assert fingerprints_of((await one.lease("http", 9, 60)).leases) == [2]
    assert await two.settle([make_outcome(lease, Verdict.SUCCESS, clock.now())]) == [False]
    for db in files:
        db.close()


async def test_what_is_remembered_is_forgotten_with_a_call_that_fails(db):
    clock = ManualClock()
    frontier = SqliteFrontier(db, "j", FREE, clock)
    await frontier.add([make_entry(1)])
    (lease,) = (await frontier.lease("http", 1, 60)).leases

    def settle_and_fail(conn):
        assert frontier.settle_within(
            conn, [make_outcome(lease, Verdict.SUCCESS, 0.0, outlinks=(make_entry(2, "b"),))]
        )
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await db.run(settle_and_fail)
    stats = await frontier.read_stats()
    assert (stats.leased, stats.done, stats.hosts) == (1, 0, 1)
    await frontier.add([make_entry(3, "b")])
    stats = await frontier.read_stats()
    assert (stats.pending, stats.leased, stats.done, stats.hosts) == (1, 1, 0, 2)
    assert await frontier.settle([make_outcome(lease, Verdict.SUCCESS, 0.0)]) == [True]


async def test_turns_and_counts_follow_from_the_queue(db):
    """Pace counts what waits, and turns follow from it: both must be what the rows say, after any history."""
    clock = ManualClock()
    frontier = SqliteFrontier(db, "j", FrontierRules(delay_s=None, per_host=2), clock)
    rng = random.Random(4)
    number = 0
    for _ in range(60):
        new = [
            make_entry(
                number + n,
                f"h{rng.randrange(9)}",
                priority=rng.choice([0, 0, 3, 5, 99, -9]),
                lane=rng.choice("hb"),
            )
            for n in range(4)
        ]
        number += 4
        await frontier.add(new)
        grant = await frontier.lease(rng.choice("hb"), 5, 30)
        verdicts = rng.choices([Verdict.SUCCESS, Verdict.RETRY, Verdict.DEAD], k=len(grant.leases))
        ended = [make_outcome(x, v, clock.now()) for x, v in zip(grant.leases, verdicts, strict=True)]
        await frontier.settle(ended[1:])
        await frontier.release(grant.leases[:1], [HostSignal()] * len(grant.leases[:1]))
        await frontier.revive_letters(DeadLetterFilter(host="h3"))
        clock.advance(rng.random())
        assert db.run_sync(_turns) == db.run_sync(_implied_turns)
        counted = db.run_sync(lambda conn: conn.execute(_COUNTED).fetchall())
        assert counted == db.run_sync(lambda conn: conn.execute(_WAITING).fetchall())


_COUNTED = "SELECT host, lane, min(max(rank, 0), 8), count(*) FROM queue GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
_WAITING = """
    SELECT host, lanes.key, CAST(bands.key AS INTEGER), bands.value
    FROM pace, json_each(waiting) AS lanes, json_each(lanes.value) AS bands ORDER BY 1, 2, 3
"""


def _turns(conn):
    return conn.execute("SELECT host, lane, band, next_at FROM turn ORDER BY 1, 2").fetchall()


def _implied_turns(conn):
    return conn.execute("""
        SELECT queue.host, lane, min(max(min(rank), 0), 8), coalesce(state ->> '$.next_at', 0.0)
        FROM queue JOIN pace ON pace.host = queue.host WHERE coalesce(state ->> '$.in_flight', 0) < 2
        GROUP BY 1, 2 ORDER BY 1, 2
    """).fetchall()


async def test_more_hosts_than_are_remembered(db, monkeypatch):
    monkeypatch.setattr(sqlite_hosts, "KEPT", 3)
    frontier = SqliteFrontier(db, "j", FREE, ManualClock())
    await frontier.add([make_entry(n, f"h{n}") for n in range(20)])
    got = []
    while leases := (await frontier.lease("http", 6, 60)).leases:
        got += fingerprints_of(leases)
        assert all(await frontier.settle([make_outcome(x, Verdict.SUCCESS, 0.0) for x in leases]))
    assert sorted(got) == list(range(20))


async def test_a_pending_link_takes_little_room(tmp_path):
    db = Database(tmp_path / "x.db")
    frontier, rng = SqliteFrontier(db, "j", FREE, ManualClock()), random.Random(1)
    for start in range(0, 20_000, 1000):
        links = []
        for n in range(start, start + 1000):
            host = f"shop{n % 50:03}.example"
            url = f"https://{host}/catalogue/category-{n % 999:03}/item-{n:08}.html"
            via = f"https://{host}/catalogue/overview-{n % 999:03}/page-7"
            request = Request(url, callback="parse_product", depth=3, via=via)
            links.append(Entry(request=request, fingerprint=rng.getrandbits(64) - 2**63, host=host))
        await frontier.add(links)
    db.close()
    assert (tmp_path / "x.db").stat().st_size / 20_000 < 170


async def test_calls_of_many_tasks_commit_together_and_stay_apart(db):
    frontier = SqliteFrontier(db, "j", FREE, ManualClock())
    added = await asyncio.gather(*(frontier.add([make_entry(n), make_entry(n // 2)]) for n in range(100)))
    assert sum(x.accepted for x in added) == 100
    grants = await asyncio.gather(*(frontier.lease("http", 1, 60) for _ in range(100)))
    assert len({x.token for grant in grants for x in grant.leases}) == 64  # per_host


async def test_many_overdue_leases_are_taken_back_in_bounded_rounds(db):
    clock = ManualClock()
    for frontier in (
        SqliteFrontier(db, "j", FrontierRules(delay_s=0.0, per_host=2000), clock),
        MemoryFrontier(FrontierRules(delay_s=0.0, per_host=2000), clock),
    ):
        await frontier.add([make_entry(n) for n in range(700)])
        await frontier.lease("http", 700, 10)
        clock.advance(10)
        first, second = await frontier.lease("http", 0, 10), await frontier.lease("http", 0, 10)
        assert (len(first.expired), len(second.expired)) == (500, 200)
        assert first.next_at <= clock.now()


async def test_a_lease_for_another_job_is_refused(db):
    clock = ManualClock()
    one, two = SqliteFrontier(db, "one", FREE, clock), SqliteFrontier(db, "two", FREE, clock)
    await one.add([make_entry(1)])
    await two.add([make_entry(2)])
    (mine,), (theirs,) = [(await f.lease("http", 1, 60)).leases for f in (one, two)]
    assert mine.token == theirs.token
    assert await two.settle([make_outcome(mine, Verdict.SUCCESS, 0.0)]) == [False]
    assert await two.settle([make_outcome(theirs, Verdict.SUCCESS, 0.0)]) == [True]


async def test_an_idle_memory_frontier_keeps_no_garbage():
    clock = ManualClock()
    frontier = MemoryFrontier(FrontierRules(delay_s=1.0), clock)
    await frontier.add([make_entry(n, f"h{n}") for n in range(3)])
    for _ in range(500):
        leases = (await frontier.lease("http", 9, 60)).leases
        await frontier.extend(leases, 30)
        await frontier.release(leases, [HostSignal()] * len(leases))
        clock.advance(1)
    assert len(frontier._deadlines) < 1000
    assert sum(len(heap) for heap in frontier._schedule._turns["http"]) < 50


async def test_states_in_sql_are_those_of_the_table(db):
    assert set(CODES) == set(RequestState) - {RequestState.DONE}
    frontier = SqliteFrontier(db, "j", FREE, ManualClock())
    await frontier.add([make_entry(1), make_entry(2, due_at=2e9)])
    (lease,) = (await frontier.lease("http", 1, 60)).leases
    await frontier.settle([make_outcome(lease, Verdict.DEAD, 0.0, reason="x'); DROP TABLE request; --")])
    (letter,) = await frontier.dead_letters(DeadLetterFilter(reason="x'); DROP TABLE request; --"))
    assert letter.entry.request == Request("http://a.example/1")
