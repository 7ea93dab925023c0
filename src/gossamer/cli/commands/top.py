"""``gossamer top``: everything that runs, live in the terminal."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from typing import Annotated

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import print_json
from gossamer.config.command_settings import settings_of
from gossamer.observe.log_setup import attach_handlers
from gossamer.queries.documents import to_document
from gossamer.queries.top import TopView, read_top
from gossamer.wiring.backends import Backends

LIMIT_S = 5.0
"""Seconds that one question to a server takes at most: somebody looks on."""
EXAMPLES = """
  gossamer top                       every job, and more of the one that needs you most
  gossamer top shop                  more of this one
  gossamer top --once                one look, as text
  gossamer top --json                the same for programs
"""


def show_top(
    name: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="A job's id, or its name for the latest [default: the one that needs you most].",
            autocompletion=completion.complete_jobs,
            show_default=False,
        ),
    ] = "",
    *,
    once: Annotated[bool, typer.Option("--once", help="Look once, and print it.")] = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show everything that runs, live in the terminal.

    Every job with its pace, what its hosts allow, what waits and the time left; the hosts of one of them; the
    workers of a fleet; and what is wrong, with the way out. Keys: q ends it, j and k (or the arrows) choose a
    job, p holds the screen. It looks once a second, and no crawl depends on it. Where stdout is no terminal
    it looks once.
    """
    settled = settings_of(data, settings)

    async def look_once(backends: Backends) -> TopView:
        return await read_top(backends, settled, name)

    async def watch(backends: Backends) -> None:
        async def look(chosen: str) -> TopView:
            return await read_top(backends, settled, chosen)

        screen = import_module("gossamer.cli.terminal.top_screen")
        # What is logged would stand across the screen; what is wrong is said there.
        with attach_handlers("warning", [logging.NullHandler()]):
            await screen.TopScreen(look, await look(name)).run()

    if sys.stdout.isatty() and not (once or as_json):
        run_with_backends(settled, watch, limit_s=LIMIT_S)
        return
    view = run_with_backends(settled, look_once, limit_s=LIMIT_S)
    if as_json:
        print_json(to_document(view))
        return
    import_module("gossamer.cli.terminal.top_layout").print_top(view)


COMMANDS = (("top", show_top, EXAMPLES),)
