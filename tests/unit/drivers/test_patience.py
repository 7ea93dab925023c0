"""Work on a server that may be away: a driver that loses a cancellation does not keep its caller."""

import asyncio
import contextlib

import pytest

from gossamer.core.errors import StorageError
from gossamer.drivers.outage_alarm import OutageAlarm
from gossamer.drivers.patience import ErrorRules, run_patiently

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
