"""``gossamer replay``: parse the archived pages of a crawl again, with the spider as it is now."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gossamer.cli import completion
from gossamer.cli.options import Argument, AsJson, Data, JobName, Set
from gossamer.cli.terminal import replaying
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import print_json
from gossamer.config.command_settings import settings_of
from gossamer.config.overrides import arguments_of, to_overrides
from gossamer.core.errors import UsageError
from gossamer.core.text import format_count
from gossamer.crawl.promotion import promote_version
from gossamer.crawl.replay import discard_version, open_version
from gossamer.crawl.versions import find_version
from gossamer.queries.documents import to_document
from gossamer.queries.item_diff import ItemDiff
from gossamer.queries.jobs import find_job
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer replay shop --diff                  compare the items that the spider finds now
  gossamer replay shop --diff --json           all differences, for programs
  gossamer replay shop --promote shop-1-r2     make the items of that replay those of the crawl
  gossamer replay shop --discard r2
"""


def replay_crawl(
    name: JobName,
    *,
    diff: Annotated[bool, typer.Option("--diff", help="List the items that differ.")] = False,
    promote: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Make the items of a replay those of the crawl.")
    ] = None,
    discard: Annotated[str | None, typer.Option(metavar="VERSION", help="Delete a version.")] = None,
    spider: Annotated[
        str | None,
        typer.Option(
            metavar="SPIDER",
            help="A spider's name or FILE.py, instead of that of the crawl.",
            autocompletion=completion.complete_spiders,
        ),
    ] = None,
    argument: Argument = None,
    settings: Set = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Parse archived pages again, with the spider as it is now.

    No host is contacted. The result is a separate version, compared with the items of the crawl, which do not
    change until --promote. Pages that the archive does not have are counted as missing.
    """
    if promote is not None and discard is not None:
        raise UsageError("--promote and --discard contradict each other; choose one")
    if (promote or discard) and (diff or spider or argument):
        raise UsageError("--promote and --discard take a version that is there: they go with no other option")
    places = settings_of(data, settings)
    if promote is not None:
        return run_with_backends(places, lambda backends: _promote(backends, name, promote, as_json=as_json))
    if discard is not None:
        return run_with_backends(places, lambda backends: _discard(backends, name, discard, as_json=as_json))
    command = replaying.ReplayCommand(
        job=name,
        spider=spider or "",
        arguments=arguments_of(argument),
        options=to_overrides(settings),
        shows_diff=diff,
        as_json=as_json,
    )
    code = run_with_backends(places, lambda backends: replaying.replay_job(backends, command))
    raise typer.Exit(code)


async def _promote(backends: Backends, name: str, wanted: str, *, as_json: bool) -> None:
    job = await find_job(backends, name)
    version = await find_version(backends.versions, job, wanted)
    made, made_job = await open_version(backends, version, job)
    diff = ItemDiff()
    try:
        await diff.read_items(backends.store.read_items(job), made.store.read_items(made_job))
        promoted = await promote_version(backends, job, version, diff.differences())
    finally:
        diff.close()
        await made.close()
    if as_json:
        print_json({"job": job.id, "version": version.job, **to_document(promoted)})
        return
    said = f"{job.id}: {format_count(promoted.added, 'item')} added, {promoted.changed:,} changed"
    if promoted.kept:
        said += f"; {promoted.kept:,} stay, since another job has seen them later with other values"
    if promoted.lost:
        said += f"; {promoted.lost:,} that the version does not have stay"
    sys.stderr.write(f"{said}\n")


async def _discard(backends: Backends, name: str, wanted: str, *, as_json: bool) -> None:
    job = await find_job(backends, name)
    version = await find_version(backends.versions, job, wanted)
    await discard_version(backends, version, job)
    if as_json:
        print_json({"job": job.id, "version": version.job})
    else:
        sys.stderr.write(f"{version.job} is deleted\n")


COMMANDS = (("replay", replay_crawl, EXAMPLES),)
