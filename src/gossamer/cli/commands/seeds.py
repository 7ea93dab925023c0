"""``gossamer seeds``: add a list of URLs of any length, or the rows of a query, to a job."""

from __future__ import annotations

import shlex
from itertools import chain
from typing import Annotated

import typer

from gossamer.cli import completion
from gossamer.cli.errors import print_message
from gossamer.cli.options import Argument, AsJson, Data, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import LONG, plain, plain_url, print_json
from gossamer.cli.terminal.seed_progress import SeedProgress
from gossamer.cli.terminal.tables import print_facts
from gossamer.config.command_settings import settings_of
from gossamer.config.overrides import arguments_of, to_overrides
from gossamer.core.errors import UsageError
from gossamer.core.exits import ExitCode
from gossamer.core.jobs import Job
from gossamer.core.text import format_count
from gossamer.jobs.seed_files import SeedFile
from gossamer.jobs.seeding import SeededTarget, SeedReport, open_writer, stream_query
from gossamer.queries.documents import to_document
from gossamer.queries.jobs import find_job
from gossamer.targets.loading import load_target
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer seeds urls.txt && gossamer crawl generic
  gossamer seeds products.csv.gz --target shop --column link
  zcat urls.gz | gossamer seeds - --job shop-3
  gossamer seeds --database sqlite:///shop.db --query "SELECT url FROM product" --target shop
"""


File = Annotated[
    str | None,
    typer.Argument(metavar="[FILE]", help="A list of URLs (text, CSV, JSON lines; .gz, .zst); -: stdin."),
]
SeedTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        help="Whose job takes them: a spider's name, FILE.py or a URL [default: generic, which keeps the "
        "text of each page and follows nothing].",
        autocompletion=completion.complete_spiders,
    ),
]
SeedJob = Annotated[
    str | None,
    typer.Option("--job", metavar="JOB", help="An existing job.", autocompletion=completion.complete_jobs),
]
Query = Annotated[
    str | None, typer.Option("--query", metavar="SQL", help="Take the rows of a query instead of a file.")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database", metavar="URL", help="The database: sqlite:///FILE or postgresql://USER@HOST/DATABASE."
    ),
]
Column = Annotated[str, typer.Option("--column", metavar="NAME", help="The column or field with the URL.")]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="FORMAT", help="lines, csv, tsv or jsonl; overrides the suffix."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Make a new job.")]
Quiet = Annotated[bool, typer.Option("-q", "--no-progress", help="Show no progress and no summary.")]


def add_seeds(
    file: File = None,
    *,
    target: SeedTarget = None,
    job: SeedJob = None,
    query: Query = None,
    database: DatabaseUrl = None,
    column: Column = "url",
    text_format: Format = None,
    fresh: Fresh = False,
    quiet: Quiet = False,
    argument: Argument = None,
    settings: Set = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Add a list of URLs of any length to a job.

    Memory does not grow with the list. After an interruption, run the same command again: it adds the missing
    URLs; a row with a higher priority raises a waiting request. On this machine, `gossamer crawl TARGET` then
    crawls them; a fleet begins at once. Exits with 1 if lines were skipped.
    """
    if (file is None) == (query is None) or (query is None) != (database is None):
        raise UsageError("name a FILE (or -), or give both --query and --database")
    if job is not None and (target or argument or fresh):
        raise UsageError("--job names a job that is there: it goes without --target, -a and --fresh")
    source = SeedFile(file, text_format, column) if file is not None else None
    chunks = source.chunks() if source else stream_query(database or "", query or "", column)
    chosen = None if job is not None else _choose_target(target or "generic", argument, settings, data)

    async def work(backends: Backends) -> tuple[Job, SeedReport]:
        given = await (
            find_job(backends, job or "") if chosen is None else chosen.choose_job(backends, fresh=fresh)
        )
        with SeedProgress(source, on=not (quiet or as_json)) as progress:
            writer = await open_writer(backends, given)
            return given, await writer.add_chunks(chunks, progress.show)

    places = settings_of(data, settings) if chosen is None else chosen.loaded.settings
    into, report = run_with_backends(places, work, create=chosen is not None)
    options = [("-a", one) for one in argument or ()] + [("-s", one) for one in settings or ()]
    options += [("--data", data)] if data else []
    way_on = ["gossamer", "crawl", into.target if chosen is None else chosen.text, *chain(*options)]
    print_json(to_document(report)) if as_json else _print_report(into, report, way_on, quiet=quiet)
    raise typer.Exit(ExitCode.DEAD_LETTERS if report.total_left_out else ExitCode.OK)


def _choose_target(
    target: str, argument: list[str] | None, settings: list[str] | None, data: str | None
) -> SeededTarget:
    arguments, options = arguments_of(argument), to_overrides(settings, data=data)
    return SeededTarget(load_target(target, arguments, options), target, arguments, tuple(options))


def _print_report(job: Job, report: SeedReport, way_on: list[str], *, quiet: bool) -> None:
    for refusal in report.refusals:
        shown = f": {plain_url(refusal.text)}" if refusal.text else ""
        print_message(f"line {refusal.number:,}: {plain(refusal.reason)}{shown}")
    if (more := report.total_left_out - len(report.refusals)) > 0:
        print_message(f"... and {format_count(more, 'line')} more")
    if quiet:
        return
    raised = f", {report.raised:,} of them raised" if report.raised else ""
    facts = [
        ("job", job.id),
        ("seeds", f"{report.rows:,} ({report.added:,} added, {report.known:,} known already{raised})"),
    ]
    if report.left_out:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.left_out.items())
        facts.append(("left out", reasons))
    if not job.is_fleet:
        facts.append(("next", plain(shlex.join(way_on), LONG)))
    print_facts(facts)


COMMANDS = (("seeds", add_seeds, EXAMPLES),)
