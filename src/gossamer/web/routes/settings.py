"""Which value of a setting holds for a job, and who set it."""

from __future__ import annotations

from gossamer.queries import job_settings
from gossamer.queries.job_settings import SettingPage
from gossamer.web.parts import JobName, Parts
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Settings")


@ROUTES.read("/jobs/{job}/settings", answer=SettingPage, topic="settings", every_s=5.0)
async def list_settings(parts: Parts, job: JobName) -> SettingPage:
    """All settings of a job, without passwords."""
    return await job_settings.list_settings(parts.backends, await parts.find_job(job))
