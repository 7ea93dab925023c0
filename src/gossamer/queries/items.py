"""The items of a job, part by part or all of them."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.jobs import EVERY_ITEM, ItemFilter, Job, StoredItem
from gossamer.core.record import Record, Time
from gossamer.export.formats import available_formats
from gossamer.export.names import TYPE, check_types, placeholders_in
from gossamer.ports.item_reader import ItemReader
from gossamer.queries.bounds import cut_values, fit_rows
from gossamer.queries.cursors import cursor_of, read_place
from gossamer.wiring.backends import Backends

MOST_TYPES = 100
"""Maximum number of item types in a listing."""
MOST_BYTES = 195_000
"""Maximum size of a listing."""


class ItemPage(Record, frozen=True, kw_only=True):
    """A part of a job's items, in the order in which they were first stored."""

    items: tuple[StoredItem, ...] = ()
    next_after: int | None = None  # where the next part begins (after this id); None: this is the last part


async def list_items(backends: Backends, job: Job, limit: int, *, after_id: int = 0) -> ItemPage:
    """Items of a job behind an id, no more than ``limit``."""
    found: list[StoredItem] = []
    async for item in backends.store.read_items(job, after_id):
        if len(found) == limit:
            return ItemPage(items=tuple(found), next_after=found[-1].id if found else after_id)
        found.append(item)
    return ItemPage(items=tuple(found))


class ItemListing(Record, frozen=True, kw_only=True):
    """A part of a job's items, the newest change first."""

    at: Time
    items: tuple[StoredItem, ...]  # their fields are cut
    total: int | None  # of the job, where no filter is asked for
    types: tuple[tuple[str, int | None], ...]  # of the spider's items; how many of each is not counted
    formats: tuple[str, ...]  # that they can be written in
    next_cursor: str | None  # where the next part begins; None: this is the last part


async def page_items(
    backends: Backends, job: Job, which: ItemFilter, limit: int, cursor: str = ""
) -> ItemListing:
    """A part of the items in bounded time and size; one that ends early may have none.

    Raises ``UsageError`` for a cursor that is none.
    """
    found = await backends.items.page_items(job, limit, which, read_place(cursor))
    items = [replace(item, data=cut_values(item.data)) for item in found.items]
    rows = fit_rows(items, MOST_BYTES)
    after = found.next_before
    if len(rows) < len(items):
        again = await backends.items.page_items(job, len(rows), which, read_place(cursor))
        after = again.next_before
    totals = await backends.store.read_totals(job)
    return ItemListing(
        at=backends.clock.now(),
        items=tuple(rows),
        total=totals.items if which == EVERY_ITEM else None,
        types=tuple((kind, None) for kind in await backends.items.list_types(job, MOST_TYPES)),
        formats=available_formats(),
        next_cursor=cursor_of(after),
    )


async def list_file_types(items: ItemReader, job: Job, target: str) -> list[str]:
    """The types of items that have a file each by this name; ``""`` is one for all of them.

    Raises ``UsageError`` where two types would be one file.
    """
    types = await items.list_types(job) if TYPE in placeholders_in(target) else [""]
    check_types(target, job, types)
    return types
