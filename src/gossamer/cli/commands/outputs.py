"""``gossamer outputs``: copies of the items outside the store, written as they change."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.backends import run_with_store
from gossamer.cli.terminal.output import print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.redaction import shown_server
from gossamer.ports.backends import StoreBackend

HELP = "Other places that items are written to as they change."
EXAMPLES = """
  gossamer outputs list
  gossamer outputs write                    write pending items now
  gossamer outputs forget warehouse
"""
LIST_EXAMPLES = """
  gossamer outputs list --json
"""
WRITE_EXAMPLES = """
  gossamer outputs write                    without crawling, as after an output was away
"""
FORGET_EXAMPLES = """
  gossamer outputs forget warehouse         when it is no longer in the settings
"""
MOST_COUNTED = 1_000_000
NONE = "no outputs; add a section [outputs.NAME] with its url to gossamer.toml"


def list_outputs(data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """List the outputs, with how many changes each has still to get."""
    said = settings_of(data, settings)
    found = run_with_store(said, lambda keeping: _read_outputs(said, keeping))
    if as_json:
        print_json(found)
    elif not found:
        print_message(NONE)
    else:
        head = ("output", "waiting", "place")
        print_table(head, ((row["output"], f"{row['waiting']:,}", row["url"]) for row in found))


async def _read_outputs(said: Settings, keeping: StoreBackend) -> list[dict[str, Any]]:
    if keeping.changes is None:
        return []
    known = await keeping.changes.read_positions()
    found = []
    for name in sorted({*known, *said.outputs}):
        done = known[name].done if name in known else ""
        waiting = await keeping.changes.count_changes(done, MOST_COUNTED)
        url = shown_server(said.outputs[name].url) if name in said.outputs else "(not in the settings)"
        found.append({"output": name, "waiting": waiting, "url": url})
    return found


def write_outputs(data: Data = None, settings: Set = None) -> None:
    """Write pending items to the outputs, then exit."""
    said = settings_of(data, settings)
    if not said.outputs:
        raise UsageError(NONE)

    async def work(keeping: StoreBackend) -> list[str]:
        runner = import_module("gossamer.wiring.outputs").open_outputs(said, keeping)
        await runner.start()
        late: list[str] = await runner.end()
        return late

    late = run_with_store(said, work)
    for name in said.outputs:
        print_message(f"{name}: not everything is written yet" if name in late else f"{name}: up to date")
    if late:
        raise typer.Exit(1)


def forget_output(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As in the settings.")],
    data: Data = None,
    settings: Set = None,
) -> None:
    """Stop keeping items for an output.

    Items already written stay where they are. If the output is still in the settings, the next crawl starts
    it anew, with the changes from then on.
    """

    async def work(keeping: StoreBackend) -> bool:
        if keeping.changes is None or not await keeping.changes.forget_output(name):
            return False
        await keeping.changes.forget_changes()
        return True

    if not run_with_store(settings_of(data, settings), work):
        raise UsageError(f"nothing was ever written to an output {name!r}; see gossamer outputs list")
    print_message(f"the output {name!r} is forgotten")


COMMANDS = (
    ("list", list_outputs, LIST_EXAMPLES),
    ("write", write_outputs, WRITE_EXAMPLES),
    ("forget", forget_output, FORGET_EXAMPLES),
)
