"""Schedules in memory: the readable reference, for tests."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.store.schedule_rows import KEPT_RUNS


class MemoryScheduleStore:
    """A ``ScheduleStore`` that lives and dies with its process."""

    def __init__(self) -> None:
        self._schedules: dict[str, Schedule] = {}
        self._runs: dict[tuple[str, float], ScheduledRun] = {}

    async def add_schedule(self, schedule: Schedule) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        return self._schedules.setdefault(schedule.name, schedule) is schedule

    async def list_schedules(self) -> list[Schedule]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        return sorted(self._schedules.values(), key=lambda schedule: schedule.name)

    async def switch_schedule(self, name: str, *, is_on: bool, now: float) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        found = self._schedules.get(name)
        if found is None:
            return False
        since = max(found.since, now) if is_on and not found.is_on else found.since
        self._schedules[name] = replace(found, is_on=is_on, since=since)
        return True

    async def remove_schedule(self, name: str) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        self._runs = {place: run for place, run in self._runs.items() if run.schedule != name}
        return self._schedules.pop(name, None) is not None

    async def claim_run(self, schedule: Schedule, run: ScheduledRun) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        found, place = self._schedules.get(schedule.name), (run.schedule, run.due_at)
        if found is None or found.created_at != schedule.created_at or place in self._runs:
            return False
        if not run.is_manual:
            if not found.is_on or run.due_at <= found.since:
                return False
            self._schedules[found.name] = replace(found, since=run.due_at)
        self._runs[place] = run
        closed = [old for old in await self._newest_first(found.name) if not old.is_open]
        for old in closed[KEPT_RUNS:]:
            del self._runs[old.schedule, old.due_at]
        return True

    async def save_run(self, run: ScheduledRun) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        kept = self._runs.get((run.schedule, run.due_at))
        if kept is None or kept.key != run.key or not kept.is_open:
            return False
        self._runs[run.schedule, run.due_at] = run
        return True

    async def open_runs(self) -> list[ScheduledRun]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        return sorted((run for run in self._runs.values() if run.is_open), key=lambda run: run.due_at)

    async def list_runs(self, limit: int, name: str | None = None) -> list[ScheduledRun]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        names = self._schedules if name is None else (name,)
        return [run for each in sorted(names) for run in (await self._newest_first(each))[:limit]]

    async def _newest_first(self, name: str) -> list[ScheduledRun]:
        own = (run for run in self._runs.values() if run.schedule == name)
        return sorted(own, key=lambda run: run.due_at, reverse=True)
