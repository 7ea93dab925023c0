"""The counters of jobs over time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from gossamer.core.jobs import Job
from gossamer.core.series import HourlyKind, HourlyRow, SeriesStep


class Series(Protocol):
    """How the counters of jobs grew, in buckets of ``core.series.BUCKET_S`` seconds and by the hour.

    Guarantee: a counter grows in the transaction that stores what it counts (``Store.write``), so that the
    sum of all buckets is the job's total; an attempt is counted where its answer had arrived, pages and items
    at the latest attempt of their batch. Gauges are set, by whoever supervises the job. Reading costs what is
    asked for, however much the job has done. Times are seconds since the epoch.
    """

    async def set_gauges(self, job: Job, at: float, gauges: Mapping[str, int]) -> None:
        """Note how high gauges stand (names without ``now:``); what was noted in that bucket is replaced."""
        ...

    async def read_steps(self, job: Job, since: int, until: int, step_s: int) -> list[SeriesStep]:
        """What was counted from ``since`` until before ``until``, in steps of ``step_s``, oldest first.

        All three are multiples of ``step_s``, and that of ``BUCKET_S``; beyond the last
        ``FINE_S`` seconds ``step_s`` is one of ``HOUR_S``. A step in which nothing was noted is left out.
        """
        ...

    async def read_hours(
        self, job: Job, kind: HourlyKind, since: int, until: int, who: Collection[str]
    ) -> list[HourlyRow]:
        """What these did (``EVERYBODY``: all together) in the hours that begin in that time; in no order."""
        ...

    async def list_reasons(self, job: Job, since: int) -> list[HourlyRow]:
        """Attempts that failed or were left out by reason and verdict, in the hours from ``since`` on."""
        ...

    async def rank_failures(
        self, job: Job, kind: HourlyKind, since: int, until: int, limit: int
    ) -> list[str]:
        """Who failed most in the hours that begin in that time, the worst first, at most ``limit``.

        Looked for among the worst ``limit`` of each hour and reason.
        """
        ...

    async def count_hosts(self, job: Job, reason: str, since: int, limit: int) -> int:
        """At how many hosts attempts failed for a reason, in the hours from ``since`` on.

        At most ``limit`` rows, of an hour and a host each, are looked at; more hosts are not counted.
        """
        ...

    async def fold_buckets(self, now: float) -> None:
        """Fold what is older than ``FINE_S`` into hours, and forget single hosts after ``NAMED_S``.

        Safe to repeat, and to be cut off.
        """
        ...
