"""Why a URL was fetched, was not, or is not yet."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query

from gossamer.observe.units import format_duration, format_size
from gossamer.queries.explain.choice import JOBS, possible_requests
from gossamer.queries.explain.facts import NumberFormatter
from gossamer.queries.explain.report import UrlReport, cut_report, explain_url
from gossamer.web.parts import Parts, WebParts
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("One page")

Url = Annotated[str, Query(min_length=1, max_length=8192, description="A URL, or a host.")]
Job = Annotated[
    str, Query(max_length=200, description="A job's id or name; by default the newest that knows the URL.")
]


@ROUTES.read("/explain", answer=UrlReport, topic="explain", every_s=5.0)
async def explain(parts: Parts, url: Url, job: Job = "") -> UrlReport:
    """Why a URL was fetched, was not, or is not yet, in whole sentences.

    The answer comes from the queue, the ledger, the remembered robots.txt and the scope of the job's spider,
    if that is at hand; no host is contacted.
    """
    wanted = possible_requests(url)
    await _load_scopes(parts, job)
    show = NumberFormatter(format_duration, _format_time, format_size)
    return cut_report(await explain_url(parts.backends, parts.scopes, wanted, show, job=job or None))


async def _load_scopes(parts: WebParts, name: str) -> None:
    """Import the spiders that matter beside the loop: a project's own code may take its time."""
    jobs = [await parts.find_job(name)] if name else (await parts.backends.book.list_jobs())[:JOBS]
    for job in jobs:
        await asyncio.to_thread(parts.scopes.scope_of, job)


def _format_time(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
