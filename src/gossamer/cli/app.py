"""The commands, put together.

Every group of commands is one small file, and only the one that is wanted is imported; what is slow to
import waits in it until it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gossamer.cli.errors import exit_codes

HELP = """Crawl and scrape the web, from one file on a laptop.

Progress and logs go to stderr, results to stdout. Exit codes: 0 finished, 1 finished, but nothing could
be had, a host was lost, a hook of the spider failed, or there are dead letters (--strict), 2 wrong use,
3 stopped early, 4 a needed service is missing.
"""
EXAMPLES = """
  gossamer demo                            crawl a small shop on this machine
  gossamer crawl https://example.com -o pages.jsonl
  gossamer new shop && cd shop && gossamer crawl example
"""
HOMES = {
    "crawl": ("crawl",),
    "demo": ("demo",),
    "project": ("new",),
    "genspider": ("genspider",),
    "spiders": ("list",),
    "shell": ("shell",),
    "fetch": ("fetch",),
    "parse": ("parse",),
    "jobs": ("jobs", "status"),
    "export": ("export",),
    "submit": ("submit", "wait"),
    "fleet": ("pause", "resume", "cancel", "fleet"),
    "workers": ("worker", "supervisor", "up"),
    "attempts": ("attempts",),
    "explain": ("explain",),
    "dead": ("dead",),
    "settings": ("settings",),
    "doctor": ("doctor", "version"),
}
"""The commands of each module, in the order in which a newcomer needs them."""
STYLE: dict[str, Any] = {
    "rich_markup_mode": None,  # plain help is there in a third of the time
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class CommandGroup(TyperGroup):
    """A group of commands whose errors end as the contract of exit codes says."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the command line; ``--help`` and ``--version`` print here."""
        with exit_codes():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with exit_codes():
            return super().invoke(ctx)


def _show_version(value: bool) -> None:
    if value:
        from gossamer.cli.commands import doctor

        doctor.show_version(as_json=False)
        raise typer.Exit


def _run_root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def format_examples(text: str) -> str:
    """The end of a help page, kept as it is."""
    return "\b\nExamples:\n" + text.strip("\n")


def build_app(first: str = "") -> typer.Typer:
    """The application: with the module of the command ``first`` only, or with all when there is none."""
    app = typer.Typer(name="gossamer", cls=CommandGroup, help=HELP, epilog=format_examples(EXAMPLES), **STYLE)
    app.callback(invoke_without_command=True)(_run_root)
    for home in [home for home, names in HOMES.items() if first in names] or HOMES:
        module = import_module(f"gossamer.cli.commands.{home}")
        group = app
        if home == "dead":  # a group of its own
            group = typer.Typer(
                help=module.HELP, epilog=format_examples(module.EXAMPLES), no_args_is_help=True, **STYLE
            )
            app.add_typer(group, name=home)
        for name, function, text in module.COMMANDS:
            group.command(name, epilog=format_examples(text))(function)
    return app
