"""Where one request stands."""

from gossamer.core.hosts import Rules
from gossamer.core.position import Place
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Outcome, Verdict
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.frontier.sqlite.position import look
from gossamer.testing.clock import ManualClock


def entry(number, priority=0, host="a"):
    request = Request(f"http://{host}/{number}", priority=priority)
    return Entry(request=request, fingerprint=number, host=host)


async def test_place_of_waiting_leased_and_dead(tmp_path):
    db, clock = Database(tmp_path / "x.db"), ManualClock()
    rules = Rules(delay_s=1.0, max_pages_per_host=7)
    frontier = SqliteFrontier(db, "job", rules, clock)
    SqliteFrontier(db, "other", Rules(), clock)
    await frontier.add([entry(1), entry(2), entry(3, priority=1), entry(4, host="b")])
    found, place = await look(db, "job", 2)
    assert found == rules
    assert place.ahead == 2
    assert (await look(db, "job", 3))[1].ahead == 0
    assert (await look(db, "job", 9))[1] == Place()
    assert (await look(db, "other", 2)) == (Rules(), Place())
    now = clock.now()
    leases = (await frontier.lease("http", 10, 60.0)).leases
    held = (await look(db, "job", 3))[1]
    assert (held.granted_at, held.deadline) == (now, now + 60.0)
    assert (await look(db, "job", 2))[1].ahead == 1
    await frontier.settle([Outcome(lease=lease, verdict=Verdict.DEAD, reason="client") for lease in leases])
    letters = {letter.entry.fingerprint: letter for letter in await frontier.dead(_all())}
    dead = (await look(db, "job", 3))[1]
    assert (dead.died_at, dead.number) == (letters[3].died_at, letters[3].id)
    db.close()


def _all():
    from gossamer.core.jobs import DeadFilter

    return DeadFilter()
