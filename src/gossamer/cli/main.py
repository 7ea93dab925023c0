"""The ``gossamer`` command, put together.

Every group of commands is one small file; what is slow to import waits until it is used, so that help and
version are there at once.
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gossamer.cli import (
    attempts,
    crawl,
    dead,
    demo,
    doctor,
    explain,
    fetch,
    genspider,
    jobs,
    parse,
    project,
    settings,
    shell,
)
from gossamer.cli.errors import SIGNALS, exit_codes

HELP = """Crawl and scrape the web, from one file on a laptop.

Progress and logs go to stderr, results to stdout. Exit codes: 0 finished, 1 finished with dead letters
(--strict), 2 wrong use, 3 stopped early, 4 a needed service is missing.
"""
EXAMPLES = """
  gossamer demo                            crawl a small shop on this machine
  gossamer crawl https://example.com -o pages.jsonl
  gossamer new shop && cd shop && gossamer crawl example
"""


class Face(TyperGroup):
    """A group of commands whose errors end as the contract of exit codes says."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with exit_codes():
            return super().invoke(ctx)


def _show_version(value: bool) -> None:
    if value:
        doctor.version(as_json=False)
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def examples(text: str) -> str:
    """The end of a help page, kept as it is."""
    return "\b\nExamples:\n" + text.strip("\n")


def build() -> typer.Typer:
    """The application with all its commands, in the order in which a newcomer needs them."""
    style: dict[str, Any] = {
        "rich_markup_mode": None,  # plain help is there in a third of the time
        "pretty_exceptions_enable": False,
        "context_settings": {"help_option_names": ["-h", "--help"]},
    }
    app = typer.Typer(name="gossamer", cls=Face, help=HELP, epilog=examples(EXAMPLES), **style)
    app.callback(invoke_without_command=True)(_root)
    for module in (crawl, demo, project, genspider, shell, fetch, parse, jobs, attempts, explain):
        for name, function, text in module.COMMANDS:
            app.command(name, epilog=examples(text))(function)
    letters = typer.Typer(help=dead.HELP, epilog=examples(dead.EXAMPLES), no_args_is_help=True, **style)
    for name, function, text in dead.COMMANDS:
        letters.command(name, epilog=examples(text))(function)
    app.add_typer(letters, name="dead")
    for name, function, text in (*settings.COMMANDS, *doctor.COMMANDS):
        app.command(name, epilog=examples(text))(function)
    return app


app = build()


def main() -> None:
    """The entry point of the ``gossamer`` script."""
    if sys.argv[1:] in (["version"], ["--version"]):  # the one thing that must not wait for option parsing
        doctor.version(as_json=False)
        return
    try:
        app(prog_name="gossamer")
    finally:
        # What is left is Python's own end; a signal in it must not change the exit code.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()
