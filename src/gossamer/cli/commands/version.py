"""``gossamer version``: the versions of Gossamer and Python."""

from __future__ import annotations

import json
import platform
import sys
from typing import Annotated

import typer

from gossamer import __version__

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
        typer.echo(json.dumps({"gossamer": __version__, "python": python, "platform": sys.platform}))
    else:
        typer.echo(f"gossamer {__version__} (Python {python})")


COMMANDS = (("version", show_version, EXAMPLES),)
