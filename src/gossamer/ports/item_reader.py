"""The items of a job, as a person looks at them."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.jobs import ItemFilter, ItemPlace, ItemRows, Job, StoredItem


class ItemReader(Protocol):
    """What a person asks of items. Reads only, and in bounded time however many there are."""

    async def page_items(
        self, job: Job, limit: int, which: ItemFilter, before: ItemPlace | None = None
    ) -> ItemRows:
        """Items that a job saw, as it saw them, those first whose latest change is the newest.

        A part that ends early may have fewer than asked for, or none, and says where to go on.
        """
        ...

    async def find_items(self, job: Job, url: str, limit: int) -> list[StoredItem]:
        """Items that were found on a page the last time they were seen changed, in the order of their ids."""
        ...

    async def list_types(self, job: Job) -> list[str]:
        """The types of items that the job's spider has."""
        ...
