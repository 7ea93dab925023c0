"""``gossamer merge``: merge items of several crawls that are about the same things."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import plain, print_json
from gossamer.config.command_settings import settings_of
from gossamer.core.errors import UsageError
from gossamer.core.text import format_count
from gossamer.jobs.merge import MergeResult, merge_jobs
from gossamer.jobs.merge_rules import read_rules
from gossamer.queries.documents import to_document
from gossamer.queries.jobs import find_job
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer merge shop-a shop-b --by ean            one item for each ean, of both shops
  gossamer merge shop-a shop-b --by ean --prefer price=shop-b.example --into offers
  gossamer merge market --by sku --rule complete   of one crawl of several hosts
  gossamer merge a b --by sku --rule rules:cheapest
  gossamer export offers -o offers.csv
"""


Names = Annotated[
    list[str],
    typer.Argument(metavar="JOB...", help="Jobs, by id or name.", autocompletion=completion.complete_jobs),
]
By = Annotated[
    str,
    typer.Option(metavar="FIELDS", help="Fields that identify a thing: equal values mean the same thing."),
]
Rule = Annotated[
    str,
    typer.Option(metavar="RULE", help="Which source wins: latest, complete, or a function as module:name."),
]
Prefer = Annotated[
    list[str] | None,
    typer.Option(metavar="FIELD=SOURCES", help="Hosts or jobs that come first for a field; * is all."),
]
Into = Annotated[
    str, typer.Option(metavar="NAME", help="Name of the merged job; else that of the first, -merged.")
]


def merge_items(
    names: Names,
    *,
    by: By = "",
    rule: Rule = "latest",
    prefer: Prefer = None,
    into: Into = "",
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Merge several items about one thing into one item.

    Without --by, items of the same type and key are the same. An empty field is filled from the next source.
    The field _provenance gives the page, the time and the job of each other field. The merged items form a
    separate job; the items of the other jobs do not change.
    """
    rules, custom = read_rules(by, rule, prefer or ())

    async def work(backends: Backends) -> MergeResult:
        jobs = [await find_job(backends, name) for name in names]
        if len({job.id for job in jobs}) < len(jobs):
            raise UsageError("the same job is named twice; name each once")
        name = into or f"{jobs[0].name}-merged"
        return await merge_jobs(
            backends.store,
            backends.book,
            jobs,
            rules,
            into=name,
            now=backends.clock.now(),
            custom=custom,
        )

    result = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(result))
    else:
        sys.stderr.write("\n".join(_lines_of(result, names)) + "\n")


def _lines_of(result: MergeResult, names: Sequence[str]) -> list[str]:
    read = format_count(result.sources, "item")
    lines = [
        f"{result.job}: {format_count(result.items, 'item')} of {read} of {', '.join(names)}; "
        f"{result.merged:,} from more than one"
    ]
    if result.apart:
        lines.append(f"{result.apart:,} lack the fields of --by and stay by themselves")
    if result.unmet:
        lines.append(f"no item has, or is from, what --prefer names: {plain(', '.join(result.unmet))}")
    return lines


COMMANDS = (("merge", merge_items, EXAMPLES),)
