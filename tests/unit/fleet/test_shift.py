"""A shift ends when it should, with nothing in its hands."""

import asyncio

import pytest

from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.lifecycle import JobCommand
from gossamer.core.requests import Entry, Request
from gossamer.core.shifts import EndReason
from gossamer.engine.worker import Worker
from gossamer.fleet.shift import LINGER_S, SOON_S, ShiftRun
from kit.engine import CALM, URL, Kit, virtually


def entries(count, due_at=0.0, lane="http"):
    return [
        Entry(request=Request(f"{URL}{n}", lane=lane), fingerprint=n, host="site.test", due_at=due_at)
        for n in range(count)
    ]


def shift_of(kit, **options):
    worker = Worker(kit.parts, kit.shift)
    return worker, ShiftRun(worker, kit.frontier, kit.clock, **{"max_s": 60.0, "drain_s": 5.0, **options})


def test_it_lingers_when_there_is_nothing_then_ends_idle():
    async def main():
        kit = Kit(idle_wait_s=0.1)
        await kit.frontier.add(entries(5))
        empties = []
        worker, run = shift_of(kit, when_empty=lambda: empties.append(kit.clock.now()))
        began = kit.clock.now()
        assert await run.run() is EndReason.IDLE
        assert LINGER_S <= kit.clock.now() - began < LINGER_S + 1.5
        assert len(kit.ledger.verdicts) == 5
        assert empties, "the supervisor is told that the job may be over"
        assert worker.in_flight == 0

    virtually(main)


def test_work_that_comes_while_it_lingers_is_done():
    async def main():
        kit = Kit(idle_wait_s=0.1)
        _, run = shift_of(kit)
        running = asyncio.create_task(run.run())
        await kit.clock.sleep(LINGER_S / 2)
        await kit.frontier.add(entries(3))
        assert await running is EndReason.IDLE
        assert len(kit.ledger.verdicts) == 3

    virtually(main)


def test_it_waits_for_what_is_due_soon_and_not_for_what_is_due_late():
    async def main(wait_s):
        kit = Kit(idle_wait_s=0.1)
        await kit.frontier.add(entries(1, due_at=kit.clock.now() + wait_s))
        _, run = shift_of(kit)
        assert await run.run() is EndReason.IDLE
        return len(kit.ledger.verdicts)

    assert virtually(main, SOON_S - 1) == 1
    assert virtually(main, SOON_S * 4) == 0


def test_it_does_not_wait_for_what_others_work_on():
    """Bug it would catch: it holds its slot for as long as requests wait on another lane."""

    async def main():
        kit = Kit(idle_wait_s=0.1)
        await kit.frontier.add(entries(40, lane="browser"))
        _, run = shift_of(kit)
        began = kit.clock.now()
        assert await run.run() is EndReason.IDLE
        assert kit.clock.now() - began < LINGER_S + 1.5

    virtually(main)


def test_its_time_is_over_and_what_is_in_hand_is_finished():
    async def main():
        kit = Kit(FrontierRules(delay_s=1.0), latency_s=0.4, idle_wait_s=0.1)
        await kit.frontier.add(entries(100))
        worker, run = shift_of(kit, max_s=10.0)
        assert await run.run() is EndReason.TIME
        stats = await kit.frontier.read_stats()
        assert stats.leased == 0
        assert stats.done == len(kit.ledger.verdicts) >= 9
        assert worker.in_flight == 0

    virtually(main)


@pytest.mark.parametrize("change", [JobCommand.PAUSE, JobCommand.CANCEL])
def test_a_job_that_does_not_run_has_no_shifts(change):
    async def main():
        kit = Kit(FrontierRules(delay_s=1.0), idle_wait_s=0.1)
        await kit.frontier.add(entries(100))
        _, run = shift_of(kit)
        running = asyncio.create_task(run.run())
        await kit.clock.sleep(3.0)
        await kit.frontier.apply_change(change)
        began = kit.clock.now()
        assert await running is EndReason.STOPPED
        assert kit.clock.now() - began < 2.0

    virtually(main)


def test_told_to_stop_it_finishes_and_says_why():
    async def main():
        kit = Kit(CALM, latency_s=2.0, idle_wait_s=0.1)
        await kit.frontier.add(entries(100))
        _, run = shift_of(kit)
        running = asyncio.create_task(run.run())
        await kit.clock.sleep(1.0)
        run.stop(EndReason.YIELD)
        run.stop(EndReason.DRAINED)
        assert await running is EndReason.YIELD, "the first reason counts"
        assert len(kit.ledger.verdicts) == 8
        assert (await kit.frontier.read_stats()).leased == 0

    virtually(main)


def test_what_does_not_end_in_time_is_given_back():
    async def main():
        kit = Kit(CALM, latency_s=1000.0, idle_wait_s=0.1)
        await kit.frontier.add(entries(8))
        _, run = shift_of(kit, drain_s=5.0)
        running = asyncio.create_task(run.run())
        await kit.clock.sleep(1.0)
        began = kit.clock.now()
        run.stop(EndReason.DRAINED)
        await running
        assert 5.0 <= kit.clock.now() - began < 7.0
        stats = await kit.frontier.read_stats()
        assert (stats.leased, stats.pending) == (0, 8)

    virtually(main)


def test_storage_trouble_ends_it_with_an_error():
    async def main():
        kit = Kit(CALM, idle_wait_s=0.1)
        await kit.frontier.add(entries(8))
        kit.ledger.trouble = StorageError("gone")
        _, run = shift_of(kit)
        with pytest.raises(StorageError, match="gone"):
            await run.run()
        assert (await kit.frontier.read_stats()).leased == 0

    virtually(main)
