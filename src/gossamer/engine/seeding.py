"""The first requests of a job, added in batches; safe to repeat, since a known request is not added again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from gossamer.engine.admission import Admission
from gossamer.words.model import Added, Entry, Record, Request
from gossamer.words.ports import Frontier

BATCH = 500


class Seeded(Record, frozen=True, kw_only=True):
    """What became of a job's seeds."""

    added: Added
    refused: dict[str, int]  # by reason
    example: str = ""  # one refused URL, for the message that says why nothing is to be done


class Seeding:
    """Adds every seed that passes the door, while the worker already works; may be longer than memory."""

    def __init__(self, admission: Admission, frontier: Frontier, wake: Callable[[], None]) -> None:
        self._admission = admission
        self._frontier = frontier
        self._wake = wake
        self._added = Added()
        self._refused: dict[str, int] = {}
        self._example = ""

    @property
    def so_far(self) -> Seeded:
        """What became of the seeds until now."""
        return Seeded(added=self._added, refused=dict(self._refused), example=self._example)

    async def run(self, requests: AsyncIterator[Request]) -> None:
        """Add them all."""
        batch: list[Entry] = []
        async for request in requests:
            entry = self._admission.admit(request)
            if isinstance(entry, str):
                self._refused[entry] = self._refused.get(entry, 0) + 1
                self._example = self._example or request.url
                continue
            batch.append(entry)
            if len(batch) >= BATCH:
                await self._add(batch)
                batch = []
        if batch:
            await self._add(batch)

    async def _add(self, batch: list[Entry]) -> None:
        added = await self._frontier.add(batch)
        self._added = Added(
            accepted=self._added.accepted + added.accepted,
            duplicates=self._added.duplicates + added.duplicates,
            too_deep=self._added.too_deep + added.too_deep,
        )
        self._wake()
