"""The counters of jobs over time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from gossamer.core.jobs import Job
from gossamer.core.series import HourlyKind, HourlyRow, SeriesStep


class Series(Protocol):
    """The growth of the counters of jobs, in buckets of ``core.series.BUCKET_S`` seconds and by the hour.

    Guarantee: a counter grows in the same transaction as the records it counts (``Store.write``), so the sum
    of all buckets is the job's total. An attempt counts at the arrival of its response, pages and items at
    the latest attempt of their batch. The job's supervisor sets gauges. The cost of reading depends on the
    requested range only. Times are seconds since the epoch.
    """

    async def set_gauges(self, job: Job, at: float, gauges: Mapping[str, int]) -> None:
        """Set the values of gauges (names without ``now:``), replacing earlier values in the same bucket."""
        ...

    async def read_steps(self, job: Job, since: int, until: int, step_s: int) -> list[SeriesStep]:
        """Return the growth from ``since`` until before ``until``, in steps of ``step_s``, oldest first.

        All three are multiples of ``step_s``, which is a multiple of ``BUCKET_S``; beyond the last ``FINE_S``
        seconds it is a multiple of ``HOUR_S``. Empty steps are left out.
        """
        ...

    async def read_hours(
        self, job: Job, kind: HourlyKind, since: int, until: int, who: Collection[str]
    ) -> list[HourlyRow]:
        """Return the hourly counts of these names (``EVERYBODY``: all together), in no order."""
        ...

    async def list_reasons(self, job: Job, since: int) -> list[HourlyRow]:
        """Return failed and skipped attempts by reason and verdict, in the hours from ``since`` on."""
        ...

    async def rank_failures(
        self, job: Job, kind: HourlyKind, since: int, until: int, limit: int
    ) -> list[str]:
        """Return the names with most failures in these hours, the worst first, at most ``limit``.

        Searches the worst ``limit`` of each hour and reason.
        """
        ...

    async def count_hosts(self, job: Job, reason: str, since: int, limit: int) -> int:
        """Count the hosts with failures for a reason, in the hours from ``since`` on.

        Reads at most ``limit`` rows, one per hour and host; further hosts are not counted.
        """
        ...

    async def fold_buckets(self, now: float) -> None:
        """Fold buckets older than ``FINE_S`` into hours, and drop single hosts after ``NAMED_S``.

        Idempotent, and safe to interrupt.
        """
        ...
