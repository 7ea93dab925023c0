"""Where one request stands."""

from gossamer.core.hosts import FrontierRules
from gossamer.core.position import QueuePosition
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Outcome, Verdict
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.frontier.sqlite.position import read_position
from gossamer.testing.clock import ManualClock


def entry(number, priority=0, host="a"):
    request = Request(f"http://{host}/{number}", priority=priority)
    return Entry(request=request, fingerprint=number, host=host)


async def test_place_of_waiting_leased_and_dead(tmp_path):
    db, clock = Database(tmp_path / "x.db"), ManualClock()
    rules = FrontierRules(delay_s=1.0, max_pages_per_host=7)
    frontier = SqliteFrontier(db, "job", rules, clock)
    SqliteFrontier(db, "other", FrontierRules(), clock)
    await frontier.add([entry(1), entry(2), entry(3, priority=1), entry(4, host="b")])
    found, place = await read_position(db, "job", 2)
    assert found == rules
    assert place.ahead == 2
    assert (await read_position(db, "job", 3))[1].ahead == 0
    assert (await read_position(db, "job", 9))[1] == QueuePosition()
    assert (await read_position(db, "other", 2)) == (FrontierRules(), QueuePosition())
    now = clock.now()
    leases = (await frontier.lease("http", 10, 60.0)).leases
    held = (await read_position(db, "job", 3))[1]
    assert (held.granted_at, held.deadline) == (now, now + 60.0)
    assert (await read_position(db, "job", 2))[1].ahead == 1
    await frontier.settle([Outcome(lease=lease, verdict=Verdict.DEAD, reason="client") for lease in leases])
    letters = {letter.entry.fingerprint: letter for letter in await frontier.dead_letters(_all())}
    dead = (await read_position(db, "job", 3))[1]
    assert (dead.died_at, dead.number) == (letters[3].died_at, letters[3].id)
    db.close()


def _all():
    from gossamer.core.jobs import DeadLetterFilter

    return DeadLetterFilter()
