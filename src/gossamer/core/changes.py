"""Items on their way to other places than the store, and how far each of those places has come."""

from __future__ import annotations

from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record


class ChangedItem(StoredItem, frozen=True, kw_only=True):
    """An item whose values changed, with those that it has now."""

    spider: str  # with ``type`` and ``key`` it identifies the item


class ItemChanges(Record, frozen=True, kw_only=True):
    """A part of a feed of changes, oldest first."""

    items: tuple[ChangedItem, ...] = ()  # each once, where it changed last
    last: str = ""  # where the next part begins; as it was asked for if there is nothing new


class OutputPosition(Record, frozen=True, kw_only=True):
    """How far an output has come in the feed of changes; the places are those of ``ItemChanges.last``."""

    done: str = ""  # everything up to here has been written; "": nothing
    planned: str = ""  # where the batch ends that is being written; ``done``: there is none
    state: bytes = b""  # the output's own state, returned to it before its next batch
