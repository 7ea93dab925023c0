"""Filters for readers of all items."""

from __future__ import annotations

import msgspec

from gossamer.core.jobs import ItemFilter, StoredItem


def fits_filter(item: StoredItem, which: ItemFilter) -> bool:
    """Whether an item is one of those that a filter selects."""
    text = which.text.lower()
    return (
        which.type in ("", item.type)
        and (not which.missing or item.data.get(which.missing) in (None, ""))
        and (which.changed_since is None or item.changed_at >= which.changed_since)
        and (not text or any(text in words.lower() for words in _words_of(item)))
    )


def _words_of(item: StoredItem) -> tuple[str, ...]:
    return item.key, item.url, msgspec.json.encode(item.data).decode("utf-8", "replace")
