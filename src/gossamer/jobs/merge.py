"""The items of several jobs merged into one: a job of its own, which has nothing but its items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby, islice
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.core.errors import DropItem, UnstorableItemError, UsageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.record import Record
from gossamer.core.results import ItemRecord, VisitResult
from gossamer.items.keys import content_hash, key_text
from gossamer.items.results import result_of_item
from gossamer.items.validate import check_plain, check_shape
from gossamer.policy.merge import (
    MERGE_MARK,
    PROVENANCE,
    SOURCE_MARK,
    MergeRules,
    MergeSource,
    PreferenceCheck,
    merge_sources,
    merged_type,
    rank_sources,
    trace_fields,
)
from gossamer.ports.job_store import JobStore
from gossamer.ports.store import Store
from gossamer.runtime.record_sorter import RecordSorter
from gossamer.targets.custom_rule import CustomRule

BATCH = 500
"""Items that are written at once."""


class MergeResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Totals of a merge."""

    job: str  # the job that has the merged items
    sources: int = 0  # items that were read
    items: int = 0  # that were made of them
    merged: int = 0  # of those: made of more than one source
    apart: int = 0  # of those: they lack a field that says which are the same, and stay by themselves
    unmet: tuple[str, ...] = ()  # preferred fields, hosts and jobs that no item has, or is from


class _KeyedSource(Record, frozen=True, kw_only=True):
    """A source with its place in the order."""

    place: tuple[str, str]  # type and key of the merged item
    is_apart: bool = False
    source: MergeSource


_encode = msgspec.json.Encoder().encode


async def merge_jobs(
    store: Store,
    book: JobStore,
    jobs: Sequence[Job],
    rules: MergeRules,
    *,
    into: str,
    now: float,
    custom: CustomRule | None = None,
) -> MergeResult:
    """Merge the items of some jobs into a new job of the name ``into``; those of the jobs stay as they are.

    The rule ``custom`` makes the items, where there is one. Raises ``UsageError`` when it fails, when
    ``into`` is the name of one of the jobs, for items that only a field can merge, and where no item has
    the fields to merge by.
    """
    if into in {job.name for job in jobs}:
        raise UsageError(f"{into!r} is the name of a job that is merged: its items would be overwritten")
    with closing(RecordSorter(_KeyedSource, _place_of)) as sorter:
        check = PreferenceCheck(rules.prefer)
        found = await _sort_sources(store, jobs, rules, sorter, check)
        target = f"{MERGE_MARK}{'+'.join(job.id for job in jobs)}"
        made = await book.create(into, target)
        # A killed merge is not resumed: until the merge is done, the job's end reason says so.
        broken_off = replace(
            made, state=JobState.CANCELLED, finished_at=now, end_reason=FinishReason.INTERRUPTED
        )
        await book.update(broken_off)
        try:
            result = await _write_merged(store, made, found, _ItemMaker(rules, custom, now))
        except Exception as error:
            said = str(error).partition("\n")[0]
            await book.update(replace(broken_off, end_reason=FinishReason.ERROR, end_error=said))
            raise
    await book.update(replace(broken_off, state=JobState.FINISHED, end_reason=FinishReason.FINISHED))
    return replace(result, unmet=check.unmet)


class _ItemMaker(Record, frozen=True):
    """Makes one item of several."""

    rules: MergeRules
    custom: CustomRule | None
    now: float

    def make_result(self, place: tuple[str, str], sources: Sequence[MergeSource]) -> VisitResult:
        """Return the item in its stored form. It is unchanged if its sources were only seen again."""
        merged = self._merge_sources(sources)
        fields = {name: value for name, value in merged.items() if name != PROVENANCE}
        url = max(sources, key=lambda source: (source.item.last_seen, source.item.url)).item.url
        kind, key = place
        content = content_hash(_encode(fields))
        record = ItemRecord(type=kind, key=key, data=_encode(merged), hash=content, url=url)
        return result_of_item(record, self.now)

    def _merge_sources(self, sources: Sequence[MergeSource]) -> dict[str, Any]:
        if self.custom is None:
            return merge_sources(sources, self.rules)
        ranked = rank_sources(sources, self.rules.kind)
        made = self.custom.make_item([dict(source.values) for source in ranked])
        try:
            check_shape("--rule", made)
            check_plain("--rule", made)
        except (DropItem, UnstorableItemError) as error:
            raise UsageError(f"the result of the function of --rule cannot be stored: {error}") from None
        return trace_fields(ranked, made)


async def _write_merged(
    store: Store, job: Job, found: Iterator[_KeyedSource], maker: _ItemMaker
) -> MergeResult:
    counts = Counter[str]()
    groups = groupby(found, key=lambda keyed: keyed.place)
    made = (_merge_group(list(group), maker, counts) for _, group in groups)
    while batch := list(islice(made, BATCH)):
        await store.write(job, batch)
    sources, items, merged, apart = (counts[name] for name in ("sources", "items", "merged", "apart"))
    return MergeResult(job=job.id, sources=sources, items=items, merged=merged, apart=apart)


def _merge_group(group: Sequence[_KeyedSource], maker: _ItemMaker, counts: Counter[str]) -> VisitResult:
    counts["sources"] += len(group)
    counts["items"] += 1
    counts["merged"] += len(group) > 1
    counts["apart"] += group[0].is_apart
    return maker.make_result(group[0].place, [keyed.source for keyed in group])


async def _sort_sources(
    store: Store,
    jobs: Sequence[Job],
    rules: MergeRules,
    sorter: RecordSorter[_KeyedSource],
    check: PreferenceCheck,
) -> Iterator[_KeyedSource]:
    """Return the items of all jobs, sorted so that equal ones are neighbours."""
    is_apart: set[bool] = set()
    for job in jobs:
        async for item in store.read_items(job):
            source = MergeSource(item=item, job=job.id)
            check.note_source(source)
            keyed = _key_of(source, rules)
            is_apart.add(keyed.is_apart)
            sorter.add_record(keyed)
    if is_apart == {True}:
        raise UsageError(f"no item has the fields of --by ({', '.join(rules.by)}): nothing was merged")
    return sorter.read_records()


def _place_of(keyed: _KeyedSource) -> tuple[str, str]:
    return keyed.place


def _key_of(source: MergeSource, rules: MergeRules) -> _KeyedSource:
    item = source.item
    kind = merged_type(item.type)
    if not rules.by:
        if item.type.endswith(SOURCE_MARK):
            raise UsageError(
                f"items of the type {item.type} have keys of their own in each source: say with --by which "
                "fields tell that they are the same"
            )
        return _KeyedSource(place=(kind, item.key), source=source)
    key = key_text([item.data.get(name) for name in rules.by])
    if key is None:
        own = f"{source.job} {item.type} {item.key}"
        return _KeyedSource(place=(kind, own), is_apart=True, source=source)
    return _KeyedSource(place=(kind, key), source=source)
