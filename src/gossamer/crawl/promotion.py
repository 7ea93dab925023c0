"""Make the items of a version those of its job."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from gossamer.core.item_diff import DifferenceKind, ItemDifference
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.result_versions import ResultVersion, VersionState
from gossamer.core.results import ItemRecord, VisitResult
from gossamer.items.keys import content_hash
from gossamer.items.results import result_of_item
from gossamer.ports.item_reader import ItemReader
from gossamer.ports.store import Store
from gossamer.wiring.backends import Backends
from gossamer.wiring.open import open_store

BATCH = 500
"""Items that are written at once."""


class PromotionResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Totals of a promotion."""

    added: int = 0
    changed: int = 0
    kept: int = 0  # items that stay: another job has seen them later, with other values
    lost: int = 0  # items that stay, although the version does not have them


async def promote_version(
    backends: Backends, job: Job, version: ResultVersion, differences: Iterable[ItemDifference]
) -> PromotionResult:
    """Make the items of a version those of its job, by their differences. Safe to repeat.

    ``store.min_interval`` applies to sightings of crawls: a person's decision is stored at once.
    """
    settings = backends.settings
    store = settings.store.model_copy(update={"min_interval": 0.0})
    keeping = await open_store(settings.model_copy(update={"store": store}))
    try:
        promoted = await promote_items(keeping.store, keeping.items, job, differences)
    finally:
        await keeping.close()
    await backends.versions.change_state(version.job, VersionState.PROMOTED)
    return promoted


async def promote_items(
    store: Store, reader: ItemReader, job: Job, differences: Iterable[ItemDifference]
) -> PromotionResult:
    """Store a version's new and changed items in a job, with the times at which the pages were seen.

    Items that the version lost stay. Safe to repeat: after a kill, the same call continues with the remaining
    differences.
    """
    added = changed = kept = lost = 0
    rest = iter(differences)
    while batch := tuple(islice(rest, BATCH)):
        taken = []
        for difference in batch:
            if difference.kind is DifferenceKind.LOST:
                lost += 1
            elif await _is_newer(reader, job, difference):
                kept += 1
            else:
                taken.append(difference)
        await store.write(job, [_result_of(difference) for difference in taken])
        now_added = sum(difference.kind is DifferenceKind.ADDED for difference in taken)
        added, changed = added + now_added, changed + len(taken) - now_added
    return PromotionResult(added=added, changed=changed, kept=kept, lost=lost)


async def _is_newer(reader: ItemReader, job: Job, difference: ItemDifference) -> bool:
    """Whether the item has other values now than on both sides, seen later by another job."""
    item, before = difference.item, difference.before
    for present in await reader.read_versions(job.name, item.type, item.key, 1):
        is_known = present.data == item.data or (before is not None and present.data == before.data)
        return not is_known and present.last_seen > _seen_at(difference)
    return False


def _seen_at(difference: ItemDifference) -> float:
    """When a page last showed the item: that of the job, where it did so later with other values."""
    return max(item.last_seen for item in (difference.before, difference.after) if item is not None)


def _result_of(difference: ItemDifference) -> VisitResult:
    item = difference.item
    data = msgspec.json.encode(item.data)
    record = ItemRecord(type=item.type, key=item.key, data=data, hash=content_hash(data), url=item.url)
    return result_of_item(record, _seen_at(difference))
