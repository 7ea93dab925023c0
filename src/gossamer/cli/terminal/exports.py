"""The files that ``-o`` and ``-O`` name, before a crawl. ``-`` is stdout."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from gossamer.config.command_settings import settings_of
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.export.formats import check_compression, find_kind
from gossamer.export.names import check_placeholders, check_url
from gossamer.queries.export_files import ExportFile, check_before_job, check_file

STDOUT = "-"


def outputs_of(
    append: Sequence[str] | None,
    overwrite: Sequence[str] | None,
    format: str | None,  # noqa: A002 - users' word
    data: str | None,
    settings: list[str] | None,
    *,
    fresh: bool,
    as_json: bool,
) -> tuple[ExportFile, ...]:
    """The files of a crawl's options, checked before it begins."""
    files = files_from_options(append=append, overwrite=overwrite, format=format)
    return check_at_start(files, data, settings, fresh=fresh, as_json=as_json)


def files_from_options(
    *,
    append: Sequence[str] | None,
    overwrite: Sequence[str] | None,
    format: str | None = None,  # noqa: A002 - users' word
) -> tuple[ExportFile, ...]:
    """The files of the two options. Raises ``UsageError`` for what could not be written later."""
    named = [(name, True) for name in append or ()] + [(name, False) for name in overwrite or ()]
    outputs = tuple(check_output(name, append=is_append, format=format) for name, is_append in named)
    names = [output.name for output in outputs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is named twice by -o and -O; name it once")
        check_placeholders(name, 0)
    if format is not None and not outputs:
        raise UsageError("--format is for the items: name a file with -o or -O, or - for stdout")
    return outputs


def check_output(
    name: str,
    *,
    append: bool,
    format: str | None = None,  # noqa: A002 - users' word
    compression: str | None = None,
) -> ExportFile:
    """Stdout, or what :func:`~gossamer.queries.export_files.check_file` makes of a name."""
    if format is not None:
        find_kind(format)
    if name == STDOUT:
        chosen = format or "jsonl"
        check_compression(compression or "", chosen)
        if sys.stdout.isatty() and (compression or find_kind(chosen).is_packed):
            raise UsageError(f"{compression or chosen} is nothing to read on a terminal: name a file with -o")
        return ExportFile(None, append, chosen, compression or "")
    return check_file(name, append=append, format=format, compression=compression)


def check_at_start(
    outputs: Sequence[ExportFile],
    data: str | None,
    settings: list[str] | None,
    *,
    fresh: bool,
    as_json: bool = False,
) -> tuple[ExportFile, ...]:
    """The files, after :func:`~gossamer.queries.export_files.check_before_job`.

    With ``as_json`` stdout is taken. Buckets are asked: raises ``OperatorError`` for one that cannot be used.
    """
    if as_json and any(output.is_stdout for output in outputs):
        raise UsageError("--json and the items (-) cannot both go to stdout; name a file")
    for output in outputs:
        if output.url:
            _check_bucket(output.url, settings_of(data, settings))
        if output.is_rewritten:
            check_before_job(output, Path(settings_of(data, settings).data), fresh=fresh)
    return tuple(outputs)


def _check_bucket(url: str, settings: Settings) -> None:
    if place := check_url(url):  # placeholders may begin with the bucket's name
        asyncio.run(import_module("gossamer.wiring.checks").check_bucket(place, settings))
