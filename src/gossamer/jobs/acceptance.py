"""Accepting a job whose items are worse than usual: from then on they are what is usual."""

from __future__ import annotations

from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.policy.drift import DriftFinding
from gossamer.watch.item_quality import accept_profile
from gossamer.wiring.backends import Backends
from gossamer.wiring.quality import quality_parts_of


class AcceptedJob(Record, frozen=True, kw_only=True):
    """A job whose items are as they should be."""

    job: str  # its id
    name: str  # whose later jobs are compared with it
    findings: tuple[DriftFinding, ...]  # what was worse than usual, and is an alert no more


async def accept_job(backends: Backends, job: Job) -> AcceptedJob:
    """Compare later jobs of the spider with this one. Raises ``UsageError`` while it runs."""
    if job.end_reason is None:
        raise UsageError(
            f"the items of {job.id} cannot be accepted yet, since it has not ended; `gossamer report quality "
            f"{job.id}` shows what they are like"
        )
    profile = await accept_profile(quality_parts_of(backends.settings, backends), job)
    return AcceptedJob(job=job.id, name=job.name, findings=profile.findings)
