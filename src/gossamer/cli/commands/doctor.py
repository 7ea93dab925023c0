"""``gossamer doctor``: what is here, what is missing, and how to get it."""

from __future__ import annotations

import typer

from gossamer.cli.commands.doctor_checks import MISSING, all_checks
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

    Also asks the servers that the settings name, and changes nothing on them. Exits with 4 if something
    needed is missing.
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
        lacking = f"{format_count(missing, 'needed thing')} {'is' if missing == 1 else 'are'} missing"
        typer.echo(lacking if missing else "nothing is missing")
    raise typer.Exit(ExitCode.MISSING if missing else ExitCode.OK)


COMMANDS = (("doctor", check_installation, EXAMPLES),)
