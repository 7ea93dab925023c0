"""Which jobs there are."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from gossamer.queries import jobs
from gossamer.queries.jobs import JobPage
from gossamer.web.parts import Limit, Parts, Text
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Jobs")

After = Annotated[str, Query(max_length=200, description="The job after which the part begins.")]
Name = Annotated[str, Query(max_length=200, description="Only jobs of this spider, or of this host.")]
ShownState = Literal["running", "paused", "unfinished", "cancelled", "finished"]
States = Annotated[
    list[ShownState],
    Query(
        alias="state",
        max_length=5,
        description="Only jobs in these states; `unfinished`: they ended with work left.",
    ),
]


@ROUTES.read("/jobs", answer=JobPage, topic="jobs")
async def list_jobs(
    parts: Parts,
    *,
    limit: Limit = 50,
    cursor: After = "",
    name: Name = "",
    q: Text = "",
    states: States = [],  # noqa: B006 - FastAPI makes a new one
) -> JobPage:
    """The jobs, newest first.

    A job whose requests cannot be read is listed all the same: `waiting` and `dead` are null.
    """
    return await jobs.list_jobs(parts.backends, limit, after=cursor, name=name, text=q, states=states)
