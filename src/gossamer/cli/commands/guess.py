"""``gossamer guess``: propose a declarative spider for a page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import print_progress
from gossamer.cli.options import NoRobots, Set
from gossamer.cli.terminal.output import plain
from gossamer.cli.terminal.process_log import write_lines
from gossamer.config.overrides import page_overrides
from gossamer.core.errors import FetchError, MissingServiceError, UsageError
from gossamer.core.text import format_count
from gossamer.crawl.guessing import guess_spider
from gossamer.crawl.single_page import PageCommand
from gossamer.observe.text import shown_url

EXAMPLES = """
  gossamer guess https://shop.example/lamps                   print a spider for the page
  gossamer guess https://shop.example/lamps -o spiders/shop.toml --name shop
  gossamer guess https://shop.example/lamp/17                 fields for a page about one thing
"""


def print_guess(
    url: Annotated[str, typer.Argument(metavar="URL", help="A page with a list of things, or about one.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", metavar="FILE.toml", help="Write the spider to FILE.toml, which must not be there yet."
        ),
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="The spider's name [default: the host's].")] = "",
    settings: Set = None,
    no_robots: NoRobots = False,
) -> None:
    """Propose a declarative spider for a page.

    Finds repeated elements on the page, and proposes a type of items with fields, and links to the next page
    and to detail pages. For a page about a single thing, it proposes that thing's fields: from JSON-LD,
    microdata or OpenGraph, otherwise from its heading, text, price, picture, properties and description.
    Another reading of the page is in the file as comments. The spider runs as written.
    """
    if out is not None and out.suffix != ".toml":
        raise UsageError(f"{out} is not named like a spider in TOML: its name has to end in .toml")
    command = PageCommand.of(url, None, {}, page_overrides(settings, no_robots=no_robots))
    try:
        with write_lines(command.settings):
            guess = guess_spider(command, print_progress, name)
    except FetchError as error:
        raise MissingServiceError(f"{shown_url(url)} was not fetched: {error}") from None
    if out is None:
        typer.echo(guess.text, nl=False)
    else:
        _write_new(out, guess.text)
    for line in guess.found:
        print_progress(plain(line))
    came = f"{format_count(guess.items, 'item')} and {format_count(guess.requests, 'request')}"
    print_progress(f"on this page the spider finds {came}")
    if out is not None:
        print_progress(f"next: gossamer crawl {shlex.quote(str(out))} --max-pages 5 -O items.jsonl")


def _write_new(file: Path, text: str) -> None:
    """Nothing that exists is ever overwritten."""
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise UsageError(f"{file} exists already; nothing was written") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None


COMMANDS = (("guess", print_guess, EXAMPLES),)
