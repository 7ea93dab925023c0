"""Deferred extraction: from a page that was fetched to the request for its extraction, and back. Pure.

The extraction request is a twin of the page's request: with its own fingerprint, so that a page fetched again
is extracted once, and in a queue without a host, since the answer is in the archive.
"""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import FREE
from gossamer.core.requests import Entry
from gossamer.core.shifts import EXTRACT_LANE, PAGE_LANE

_MASK = 0x3C6EF372FE94F82B
_PREFIX = EXTRACT_LANE + FREE


def twin_of(fingerprint: int) -> int:
    """The fingerprint of a page's extraction; of that again, the page's."""
    return fingerprint ^ _MASK


def extraction_host(host: str) -> str:
    """Where the extractions of a host's pages wait."""
    return _PREFIX + host


def defer_entry(entry: Entry, place: str) -> Entry:
    """The entry of the extraction of a page whose answer is at ``place`` in the archive."""
    return Entry(
        request=entry.request.replace(lane=EXTRACT_LANE, archived=place),
        fingerprint=twin_of(entry.fingerprint),
        host=extraction_host(entry.host),
    )


def page_entry_of(entry: Entry) -> Entry:
    """The entry of the page that an entry is the extraction of; any other is that of its own page."""
    if not entry.host.startswith(_PREFIX):
        return entry
    return replace(
        entry,
        request=entry.request.replace(lane=PAGE_LANE, archived=""),
        fingerprint=twin_of(entry.fingerprint),
        host=entry.host.removeprefix(_PREFIX),
    )
