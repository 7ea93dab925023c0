"""How one job does, and its hosts."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query

from gossamer.queries import host_view, job_view
from gossamer.queries.host_view import HostFilter, HostList, HostView
from gossamer.queries.job_view import JobView
from gossamer.web.parts import JobName, Limit, Parts
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Job")

HostName = Annotated[str, Path(max_length=300, description="A host, with its port where unusual.")]
Only = Annotated[Literal["", "held", "slow", "rung"], Query(description="Only hosts of this kind.")]
Why = Annotated[str, Query(max_length=20, description="Only hosts that are asked so often for this reason.")]
Part = Annotated[str, Query(max_length=200, description="Only hosts with this in their names.")]
Sort = Annotated[
    Literal["host", "pending", "delay", "next", "used", "allowed", "success", "pages", "dead", "empties"],
    Query(description="The order of the hosts."),
]
Order = Annotated[Literal["up", "down"], Query(description="Smallest first, or largest first.")]
After = Annotated[str, Query(max_length=300, description="The host behind which the part begins.")]


@ROUTES.read("/jobs/{job}", answer=JobView, topic="job")
async def read_job(parts: Parts, job: JobName) -> JobView:
    """How a job does, how fast, when it is done, and what holds it back."""
    return await job_view.read_job_view(parts.backends, parts.settings, await parts.find_job(job))


@ROUTES.read("/jobs/{job}/hosts", answer=HostList, topic="hosts")
async def list_hosts(
    parts: Parts,
    job: JobName,
    *,
    limit: Limit = 50,
    only: Only = "",
    why: Why = "",
    q: Part = "",
    sort: Sort = "pending",
    order: Order = "down",
    cursor: After = "",
) -> HostList:
    """The hosts for which requests wait: how each is asked, why, and when it is through.

    The busiest 2,000 are looked at.
    """
    which = HostFilter(only=only, why=why, q=q, sort=sort, descending=order == "down")
    found = await parts.find_job(job)
    return await host_view.read_hosts(parts.backends, found, which, cursor=cursor, limit=limit)


@ROUTES.read("/jobs/{job}/hosts/{host}", answer=HostView)
async def read_host(parts: Parts, job: JobName, host: HostName) -> HostView:
    """One host of a job for which requests wait."""
    return await host_view.read_host(parts.backends, await parts.find_job(job), host)
