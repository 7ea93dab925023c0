"""A warning of links of a job that were left out as traps."""

from __future__ import annotations

from gossamer.core.jobs import Job, JobTotals, tag_of
from gossamer.engine.trap_counts import read_counts
from gossamer.policy.trap_closing import count_left_out, warn_of_traps
from gossamer.wiring.backends import Backends


async def read_trap_warnings(
    backends: Backends, job: Job, totals: JobTotals, *, is_kept: bool = True
) -> tuple[str, ...]:
    """Return warnings about a job's links that were skipped as traps. Raises ``StorageError``."""
    links = count_left_out(totals.dropped)
    if not links:
        return ()
    known = await read_counts(backends.requests.shared, tag_of(job))
    closed = {group: counts for group, counts in known.items() if counts.rule and counts.refused}
    return (warn_of_traps(job.id if is_kept else "", links, closed),)
