"""Crawls that begin by themselves: what runs next, and did it run?"""

from __future__ import annotations

from gossamer.queries.schedule_overview import ScheduleOverview, read_schedules
from gossamer.web.parts import Parts
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Schedules")


@ROUTES.read("/schedules", answer=ScheduleOverview, topic="schedules", every_s=5.0)
async def list_schedules(parts: Parts) -> ScheduleOverview:
    """The schedules by name, with their latest runs and when each begins within the next 24 hours."""
    return await read_schedules(parts.backends)
