"""``gossamer sitemap``: the pages that a sitemap lists."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from gossamer.cli.errors import print_message, print_progress
from gossamer.cli.options import AsJson, NoRobots, Set
from gossamer.cli.terminal.output import plain_url
from gossamer.cli.terminal.process_log import write_lines
from gossamer.config.overrides import page_overrides
from gossamer.core.errors import FetchError, MissingServiceError
from gossamer.core.exits import ExitCode
from gossamer.core.text import format_count
from gossamer.crawl.single_page import PageCommand, PageFetcher
from gossamer.crawl.sitemap_listing import ListedPage, list_pages
from gossamer.observe.text import json_line, shown_url
from gossamer.queries.documents import to_document

EXAMPLES = """
  gossamer sitemap https://example.com/sitemap.xml
  gossamer sitemap https://example.com/robots.txt           of all sitemaps that it names
  gossamer sitemap https://example.com/feed.atom --json
  gossamer sitemap https://example.com/sitemap.xml > urls.txt
"""
WHOLE = 20_000
"""Characters of a URL that are written: all of them."""


def list_sitemap(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="A sitemap, an index of some, RSS or Atom, or a robots.txt.")
    ],
    *,
    settings: Set = None,
    no_robots: NoRobots = False,
    as_json: AsJson = False,
) -> None:
    """List the pages of a sitemap, one URL on each line.

    Sitemaps that an index lists are fetched too, at the pace of their hosts. Pages are written as they are
    read, however many there are. With --json: one array, with the times and priorities of the entries.
    Exits with 1 if there are none and the document is not a sitemap, or was truncated.
    """
    troubles: list[str] = []

    def tell(line: str) -> None:
        troubles.append(line)
        print_message(line)

    command = PageCommand.of(url, None, {}, page_overrides(settings, no_robots=no_robots))
    try:
        with write_lines(command.settings), PageFetcher(command, print_progress) as pages:
            listed = list_pages(pages, url, tell)
            count = _print_array(listed) if as_json else _print_urls(listed)
    except FetchError as error:
        raise MissingServiceError(f"{shown_url(url)} was not fetched: {error}") from None
    print_progress(f"{format_count(count, 'page')} listed")
    if troubles and not count:
        raise typer.Exit(ExitCode.DEAD_LETTERS)


def _print_urls(listed: Iterator[ListedPage]) -> int:
    count = 0
    for page in listed:
        count += 1
        sys.stdout.write(f"{plain_url(page.url, WHOLE)}\n")
    return count


def _print_array(listed: Iterator[ListedPage]) -> int:
    """One JSON array, an element on each line."""
    count = 0
    sys.stdout.write("[")
    for page in listed:
        sys.stdout.write(f"{',' if count else ''}\n{json_line(to_document(page))}")
        count += 1
    sys.stdout.write("\n]\n")
    return count


COMMANDS = (("sitemap", list_sitemap, EXAMPLES),)
