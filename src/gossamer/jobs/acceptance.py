"""Accepts a job whose items are worse than usual: later jobs are compared with it."""

from __future__ import annotations

from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.jobs.alert_closing import close_alerts
from gossamer.policy.alert_readings import kind_of_finding
from gossamer.policy.drift import DriftFinding
from gossamer.policy.troubles import name_trouble
from gossamer.watch.item_quality import accept_profile, ensure_profile
from gossamer.wiring.backends import Backends
from gossamer.wiring.quality import quality_parts_of


class AcceptedJob(Record, frozen=True, kw_only=True):
    """A job whose items are as they should be."""

    job: str  # its id
    name: str  # whose later jobs are compared with it
    findings: tuple[DriftFinding, ...]  # losses that are no longer reported


async def accept_job(backends: Backends, job: Job) -> AcceptedJob:
    """Compare later jobs of the spider with this one. Raises ``UsageError`` while it runs."""
    if job.end_reason is None:
        raise UsageError(
            f"the items of {job.id} cannot be accepted yet, since it has not ended; `gossamer report quality "
            f"{job.id}` shows their quality"
        )
    parts = quality_parts_of(backends.settings, backends)
    lost = (await ensure_profile(parts, job)).losses
    ids = {name_trouble(kind_of_finding(one), job.id, one.field or job.id) for one in lost}
    await close_alerts(backends, job, ids, "accepted")
    profile = await accept_profile(parts, job)
    return AcceptedJob(job=job.id, name=job.name, findings=profile.findings)
