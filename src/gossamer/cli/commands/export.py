"""``gossamer export``: the items of a crawl."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gossamer.cli.options import AsJson, Data, Format, JobName, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.exports import check_output
from gossamer.cli.terminal.output import print_json
from gossamer.config.command_settings import settings_of
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.text import format_count
from gossamer.export import write_items
from gossamer.queries.jobs import find_job
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer export shop | head
  gossamer export shop -o items.csv --safe-csv     to be opened in a spreadsheet
  gossamer export shop-3 --format xml > items.xml
  gossamer export shop --json                      all items as one JSON array
"""


def export_job(
    name: JobName,
    *,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE; - is stdout."),
    ] = None,
    format_: Format = None,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv", help="Put ' before texts that a spreadsheet would run as a formula (csv only)."
        ),
    ] = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Write the items of a crawl.

    To stdout, as JSON lines unless --format says otherwise, or to a file, which is replaced as a whole.
    With --json: the items as one JSON array or, with -o, what was written.

    Texts are written exactly, in csv too, here and by `gossamer crawl -o`. A page can put a formula into a
    cell that way (=HYPERLINK(...), also + - @): for a file that is opened in a spreadsheet, --safe-csv puts
    an apostrophe before such texts.
    """
    if output == "-":
        output = None
    if as_json and not output:
        if format_ not in (None, "json"):
            raise UsageError(f"--json and --format {format_} contradict each other; choose one")
        format_ = "json"
    job, kind, count = _export_items(settings_of(data, settings), name, output, format_, safe_csv=safe_csv)
    if output and as_json:
        print_json({"job": job, "file": output, "format": kind, "items": count})
    elif output:
        sys.stderr.write(f"{format_count(count, 'item')} to {output}\n")


def _export_items(
    settings: Settings, name: str, output: str | None, format_: str | None, *, safe_csv: bool
) -> tuple[str, str, int]:
    """The job, the format and the number of items."""
    file = check_output(output, append=False, format=format_) if output else None
    kind = file.format if file else format_ or "jsonl"
    if safe_csv and kind != "csv":
        raise UsageError(f"--safe-csv is for csv; this is {kind}")

    async def work(backends: Backends) -> tuple[str, str, int]:
        job = await find_job(backends, name)
        items = backends.store.read_items(job)
        target = file.path if file and file.path else sys.stdout.buffer
        return job.id, kind, await write_items(items, target, kind, safe_csv=safe_csv)

    return run_with_backends(settings, work)


COMMANDS = (("export", export_job, EXAMPLES),)
