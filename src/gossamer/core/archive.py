"""Records of archived pages: location, index entry and content."""

from __future__ import annotations

import re

from gossamer.core.lazy import lazy_pattern
from gossamer.core.record import Record, Time
from gossamer.core.results import FetchResult

ARCHIVE_RUNG = "archive"
"""The rung of answers from an archive: no request was sent, and they keep their age."""

_PLACE = lazy_pattern(r"(?P<file>[\w.=/-]+):(?P<offset>\d+):(?P<length>[1-9]\d*)", re.ASCII)


class ArchiveLocation(Record, frozen=True, kw_only=True, gc=False):
    """Where one record of an archive is: a part of one of its files."""

    file: str  # the name of the blob, as ``JOB/WORKER-00001.warc.gz``
    offset: int  # of the record's first byte
    length: int  # of the record as it is stored, in bytes

    @property
    def text(self) -> str:
        """The same in one word, ``FILE:OFFSET:LENGTH``: what requests and the ledger call a *place*."""
        return f"{self.file}:{self.offset}:{self.length}"

    @classmethod
    def from_text(cls, text: str) -> ArchiveLocation:
        """The location of a place. Raises ``ValueError`` for a text that is none."""
        found = _PLACE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not a place in an archive: FILE:OFFSET:LENGTH")
        return cls(file=found["file"], offset=int(found["offset"]), length=int(found["length"]))


class ArchiveEntry(Record, frozen=True, kw_only=True, gc=False):
    """The index entry of one archived answer."""

    url: str  # as it was fetched, in its canonical form
    method: str = "GET"  # the request's method
    at: Time  # when the fetch began
    status: int  # the HTTP status
    content_type: str = ""  # without its parameters
    digest: str  # ``sha1:BASE32`` of the body as it was sent
    location: ArchiveLocation
    is_revisit: bool = False  # its body is that of an earlier record, which has the same digest
    rung: str = "http"  # how it was fetched
    flags: tuple[str, ...] = ()  # what fetching found out about the page: ``truncated`` and the like
    request_digest: str = ""  # of the request's body, which is not kept; empty: it had none
    variant: str = ""  # of the request's session, headers and cookies; empty: it had none of its own


class ArchivedPage(Record, frozen=True, kw_only=True):
    """An answer as an archive gives it back."""

    entry: ArchiveEntry
    fetched: FetchResult  # URL, status, headers, body and flags as they were fetched; its rung is ``archive``
