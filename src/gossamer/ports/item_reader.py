"""The items of a job, for inspection."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.jobs import FoundItemRows, ItemFilter, ItemPlace, ItemRows, Job, StoredItem


class ItemReader(Protocol):
    """Queries for items: read-only, and in bounded time for any number of items."""

    async def page_items(
        self, job: Job, limit: int, which: ItemFilter, before: ItemPlace | None = None
    ) -> ItemRows:
        """Return a job's items with the values it saw, those with the newest change first.

        A part that ends early may have fewer than ``limit``, or none, and names the position to continue
        from.
        """
        ...

    async def find_items(self, job: Job, url: str, limit: int) -> FoundItemRows:
        """Return items whose latest change was seen on a page, in the order of their ids.

        ``limit`` is at least 1. The count includes the items beyond the limit.
        """
        ...

    async def sample_items(self, job: Job, limit: int, most_bytes: int) -> list[StoredItem]:
        """Return a uniform random sample of a job's items with the values it saw, in no order.

        At most ``limit`` items, and few more after ``most_bytes`` of JSON; all items if the job has no more.
        The same job always gives the same sample.
        """
        ...

    async def read_versions(self, spider: str, kind: str, key: str, limit: int = 100) -> list[StoredItem]:
        """Return the values of an item, newest first: the current one and the kept earlier ones.

        Earlier values are kept if another job saw them, or all with ``store.history``.
        """
        ...

    async def list_types(self, job: Job, limit: int | None = None) -> list[str]:
        """Return the item types of the job's spider: the first by name, or all."""
        ...
