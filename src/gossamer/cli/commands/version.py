"""``gossamer version``: which Gossamer and which Python this is."""

from __future__ import annotations

import platform
import sys
from typing import Annotated

import typer

from gossamer import __version__
from gossamer.cli.terminal.output import print_json

EXAMPLES = """
  gossamer version
  gossamer version --json
"""


def show_version(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Show the version."""
    python = platform.python_version()
    if as_json:
        print_json({"gossamer": __version__, "python": python, "platform": sys.platform})
    else:
        typer.echo(f"gossamer {__version__} (Python {python})")


COMMANDS = (("version", show_version, EXAMPLES),)
