"""Work on a server that may be away: a driver that loses a cancellation does not keep its caller."""

import asyncio
import contextlib

import pytest

from gossamer.core.errors import StorageError
from gossamer.drivers.outage_alarm import OutageAlarm
from gossamer.drivers.patience import ErrorRules, run_patiently
from gossamer.watch.job_look import find_refusal

RULES = ErrorRules((OSError,), lambda _: True, lambda _: True, lambda error: StorageError(str(error)))


@pytest.mark.parametrize("fails", [False, True], ids=["and answers", "and fails"])
async def test_a_cancellation_that_the_driver_loses_ends_the_caller(fails):
    async def work():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        if fails:
            raise OSError("away")

    task = asyncio.create_task(run_patiently(work, RULES, OutageAlarm("the server"), 60.0))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    was_cancelled = task.cancelled()
    task.cancel()
    assert was_cancelled


async def test_a_server_that_only_refuses_changes_is_named_once(caplog):
    alarm, writable = OutageAlarm("the server"), asyncio.Event()

    async def write():
        if not writable.is_set():
            raise OSError("the server is read-only")

    async def read():
        await run_patiently(lambda: asyncio.sleep(0), RULES, alarm, 60.0)

    writer = asyncio.create_task(run_patiently(write, RULES, alarm, 60.0))
    for _ in range(20):
        await read()
    assert [record.message for record in caplog.records] == [
        "the server is read-only; trying again for up to 60 s"
    ]
    writable.set()
    await writer
    assert caplog.records[-1].message.startswith("the server is back after")
    assert len(caplog.records) == 2


def test_after_a_writer_has_given_up_any_answer_shows_that_the_server_is_back():
    alarm = OutageAlarm("the server")
    alarm.note_failure("read-only", 0.0, 0.0, 60.0)
    alarm.note_answer(3.0, 3.0, has_failed=False)
    assert alarm.state == "away"
    alarm.note_answer(6.0, 6.0, has_failed=False)
    assert alarm.state == "well"


async def test_a_place_that_takes_no_changes_in_time_gives_its_reason(monkeypatch):
    """Bug it would catch: "nothing was stored within 3 seconds" in an alert about a read-only server."""
    monkeypatch.setattr("gossamer.watch.job_look.STORED_S", 0.1)

    async def write():
        raise OSError("the server is read-only")

    async def hang():
        await asyncio.sleep(60)

    alarm = OutageAlarm("the server")
    assert await find_refusal(lambda: run_patiently(write, RULES, alarm, 60.0)) == "the server is read-only"
    assert (
        await find_refusal(lambda: run_patiently(hang, RULES, alarm, 60.0))
        == "nothing was stored within 0.1 seconds"
    )
