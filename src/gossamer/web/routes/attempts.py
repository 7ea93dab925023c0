"""The ledger: the rows behind every number."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from msgspec.structs import replace

from gossamer.core.errors import UsageError
from gossamer.core.results import AttemptFilter, Verdict
from gossamer.queries import ledger
from gossamer.queries.ledger import AttemptListing, spellings_of
from gossamer.web.parts import Cursor, JobName, Limit, Parts, Word
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Attempts")
CLASSES = {"none": (0, 1), **{f"{digit}xx": (100 * digit, 100 * digit + 100) for digit in range(1, 6)}}
"""Statuses by their first digit; `none`: no response."""

Url = Annotated[str, Query(max_length=8192, description="Only attempts at this URL.")]
Status = Annotated[
    str, Query(max_length=4, description="Only this status: `404`, `2xx` to `5xx`, or `none`: no response.")
]
From = Annotated[float | None, Query(alias="from", ge=0, le=1e11, description="Begun then or later.")]
To = Annotated[float | None, Query(alias="to", ge=0, le=1e11, description="Begun before.")]


@ROUTES.read("/jobs/{job}/attempts", answer=AttemptListing, topic="attempts", every_s=5.0)
async def list_attempts(
    parts: Parts,
    job: JobName,
    *,
    limit: Limit = 50,
    cursor: Cursor = "",
    verdict: Verdict | None = None,
    reason: Word = "",
    status: Status = "",
    host: Word = "",
    proxy: Word = "",
    rung: Word = "",
    worker: Word = "",
    flag: Word = "",
    url: Url = "",
    since: From = None,
    until: To = None,
) -> AttemptListing:
    """List matching attempts of a job, newest first.

    A part that takes too long to find ends early: it may have few attempts, or none, and a cursor.
    """
    which = AttemptFilter(
        urls=spellings_of(url) if url else (),
        host=host,
        verdict=verdict or "",
        reason=reason,
        flag=flag,
        rung=rung,
        proxy=proxy,
        worker=worker,
        since=since,
        until=until,
    )
    which = _with_status(which, status)
    return await ledger.list_attempts(parts.backends, await parts.find_job(job), which, limit, cursor)


def _with_status(which: AttemptFilter, status: str) -> AttemptFilter:
    if status in CLASSES:
        return replace(which, statuses=CLASSES[status])
    if status and not (status.isascii() and status.isdecimal()):
        raise UsageError(f"{status!r} is not a status: write 404, 4xx or none")
    return replace(which, status=int(status)) if status else which
