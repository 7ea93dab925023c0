"""The CDXJ index of an archive: one line for each answer, sorted by the key of its URL. Pure.

A line is ``KEY TIMESTAMP {JSON}``. The key is a SURT, with the host's labels reversed
(``com,example)/page?a=1``). Fields that only this reader needs are below ``gossamer``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

import msgspec
from msgspec import UNSET, UnsetType

from gossamer.archive.surt import key_of
from gossamer.core.archive import ArchiveEntry, ArchiveLocation
from gossamer.core.record import Record
from gossamer.policy.url_parser import head_of
from gossamer.policy.urls import parse_origin

_encode = msgspec.json.Encoder().encode
_NO_SIGNS = str.maketrans("", "", "-:T")


class _OwnFields(Record, frozen=True, kw_only=True, gc=False):
    """Fields that other tools do not write."""

    at: float
    rung: str
    flags: tuple[str, ...] = ()
    method: str = "GET"
    request: str = ""  # the digest of its body
    variant: str = ""
    mime: str | UnsetType = UNSET  # of a revisit


class _Fields(Record, frozen=True, kw_only=True, gc=False):
    """The JSON of a line."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str
    gossamer: _OwnFields


def keys_of(url: str) -> set[str]:
    """Return the keys under which a URL may be found: an older index may have another one than today's."""
    return {key_of(url), _former_key_of(url)}


def _former_key_of(url: str) -> str:
    origin = parse_origin(head_of(url))
    origin = origin if origin.hostname else parse_origin(url)
    host = origin.hostname.removeprefix("www.")
    is_address = host.startswith("[") or host.replace(".", "").isdigit()
    turned = host if is_address else ",".join(reversed(host.split(".")))
    if origin.port != {"http": "80", "https": "443"}.get(origin.scheme):
        turned += f":{origin.port}"
    path, _, query = url[len(origin.origin) :].partition("?")
    path = path.lower().rstrip("/") or "/"
    if query:
        path += "?" + "&".join(sorted(query.lower().split("&")))
    return f"{turned}){path}"


def line_of(entry: ArchiveEntry) -> str:
    """Return the line of an answer, without its end."""
    own = _OwnFields(
        at=entry.at,
        rung=entry.rung,
        flags=entry.flags,
        method=entry.method,
        request=entry.request_digest,
        variant=entry.variant,
        mime=entry.content_type if entry.is_revisit else UNSET,
    )
    said = _Fields(
        url=entry.url,
        mime="warc/revisit" if entry.is_revisit else entry.content_type,
        status=str(entry.status),
        digest=entry.digest,
        length=str(entry.location.length),
        offset=str(entry.location.offset),
        filename=entry.location.file.rpartition("/")[2],
        gossamer=own,
    )
    return f"{key_of(entry.url)} {_stamp_of(int(entry.at))} {_encode(said).decode()}"


@lru_cache(60)
def _stamp_of(second: int) -> str:
    date = datetime.fromtimestamp(second, UTC).isoformat(timespec="seconds")
    return date[:19].translate(_NO_SIGNS)


def entry_from(line: str, folder: str) -> ArchiveEntry:
    """Parse a line of an index in a folder. Raises ``ValueError`` for a line that is not ours."""
    try:
        said = msgspec.json.decode(line.split(" ", 2)[2])
        own = said["gossamer"]
        location = ArchiveLocation(
            file=f"{folder}{said['filename']}", offset=int(said["offset"]), length=int(said["length"])
        )
        return ArchiveEntry(
            url=said["url"],
            method=own.get("method", "GET"),
            at=own["at"],
            status=int(said["status"]),
            content_type=own.get("mime", said["mime"]),
            digest=said["digest"],
            location=location,
            is_revisit=said["mime"] == "warc/revisit",
            rung=own["rung"],
            flags=tuple(own.get("flags", ())),
            request_digest=own.get("request", ""),
            variant=own.get("variant", ""),
        )
    except (IndexError, KeyError, TypeError, AttributeError, msgspec.DecodeError) as error:
        raise ValueError(f"{line[:100]!r} is not a line of an index") from error
