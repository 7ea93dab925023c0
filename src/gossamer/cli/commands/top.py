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
"""Maximum seconds for one request to a server: a person is watching."""
EXAMPLES = """
  gossamer top                       all jobs, with details of the one with the worst problem
  gossamer top shop                  with details of this job
  gossamer top --once                print once, as text
  gossamer top --json                the same for programs
"""


def show_top(
    name: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="A job's id, or its name for the latest [default: the one with the worst problem].",
            autocompletion=completion.complete_jobs,
            show_default=False,
        ),
    ] = "",
    *,
    once: Annotated[bool, typer.Option("--once", help="Print the state once.")] = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show everything that runs, live in the terminal.

    Shows each job with its pace, the pace that its hosts allow, waiting requests and the time left; the hosts
    of one job; the workers of a fleet; and current problems with suggested fixes. Keys: q quits, j and k (or
    the arrows) choose a job, p pauses the display. Refreshes every second; does not affect running crawls.
    When stdout is not a terminal, it prints once.
    """
    settled = settings_of(data, settings)

    async def look_once(backends: Backends) -> TopView:
        return await read_top(backends, settled, name)

    async def watch(backends: Backends) -> None:
        async def look(chosen: str) -> TopView:
            return await read_top(backends, settled, chosen)

        screen = import_module("gossamer.cli.terminal.top_screen")
        # Log lines would spoil the screen, which shows errors itself.
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
