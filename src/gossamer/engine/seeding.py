"""The first requests of a job, added in batches; safe to repeat, since a known request is not added again."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gossamer.engine.admission import Admission
from gossamer.words.model import Added, Entry, Record, Request
from gossamer.words.ports import Frontier

BATCH = 500


class Seeded(Record, frozen=True, kw_only=True):
    """What became of a job's seeds."""

    added: Added
    refused: dict[str, int]  # by reason
    example: str = ""  # one refused URL, for the message that says why nothing is to be done


async def seed(requests: AsyncIterator[Request], admission: Admission, frontier: Frontier) -> Seeded:
    """Add every request that passes the door; a spider's start may be longer than memory."""
    total = Added()
    refused: dict[str, int] = {}
    example = ""
    batch: list[Entry] = []
    async for request in requests:
        entry = admission.admit(request)
        if isinstance(entry, str):
            refused[entry] = refused.get(entry, 0) + 1
            example = example or request.url
            continue
        batch.append(entry)
        if len(batch) >= BATCH:
            total = _plus(total, await frontier.add(batch))
            batch = []
    if batch:
        total = _plus(total, await frontier.add(batch))
    return Seeded(added=total, refused=refused, example=example)


def _plus(left: Added, right: Added) -> Added:
    return Added(
        accepted=left.accepted + right.accepted,
        duplicates=left.duplicates + right.duplicates,
        too_deep=left.too_deep + right.too_deep,
    )
