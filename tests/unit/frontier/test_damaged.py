"""What is damaged in a frontier is a dead letter with its reason, and costs nothing else."""

import pytest
from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.results import Verdict, VisitResult
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.engine.parts import ShiftOptions
from gossamer.engine.visit import Visitor
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome
from kit.engine import CALM, Kit, virtually
from kit.servers import on_servers

EASY = FrontierRules(delay_s=0.0, per_host=9)
DAMAGES = ["?no url", "pa\tb\nc", "", "p/\tx", "\t\t\t\t\t\t{"]


@pytest.fixture(params=["sqlite", *on_servers("redis")])
async def frontier(request, tmp_path):
    """A frontier of three requests, and how the stored form of the second one is overwritten."""
    clock = ManualClock()
    if request.param == "sqlite":
        db = Database(tmp_path / "x.db")
        opened = SqliteFrontier(db, "j", EASY, clock)

        async def damage(text):
            sql = "update entry set record = ? where fingerprint = 2"
            assert db.run_sync(lambda conn: conn.execute(sql, (text,)).rowcount) == 1

        await opened.add([make_entry(n) for n in (1, 2, 3)])
        yield opened, damage
        db.close()
        return
    server = RedisServer(request.getfixturevalue("redis_url"))
    opened = RedisFrontier(server, "j", EASY, clock, uses_server_time=False)
    await opened.create_shards()

    async def overwrite(text):
        (key,) = await server.run_command("KEYS", "*:q:*")
        element = await server.run_command("LINDEX", key, 1)
        await server.run_command("LSET", key, 1, element[:15] + text.encode())

    await opened.add([make_entry(n) for n in (1, 2, 3)])
    yield opened, overwrite
    await server.close()


@pytest.mark.parametrize("text", DAMAGES)
async def test_a_damaged_request_is_leased_with_what_is_known_of_it(frontier, text):
    opened, damage = frontier
    await damage(text)
    leases = (await opened.lease("http", 9, 60)).leases
    assert [lease.entry.fingerprint for lease in leases] == [1, 2, 3]
    broken = leases[1].entry
    assert (broken.host, bool(broken.unreadable)) == (make_entry(1).host, True)
    assert [bool(lease.entry.unreadable) for lease in leases] == [False, True, False]
    ended = [
        make_outcome(leases[0], Verdict.SUCCESS, 0.0),
        make_outcome(leases[1], Verdict.DEAD, 0.0, reason="unreadable"),
    ]
    assert await opened.settle(ended) == [True, True]
    (letter,) = await opened.dead_letters(DeadLetterFilter())
    assert (letter.reason, letter.entry.host) == ("unreadable", broken.host)
    assert (await opened.find_request(2, broken.host)).state == "dead"
    assert await opened.drop_letters(DeadLetterFilter()) == 1


async def test_bytes_that_are_no_text(redis_url):
    server = RedisServer(redis_url)
    frontier = RedisFrontier(server, "j", EASY, ManualClock(), uses_server_time=False)
    await frontier.create_shards()
    await frontier.add([make_entry(1)])
    (key,) = await server.run_command("KEYS", "*:q:*")
    element = await server.run_command("LINDEX", key, 0)
    await server.run_command("LSET", key, 0, element[:-1] + b"\xff")
    (lease,) = (await frontier.lease("http", 9, 60)).leases
    assert lease.entry.unreadable
    await server.close()


def test_a_visit_makes_it_a_dead_letter_and_asks_nobody():
    async def main():
        kit = Kit(CALM)
        await kit.frontier.add([make_entry(1)])
        (lease,) = (await kit.frontier.lease("http", 1, 60)).leases
        broken = replace(lease, entry=replace(lease.entry, unreadable="a stored request cannot be read"))
        visitor = Visitor(kit.parts, ShiftOptions())
        result = await visitor.visit(visitor.open_attempt(broken))
        assert isinstance(result, VisitResult)
        (attempt,) = result.attempts
        assert (attempt.verdict, attempt.reason) == (Verdict.DEAD, "unreadable")
        assert attempt.detail == "a stored request cannot be read"
        assert kit.site.log == []

    virtually(main)
