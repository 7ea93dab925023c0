"""What is said of the runs of a schedule."""

from __future__ import annotations

from types import SimpleNamespace

from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.queries.schedules import read_schedule
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.schedules import MemoryScheduleStore
from gossamer.testing.clock import ManualClock


async def test_a_run_that_cannot_begin_waits_and_says_why():
    """A bug it would catch: it is called running while a server is away, and nobody hears of that."""

    async def read_place():
        return "here"

    schedule = Schedule(name="nightly", cron="0 0 * * *", place="here", target="shop", job_name="shop")
    schedules, book = MemoryScheduleStore(), MemoryJobStore(ManualClock())
    backends = SimpleNamespace(schedules=schedules, book=book, read_place=read_place)
    await backends.schedules.add_schedule(schedule)
    run = ScheduledRun(schedule="nightly", due_at=1.0, key="0" * 32, started_at=2.0, detail="Redis is away")
    await backends.schedules.claim_run(schedule, run)
    (found,) = (await read_schedule(backends, schedule, 3.0, 5)).runs
    assert (found.outcome, found.detail) == ("waiting", "Redis is away")
