"""``gossamer doctor``: check the installation and suggest fixes."""

from __future__ import annotations

import typer

from gossamer.cli.commands.doctor_checks import MISSING, WARNING, all_checks
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.output import print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.core.exits import ExitCode
from gossamer.core.text import format_count

EXAMPLES = """
  gossamer doctor
  gossamer doctor --data /srv/crawl --json
  gossamer doctor -s frontier.url=redis://queue/0
"""


def check_installation(data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """Check that nothing is missing.

    Checks whether a crawl with these settings would start. Reads the role, memory, connections, rights and
    clocks of the servers that the settings name, and changes nothing on them. Exits with 4 if a needed part
    is missing; a warning does not keep a crawl from starting.
    """
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
        warnings = sum(check.state == WARNING for check in checks)
        lacking = f"{format_count(missing, 'needed thing')} {'is' if missing == 1 else 'are'} missing"
        warned = f"; {format_count(warnings, 'warning')}" if warnings else ""
        typer.echo(f"{lacking if missing else 'nothing is missing'}{warned}")
    raise typer.Exit(ExitCode.MISSING if missing else ExitCode.OK)


COMMANDS = (("doctor", check_installation, EXAMPLES),)
