"""``gossamer fetch``: fetch one page as a crawl would, and show each step."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gossamer.cli.errors import print_progress
from gossamer.cli.options import AsJson, Body, Form, Header, Method, NoRobots, Set
from gossamer.cli.terminal.output import plain, plain_url, print_json
from gossamer.cli.terminal.process_log import write_lines
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.overrides import page_overrides
from gossamer.core.errors import FetchError, MissingServiceError, UsageError
from gossamer.core.exits import ExitCode
from gossamer.crawl.rung_visits import RungVisit, split_rungs, visit_by_rungs
from gossamer.crawl.single_page import PageCommand, PageFetcher, PageVisit
from gossamer.crawl.typed_requests import read_request_options
from gossamer.observe.text import printable_lines, shown_url
from gossamer.observe.units import format_duration, format_size
from gossamer.queries.documents import to_document
from gossamer.spiders.response import Response

EXAMPLES = """
  gossamer fetch https://example.com
  gossamer fetch https://example.com --headers
  gossamer fetch https://example.com --body > page.html
  gossamer fetch https://api.example.com/search -d '{"page": 1}' -H 'Accept: application/json'
  gossamer fetch https://example.com --ladder
  gossamer fetch https://example.com --rungs http,impersonate,browser
"""


def fetch_page(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the page to fetch.")],
    *,
    body: Annotated[
        bool, typer.Option("--body", help="Print the body to stdout, and the rest to stderr.")
    ] = False,
    headers: Annotated[
        bool, typer.Option("--headers", help="Show all headers, those that set cookies without the values.")
    ] = False,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="Fetch it by every rung of ladder.rungs, and compare.")
    ] = False,
    rungs: Annotated[
        str, typer.Option("--rungs", metavar="RUNGS", help="Fetch it by each of these rungs, and compare.")
    ] = "",
    method: Method = None,
    header: Header = None,
    data: Body = None,
    form: Form = None,
    settings: Set = None,
    no_robots: NoRobots = False,
    as_json: AsJson = False,
) -> None:
    """Fetch one page and show what happened.

    Shows the rung of the ladder, the address, the redirects, the status, the times and the size. An answer
    with an error status is an answer; without an answer, the fault is shown and the exit code is 4.

    --ladder fetches it by every rung of ladder.rungs, one after the other at the host's pace, side by side.
    """
    _check_options(has_body=body, has_headers=headers, ladder=ladder, rungs=rungs, as_json=as_json)
    options = read_request_options(method, header or (), data, form or ())
    command = PageCommand.of(url, None, {}, page_overrides(settings, no_robots=no_robots), options)
    with write_lines(command.settings):
        if ladder or rungs:
            _compare_rungs(command, split_rungs(rungs) if rungs else (), as_json=as_json)
            return
        visit = _visit_page(command, url, as_json=as_json)
    response = Response(visit.request, visit.fetched)
    if as_json:
        print_json(_visit_json(visit, response))
        return
    print_facts(_visit_facts(visit, response, headers=headers), stream=sys.stderr if body else None)
    if body:
        _print_body(response)


def _check_options(*, has_body: bool, has_headers: bool, ladder: bool, rungs: str, as_json: bool) -> None:
    """Raise ``UsageError`` for options that do not go together."""
    if has_body and as_json:
        raise UsageError("--body and --json both want stdout; choose one")
    if (ladder or rungs) and (has_body or has_headers):
        raise UsageError("--body and --headers show one answer, and --ladder and --rungs compare several")
    if ladder and rungs:
        raise UsageError("--ladder and --rungs both say which rungs to compare; choose one")


def _visit_page(command: PageCommand, url: str, *, as_json: bool) -> PageVisit:
    try:
        with PageFetcher(command, print_progress) as pages:
            return pages.visit_page(command.make_request())
    except FetchError as error:
        if not as_json:
            raise MissingServiceError(f"{shown_url(url)} was not fetched: {error}") from None
        print_json({"url": shown_url(url), "fault": error.fault.value, "detail": error.detail})
        raise typer.Exit(ExitCode.MISSING) from None


def _compare_rungs(command: PageCommand, rungs: Sequence[str], *, as_json: bool) -> None:
    visits = list(visit_by_rungs(command, rungs, print_progress))
    if as_json:
        print_json([to_document(visit) for visit in visits])
    else:
        print_table(
            ("rung", "status", "size", "time", "links", "blocked by", "seen as", "title"),
            [_rung_row(visit) for visit in visits],
        )
        for visit in visits:
            if visit.error:
                print_progress(f"{visit.rung}: {visit.error}")
    if not any(visit.status for visit in visits):
        raise typer.Exit(ExitCode.MISSING)


def _rung_row(visit: RungVisit) -> tuple[str, ...]:
    if not visit.status:
        return (visit.rung, visit.fault or "not here", "", "", "", "", visit.seen_as, "")
    return (
        visit.rung,
        str(visit.status),
        format_size(visit.size_bytes),
        format_duration(visit.elapsed_s),
        str(visit.links),
        visit.block,
        visit.seen_as,
        plain(visit.title, 40),
    )


def _visit_facts(visit: PageVisit, response: Response, *, headers: bool) -> list[tuple[str, str]]:
    fetched = visit.fetched
    wire = f" ({format_size(fetched.wire_bytes)} on the wire)" if fetched.wire_bytes else ""
    timing = (
        f"{format_duration(fetched.latency_s)} to the header, {format_duration(fetched.elapsed_s)} to the end"
    )
    facts = [
        *(("redirect", f"{hop.status} from {plain_url(hop.url)}") for hop in visit.hops),
        ("url", plain_url(fetched.url, 1000)),
        ("status", str(fetched.status)),
        ("rung", fetched.rung),
        ("address", fetched.address),
        ("time", timing),
        ("size", format_size(len(fetched.body)) + wire),
        ("type", plain(response.content_type)),
        ("encoding", response.encoding if response.body else ""),
        ("title", plain(response.page.title) if response.is_html else ""),
        ("flags", ", ".join(fetched.flags)),
    ]
    if headers:
        facts += [("header", plain(f"{name}: {value}", 1000)) for name, value in visit.shown_headers()]
    return [(name, value) for name, value in facts if value]


def _visit_json(visit: PageVisit, response: Response) -> dict[str, Any]:
    fetched = visit.fetched
    return {
        "url": fetched.url,
        "status": fetched.status,
        "rung": fetched.rung,
        "address": fetched.address,
        "redirects": [{"url": hop.url, "status": hop.status} for hop in visit.hops],
        "latency_s": round(fetched.latency_s, 4),
        "elapsed_s": round(fetched.elapsed_s, 4),
        "size_bytes": len(fetched.body),
        "wire_bytes": fetched.wire_bytes,
        "content_type": response.content_type,
        "encoding": response.encoding,
        "title": response.page.title if response.is_html else "",
        "flags": list(fetched.flags),
        "headers": [list(pair) for pair in visit.shown_headers()],
    }


def _print_body(response: Response) -> None:
    """Write the body unchanged to a file or a pipe, and as harmless text to a terminal."""
    if sys.stdout.isatty():
        typer.echo(printable_lines(response.text, len(response.text)))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(response.body)
    sys.stdout.buffer.flush()


COMMANDS = (("fetch", fetch_page, EXAMPLES),)
