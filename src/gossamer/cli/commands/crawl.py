"""``gossamer crawl``: one crawl, here, to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.options import (
    Argument,
    AsJson,
    Data,
    Delay,
    Format,
    MaxDepth,
    MaxPages,
    MaxTime,
    MetricsPort,
    NoRobots,
    PerHost,
    Set,
    TargetText,
)
from gossamer.config.overrides import arguments_of, crawl_overrides
from gossamer.core.errors import UsageError

if TYPE_CHECKING:
    from gossamer.cli.terminal.exports import ExportFile

EXAMPLES = """
  gossamer crawl https://example.com -o pages.jsonl
  gossamer crawl shop.py --max-pages 100 -O items.csv
  gossamer crawl shop -a category=books -s http.max_redirects=3
  gossamer crawl http://localhost:8000 --delay 0 --per-host 64 --json
"""


Output = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Append the items to FILE (.jsonl .json .csv .xml); - is stdout.",
    ),
]
Overwrite = Annotated[
    list[str] | None,
    typer.Option("-O", "--overwrite-output", metavar="FILE", help="Replace FILE with the items."),
]
Concurrency = Annotated[int | None, typer.Option(metavar="N", help="At most N requests at once.")]
Processes = Annotated[
    int | None, typer.Option(metavar="N", help="Number of processes on this machine [default: 1].")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start over instead of resuming.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if there are dead letters.")]
Quiet = Annotated[
    bool, typer.Option("-q", "--no-progress", help="Show no progress and no summary, only warnings.")
]


def crawl_target(
    target: TargetText,
    *,
    output: Output = None,
    overwrite: Overwrite = None,
    format_: Format = None,
    settings: Set = None,
    argument: Argument = None,
    data: Data = None,
    max_pages: MaxPages = None,
    max_depth: MaxDepth = None,
    max_time: MaxTime = None,
    delay: Delay = None,
    per_host: PerHost = None,
    concurrency: Concurrency = None,
    processes: Processes = None,
    no_robots: NoRobots = False,
    metrics_port: MetricsPort = None,
    fresh: Fresh = False,
    strict: Strict = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Crawl a URL or run a spider, to the end.

    A live view shows the progress. An unfinished crawl of the same target continues where it stopped, unless
    --fresh is given. Ctrl-C finishes what is in flight and stops; a second Ctrl-C stops at once. Nothing
    is lost either way.
    """
    from gossamer.cli.terminal import exports, running  # help and completion of the options do without

    outputs = exports.ExportFile.from_options(append=output, overwrite=overwrite, format=format_)
    _check_outputs(outputs, format_, as_json=as_json)
    limits = {"data": data, "metrics_port": metrics_port, "max_pages": max_pages, "max_depth": max_depth}
    pace = {"delay": delay, "per_host": per_host, "concurrency": concurrency, "processes": processes}
    plan = running.CrawlCommand(
        target=target,
        arguments=arguments_of(argument),
        overrides=crawl_overrides(settings, max_time=max_time, no_robots=no_robots, **limits, **pace),
        outputs=outputs,
        fresh=fresh,
        quiet=quiet,
        as_json=as_json,
    )
    raise typer.Exit(running.run_to_end(plan, strict=strict))


def _check_outputs(outputs: Sequence[ExportFile], format_: str | None, *, as_json: bool) -> None:
    if format_ is not None and not outputs:
        raise UsageError("--format is for the items: name a file with -o or -O, or - for stdout")
    if as_json and any(output.path is None for output in outputs):
        raise UsageError("--json and the items (-) cannot both go to stdout; name a file")


COMMANDS = (("crawl", crawl_target, EXAMPLES),)
