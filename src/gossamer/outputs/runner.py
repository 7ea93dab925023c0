"""Writes items to outputs as they change, each at its own pace, beside the crawl.

Guarantee: every change is written to every output, also after a kill, each batch as if once. A slow or absent
output delays neither other outputs nor the crawl: its items wait in the store. A batch is planned (its end is
noted), written, and noted as done. After a kill, a planned batch is written again with the same end, and the
output recognises it by its name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress

from msgspec.structs import replace

from gossamer.core.changes import ChangedItem, ItemChanges, OutputPosition
from gossamer.core.errors import JobBusyError, StorageError
from gossamer.core.record import Record
from gossamer.ports.change_feed import ChangeFeed
from gossamer.ports.item_output import ItemOutput
from gossamer.runtime.cancelling import end_soon, end_tasks

POLL_S = 0.5
"""Between two looks for something new."""
RESTS_S = (1.0, 60.0)
"""After an output could not be reached: the first rest, which doubles each time, and the longest."""
ALL = 2**31
"""More than a batch can have: one that was planned with another size is written as it was planned."""

log = logging.getLogger("gossamer.outputs")


class OutputPlan(Record, frozen=True, kw_only=True):
    """An output, as the settings name it."""

    name: str
    open: Callable[[], ItemOutput]
    lock: Callable[[], AbstractContextManager[object]]  # ``JobBusyError``: another process writes it
    types: frozenset[str] = frozenset()  # of items that it gets; empty: all
    batch: int = 1000
    drain_s: float = 60.0  # how long it is waited for at the end


class OutputRunner:
    """Writes all outputs, each in a task of its own, from :meth:`start` to :meth:`end`."""

    def __init__(self, feed: ChangeFeed, plans: Sequence[OutputPlan]) -> None:
        self._feed = feed
        self._plans = plans
        self._ending = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], OutputPlan] = {}

    async def start(self) -> None:
        """Note the outputs that are new, so that nothing is dropped before they have it; then begin."""
        known = await self._feed.read_positions()
        for plan in self._plans:
            if plan.name not in known:
                await self._feed.save_position(plan.name, OutputPosition(), None)
            self._tasks[asyncio.create_task(self._follow(plan))] = plan

    async def end(self) -> list[str]:
        """Write the remaining items within the time limit. Return the names of outputs with items left."""
        self._ending.set()
        late = await asyncio.gather(*(self._wait_for(task, plan) for task, plan in self._tasks.items()))
        return [name for name in late if name]

    def abandon(self) -> None:
        """Abandon the current batch; it is written the next time."""
        end_soon(*self._tasks)

    async def _wait_for(self, task: asyncio.Task[None], plan: OutputPlan) -> str:
        """Return the output's name when something is left."""
        await asyncio.wait([task], timeout=plan.drain_s)
        await end_tasks(task)
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            log.error("the output %s failed", plan.name, exc_info=error)
        position = (await self._feed.read_positions()).get(plan.name, OutputPosition())
        return plan.name if await self._feed.count_changes(position.done, 1) else ""

    async def _follow(self, plan: OutputPlan) -> None:
        rest_s = RESTS_S[0]
        while True:
            try:
                with plan.lock():
                    await self._write_all(plan)
                    break
            except JobBusyError:
                await self._rest(POLL_S)
            except StorageError as error:
                log.warning("the output %s: %s; its items wait in the store", plan.name, error)
                if self._ending.is_set():
                    return
                await self._rest(rest_s)
                rest_s = min(rest_s * 2, RESTS_S[1])

    async def _write_all(self, plan: OutputPlan) -> None:
        """Until the end, and nothing is left."""
        output = plan.open()
        try:
            while True:
                is_last = self._ending.is_set()
                if await write_next(self._feed, plan, output):
                    continue
                if is_last:
                    return
                await self._rest(POLL_S)
        finally:
            await output.close()

    async def _rest(self, seconds: float) -> None:
        """Wait, if it is short, for another process to act; not beyond the end."""
        if self._ending.is_set():
            await asyncio.sleep(min(seconds, POLL_S))
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()


class OutputDuty:
    """One output of a fleet, which the supervisor that leads writes: a ``Duty``."""

    every_s = 2.0

    def __init__(self, feed: ChangeFeed, plan: OutputPlan) -> None:
        self.name = f"output {plan.name}"
        self._feed = feed
        self._plan = plan

    async def run(self, now: float) -> None:
        """See :class:`~gossamer.ports.duty.Duty`."""
        with self._plan.lock():
            await self._write_rest()

    async def _write_rest(self) -> None:
        output = self._plan.open()
        try:
            while await write_next(self._feed, self._plan, output):
                pass
        finally:
            await output.close()


async def write_next(feed: ChangeFeed, plan: OutputPlan, output: ItemOutput) -> bool:
    """Write the next batch of an output; whether there was one. Raises ``StorageError``."""
    known = (await feed.read_positions()).get(plan.name)
    position = known or OutputPosition()
    if position.planned > position.done:
        changes = await feed.read_changes(position.done, ALL, position.planned)
    else:
        changes = await feed.read_changes(position.done, plan.batch)
        if changes.last == position.done:
            return False
        state = await output.read_state(position.state, _wanted_of(changes, plan))
        planned = replace(position, planned=changes.last, state=state)
        if not await feed.save_position(plan.name, planned, known):
            raise _other_writer(plan.name)
        position = planned
    items = _wanted_of(changes, plan)
    state = await output.write_batch(position.planned, items, position.state) if items else position.state
    done = OutputPosition(done=position.planned, planned=position.planned, state=state)
    if not await feed.save_position(plan.name, done, position):
        raise _other_writer(plan.name)
    await feed.forget_changes()
    return True


def _wanted_of(changes: ItemChanges, plan: OutputPlan) -> list[ChangedItem]:
    return [item for item in changes.items if not plan.types or item.type in plan.types]


def _other_writer(name: str) -> StorageError:
    return StorageError(f"another process writes the output {name}as well; stop one of them")
