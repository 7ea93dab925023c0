"""Dropped items and links by reason: counts by ``KIND:REASON``, as in reports, ledger and ``--json``.

The text form is made and read here only. Reasons are short words, or messages of users' code.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from gossamer.core.record import Record, Time

KEY_LENGTH = 100
"""Maximum length of a key in characters; reasons may be free text."""


class DropKind(StrEnum):
    """The kind of the thing dropped."""

    LINK = "link"  # a link or a request that a page led to
    ITEM = "item"
    FILE = "file"  # a part of a file: its thumbnails
    PAGE = "page"  # a part of the page itself: it was cut
    SITEMAP = "sitemap"  # a part of a sitemap
    FEED = "feed"  # a part of a feed: lines of CSV, or of XML that is malformed

    def key_of(self, reason: str) -> str:
        """The key that drops of this kind are counted by."""
        return f"{self}:{reason}"

    def reason_of(self, key: str) -> str | None:
        """The reason in a key; ``None``: it is a key of another kind."""
        kind, _, reason = key.partition(":")
        return reason if kind == self else None

    def select_from(self, dropped: Mapping[str, int]) -> dict[str, int]:
        """The counts of this kind, by reason."""
        return {
            reason: count for key, count in dropped.items() if (reason := self.reason_of(key)) is not None
        }

    def count_in(self, dropped: Mapping[str, int]) -> int:
        """How many of this kind were dropped, for whatever reason."""
        return sum(self.select_from(dropped).values())


class DropSample(Record, frozen=True, kw_only=True):
    """One item that was dropped, as an example of its reason."""

    reason: str  # without the kind: ``Product.price: not a number``
    stage: str = ""  # the step of the pipeline that dropped it; empty: its own type
    type: str  # of the item
    url: str  # the page it was found on
    at: Time  # when that page was visited
    data: bytes  # as JSON, at most 2 KB, without secrets
