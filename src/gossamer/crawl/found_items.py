"""The items of a crawl, for the program that ran it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from importlib import import_module
from typing import Any, TypeVar, overload

from gossamer.config.settings import Settings
from gossamer.core.jobs import ItemFilter, Job, StoredItem
from gossamer.ports.backends import StoreBackend
from gossamer.wiring.open import open_store

ItemT = TypeVar("ItemT")


class ItemSource:
    """Where the items of a crawl are read, when its own files and connections are closed."""

    def __init__(self, settings: Settings, job: Job, spider: type, kept: StoreBackend | None = None) -> None:
        """``kept``: the store of a crawl in memory, which stays readable as long as it is referenced."""
        self._settings = settings
        self._job = job
        self._kept = kept
        self._spider = spider

    async def read_stored(self, kind: str) -> AsyncGenerator[StoredItem, None]:
        """Yield the stored items of a type ("": of any), in the order in which they were first stored."""
        keeping = self._kept or await open_store(self._settings)
        try:
            async for item in keeping.store.read_items(self._job, which=ItemFilter(type=kind)):
                yield item
        finally:
            await keeping.close()

    async def read_items(self, kind: str) -> AsyncGenerator[Any, None]:
        """Yield the items as the spider returned them."""
        classes = import_module("gossamer.items.restoring").ItemClasses(self._spider)
        async with aclosing(self.read_stored(kind)) as stored:
            async for item in stored:
                yield classes.restore_item(item)


class ItemCount(int):
    """How many distinct items a crawl has: a number that, when it is called, gives the items themselves. ::

    print(result.items)
    async for product in result.items(Product):
        print(product.name)
    """

    _source: ItemSource | None

    def __new__(cls, count: int, source: ItemSource | None = None) -> ItemCount:
        """``source`` is where the items are; without one they are not at hand."""
        made = super().__new__(cls, count)
        made._source = source
        return made

    @overload
    def __call__(self, kind: type[ItemT]) -> AsyncIterator[ItemT]: ...

    @overload
    def __call__(self, kind: str = "") -> AsyncIterator[Any]: ...

    def __call__(self, kind: type | str = "") -> AsyncIterator[Any]:
        """Yield the items as the spider returned them, as objects of their classes or dicts; all, or those of
        a type.

        They come in the order in which they were first stored. Memory does not grow with their number. Raises
        ``StorageError``, and ``UsageError`` for an item that its class no longer accepts.
        """
        return self.source.read_items(kind if isinstance(kind, str) else kind.__name__)

    @property
    def source(self) -> ItemSource:
        """Where the items are."""
        assert self._source is not None, "the items of a result that no crawl has made"
        return self._source
