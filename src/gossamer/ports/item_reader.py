"""The items of a job, as a person looks at them."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.jobs import FoundItemRows, ItemFilter, ItemPlace, ItemRows, Job, StoredItem


class ItemReader(Protocol):
    """What a person asks of items. Reads only, and in bounded time however many there are."""

    async def page_items(
        self, job: Job, limit: int, which: ItemFilter, before: ItemPlace | None = None
    ) -> ItemRows:
        """Items that a job saw, as it saw them, those first whose latest change is the newest.

        A part that ends early may have fewer than asked for, or none, and says where to go on.
        """
        ...

    async def find_items(self, job: Job, url: str, limit: int) -> FoundItemRows:
        """Items that were found on a page the last time they were seen changed, in the order of their ids.

        ``limit``: 1 or more. All are counted, those too that are more than asked for.
        """
        ...

    async def sample_items(self, job: Job, limit: int, most_bytes: int) -> list[StoredItem]:
        """Some of the items that a job saw, as it saw them, each as likely as any other; in no order.

        At most ``limit`` of them, and few more once their values have ``most_bytes`` as JSON; all where there
        are no more. The same job gives the same ones.
        """
        ...

    async def read_versions(self, spider: str, kind: str, key: str, limit: int = 100) -> list[StoredItem]:
        """The values of an item, the newest first: the one that it has, and those of before that were kept.

        Kept are those that another job saw, or with ``store.history`` all.
        """
        ...

    async def list_types(self, job: Job, limit: int | None = None) -> list[str]:
        """The types of items that the job's spider has; the first of them by name, or all."""
        ...
