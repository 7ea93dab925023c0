"""A job over time, and its failures."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from gossamer.core.series import ChartRange, HourlyKind
from gossamer.queries import errors, series
from gossamer.queries.errors import ErrorView, HeatView
from gossamer.queries.series import SeriesView
from gossamer.web.parts import JobName, Parts
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Over time")

Range = Annotated[
    ChartRange, Query(alias="range", description="How far back: from now, or from the end of the job.")
]
By = Annotated[Literal["host", "proxy"], Query(description="Whose failures.")]


@ROUTES.read("/jobs/{job}/series", answer=SeriesView, topic="series", every_s=5.0)
async def read_series(parts: Parts, job: JobName, range_: Range = ChartRange.HOUR) -> SeriesView:
    """Show rates, response times and waiting requests over time.

    Each line has at most 180 values, one for each step; null is a gap in which no process worked.
    """
    return await series.read_series(parts.backends, await parts.find_job(job), range_)


@ROUTES.read("/jobs/{job}/errors", answer=ErrorView, topic="errors", every_s=5.0)
async def read_errors(parts: Parts, job: JobName, range_: Range = ChartRange.ALL) -> ErrorView:
    """Show failures by reason, and separately requests that were skipped on purpose.

    They are counted by the hour: the range covers all hours that it touches.
    """
    return await errors.read_errors(parts.backends, await parts.find_job(job), range_)


@ROUTES.read("/jobs/{job}/errors/heat", answer=HeatView)
async def read_heat(parts: Parts, job: JobName, by: By = "host") -> HeatView:
    """Failures and attempts of the last 24 hours: the 25 worst hosts or proxies, and all others."""
    return await errors.read_heat(parts.backends, await parts.find_job(job), HourlyKind(by))
