"""The formats of items: their suffixes and their writers, which are imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from gossamer.core.errors import MissingServiceError, UsageError
from gossamer.core.record import Record
from gossamer.install import install_command


class FileKind(Record, frozen=True, kw_only=True):
    """One format."""

    suffixes: tuple[str, ...]
    writer: str  # its class, in the module of the format's name
    check: str = ""  # the function that checks a file that is to be continued; empty: anything goes
    can_grow: bool = True  # False: a file cannot be continued
    is_packed: bool = False  # it is compressed by itself
    extra: str = ""  # the extra of Gossamer that it needs
    package: str = ""  # a package that it needs


KINDS = {
    "jsonl": FileKind(suffixes=(".jsonl", ".jl", ".ndjson"), writer="JsonlWriter"),
    "json": FileKind(suffixes=(".json",), writer="JsonWriter", check="find_end"),
    "csv": FileKind(suffixes=(".csv",), writer="CsvWriter", check="read_header"),
    "xml": FileKind(suffixes=(".xml",), writer="XmlWriter", check="find_end"),
    "parquet": FileKind(
        suffixes=(".parquet",),
        writer="ParquetWriter",
        can_grow=False,
        is_packed=True,
        extra="parquet",
        package="pyarrow",
    ),
    "excel": FileKind(
        suffixes=(".xlsx",),
        writer="ExcelWriter",
        can_grow=False,
        is_packed=True,
        extra="excel",
        package="xlsxwriter",
    ),
}
"""Every format by its name, which is also that of its module."""

SUFFIXES = {suffix: name for name, kind in KINDS.items() for suffix in kind.suffixes}
"""The format that a suffix stands for."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""The compression that a further suffix stands for."""


def find_kind(name: str) -> FileKind:
    """Return a format by its name. Raises :class:`UsageError` for an unknown one."""
    if name not in KINDS:
        raise UsageError(f"unknown format {name!r}; known are {', '.join(KINDS)}")
    return KINDS[name]


def format_of(path: PurePath | str) -> str:
    """Return the format that a file's suffix names. Raises :class:`UsageError` for any other."""
    named = PurePath(path)
    if named.suffix.lower() in COMPRESSIONS:
        named = named.with_suffix("")
    suffix = named.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{path}: {f'the suffix {suffix} is not the name of a format' if suffix else 'no suffix'}; "
            f"known are {', '.join(SUFFIXES)}; --format names it for any file"
        )
    return SUFFIXES[suffix]


def compression_of(path: PurePath | str) -> str:
    """Return the compression that a file's last suffix names; empty: none."""
    return COMPRESSIONS.get(PurePath(path).suffix.lower(), "")


def check_compression(name: str, format: str) -> None:  # noqa: A002 - the word that users know
    """Raises :class:`UsageError` for a compression that does not exist, or that a format has no use for."""
    if name and name not in COMPRESSIONS.values():
        raise UsageError(f"unknown compression {name!r}; known are {', '.join(COMPRESSIONS.values())}")
    if name and find_kind(format).is_packed:
        raise UsageError(f"{format} files are compressed as they are; leave {name} out")


def available_formats() -> tuple[str, ...]:
    """Return the formats whose packages are installed."""
    return tuple(name for name, kind in KINDS.items() if not kind.package or find_spec(kind.package))


def load_writer(name: str) -> Callable[..., Any]:
    """Return the constructor of a format's writer.

    Raises :class:`UsageError` for an unknown format, :class:`MissingServiceError` if its package is missing.
    """
    kind = find_kind(name)
    try:
        return getattr(import_module(f"gossamer.export.{name}"), kind.writer)  # type: ignore[no-any-return]
    except ImportError as error:
        if not kind.extra:
            raise
        raise MissingServiceError(
            f"{name} files need another package ({error.name} is missing): {install_command(kind.extra)}"
        ) from error


def check_old(name: str, old: BinaryIO, place: str) -> None:
    """Raises :class:`UsageError` for a file that holds something else than its format can continue."""
    kind = find_kind(name)
    if kind.check:
        getattr(import_module(f"gossamer.export.{name}"), kind.check)(old, place)


def check_growth(name: str, path: Path) -> None:
    """Raises :class:`UsageError` for a file with content whose format cannot be continued."""
    if not find_kind(name).can_grow and path.is_file() and path.stat().st_size:
        raise UsageError(
            f"{path} holds something already, and {name} files cannot be continued: "
            "-O replaces it, or choose another file"
        )
