"""``gossamer files``: the files that crawls have saved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from gossamer.cli import completion
from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.backends import run_with_backends, run_with_store
from gossamer.cli.terminal.output import plain_url, print_json, print_json_rows
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.config.overrides import parse_seconds
from gossamer.core.files import StoredFile
from gossamer.core.text import format_count
from gossamer.observe.units import format_size
from gossamer.queries import files as queries
from gossamer.queries.documents import to_document
from gossamer.queries.jobs import find_job
from gossamer.wiring.backends import Backends

HELP = "Files that crawls have saved."
EXAMPLES = """
  gossamer files list shop
  gossamer files sweep --dry-run
"""
LIST_EXAMPLES = """
  gossamer files list                       those of all crawls
  gossamer files list shop --json           for programs: where the file of each URL is, all
"""
SWEEP_EXAMPLES = """
  gossamer files sweep --dry-run            say what would be deleted
  gossamer files sweep
"""
SHOWN = 1000
NONE = "no files yet; a spider requests one with: yield response.file(url)"


def list_files(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="JOB", help="Only those of this job.", autocompletion=completion.complete_jobs
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", metavar="N", min=1, help="Show the N newest [default: 1000; with --json: all]."
        ),
    ] = None,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """List the files that crawls have saved, with where they are.

    Paths are below files.url, which is the folder files of the data directory by default. The newest stand
    last. All files, with --json, are written as they are read, job by job.
    """

    async def work(backends: Backends) -> None:
        job = None if name is None else await find_job(backends, name)
        if as_json and limit is None:
            await print_json_rows(to_document(file) async for file in queries.read_files(backends.files, job))
            return
        found = await queries.list_files(backends.files, job, limit or SHOWN)
        if as_json:
            print_json(to_document(found))
        else:
            _print_files(found)

    run_with_backends(settings_of(data, settings), work)


def _print_files(found: Sequence[StoredFile]) -> None:
    if not found:
        print_message(NONE)
        return
    rows = (
        (file.job, format_size(file.size_bytes), file.type, file.blob, plain_url(file.url)) for file in found
    )
    print_table(("job", "size", "type", "path", "url"), rows, right=("size",), wide="url")


def sweep_files(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than", metavar="TIME", help="Only files that were stored longer ago: 30m, 2h, 7d."
        ),
    ] = "1h",
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Delete files that belong to no crawl.

    A killed worker can leave such files. Files stored within the last hour stay: a running crawl may be about
    to refer to them.
    """
    said = settings_of(data, settings)
    before = time.time() - parse_seconds(older_than, "--older-than")
    room = import_module("gossamer.wiring.files")
    swept = run_with_store(said, lambda keeping: room.sweep(said, keeping.files, before, is_dry=dry_run))
    if as_json:
        print_json(to_document(swept))
        return
    verb = "would be deleted" if dry_run else "deleted"
    print_message(
        f"{format_count(swept.blobs, 'file')} that no crawl names {verb} ({format_size(swept.size_bytes)}); "
        f"{swept.kept:,} in use, {swept.young:,} too young to tell"
    )
    if swept.unfinished:
        print_message(f"{format_count(swept.unfinished, 'unfinished file')} of killed workers deleted")


COMMANDS = (("list", list_files, LIST_EXAMPLES), ("sweep", sweep_files, SWEEP_EXAMPLES))
