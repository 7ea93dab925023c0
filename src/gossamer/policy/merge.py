"""One item of several that are about the same thing, and where each of its fields comes from. Pure.

The sources are put in order, the best first; a field has the value of the first source that has one. Which
source is the best does not depend on the order in which they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record
from gossamer.policy import urls

PROVENANCE = "_provenance"
"""The field that says of each other field which page it is from."""
EVERY_FIELD = "*"
MERGE_MARK = "merge:"
"""With it begins the target of a job that is a merge of others, whose ids follow."""
SOURCE_MARK = "@source"
"""The end of the type of items that are kept apart by the host that they are from."""
SOURCE_FIELD = "source_host"
"""The field of such items that names the host."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class MergeKind(StrEnum):
    """Which of several sources comes first."""

    LATEST = "latest"  # the one that was seen last
    COMPLETE = "complete"  # the one with the most fields that are not empty, and of those the one seen last


class MergeRules(Record, frozen=True, kw_only=True):
    """How items are merged."""

    by: tuple[str, ...] = ()  # fields whose values say that items are the same; empty: their type and key
    kind: MergeKind = MergeKind.LATEST
    prefer: Mapping[str, tuple[str, ...]] = {}  # hosts or jobs that come first, by field; ``*``: for all


class MergeSource(Record, frozen=True, kw_only=True):
    """One item, and the job whose it is."""

    item: StoredItem
    job: str

    @property
    def values(self) -> dict[str, Any]:
        """Its fields, but for what merging has added."""
        hidden = {PROVENANCE, SOURCE_FIELD} if self.item.type.endswith(SOURCE_MARK) else {PROVENANCE}
        return {name: value for name, value in self.item.data.items() if name not in hidden}

    def origin_of(self, field: str) -> Any:
        """The page that a field is from: where the item was merged before, the page that was found then."""
        former = self.item.data.get(PROVENANCE)
        if isinstance(former, dict) and field in former:
            return former[field]
        at = datetime.fromtimestamp(self.item.last_seen, UTC).isoformat(timespec="seconds")
        return {"url": self.item.url, "at": at.replace("+00:00", "Z"), "job": self.job}


def rank_sources(sources: Iterable[MergeSource], kind: MergeKind) -> list[MergeSource]:
    """The sources, the best first."""
    return sorted(sources, key=lambda source: _rank_of(source, kind))


def merge_sources(sources: Iterable[MergeSource], rules: MergeRules) -> dict[str, Any]:
    """The item that some sources make together, with its ``_provenance``."""
    ranked = rank_sources(sources, rules.kind)
    values = [source.values for source in ranked]
    merged: dict[str, Any] = {}
    provenance: dict[str, Any] = {}
    for name in dict.fromkeys(name for fields in values for name in fields):
        source, merged[name] = _choose_value(ranked, values, name, rules)
        provenance[name] = source.origin_of(name)
    return {**merged, PROVENANCE: provenance}


def trace_fields(ranked: Sequence[MergeSource], made: Mapping[str, Any]) -> dict[str, Any]:
    """Add ``_provenance`` to an item that other code has merged from sources, the best first."""
    values = [source.values for source in ranked]
    fields = {name: value for name, value in made.items() if name != PROVENANCE}
    origins = {name: _origin_of_value(ranked, values, name, value) for name, value in fields.items()}
    return {**fields, PROVENANCE: origins}


def _rank_of(source: MergeSource, kind: MergeKind) -> tuple[Any, ...]:
    filled = sum(not is_empty(value) for value in source.values.values())
    latest = (-source.item.last_seen, source.item.url, source.job, source.item.key, _encode(source.item.data))
    return (-filled, *latest) if kind is MergeKind.COMPLETE else latest


def _choose_value(
    ranked: Sequence[MergeSource], values: Sequence[Mapping[str, Any]], name: str, rules: MergeRules
) -> tuple[MergeSource, Any]:
    """A field's value, and its source: the best one that has it, else the best one where it is empty."""
    wanted = rules.prefer.get(name, rules.prefer.get(EVERY_FIELD, ()))
    found = [(source, fields[name]) for source, fields in zip(ranked, values, strict=True) if name in fields]
    if wanted:
        found.sort(key=lambda pair: _place_of(pair[0], wanted))
    return next((pair for pair in found if not is_empty(pair[1])), found[0])


class PreferenceCheck:
    """Looks at sources for the fields, the hosts and the jobs that preferences name."""

    def __init__(self, prefer: Mapping[str, tuple[str, ...]]) -> None:
        self._fields = dict.fromkeys(name for name in prefer if name != EVERY_FIELD)
        self._sources = dict.fromkeys(name for names in prefer.values() for name in names)

    def note_source(self, source: MergeSource) -> None:
        """One more source."""
        for name in self._fields.keys() & source.item.data.keys():
            del self._fields[name]
        if self._sources:
            for name in self._sources.keys() & _names_of(source):
                del self._sources[name]

    @property
    def unmet(self) -> tuple[str, ...]:
        """The fields and origins in the rules that no source has, in the order of the rules."""
        return (*self._fields, *self._sources)


def _names_of(source: MergeSource) -> set[str]:
    url = source.item.url
    return {source.job, source.job.rpartition("-")[0], urls.hostname_of(url), urls.host_key(url)}


def _place_of(source: MergeSource, wanted: Sequence[str]) -> int:
    names = _names_of(source)
    return next((place for place, name in enumerate(wanted) if name in names), len(wanted))


def _origin_of_value(
    ranked: Sequence[MergeSource], values: Sequence[Mapping[str, Any]], name: str, value: Any
) -> Any:
    """The page of the best source that has this value; ``None``: the rule made it."""
    for source, fields in zip(ranked, values, strict=True):
        if name in fields and fields[name] == value:
            return source.origin_of(name)
    return None


def is_empty(value: Any) -> bool:
    """Whether a field says nothing; zero and ``False`` are values."""
    return value is None or value in ("", [], {})


def merged_type(kind: str) -> str:
    """Return the type of items merged from items of a type."""
    return kind.removesuffix(SOURCE_MARK)
