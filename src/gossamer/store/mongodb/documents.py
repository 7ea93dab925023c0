"""From records to documents of MongoDB and back. Pure.

Guarantee: no text in them is refused by MongoDB, and an item's fields come back as they were, in their order:
as a document, in which MongoDB can search, or as JSON where no document can hold them (names with dots, whole
numbers of more than 64 bits).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict

from gossamer.core.jobs import StoredItem
from gossamer.core.results import Attempt, PageRecord
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.mongodb.packages import encode, encoding
from gossamer.drivers.mongodb.server import Document
from gossamer.policy.urls import host_key
from gossamer.store.attempts import attempt_of, packed_request

LARGEST = 16 * 2**20 - 64 * 2**10
"""Bytes of an item's fields; a document has at most 16 MiB."""
DEPTH = 80
"""Levels of fields within each other; a document has at most 100."""

_from_json: Callable[[bytes | str], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode
_NO_DOCUMENT = (encoding.BSONError, OverflowError, UnicodeError)
_COLUMNS = (
    *("_id", "at", "url", "fingerprint", "verdict", "reason", "detail", "attempt", "status", "size_bytes"),
    *("elapsed_ms", "worker", "rung", "depth", "via", "method", "flags", "request", "proxy", "session"),
    *("cost", "wire_bytes", "address"),
)
_PAGE_FIELDS = PageRecord.__struct_fields__


class TooLargeError(ValueError):
    """An item is larger than a document may be."""


def fields_of(data: bytes) -> Document:
    """Return an item's fields, from their JSON, as ``{"data": ...}`` or ``{"json": ...}``.

    Raises ``TooLargeError``, and ``ValueError`` for invalid JSON.
    """
    fields = _from_json(data)
    if _is_document(fields, DEPTH):
        try:
            size = len(encode({"data": fields}))
        except _NO_DOCUMENT:
            pass
        else:
            if size <= LARGEST:
                return {"data": fields}
    if len(data) > LARGEST:
        raise TooLargeError
    return {"json": data.decode()}


def _is_document(value: Any, depth: int) -> bool:
    """Whether all names are valid in MongoDB."""
    if isinstance(value, dict):
        return depth > 0 and all(
            _is_name(name) and _is_document(inner, depth - 1) for name, inner in value.items()
        )
    if isinstance(value, list):
        return depth > 0 and all(_is_document(inner, depth - 1) for inner in value)
    return True


def _is_name(name: str) -> bool:
    return name != "" and name[0] != "$" and "." not in name and "\0" not in name


def read_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that :func:`fields_of` put into a document."""
    if "json" in document:
        return _from_json(document["json"])
    found: dict[str, Any] = document["data"]
    return found


def item_of(document: Mapping[str, Any], former: Mapping[str, Any] | None = None) -> StoredItem:
    """Return an item, with the values of a former version if one is given."""
    values = document if former is None else former
    return StoredItem(
        id=document["number"],
        type=document["type"],
        key=document["key"],
        data=read_fields(values),
        url=values["url"],
        first_seen=document["first_seen"],
        last_seen=values["last_seen"],
        changed_at=values["changed_at"],
    )


def document_of_attempt(job_id: str, attempt: Attempt) -> Document:
    """Return a row of the ledger, without its ``_id``."""
    fields = {
        name: clean(value) if isinstance(value, str) else value for name, value in asdict(attempt).items()
    }
    ways = attempt.rung.split("+")
    return {
        **fields,
        "job": job_id,
        "verdict": attempt.verdict.value,
        "flags": [clean(flag) for flag in attempt.flags],
        "request": clean(packed_request(attempt)),
        "host": clean(host_key(attempt.url)),
        "ways": [clean("+".join(ways[: number + 1])) for number in range(len(ways))],
    }


def row_of_attempt(document: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the id of a row, and the columns of ``store.attempts.attempt_of``."""
    words = {"flags": " ".join(document["flags"])}
    return tuple(words.get(name, document[name]) for name in _COLUMNS)


def read_attempt(document: Mapping[str, Any]) -> Attempt:
    """Return a row of the ledger as it was written."""
    return attempt_of(row_of_attempt(document)[1:])


def document_of_page(page: PageRecord) -> Document:
    """Return a page, without what identifies it."""
    return {name: clean(value) if isinstance(value, str) else value for name, value in asdict(page).items()}


def read_page(document: Mapping[str, Any]) -> PageRecord:
    """Return a page as it was written."""
    return PageRecord(**{name: document[name] for name in _PAGE_FIELDS if name in document})


def field_of(name: str) -> str:
    """Any text as the name of a field."""
    text = clean(name).replace("%", "%25").replace(".", "%2E").replace("$", "%24").replace("\0", "%00")
    return text or "%"


def name_of(field: str) -> str:
    """Return the text that :func:`field_of` was given."""
    if field == "%":
        return ""
    for character, code in (("\0", "%00"), ("$", "%24"), (".", "%2E"), ("%", "%25")):
        field = field.replace(code, character)
    return field
