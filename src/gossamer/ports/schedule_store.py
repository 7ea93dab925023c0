"""Storage of schedules and their runs."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.schedules import Schedule, ScheduledRun


class ScheduleStore(Protocol):
    """The schedules of a store by name, and their latest runs.

    Guarantee: each due time of a schedule is claimed once, also by concurrent calls; a run keeps its first
    outcome. Each schedule keeps its latest 200 runs and all open ones.
    """

    async def add_schedule(self, schedule: Schedule) -> bool:
        """Store a new schedule; return ``False`` if the name is taken."""
        ...

    async def list_schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        ...

    async def switch_schedule(self, name: str, *, is_on: bool, now: float) -> bool:
        """Turn a schedule on or off; return ``False`` if the name is unknown.

        Due times up to ``now`` are settled when it is turned on: runs missed while it was off are not made
        up.
        """
        ...

    async def remove_schedule(self, name: str) -> bool:
        """Delete a schedule and its runs; return ``False`` if the name is unknown. Jobs stay."""
        ...

    async def claim_run(self, schedule: Schedule, run: ScheduledRun) -> bool:
        """Store a run, which settles all due times up to its own, unless it was started manually.

        Return ``False``, and store nothing, if the due time is settled, or the schedule was removed,
        recreated or turned off since it was read (a manual run ignores the switch). After a lost connection a
        stored run may return ``False``: it is then among the open runs.
        """
        ...

    async def save_run(self, run: ScheduledRun) -> bool:
        """Store the state of an open run; return ``False`` if it is closed or gone."""
        ...

    async def open_runs(self) -> list[ScheduledRun]:
        """Return the runs without an outcome, of all schedules, in the order of their due times."""
        ...

    async def list_runs(self, limit: int, name: str | None = None) -> list[ScheduledRun]:
        """Return the latest runs, newest first: up to ``limit`` of each schedule, or of the one with this
        name.
        """
        ...
