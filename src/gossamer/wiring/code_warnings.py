"""Warnings about pages that a job has lost to errors of its spider's code."""

from __future__ import annotations

from gossamer.core.jobs import Job, JobTotals
from gossamer.core.results import AttemptFilter, Verdict
from gossamer.observe.code_failures import CODE_FAULTS, describe_failures
from gossamer.wiring.backends import Backends

MOST_ROWS = 1000
"""The latest failures of each kind that are looked at."""


async def read_code_warnings(
    backends: Backends, job: Job, totals: JobTotals, dead: int, *, is_kept: bool = True
) -> tuple[str, ...]:
    """Return warnings about pages that are dead letters because of the code. Raises ``StorageError``."""
    if not dead:
        return ()
    rows = [
        row
        for fault in CODE_FAULTS
        if totals.by_reason.get(fault)
        for row in await backends.ledger.find_attempts(
            job, MOST_ROWS, AttemptFilter(reason=fault, verdict=Verdict.DEAD)
        )
    ]
    letters = {row.fingerprint: row for row in reversed(rows)}  # the latest of repeated failures
    failed = min(len(letters) if len(rows) < MOST_ROWS else dead, dead)
    said = describe_failures([*letters.values()][-failed:], failed, job.id if is_kept else "") if rows else ""
    return (said,) if said else ()
