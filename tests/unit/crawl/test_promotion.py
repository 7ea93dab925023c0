"""What is promoted is what the version has, once, and takes nothing that another job has seen since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config.layers import load_settings
from gossamer.core.errors import StorageError
from gossamer.core.item_diff import ItemDifference
from gossamer.core.jobs import Job, StoredItem
from gossamer.core.result_versions import ResultVersion
from gossamer.core.results import ItemRecord
from gossamer.crawl import promotion
from gossamer.crawl.promotion import PromotionResult, promote_items, promote_version
from gossamer.drivers.sqlite.database import Database
from gossamer.items.keys import content_hash
from gossamer.policy.item_diff import diff_items, place_of
from gossamer.ports.store import Store
from gossamer.store.memory.store import MemoryStore
from gossamer.store.sqlite.items import SqliteItemReader
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.store_harness import make_visit_result
from gossamer.wiring.backends import open_backends

BASE, LATER = (Job(id=f"shop-{n}", name="shop", target="shop", created_at=1.0) for n in (1, 2))
MADE = Job(id="shop-1", name="shop", target="shop", created_at=9.0)
SIDES = st.dictionaries(st.text("abc", min_size=1, max_size=2), st.integers(0, 2), max_size=8)


def item_of(key: str, price: Any) -> ItemRecord:
    data = msgspec.json.encode({"key": key, "price": price})
    return ItemRecord(type="P", key=key, data=data, hash=content_hash(data), url="http://a/1")


class Base:
    """The store of the job whose items are to be those of the version."""

    def __init__(self, db: Database) -> None:
        self.store = SqliteStore(db)
        self._reader = SqliteItemReader(db)

    async def promote(self, found: Iterator[ItemDifference]) -> PromotionResult:
        return await promote_items(self.store, self._reader, BASE, found)


@contextmanager
def base_store() -> Iterator[Base]:
    with TemporaryDirectory() as folder:
        db = Database(Path(folder) / "x.db")
        yield Base(db)
        db.close()


async def fill(store: Store, job: Job, prices: Mapping[str, Any], at: float = 10.0) -> Store:
    await store.write(job, [make_visit_result(item_of(*each), at=at) for each in prices.items()])
    return store


async def read(store: Store, job: Job) -> list[StoredItem]:
    return sorted([item async for item in store.read_items(job)], key=place_of)


async def differences(base: Base, made: Store) -> Iterator[ItemDifference]:
    found = diff_items(await read(base.store, BASE), await read(made, MADE))
    return iter([each for each in found if each is not None])


async def prices_of(store: Store, job: Job) -> dict[str, Any]:
    return {item.key: item.data["price"] for item in await read(store, job)}


@pytest.mark.slow
@given(before=SIDES, after=SIDES)
@settings(deadline=None, max_examples=10)
async def test_the_job_has_the_versions_items_then_and_what_it_lost(
    before: dict[str, int], after: dict[str, int]
) -> None:
    made = await fill(MemoryStore(), MADE, after)
    with base_store() as base:
        await fill(base.store, BASE, before)
        pages = (await base.store.read_totals(BASE)).pages
        done = await base.promote(await differences(base, made))
        assert await prices_of(base.store, BASE) == before | after
        assert done.added == len(after.keys() - before.keys())
        assert done.changed == sum(before[key] != after[key] for key in before.keys() & after.keys())
        assert done.lost == len(before.keys() - after.keys())
        again = await base.promote(await differences(base, made))
        assert again == PromotionResult(lost=done.lost), "nothing is left to be done"
        assert (await base.store.read_totals(BASE)).pages == pages, "no page is counted again"


async def test_items_are_seen_when_their_pages_were() -> None:
    made = await fill(MemoryStore(), MADE, {"a": 2, "b": 2}, at=7.0)
    with base_store() as base:
        await fill(base.store, BASE, {"a": 1}, at=10.0)
        rows = await base.store.latest_attempts(BASE)
        await base.promote(await differences(base, made))
        seen = {item.key: (item.first_seen, item.last_seen) for item in await read(base.store, BASE)}
        assert seen == {"a": (10.0, 10.0), "b": (7.0, 7.0)}
        assert await base.store.latest_attempts(BASE) == rows, "nothing was fetched"


async def test_what_another_job_saw_later_stays() -> None:
    made = await fill(MemoryStore(), MADE, {"a": 2, "b": 2, "c": 2})
    with base_store() as base:
        await fill(base.store, BASE, {"a": 1, "b": 1})
        await fill(base.store, LATER, {"a": 5, "c": 5}, at=20.0)
        done = await base.promote(await differences(base, made))
        assert (done.added, done.changed, done.kept) == (0, 1, 2)
        assert await prices_of(base.store, BASE) == {"a": 1, "b": 2}
        assert await prices_of(base.store, LATER) == {"a": 5, "c": 5}


async def test_one_that_is_killed_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promotion, "BATCH", 2)
    made = await fill(MemoryStore(), MADE, dict.fromkeys("abcde", 1))

    def broken_off(found: Iterator[ItemDifference]) -> Iterator[ItemDifference]:
        for _ in range(3):
            yield next(found)
        raise StorageError("killed")

    with base_store() as base:
        await fill(base.store, BASE, {})
        with pytest.raises(StorageError):
            await base.promote(broken_off(await differences(base, made)))
        assert await prices_of(base.store, BASE) == dict.fromkeys("ab", 1), "whole groups"
        await base.promote(await differences(base, made))
        assert await prices_of(base.store, BASE) == dict.fromkeys("abcde", 1)


async def test_the_interval_between_changes_does_not_keep_a_promotion_out(tmp_path: Path) -> None:
    # A promoted item was seen when it was first stored: no interval had passed, and nothing was stored.
    said = {"data": str(tmp_path), "store": {"min_interval": 86400.0}}
    backends = await open_backends(load_settings(env={}, spider=said).settings, create=True)
    try:
        job = await backends.book.create("shop", "shop")
        await fill(backends.store, job, {"a": None})
        made = await fill(MemoryStore(), MADE, {"a": 2})
        found = diff_items(await read(backends.store, job), await read(made, MADE))
        version = ResultVersion(job="shop-1-r1", base=job.id, created_at=20.0)
        done = await promote_version(backends, job, version, [each for each in found if each is not None])
        assert done == PromotionResult(changed=1)
        assert await prices_of(backends.store, job) == {"a": 2}
    finally:
        await backends.close()
