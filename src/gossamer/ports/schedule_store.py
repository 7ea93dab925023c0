"""Where schedules and their runs are kept."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.schedules import Schedule, ScheduledRun


class ScheduleStore(Protocol):
    """The schedules of a store by name, and their latest runs.

    Guarantee: a due time of a schedule is claimed once, whoever asks, however often and at the same time; a
    run that has an outcome keeps it. Of one schedule the latest 200 runs are kept, and all that are open.
    """

    async def add_schedule(self, schedule: Schedule) -> bool:
        """Keep a new schedule; ``False``: the name is taken, and nothing was kept."""
        ...

    async def list_schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        ...

    async def switch_schedule(self, name: str, *, is_on: bool, now: float) -> bool:
        """Turn a schedule on or off; ``False``: there is none of this name.

        Due times up to ``now`` are settled when it is turned on: what passed while it was off is not made up.
        """
        ...

    async def remove_schedule(self, name: str) -> bool:
        """Forget a schedule and its runs; ``False``: there is none of this name. Jobs stay."""
        ...

    async def claim_run(self, schedule: Schedule, run: ScheduledRun) -> bool:
        """Enter a run; from then on all due times up to its own are settled, unless a person asked for it.

        ``False``: nothing was entered, because the due time is settled, or the schedule was removed, made
        anew or turned off since it was read (off does not matter to a run that a person asked for). Over a
        break of the server it may be entered and answer ``False``: then it is among the open runs.
        """
        ...

    async def save_run(self, run: ScheduledRun) -> bool:
        """Keep how an open run stands; ``False``: it is not open any more, or gone, and nothing was kept."""
        ...

    async def open_runs(self) -> list[ScheduledRun]:
        """The runs without an outcome, of all schedules, in the order of their due times."""
        ...

    async def list_runs(self, limit: int, name: str | None = None) -> list[ScheduledRun]:
        """The latest runs, newest first: up to ``limit`` of each schedule, or of the one with this name."""
        ...
