"""Names of files: with placeholders (``{spider}-{date}.csv``), and in buckets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job

TYPE, NUMBER = "type", "n"
PLACEHOLDERS = ("job", "spider", TYPE, "date", "time", NUMBER)
"""The names that may stand in braces."""

MAX_VALUE = 80
"""Bytes of one value in a name."""

BUCKET = "s3://"
_BLOB_NAME = re.compile(r"[A-Za-z0-9._=-]+")
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_UNSAFE = re.compile(r"[^\w.-]+")
_UNSAFE_IN_BUCKETS = re.compile(r"[^A-Za-z0-9._-]+")


def placeholders_in(name: str) -> frozenset[str]:
    """Return the placeholders of a name. Raises :class:`UsageError` for one that does not exist."""
    found = {match[1] for match in _PART.finditer(name) if match[1] is not None}
    unknown = sorted(found.difference(PLACEHOLDERS))
    if unknown:
        known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
        raise UsageError(
            f"{name}: unknown placeholder {{{unknown[0]}}}; known are {known}; "
            "braces that are none are written twice"
        )
    return frozenset(found)


def fill_name(name: str, values: Mapping[str, str]) -> str:
    """Return a name with its placeholders filled in; a value cannot lead into another folder.

    Of values in names of buckets only letters, digits and a few signs of ASCII stay.
    """
    unsafe = _UNSAFE_IN_BUCKETS if name.startswith(BUCKET) else _UNSAFE

    def fill(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        return safe_part(values[match[1]], unsafe)

    return _PART.sub(fill, name)


def name_file(target: str, job: Job, kind: str = "", number: int = 1) -> str:
    """Return the name of the file of a job's items, of those of a type, or of one of several with a number.

    ``date`` and ``time`` are those of its beginning, in UTC, so that the same command writes the same file.
    """
    began = datetime.fromtimestamp(job.created_at, UTC)
    values = {
        "job": job.id,
        "spider": job.name,
        TYPE: kind,
        "date": began.strftime("%Y-%m-%d"),
        "time": began.strftime("%H%M%S"),
        NUMBER: f"{number:04}",
    }
    return fill_name(target, values)


def safe_part(value: str, unsafe: re.Pattern[str] = _UNSAFE) -> str:
    """Return a value as a part of a name: no separators, no leading dot, not empty, of bounded length."""
    safe = unsafe.sub("_", value).encode()[:MAX_VALUE].decode(errors="ignore")
    return safe.lstrip(".") or "_"


def check_types(target: str, job: Job, types: Sequence[str]) -> None:
    """Raises ``UsageError`` where the items of two types would be written to one file."""
    if len({name_file(target, job, kind) for kind in types}) < len(types):
        raise UsageError(f"{target}: two types of items would be one file; export each with --type")


def check_placeholders(target: str, split: int) -> None:
    """Raises ``UsageError`` where the name and the number of files do not fit each other."""
    numbered = NUMBER in placeholders_in(target)
    if split and not numbered:
        raise UsageError(
            f"--split makes several files: put {{n}} into the name {target!r}, for their numbers"
        )
    if numbered and not split:
        raise UsageError(f"{target}: {{n}} numbers the files of --split; say of how many items each is")


def check_url(target: str) -> str:
    """Return the fixed part of a bucket's place, before its first placeholder; empty where none is fixed.

    Raises ``UsageError`` for a URL that names no file, whatever the values of its placeholders.
    """
    placeholders_in(target)
    split_url(fill_name(target, dict.fromkeys(PLACEHOLDERS, "x")))
    place = target.rpartition("/")[0]
    fixed, brace, _ = place.partition("{")
    place = fixed.rpartition("/")[0] if brace else place
    return place if len(place) > len(BUCKET) else ""


def split_url(url: str) -> tuple[str, str]:
    """Return the place in a bucket, and the name there. Raises ``UsageError`` for a URL without a name."""
    place, _, name = url.removeprefix(BUCKET).rpartition("/")
    if not place or not _BLOB_NAME.fullmatch(name):
        raise UsageError(
            f"{url}: write it as s3://BUCKET/FOLDER/NAME; a name has letters, digits and . _ - = only"
        )
    return BUCKET + place, name
