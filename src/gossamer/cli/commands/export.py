"""``gossamer export``: the items of a crawl."""

from __future__ import annotations

import logging
import sys
import time
from typing import Annotated

import typer

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, Format, JobName, Set
from gossamer.cli.terminal.backends import run_with_store
from gossamer.cli.terminal.export_progress import ExportProgress
from gossamer.cli.terminal.exports import check_output
from gossamer.cli.terminal.output import plain, print_json
from gossamer.config.command_settings import settings_of
from gossamer.config.overrides import parse_time
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.text import format_count
from gossamer.export.fields import EVERY_FIELD, FieldChoice
from gossamer.export.names import check_placeholders
from gossamer.ports.backends import StoreBackend
from gossamer.queries.documents import to_document
from gossamer.queries.export_files import ExportFile
from gossamer.queries.exports import ExportPlan, ExportResult, ItemChoice, export_items, find_change_time
from gossamer.queries.jobs import find_job

EXAMPLES = """
  gossamer export shop | head
  gossamer export shop -o items.csv --safe-csv     for a spreadsheet
  gossamer export shop -o items.xlsx --fields sku,name,price
  gossamer export shop -o items.parquet --type Product --fields -raw_html
  gossamer export shop --changed-since shop-3      new and changed items since that crawl
  gossamer export shop --gone                      items whose pages no longer exist
  gossamer export shop -o s3://bucket/{spider}/{date}/{type}.jsonl.gz
  gossamer export shop -o items-{n}.csv --split 100000
  gossamer export shop-3 --format xml > items.xml
  gossamer export shop --json                      all items as one JSON array
"""
Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write to FILE or s3://BUCKET/FILE; - is stdout. {job} {spider} {type} {date} {time} {n} are "
        "filled in.",
    ),
]
Fields = Annotated[
    str | None,
    typer.Option(
        metavar="a,b.c,-d",
        help="Only these fields, in this order, and after a minus those to leave out. Also _type _key _url "
        "_first_seen _last_seen _changed_at.",
    ),
]
TypeName = Annotated[str, typer.Option("--type", metavar="TYPE", help="Only items of this type.")]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Only items last seen then or later: 2026-11-23T14:30, 3d (ago)."),
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Only items last seen before.")]
ChangedSince = Annotated[
    str | None,
    typer.Option(metavar="TIME|JOB", help="Only items that are new or changed since then, or since a job."),
]
Gone = Annotated[bool, typer.Option("--gone", help="Only items whose pages are gone: status 404 or 410.")]
Compress = Annotated[
    str | None,
    typer.Option(metavar="gzip|zstd", help="Compress the output; overrides the suffix (.gz, .zst)."),
]
Split = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Begin a new file after N items; {n} is its number.")
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv", help="Put ' before texts that a spreadsheet would run as formulas (csv only)."
    ),
]


def export_job(
    name: JobName,
    *,
    output: Output = None,
    format_: Format = None,
    fields: Fields = None,
    kind: TypeName = "",
    since: Since = None,
    until: Until = None,
    changed_since: ChangedSince = None,
    gone: Gone = False,
    compress: Compress = None,
    split: Split = None,
    safe_csv: SafeCsv = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Write the items of a crawl.

    Writes JSON Lines to stdout by default. A file is replaced as a whole; its suffix gives the format: .jsonl
    .json .csv .xml, also with .gz .zst, .parquet .xlsx. --json prints one array, or a report on the file.

    Texts are written exactly, also in CSV and by `gossamer crawl -o`, so a page can put a formula into a cell
    (=HYPERLINK(...), also + - @). If you open the file in a spreadsheet, --safe-csv puts an apostrophe before
    such texts. In .xlsx they are never formulas.
    """
    if as_json and output in (None, "-"):
        if format_ not in (None, "json"):
            raise UsageError(f"--json and --format {format_} contradict each other; choose one")
        format_ = "json"
    file = check_output(output or "-", append=False, format=format_, compression=compress)
    _check_csv(file, is_safe=safe_csv)
    check_placeholders("" if file.is_stdout else file.name, split or 0)
    plan = ExportPlan(
        target=sys.stdout.buffer if file.is_stdout else file.name,
        format=file.format,
        compression=file.compression,
        choice=_choose_items(kind, since, until, is_gone=gone),
        fields=EVERY_FIELD if fields is None else FieldChoice.from_text(fields),
        safe_csv=safe_csv,
        split=split or 0,
    )
    result = _export_items(settings_of(data, settings), name, plan, changed_since)
    _report_result(result, file, as_json=as_json)


def _check_csv(file: ExportFile, *, is_safe: bool) -> None:
    if is_safe and file.format != "csv":
        raise UsageError(f"--safe-csv is for csv; this is {file.format}")


def _choose_items(kind: str, since: str | None, until: str | None, *, is_gone: bool) -> ItemChoice:
    now = time.time()
    return ItemChoice(
        type=kind,
        since=None if since is None else parse_time(since, "--since", now),
        until=None if until is None else parse_time(until, "--until", now),
        is_gone=is_gone,
    )


def _export_items(settings: Settings, name: str, plan: ExportPlan, changed_since: str | None) -> ExportResult:
    async def work(keeping: StoreBackend) -> ExportResult:
        job = await find_job(keeping, name)
        asked = plan
        if changed_since is not None:
            asked = plan.changed_since(await find_change_time(keeping, changed_since, time.time()))
        total = (await keeping.store.read_totals(job)).items
        is_read = (
            not isinstance(plan.target, str) and sys.stdout.isatty()
        )  # between its lines it would disturb
        with ExportProgress(total, on=not is_read) as progress:
            return await export_items(keeping, settings, job, asked, progress.show)

    return run_with_store(settings, work)


def _report_result(result: ExportResult, file: ExportFile, *, as_json: bool) -> None:
    for name in result.missing:
        print_message(f"no item has the field {name!r} that --fields asks for")
    if result.refused:
        print_message(
            f"{format_count(result.refused, 'item')} left out, which {result.format} cannot hold: "
            f"{plain('; '.join(result.refusals))}"
        )
    if file.is_stdout:
        if not result.items:
            print_message(f"0 items of {result.job}", logging.INFO)
        return
    if as_json:
        print_json({**to_document(result), "file": file.name})
        return
    for written in result.files:
        sys.stderr.write(f"{format_count(written.items, 'item')} to {plain(written.name)}\n")
    if result.removed:
        first, last = plain(result.removed[0]), plain(result.removed[-1])
        files = format_count(len(result.removed), "file")
        sys.stderr.write(f"{files} of an export before deleted: {first} to {last}\n")
    if not result.files:
        sys.stderr.write("0 items: no file was written\n")


COMMANDS = (("export", export_job, EXAMPLES),)
