"""The commands, put together.

Every group of commands is one small file, and only the file of the command that was asked for is imported.
The list of all commands needs none of them: ``gossamer --help`` and completion know names and short helps.
"""

from __future__ import annotations

import shlex
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gossamer.cli.errors import exit_codes
from gossamer.core.errors import UsageError

HELP = """Crawl and scrape the web, from one file on a laptop.

Progress and logs go to stderr, results to stdout. Exit codes: 0 finished, 1 finished, but nothing was
fetched, most requests failed, every item was dropped, a host was lost, a hook of the spider failed, or there
are dead letters or links left out as a trap (--strict), 2 wrong use, 3 stopped early, 4 a needed service is
missing.
"""
EXAMPLES = """
  gossamer demo                            crawl a small shop on this machine
  gossamer crawl https://example.com -o pages.jsonl
  gossamer new shop && cd shop && gossamer crawl example
"""
_HINTS = "gossamer.compat.scrapy.hints"
_EXTRA = "it is one too many, or an option before it lacks its value"
_QUOTES = 'put the cron expression in quotes, as in "30 6 * * *"'
GROUPS = frozenset({"dead", "files", "outputs", "report", "schedule", "token"})
"""Modules whose commands form a group."""
HOMES: dict[str, dict[str, str]] = {
    "crawl": {"crawl": "Crawl a URL or run a spider, to the end."},
    "demo": {"demo": "Crawl a small shop on this machine."},
    "project": {"new": "Make a project with a spider that runs."},
    "genspider": {"genspider": "Write a spider that runs."},
    "guess": {"guess": "Propose a declarative spider for a page."},
    "spiders": {"list": "List the spiders and the arguments they take."},
    "shell": {"shell": "Fetch a page and try selectors on it."},
    "fetch": {"fetch": "Fetch one page and show what happened."},
    "parse": {"parse": "Show the items and requests that a spider finds on one page."},
    "sitemap": {"sitemap": "List the pages of a sitemap, one URL on each line."},
    "jobs": {
        "jobs": "List the crawls, newest first.",
        "status": "Show the state of a crawl.",
    },
    "top": {"top": "Show everything that runs, live in the terminal."},
    "export": {"export": "Write the items of a crawl."},
    "sql": {"sql": "Query items, pages and attempts with SQL."},
    "replay": {"replay": "Parse archived pages again, with the spider as it is now."},
    "merge": {"merge": "Merge several items about one thing into one item."},
    "submit": {
        "submit": "Submit a crawl to the fleet.",
        "wait": "Wait for the end of a job of the fleet.",
    },
    "seeds": {"seeds": "Add a list of URLs of any length to a job."},
    "fleet": {
        "pause": "Pause a crawl: start no new requests until it is resumed.",
        "resume": "Resume a paused crawl of the fleet.",
        "cancel": "End a crawl for good.",
        "fleet": "Show the workers of the fleet and their jobs.",
    },
    "steer": {
        "set": "Change settings of a crawl while it runs.",
        "host": "Change how one host is crawled, while the crawl runs.",
    },
    "scheduler": {"scheduler": "Run the schedules of this machine until stopped."},
    "workers": {
        "worker": "Work for the fleet until stopped.",
        "supervisor": "Supervise the fleet until stopped.",
        "up": "Run a supervisor and some workers here.",
    },
    "dashboard": {"dashboard": "Show the crawls in a browser, and serve the HTTP API."},
    "attempts": {"attempts": "List every attempt, newest first."},
    "explain": {"explain": "Say why a URL was fetched, was not, or has not been yet."},
    "alerts": {"alerts": "List current problems, acknowledge them, or send a test alert."},
    "proxies": {"proxies": "Show the health of proxies, and test them."},
    "settings": {"settings": "Show the settings and which layer set each."},
    "doctor": {"doctor": "Check that nothing is missing."},
    "version": {"version": "Show the version."},
    "accept": {"accept": "Accept the items of a job as they are."},
    "report": {"report": "Report quality, failures, freshness, traps and budgets."},
    "dead": {"dead": "Dead letters: requests that were given up."},
    "schedule": {"schedule": "Schedules: crawls that begin by themselves."},
    "token": {"token": "Tokens: who may use the dashboard and the HTTP API."},
    "files": {"files": "Files that crawls have saved."},
    "outputs": {"outputs": "Other places that items are written to as they change."},
}
"""The commands of each module with their short help, in the order in which a newcomer needs them."""
STYLE: dict[str, Any] = {
    "rich_markup_mode": None,  # plain help is there in a third of the time
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class CommandGroup(TyperGroup):
    """A group of commands that turns errors into the documented exit codes."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the command line; ``--help`` and ``--version`` print here."""
        with exit_codes():
            try:
                return super().make_context(*args, **options)
            except Exception as error:
                _advise_on_option(error)
                raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with exit_codes():
            try:
                return super().invoke(ctx)
            except Exception as error:
                _advise_on_option(error)
                raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to run; import its module first if only its name and help are known."""
        if args and args[0] not in self.commands and (advice := _advise_newcomer(args)):
            raise UsageError(f"unknown command {args[0]!r}: {advice}")
        name, command, rest = super().resolve_command(ctx, args)
        if getattr(getattr(command, "callback", None), "__wrapped__", None) is _stand_in:
            application: Any = typer.main.get_command(build_app(name))
            command = application.commands[name]
        return name, command, rest


def _advise_newcomer(args: list[str]) -> str:
    """Return advice for a command of Scrapy or a target without a command; empty for anything else."""
    name, rest = args[0], shlex.join(args[1:])
    if advice := import_module(_HINTS).command_advice(name, rest):
        return str(advice)
    if name.endswith((".py", ".toml")) or "://" in name:
        return f"`gossamer crawl {shlex.join(args)}` crawls it"
    return ""


def _advise_on_option(error: Any) -> None:
    """Add advice to the error of a wrong option, such as one that only Scrapy's commands have."""
    command = getattr(getattr(error, "ctx", None), "info_name", "")
    option, message = getattr(error, "option_name", ""), getattr(error, "message", "")
    if option and command == "gossamer":
        advice = f"options stand behind the command: `gossamer COMMAND ... {option}`"
    elif option:
        advice = import_module(_HINTS).option_advice(command, option)
    elif message.startswith("Got unexpected extra argument"):
        advice = _QUOTES if any(one.name == "cron" for one in error.ctx.command.params) else _EXTRA
    else:
        advice = ""
    if advice:
        error.message = f"{message.rstrip('.')}; {advice}"
        error.possibilities = None


def _stand_in() -> None:
    """Stand for a command whose module is not imported yet."""


def print_version() -> None:
    """Print the version, without reading options. Raises ``SystemExit`` when that fails."""
    try:
        with exit_codes():
            import_module("gossamer.cli.commands.version").show_version(as_json=False)
    except typer.Exit as end:
        sys.exit(end.exit_code)


def _show_version(value: bool) -> None:
    if value:
        print_version()
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
    """Return the end of a help page, which typer does not reflow."""
    return "\b\nExamples:\n" + text.strip("\n")


def build_app(first: str | None = None) -> typer.Typer:
    """Return the application with all commands, or with the module of the command ``first`` only.

    If ``first`` is not a command (``--help``, for example), each command has its name and help only.
    """
    app = typer.Typer(name="gossamer", cls=CommandGroup, help=HELP, epilog=format_examples(EXAMPLES), **STYLE)
    app.callback(invoke_without_command=True)(_run_root)
    homes = [home for home, commands in HOMES.items() if first is None or first in commands]
    for home in homes:
        _add_commands(app, home)
    if not homes:
        for commands in HOMES.values():
            for name, help_text in commands.items():
                app.command(name, help=help_text)(_stand_in)
    return app


def _add_commands(app: typer.Typer, home: str) -> None:
    module = import_module(f"gossamer.cli.commands.{home}")
    group = app
    if home in GROUPS:
        group = typer.Typer(
            help=module.HELP, epilog=format_examples(module.EXAMPLES), no_args_is_help=True, **STYLE
        )
        app.add_typer(group, name=home)
    for name, function, text in module.COMMANDS:
        group.command(name, epilog=format_examples(text))(function)
