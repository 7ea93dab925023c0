"""``gossamer crawl``: one crawl, in this process, to its end."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer.cli.options import (
    Argument,
    AsJson,
    Data,
    Delay,
    Format,
    JobKey,
    MaxDepth,
    MaxErrors,
    MaxItems,
    MaxPages,
    MaxTime,
    MetricsPort,
    NoRobots,
    PerHost,
    Recrawl,
    Set,
    Strict,
    TargetText,
)
from gossamer.config.overrides import arguments_of, crawl_overrides, job_key_of

EXAMPLES = """
  gossamer crawl https://example.com -o pages.jsonl
  gossamer crawl shop.py --max-pages 100 -O items.csv
  gossamer crawl shop --recrawl -O changed.jsonl    only changes since the last crawl
  gossamer crawl shop -a category=books -s http.max_redirects=3
  gossamer crawl shop.py --memory -O items.jsonl    writes no other file
  gossamer crawl http://localhost:8000 --delay 0 --per-host 64 --json
"""


Output = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Append the items to FILE (.jsonl .json .csv .xml, also .gz .zst; .parquet .xlsx); - is stdout.",
    ),
]
Overwrite = Annotated[
    list[str] | None,
    typer.Option(
        "-O", "--overwrite-output", metavar="FILE", help="Replace FILE, or s3://BUCKET/FILE, with the items."
    ),
]
Concurrency = Annotated[int | None, typer.Option(metavar="N", help="At most N requests at once.")]
Processes = Annotated[
    int | None, typer.Option(metavar="N", help="Number of processes on this machine [default: 1].")
]
Archive = Annotated[
    bool | None,
    typer.Option(
        "--archive/--no-archive",
        help="Keep every answer as WARC files, in the data directory or archive.url.",
    ),
]
Cache = Annotated[
    bool | None,
    typer.Option("--cache", help="Take pages that were fetched before from the cache, and keep new ones."),
]
Memory = Annotated[
    bool | None,
    typer.Option("--memory", help="Keep everything in memory, and leave nothing behind but the files of -o."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start over instead of resuming.")]
Quiet = Annotated[
    bool, typer.Option("-q", "--no-progress", help="Show no progress and no summary, only warnings.")
]


def crawl_target(  # noqa: PLR0917 - options of a command are given by their names
    target: TargetText,
    output: Output = None,
    overwrite: Overwrite = None,
    format_: Format = None,
    settings: Set = None,
    argument: Argument = None,
    data: Data = None,
    max_pages: MaxPages = None,
    max_items: MaxItems = None,
    max_errors: MaxErrors = None,
    max_depth: MaxDepth = None,
    max_time: MaxTime = None,
    delay: Delay = None,
    per_host: PerHost = None,
    concurrency: Concurrency = None,
    processes: Processes = None,
    no_robots: NoRobots = False,
    archive: Archive = None,
    cache: Cache = None,
    memory: Memory = None,
    metrics_port: MetricsPort = None,
    recrawl: Recrawl = False,
    fresh: Fresh = False,
    strict: Strict = False,
    quiet: Quiet = False,
    key: JobKey = "",
    as_json: AsJson = False,
) -> None:
    """Crawl a URL or run a spider, to the end.

    Resumes an unfinished crawl unless --fresh is given. Ctrl-C loses nothing; press it twice to stop at once.
    """
    from gossamer.cli.terminal import exports, running  # help and completion of the options do without

    kept = {"data": data, "archive": archive, "cache": cache, "memory": memory, "metrics_port": metrics_port}
    most = {"max_pages": max_pages, "max_items": max_items, "max_errors": max_errors, "max_depth": max_depth}
    pace = {"delay": delay, "per_host": per_host, "concurrency": concurrency, "processes": processes}
    limits = {**kept, **most, **pace}
    overrides = crawl_overrides(settings, max_time=max_time, no_robots=no_robots, recrawl=recrawl, **limits)
    outputs = exports.outputs_of(output, overwrite, format_, data, settings, fresh=fresh, as_json=as_json)
    said = {"fresh": fresh, "quiet": quiet, "as_json": as_json}
    arguments, made_by = arguments_of(argument), job_key_of(key)
    plan = running.CrawlCommand(target, arguments, overrides, outputs=outputs, key=made_by, **said)
    raise typer.Exit(running.run_to_end(plan, strict=strict))


COMMANDS = (("crawl", crawl_target, EXAMPLES),)
