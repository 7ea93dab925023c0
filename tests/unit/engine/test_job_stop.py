"""The stop of a job belongs to one run of it."""

from __future__ import annotations

from gossamer.core.jobs import Job, tag_of
from gossamer.engine.job_stop import JobStop, begin_next_run, read_stop
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock

RUNNING = Job(id="shop-1", name="shop", target="shop", created_at=0.0)
ENDED = Job(id="shop-1", name="shop", target="shop", created_at=0.0, finished_at=1.0)
TAG = tag_of(RUNNING)


async def open_stop(shared: MemorySharedState) -> JobStop:
    stop = JobStop(shared, TAG)
    await stop.begin()
    return stop


async def test_the_first_reason_counts_until_the_next_run() -> None:
    shared = MemorySharedState(ManualClock())
    stop = await open_stop(shared)
    await stop.note("enough of it")
    await stop.note("late")
    assert await read_stop(shared, TAG) == "enough of it"
    await begin_next_run(shared, ENDED)
    assert await read_stop(shared, TAG) == ""


async def test_a_worker_of_an_earlier_run_does_not_end_the_next_one() -> None:
    shared = MemorySharedState(ManualClock())
    former = await open_stop(shared)
    await begin_next_run(shared, ENDED)
    await former.note("enough")
    assert await read_stop(shared, TAG) == ""
    present = await open_stop(shared)
    await present.note("too much")
    await former.note("enough")
    assert await read_stop(shared, TAG) == "too much"


async def test_a_job_that_is_resumed_while_it_runs_keeps_its_stop() -> None:
    """A pause is not an end, either: what was asked for meanwhile is still to be heard."""
    shared = MemorySharedState(ManualClock())
    stop = await open_stop(shared)
    await stop.note("enough")
    await begin_next_run(shared, RUNNING)
    assert await read_stop(shared, TAG) == "enough"
