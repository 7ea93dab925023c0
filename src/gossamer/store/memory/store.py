"""A store in memory: the readable reference, for tests and for crawls that leave nothing behind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from gossamer.core.drops import DropSample
from gossamer.core.jobs import EVERY_ITEM, ItemFilter, Job, JobTotals, StoredItem
from gossamer.core.results import Attempt, ItemRecord, PageRecord, VisitResult
from gossamer.policy.counter_rules import merge_counts
from gossamer.policy.item_filter import fits_filter
from gossamer.store.counters import NO_STATS, BatchCounts, count_rows, count_stale
from gossamer.store.memory.known_pages import MemoryKnownPageStore
from gossamer.store.memory.series import MemorySeries
from gossamer.store.samples import SamplePlace, place_samples
from gossamer.store.totals import count_results, seen_at, totals_of, visit_of


class MemoryStore:
    """A ``Store`` that lives and dies with its process."""

    def __init__(self) -> None:
        self.pages: defaultdict[str, dict[tuple[int, int], PageRecord]] = defaultdict(
            dict
        )  # by job and visit
        self._items: dict[
            tuple[str, str, str], tuple[int | None, StoredItem]
        ] = {}  # with their content's hash
        self._sightings: defaultdict[str, dict[int, int | None]] = defaultdict(dict)  # which content
        self._former: dict[tuple[int, int | None], StoredItem] = {}  # by id and content
        self.attempts: defaultdict[str, list[Attempt]] = defaultdict(list)
        self._totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.samples: defaultdict[str, dict[SamplePlace, DropSample]] = defaultdict(dict)
        self.series = MemorySeries()
        self.known = MemoryKnownPageStore()

    async def write(self, job: Job, results: Sequence[VisitResult]) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        pages = items = duplicates = 0
        for result in results:
            self.attempts[job.id] += result.attempts
            if result.page is not None:
                pages += self._keep_page(self.pages[job.id], result, result.page)
            for item in result.items:
                number, content = self._upsert_item(job.name, item, seen_at(result))
                duplicates += number in self._sightings[job.id]
                items += number not in self._sightings[job.id]
                self._sightings[job.id][number] = content
            if result.samples:
                self.samples[job.id] = place_samples(result.samples, self.samples[job.id])
        self.known.save_pages(job.name, (page for result in results for page in result.known))
        changes = count_results(results)
        changes.add_found(pages, items, duplicates)
        self._count(job, changes)

    def _count(self, job: Job, changes: BatchCounts) -> None:
        merge_counts(self._totals[job.id], changes.total)
        self.series.add_counts(job, changes)

    async def record_attempts(
        self, job: Job, attempts: Sequence[Attempt], stats: Mapping[str, int] = NO_STATS
    ) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        self.attempts[job.id] += attempts
        self._count(job, count_rows(attempts, stats))

    async def mark_stale(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        rows = self.attempts[job.id]
        for attempt in attempts:
            if attempt in rows:
                rows[rows.index(attempt)] = attempt.as_stale()
                self._count(job, count_stale([attempt]))

    @staticmethod
    def _keep_page(pages: dict[tuple[int, int], PageRecord], result: VisitResult, page: PageRecord) -> bool:
        """Whether the page is a new one."""
        visit, is_again = visit_of(result)
        if is_again:
            before = [other for number, other in pages if number == page.fingerprint and other > 0]
            visit = max(before, default=visit)
        place = (page.fingerprint, visit)
        known = pages.get(place)
        if known is None or page.at >= known.at:
            pages[place] = page
        return known is None

    def _upsert_item(self, spider: str, item: ItemRecord, at: float) -> tuple[int, int | None]:
        """Return the item's id, and which content it has now."""
        place = (spider, item.type, item.key)
        content, stored = self._items.get(place, (None, None))
        if stored is None:
            stored = StoredItem(
                id=len(self._items) + 1,
                type=item.type,
                key=item.key,
                data={},
                url=item.url,
                first_seen=at,
                last_seen=at,
                changed_at=at,
            )
        former, stored = stored, replace(stored, last_seen=max(stored.last_seen, at))
        if content != item.hash and at >= stored.last_seen:
            self._former[stored.id, content] = former
            stored = replace(stored, data=msgspec.json.decode(item.data), url=item.url, changed_at=at)
            content = item.hash
        self._items[place] = (content, stored)
        return stored.id, content

    async def read_items(
        self, job: Job | None = None, after_id: int = 0, which: ItemFilter = EVERY_ITEM
    ) -> AsyncIterator[StoredItem]:
        """See :class:`~gossamer.ports.store.Store`."""
        everything = self.seen_items(job) if job is not None else self._items_now()
        for now, found in everything:
            if now.id > after_id and fits_filter(found, which):
                yield found

    def _items_now(self) -> Iterator[tuple[StoredItem, StoredItem]]:
        return ((item, item) for _, item in [*self._items.values()])

    def seen_items(self, job: Job) -> Iterator[tuple[StoredItem, StoredItem]]:
        """Yield the items that a job saw, as they are now and as it saw them, in the order of their ids."""
        sightings = self._sightings[job.id]
        for content, item in [*self._items.values()]:
            if item.id in sightings:
                seen = sightings[item.id]
                yield item, item if seen == content else self._former[item.id, seen]

    def versions_of(self, place: tuple[str, str, str]) -> list[StoredItem]:
        """Return the values of an item (spider, type and key), the newest first."""
        if place not in self._items:
            return []
        item = self._items[place][1]
        former = [one for (number, _), one in self._former.items() if number == item.id and one.data]
        kept = [one for one in former if one.changed_at != item.changed_at]
        return [item, *sorted(kept, key=lambda one: one.changed_at, reverse=True)]

    def types_of(self, spider: str) -> list[str]:
        """Return the types of the items of a spider, by name."""
        return sorted({kind for name, kind, _ in self._items if name == spider})

    async def latest_attempts(self, job: Job, url: str | None = None, limit: int = 1000) -> list[Attempt]:
        """See :class:`~gossamer.ports.store.Store`."""
        rows = [attempt for attempt in reversed(self.attempts[job.id]) if url in (None, attempt.url)]
        return rows[:limit]

    async def read_totals(self, job: Job) -> JobTotals:
        """See :class:`~gossamer.ports.store.Store`."""
        return totals_of(self._totals[job.id])
