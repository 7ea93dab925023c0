"""``gossamer explain``: why a URL was, was not, or is not yet fetched."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import local_time, plain_url, print_json
from gossamer.cli.terminal.tables import print_facts
from gossamer.config.command_settings import settings_of
from gossamer.observe.units import format_duration, format_size
from gossamer.queries.documents import to_document
from gossamer.queries.explain.choice import possible_requests
from gossamer.queries.explain.facts import NumberFormatter
from gossamer.queries.explain.job_scope import JobScopeCache
from gossamer.queries.explain.report import UrlReport, explain_url
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer explain https://shop.example/a/1
  gossamer explain https://shop.example/a/1 --job shop-3 --spider shop.py
  gossamer explain https://shop.example/a/1 --json
  gossamer explain https://shop.example/find --method POST --body 'q=shoes'
"""

JobOption = Annotated[
    str | None,
    typer.Option(
        "--job",
        metavar="JOB",
        help="A job's id or name [default: the newest that knows the URL].",
        autocompletion=completion.complete_jobs,
    ),
]
SpiderOption = Annotated[
    str | None,
    typer.Option(
        "--spider",
        metavar="SPIDER",
        help="The job's spider, by name or FILE.py, where it is not found.",
        autocompletion=completion.complete_spiders,
    ),
]


def show_explanation(
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL to explain.")],
    *,
    job: JobOption = None,
    spider: SpiderOption = None,
    method: Annotated[
        str | None,
        typer.Option("-X", "--method", metavar="METHOD", help="The method, for a request that is not a GET."),
    ] = None,
    body: Annotated[
        str | None, typer.Option("--body", metavar="BODY", help="The body of the request (a POST).")
    ] = None,
    session: Annotated[
        str, typer.Option("--session", metavar="NAME", help="The session of the request, if it has one.")
    ] = "",
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Say why a URL was fetched, was not, or has not been yet.

    The answer comes from the queue, the ledger, the remembered robots.txt and the scope of the job's spider;
    no host is contacted. Give the same settings here that the crawl got on its command line.

    Other requests to the URL (a POST, another body or session) are listed once they have been tried;
    --method, --body and --session find one that still waits.
    """

    show = NumberFormatter(format_duration, local_time, format_size)
    scopes = JobScopeCache(spider, data, settings)
    wanted = possible_requests(url, method=method, body=body, session=session)

    async def work(backends: Backends) -> UrlReport:
        return await explain_url(backends, scopes, wanted, show, job=job)

    report = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(report))
    else:
        print_facts(_report_facts(report))


def _report_facts(report: UrlReport) -> list[tuple[str, str]]:
    first, *more = report.lines
    return [
        ("url", plain_url(report.url, 1000)),
        *([("method", report.method)] if report.method != "GET" else []),
        ("job", f"{report.job} ({plain_url(report.target)})"),
        ("answer", report.answer.value.replace("_", " ")),
        ("why", plain_url(first, 2000)),
        *(("", plain_url(line, 2000)) for line in more),
    ]


COMMANDS = (("explain", show_explanation, EXAMPLES),)
