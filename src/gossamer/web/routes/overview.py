"""Everything at one time: all jobs, the fleet."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from gossamer.queries import fleet_view, overview
from gossamer.queries.fleet_view import FleetView
from gossamer.queries.overview import Overview
from gossamer.web.parts import Parts
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Overview")

Show = Annotated[
    Literal["open", "ended"],
    Query(description="Jobs that run, wait or ended with work left; or those that are over."),
]
After = Annotated[str, Query(max_length=200, description="The job behind which the part begins.")]
Rows = Annotated[int, Query(ge=1, le=50, description="Maximum number of jobs.")]


@ROUTES.read("/overview", answer=Overview, topic="overview")
async def read_overview(parts: Parts, show: Show = "open", cursor: After = "", limit: Rows = 50) -> Overview:
    """Whether anything is wrong, and whether everything moves."""
    return await overview.read_overview(parts.backends, parts.settings, show=show, cursor=cursor, limit=limit)


@ROUTES.read("/fleet", answer=FleetView, topic="fleet")
async def read_fleet(parts: Parts) -> FleetView:
    """Show workers, their shifts, the demand of jobs, and how shifts ended."""
    return await fleet_view.read_fleet_view(parts.backends, parts.settings)
