"""The duties of the supervisor that leads, on virtual time."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

import pytest

from gossamer.core.errors import StorageError
from gossamer.core.lifecycle import JobState
from gossamer.fleet.duties import AGAIN_S, FIRST_S
from kit.virtual_fleet import play


@dataclass
class NotedDuty:
    """Remembers when it was run; fails as it is told to."""

    name: str = "noted"
    every_s: float = 600.0
    error: BaseException | None = None
    hangs: bool = False
    runs: list[float] = field(default_factory=list)

    async def run(self, now):
        self.runs.append(now)
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error


@pytest.mark.slow
@play
async def test_a_duty_is_run_when_it_is_due(world):
    often, seldom = NotedDuty(every_s=100.0), NotedDuty(every_s=1000.0)
    began = world.clock.now()
    world.supervisor(duties=[often, seldom])
    await asyncio.sleep(FIRST_S + 1050.0)
    assert [round(at - began) for at in often.runs] == [round(FIRST_S) + 100 * n for n in range(11)]
    assert [round(at - began) for at in seldom.runs] == [round(FIRST_S), round(FIRST_S) + 1000]


@play
async def test_only_the_supervisor_that_leads_has_duties(world):
    first, second = NotedDuty(), NotedDuty()
    leading, _ = world.supervisor(duties=[first])
    await asyncio.sleep(1)
    world.supervisor(duties=[second])
    await asyncio.sleep(1300)
    assert (len(first.runs), second.runs) == (3, [])
    leading.stop()
    await asyncio.sleep(AGAIN_S + 10)
    assert (len(first.runs), len(second.runs)) == (3, 1)


@play
async def test_a_duty_that_fails_or_hangs_stops_nobody(world):
    surprised = NotedDuty(name="surprised", error=ValueError("no such table"))
    hanging, fine = NotedDuty(name="hanging", hangs=True), NotedDuty(name="fine", every_s=100.0)
    world.supervisor(duties=[hanging, surprised, fine])
    world.station()
    await asyncio.sleep(FIRST_S + 10)
    crawl = await world.submit(50)
    (job,) = await world.until_over(crawl)
    assert job.state is JobState.FINISHED
    await asyncio.sleep(500)
    assert (len(hanging.runs), len(fine.runs) >= 5) == (1, True)


@pytest.mark.slow
@play
async def test_trouble_with_a_duty_is_said_once_and_so_is_its_end(world, caplog):
    caplog.set_level(logging.INFO, "gossamer.fleet")
    duty = NotedDuty(error=StorageError("the disk is full"))
    world.supervisor(duties=[duty])
    await asyncio.sleep(FIRST_S + 10 * AGAIN_S + 1)
    assert len(duty.runs) == 11, "it is tried again soon"
    said = [record.getMessage() for record in caplog.records if "duty" in record.getMessage()]
    assert said == ["the duty noted: the disk is full"]
    duty.error = None
    await asyncio.sleep(AGAIN_S)
    said = [record.getMessage() for record in caplog.records if "duty" in record.getMessage()]
    assert len(said) == 2
    runs = len(duty.runs)
    await asyncio.sleep(duty.every_s - 10)
    assert len(duty.runs) == runs, "and as often as it is due from then on"


@play
async def test_a_duty_that_is_due_every_few_seconds_does_not_wait_for_the_first_minute(world):
    often = NotedDuty(every_s=2.0)
    began = world.clock.now()
    leading, _ = world.supervisor(duties=[often])
    await asyncio.sleep(5)
    assert [round(at - began) for at in often.runs] == [2, 4]
    standing_by = NotedDuty(every_s=2.0)
    world.supervisor(duties=[standing_by])
    leading.stop()
    await asyncio.sleep(5)
    assert standing_by.runs, "the next leader has it within seconds"
