"""``gossamer parse``: the items and requests that a spider finds on one page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gossamer.cli.errors import print_progress, print_traceback
from gossamer.cli.options import Argument, AsJson, Body, Form, Header, Method, NoRobots, PageSpider, Set
from gossamer.cli.terminal.output import LONG, plain, plain_url, print_json
from gossamer.cli.terminal.process_log import write_lines
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.overrides import arguments_of, page_overrides
from gossamer.core.errors import Fault, FetchError, MissingServiceError, OperatorError, UsageError
from gossamer.core.exits import ExitCode
from gossamer.core.text import format_count
from gossamer.crawl.preview import ItemPreview, PagePreview, preview_page
from gossamer.crawl.saved_page import find_file, load_page
from gossamer.crawl.single_page import PageCommand
from gossamer.crawl.typed_requests import read_request_options
from gossamer.observe.text import error_headline, shown_url

EXAMPLES = """
  gossamer parse https://shop.example/a/1 --spider shop.py --callback parse_product
  gossamer parse https://shop.example/a/1 --spider shop -a category=books
  gossamer parse saved.html --spider shop.py --url https://shop.example/a/1
  gossamer parse https://shop.example/ --json
"""


def parse_page(
    page: Annotated[str, typer.Argument(metavar="URL|FILE", help="The page, or a file with one.")],
    *,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="The address of the page in FILE.")] = "",
    spider: PageSpider = None,
    callback: Annotated[
        str | None, typer.Option(metavar="NAME", help="The spider's method for the page [default: parse].")
    ] = None,
    method: Method = None,
    header: Header = None,
    data: Body = None,
    form: Form = None,
    settings: Set = None,
    argument: Argument = None,
    no_robots: NoRobots = False,
    as_json: AsJson = False,
) -> None:
    """Show the items and requests that a spider finds on one page.

    The page is fetched, or read from a file. Shows the items as they would be stored and the requests as
    they would be admitted, or the reason why not. Nothing is stored, and no other page is fetched. The suffix
    of a file gives its type. Without --url, its address is the one that a browser has noted in the file.
    """
    file = find_file(page)
    if url and file is None:
        raise UsageError("--url is the address of a page in a file, and there is no file " + shown_url(page))
    saved = None if file is None else load_page(file, url)
    options = read_request_options(method, header or (), data, form or ())
    given = page_overrides(settings, no_robots=no_robots)
    address = page if saved is None else saved.url
    command = PageCommand.of(address, spider, arguments_of(argument), given, options)
    try:
        with write_lines(command.settings):
            found = preview_page(command, callback, print_progress, saved=saved)
    except FetchError as error:
        raise _explain_failure(address, error) from None
    if as_json:
        print_json(_page_json(found))
    else:
        _print_page(found)
    if found.error:
        print_traceback(f"{found.callback}() raised {error_headline(found.error)}", found.error)
    if found.error or any(item.fault for item in found.items):
        raise typer.Exit(ExitCode.USAGE)


def _explain_failure(page: str, error: FetchError) -> OperatorError:
    if error.fault is Fault.DNS and "://" not in page:
        return UsageError(f"{shown_url(page)} is neither a file nor a known host ({error})")
    return MissingServiceError(f"{shown_url(page)} was not fetched: {error}")


def _print_page(found: PagePreview) -> None:
    taken = [r for r in found.requests if not r.refused]
    print_facts(
        [
            ("page", f"{found.status} {plain_url(found.url)}"),
            ("spider", f"{found.spider}, {found.callback}()"),
            *([("verdict", found.verdict)] if found.verdict else []),
            ("items", _format_items(found.items)),
            ("requests", f"{len(taken):,} to admit, {len(found.requests) - len(taken):,} refused"),
            *(
                [("left out", ", ".join(f"{n:,} {why}" for why, n in found.left_out.items()))]
                if found.left_out
                else []
            ),
        ]
    )
    for rule in found.rules:
        then = f"{rule.callback}()" + (", and the rules" if rule.follow else "")
        typer.echo(plain(f"rule      {rule.rule}  {format_count(rule.links, 'link')} for {then}", 4000))
    for item in found.items:
        why = "cannot be stored" if item.fault else "dropped"
        state = f"{why}: {item.dropped}" if item.dropped else item.data.decode("utf-8", "replace")
        name = f"{item.type} {item.key}".strip()
        typer.echo(plain(f"item      {name}  {state}", 4000))
    if found.requests:
        print_facts([("", "")])
        print_table(
            ("callback", "admitted", "url"),
            (
                (
                    request.callback,
                    f"no: {request.refused}" if request.refused else "yes",
                    plain_url(request.url, LONG),
                )
                for request in found.requests
            ),
            wide="url",
        )


def _format_items(items: Sequence[ItemPreview]) -> str:
    faulty = sum(item.fault is not None for item in items)
    dropped = sum(bool(item.dropped) for item in items) - faulty
    stored = f"{len(items) - dropped - faulty:,} to store, {dropped:,} dropped"
    return f"{stored}, {faulty:,} not possible to store" if faulty else stored


def _page_json(found: PagePreview) -> dict[str, Any]:
    return {
        "url": found.url,
        "status": found.status,
        "spider": found.spider,
        "callback": found.callback,
        "verdict": found.verdict,
        "error": found.error,
        "items": [
            {"type": item.type, "key": item.key, "data": json.loads(item.data) if item.data else None,
             "dropped": item.dropped}
            for item in found.items
        ],
        "requests": [
            {"url": request.url, "callback": request.callback, "priority": request.priority,
             "refused": request.refused}
            for request in found.requests
        ],
        "rules": [
            {"rule": rule.rule, "callback": rule.callback, "follow": rule.follow, "links": rule.links}
            for rule in found.rules
        ],
        "left_out": found.left_out,
    }  # fmt: skip


COMMANDS = (("parse", parse_page, EXAMPLES),)
