"""``gossamer doctor`` and ``version``: what is here, what is missing, and how to get it."""

from __future__ import annotations

import platform
import sys
from typing import Annotated

import typer

from gossamer import __version__
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.output import print_json, print_table
from gossamer.core.exits import ExitCode

DOCTOR_EXAMPLES = """
  gossamer doctor
  gossamer doctor --data /srv/crawl --json
  gossamer doctor -s frontier.url=redis://queue/0
"""
VERSION_EXAMPLES = """
  gossamer version
  gossamer version --json
"""


def check_installation(data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """Check that everything needed is here.

    Servers that the settings name are asked, too; nothing is changed on them. Exits with 4 if something
    needed is missing.
    """
    from gossamer.cli.commands.doctor_checks import MISSING, all_checks

    checks = all_checks(data, settings)
    missing = sum(check.state == MISSING for check in checks)
    if as_json:
        print_json([check.as_json() for check in checks])
    else:
        print_table(
            ("", "what", "found", "advice"),
            ((check.state, check.what, check.found, check.advice) for check in checks),
            wide="advice",
        )
        typer.echo(f"{missing} needed things are missing" if missing else "everything needed is here")
    raise typer.Exit(ExitCode.MISSING if missing else ExitCode.OK)


def show_version(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Show the version."""
    python = platform.python_version()
    if as_json:
        print_json({"gossamer": __version__, "python": python, "platform": sys.platform})
    else:
        typer.echo(f"gossamer {__version__} (Python {python})")


COMMANDS = (("doctor", check_installation, DOCTOR_EXAMPLES), ("version", show_version, VERSION_EXAMPLES))
