"""The first requests of a job, added in batches; safe to repeat, since a known request is not added again.

A batch is added when it is full, or after half a second: a slow ``start()`` keeps no worker waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from gossamer.core.jobs import AddResult
from gossamer.core.record import Record
from gossamer.core.requests import Entry, Request
from gossamer.engine.admission import Admission
from gossamer.ports.frontier import Frontier
from gossamer.runtime.cancelling import end_tasks

BATCH = 500
ADD_EVERY_S = 0.5


class SeedingResult(Record, frozen=True, kw_only=True):
    """Totals of a job's seeds."""

    added: AddResult
    refused: dict[str, int]  # by reason
    example: str = ""  # one refused URL, for the message that says why nothing is to be done


class Seeder:
    """Adds every seed that is admitted, while the worker already works; may be longer than memory."""

    def __init__(self, admission: Admission, frontier: Frontier, wake: Callable[[], None]) -> None:
        self._admission = admission
        self._frontier = frontier
        self._wake = wake
        self._added = AddResult()
        self._refused: dict[str, int] = {}
        self._example = ""
        self._batch: list[Entry] = []
        self._adding = asyncio.Lock()
        self._since = 0  # seeds since others had their turn

    @property
    def so_far(self) -> SeedingResult:
        """Totals of the seeds until now."""
        return SeedingResult(added=self._added, refused=dict(self._refused), example=self._example)

    async def add_seeds(self, requests: AsyncIterator[Request]) -> None:
        """Add them all."""
        by_time = asyncio.create_task(self._add_now_and_then())
        try:
            async for request in requests:
                self._admit_seed(request)
                self._since += 1
                if len(self._batch) >= BATCH:
                    await self._add_batch()
                if self._since >= BATCH:  # neither seeds nor a frontier in memory may ever wait for anything
                    self._since = 0
                    await asyncio.sleep(0)
                if by_time.done():
                    by_time.result()  # it has failed: otherwise it never ends
            await self._add_batch()
            if by_time.done():
                by_time.result()
        finally:
            await end_tasks(by_time)

    def _admit_seed(self, request: Request) -> None:
        entry = self._admission.admit_request(request)
        if isinstance(entry, str):
            self._refused[entry] = self._refused.get(entry, 0) + 1
            self._example = self._example or request.url
        else:
            self._batch.append(entry)

    async def _add_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(ADD_EVERY_S)
            await self._add_batch()

    async def _add_batch(self) -> None:
        """Add the waiting entries; afterwards, all entries from before the call are added."""
        async with self._adding:
            batch, self._batch = self._batch, []
            if not batch:
                return
            added = await self._frontier.add(batch)
            self._added = AddResult(
                accepted=self._added.accepted + added.accepted,
                duplicates=self._added.duplicates + added.duplicates,
                too_deep=self._added.too_deep + added.too_deep,
            )
        self._wake()
