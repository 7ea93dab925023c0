"""The watch: examine all jobs and services every few seconds, save the result, and send alerts.

One process watches a fleet: the one whose supervisor leads. While the fleet's server is away, the
last leader continues from its memory, so that the absence itself is reported.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar

from msgspec.structs import replace

from gossamer.core.errors import OperatorError, StorageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import JobState
from gossamer.core.shifts import RosterView
from gossamer.policy.alert_readings import JobLook, PlaceLook, ProxyPoolState, read_job, read_place
from gossamer.policy.alerts import AlertChanges, judge_readings
from gossamer.policy.drift import DriftFinding
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.look_times import GRACE_S, LookPace
from gossamer.policy.notices import make_notices
from gossamer.policy.shifts import ShiftLimits, idle_workers
from gossamer.policy.trap_closing import count_left_out
from gossamer.policy.troubles import TroubleKind
from gossamer.runtime.cancelling import end_tasks
from gossamer.watch.delivery import NoticeDelivery
from gossamer.watch.job_look import find_refusal, look_at_job
from gossamer.watch.memories import (
    load_job_memory,
    load_place_memory,
    save_job_memory,
    save_place_memory,
)
from gossamer.watch.parts import WatchParts, log

T = TypeVar("T")

EVERY_S = 5.0
"""Seconds between two looks."""
PLACE_REST = 3
"""Maximum rests between two looks at services, supervisors and proxies."""
ENDS_EVERY_S = 60.0
"""Seconds between two lists of jobs that ended unwatched."""
ENDS_OVERLAP_S = 300.0
"""Overlap of these lists: a job's end may be recorded late, or by a slow clock."""
ENDS_AT_ONCE = 50
"""Ended jobs examined at a time; more wait for the next time."""
PATIENCE_S = 10.0
"""Maximum seconds for one answer of a server."""
ALONE_S = 3600.0
"""Maximum seconds for which the last leader continues to watch while no process can lead."""


class AlertWatch:
    """Watches the jobs of one place."""

    def __init__(
        self, parts: WatchParts, *, is_leading: Callable[[], bool] = lambda: True, every_s: float = EVERY_S
    ) -> None:
        self._parts = parts
        self._is_leading = is_leading
        self._every_s = every_s
        self._pace = LookPace(every_s=every_s)  # of looks at the jobs
        self._jobs_at = 0.0  # when they are looked at again
        self._ends_at = 0.0  # when jobs that ended unseen are looked for again
        self._jobs: dict[str, tuple[Job, JobMemory]] = {}
        self._place: PlaceMemory | None = None
        self._led_at: float | None = None
        self._store_refusal = ""  # why the store took no changes at the latest look at a job
        self._delivery = NoticeDelivery(
            parts.name, parts.targets, parts.shared, parts.clock, is_left=parts.is_left
        )

    def __repr__(self) -> str:
        return f"<AlertWatch of {self._parts.name}, {len(self._jobs)} jobs>"

    async def run(self) -> None:
        """Watch until cancelled. Raises nothing else."""
        while True:
            began = self._parts.clock.now()
            delivering = asyncio.create_task(self._deliver())
            try:
                await self.look()
                await delivering
            except Exception:  # noqa: BLE001 - the watch's boundary: jobs do not depend on it
                log.exception("the jobs could not be watched; they continue")
            finally:
                await end_tasks(delivering)
            await self._parts.clock.sleep(self._rest_s(self._parts.clock.now() - began))

    async def _deliver(self) -> None:
        """Send pending notifications, unless another process leads, which sends them. Raises nothing."""
        look = self._place.look if self._place is not None else None
        can_nobody_lead = look is not None and self._parts.requests_name in {*look.away, *look.refusing}
        if self._is_leading() or (can_nobody_lead and self._led_at is not None):
            await self._delivery.deliver()

    def _rest_s(self, took_s: float) -> float:
        """Return the rest after a look; if a slow look found a server away, the next one follows soon."""
        is_away = self._place is not None and bool(self._place.look.away)
        return self._every_s if is_away else min(self._pace.rest_s(took_s), PLACE_REST * self._every_s)

    async def end(self, patience_s: float) -> None:
        """Take a last look and send its alerts, within a time. Raises nothing.

        Does nothing if there are neither watched jobs nor alert targets.
        """
        if not self._jobs and not self._parts.targets:
            return
        with contextlib.suppress(TimeoutError, OperatorError):
            async with asyncio.timeout(patience_s):
                self._jobs_at = 0.0
                await self.look()
                if self._parts.list_all is None:
                    await self._end_place()
                await self._delivery.deliver()

    async def look(self) -> None:
        """Examine everything once. Problems of a server or of a job do not raise."""
        now = self._parts.clock.now()
        place, jobs, view = await self._look_at_place(now)
        if not self._is_responsible(place, now):
            await self._hand_over()
            return
        changes = [await self._judge_place(place)]
        if not place.away:
            known = [job for job, _ in self._jobs.values()]
            changes += await self._watch_jobs(known if jobs is None else jobs, place, view)
            changes += await self._judge_ends(now)
        for change in changes:
            await self._delivery.add(make_notices(change, self._parts.wanted, self._parts.title, now))

    async def _watch_jobs(
        self, jobs: Sequence[Job], place: PlaceLook, view: RosterView | None
    ) -> list[AlertChanges]:
        """Examine new and ended jobs, and all jobs if it is time to."""
        clock = self._parts.clock
        began = clock.now()
        are_due, here = began >= self._jobs_at, {job.id for job in jobs}
        gone = [job for job, _ in self._jobs.values() if job.id not in here]
        self._store_refusal = self._store_refusal if jobs else ""  # unknown without writes
        chosen = [job for job in jobs if are_due or job.id not in self._jobs]
        changes = [await self._watch_job(job, place, view, began) for job in chosen]
        changes += [await self._end_job(job, place.at) for job in gone]
        if are_due:
            ended = clock.now()
            self._jobs_at = ended + self._pace.rest_after(began, ended)
            self._pace = self._pace.expect(ended - began)
        return changes

    async def _judge_ends(self, now: float) -> list[AlertChanges]:
        """Examine jobs that began and ended between two looks, or ended unwatched."""
        place, list_all = self._place, self._parts.list_all
        if list_all is None or place is None or now < self._ends_at:
            return []
        self._ends_at = now + ENDS_EVERY_S
        since = place.ends_until - ENDS_OVERLAP_S if place.ends_until else now
        try:
            ended = [job for job in await _in_time(list_all()) if (job.finished_at or 0.0) > since]
        except StorageError:
            return []
        ended.sort(key=lambda job: job.finished_at or 0.0)
        changes = [await self._end_job(job, now) for job in ended[:ENDS_AT_ONCE]]
        is_all = len(ended) <= ENDS_AT_ONCE
        until = now if is_all else ended[ENDS_AT_ONCE - 1].finished_at or now
        await self._keep_place(replace(place, ends_until=until))
        return changes

    async def _keep_place(self, place: PlaceMemory) -> None:
        self._place = place
        if self._parts.requests_name not in place.look.away:
            with contextlib.suppress(StorageError):
                await _in_time(save_place_memory(self._parts.shared, self._parts.name, place))

    async def _hand_over(self) -> None:
        """Leave the watch to the leader, with the findings from the time without one."""
        if self._place is not None and (self._place.look.away or self._place.look.refusing):
            with contextlib.suppress(StorageError):
                await _in_time(save_place_memory(self._parts.shared, self._parts.name, self._place))
            await self._delivery.save()
        self._jobs.clear()
        self._place = None
        self._delivery.forget()

    def _is_responsible(self, place: PlaceLook, now: float) -> bool:
        """Return whether this process watches: it leads, or it led last and no process can lead."""
        if self._is_leading():
            self._led_at = now
            return True
        can_somebody_lead = self._parts.requests_name not in {*place.away, *place.refusing}
        if can_somebody_lead or self._led_at is None or now - self._led_at > ALONE_S:
            self._led_at = None
            return False
        return True

    # ----------------------------------------------------------------- the place

    async def _look_at_place(self, now: float) -> tuple[PlaceLook, Sequence[Job] | None, RosterView | None]:
        """Return the state of the services, the jobs (``None``: they cannot be listed) and the roster."""
        parts, away, view = self._parts, {}, None
        used, most = 0, 0
        try:
            view = await _in_time(parts.read_roster()) if parts.read_roster else None
            used, most = await _in_time(parts.read_memory()) if parts.read_memory else (0, 0)
        except StorageError as error:
            away[parts.requests_name] = str(error)
        refusing = await self._find_refusing(away)
        began, jobs = parts.clock.now(), None
        try:
            jobs = await _in_time(parts.list_jobs())
        except StorageError as error:
            away[parts.store_name] = str(error)
        lag_s = max(parts.clock.now() - began, 0.0)
        pools: tuple[ProxyPoolState, ...] = ()
        with contextlib.suppress(OperatorError):
            pools = tuple(await _in_time(parts.read_pools())) if parts.read_pools else ()
        look = PlaceLook(
            at=now,
            is_fleet=parts.read_roster is not None,
            has_leader=view is None or bool(view.leader),
            jobs=len(jobs or ()),
            store=parts.store_name,
            store_lag_s=lag_s,
            redis_used=used,
            redis_max=most,
            pools=pools,
            idle=idle_workers(view, ShiftLimits()) if view is not None else (),
            away=away,
            refusing={name: why for name, why in refusing.items() if name not in away},
        )
        return look, jobs, view

    async def _find_refusing(self, away: Collection[str]) -> dict[str, str]:
        """Return the services that answer but take no changes, with the reason."""
        parts = self._parts
        found = {parts.store_name: self._store_refusal} if self._store_refusal else {}
        if parts.try_writing is not None and parts.requests_name not in away:
            found[parts.requests_name] = await find_refusal(parts.try_writing)
        return {name: why for name, why in found.items() if why}

    async def _judge_place(self, look: PlaceLook) -> AlertChanges:
        parts, before = self._parts, self._place
        alerts, ends_until = (before.alerts, before.ends_until) if before else ((), 0.0)
        if parts.requests_name not in look.away:
            with contextlib.suppress(StorageError):
                kept = await _in_time(load_place_memory(parts.shared, parts.name))
                known = {state.key for state in alerts}
                is_others = before is None or kept.at != before.at
                ends_until = max(ends_until, kept.ends_until)
                alerts += tuple(state for state in kept.alerts if is_others and state.key not in known)
        unread = {
            TroubleKind.REDIS_MEMORY,
            TroubleKind.IDLE_WORKER,
            TroubleKind.NO_SUPERVISOR,
            TroubleKind.PROXIES,
        }
        changes = judge_readings(
            alerts,
            read_place(look, parts.rules, parts.show(look.at)),
            parts.rules,
            look.at,
            unread=unread if look.away else (),
        )
        due_at = look.at + self._pace.expected_s + PLACE_REST * self._every_s + GRACE_S
        await self._keep_place(
            PlaceMemory(at=look.at, due_at=due_at, look=look, ends_until=ends_until, alerts=changes.states)
        )
        return changes

    async def _end_place(self) -> None:
        """End the alerts of a place: after a crawl of one machine, no process watches it."""
        if self._place is None:
            return
        now, rules = self._parts.clock.now(), replace(self._parts.rules, clears_s=0.0)
        changes = judge_readings(self._place.alerts, (), rules, now)
        await self._keep_place(replace(self._place, alerts=(), due_at=now))
        await self._delivery.add(make_notices(changes, self._parts.wanted, self._parts.title, now))

    # ----------------------------------------------------------------- jobs

    async def _watch_job(
        self, job: Job, place: PlaceLook, view: RosterView | None, began: float
    ) -> AlertChanges:
        """Examine one job; its errors do not affect other jobs."""
        known = self._jobs.get(job.id)
        try:
            memory = known[1] if known else await _in_time(load_job_memory(self._parts.shared, job))
            if job.state is not JobState.RUNNING or job.end_reason is not None:
                look = JobLook(
                    id=job.id,
                    at=place.at,
                    is_running=False,
                    end_reason=job.end_reason,
                    end_error=job.end_error,
                    findings=await self._find_findings(job),
                    left_out=await self._count_left_out(job),
                )
            else:
                watched = self._parts.open_job(job)
                look, memory = await _in_time(
                    look_at_job(self._parts, watched, memory, view, place.store_lag_s)
                )
        except OperatorError as error:
            memory = known[1] if known else JobMemory()
            look = JobLook(id=job.id, at=place.at, unreadable=str(error))
        memory = replace(memory, due_at=self._pace.due_at(began, self._parts.clock.now()))
        if look.store_refusal is not None:
            self._store_refusal = look.store_refusal
        return await self._judge_job(job, look, memory)

    async def _end_job(self, job: Job, now: float) -> AlertChanges:
        """Examine a job whose run has ended; its alerts end, except those about the end."""
        try:
            ended = await _in_time(self._parts.refresh(job))
            known = self._jobs.get(job.id)
            memory = known[1] if known else await _in_time(load_job_memory(self._parts.shared, job))
        except StorageError:
            return AlertChanges()
        self._jobs.pop(job.id, None)
        is_judged = ended is not None and memory.judged_end == ended.finished_at is not None
        if is_judged or (ended is not None and ended.is_unfinished):  # it was resumed meanwhile
            return AlertChanges()
        ended = ended or job
        memory = replace(memory, judged_end=ended.finished_at)
        look = JobLook(
            id=job.id,
            at=now,
            is_running=False,
            end_reason=ended.end_reason,
            end_error=ended.end_error,
            findings=await self._find_findings(ended),
            left_out=await self._count_left_out(ended),
        )
        changes = await self._judge_job(ended, look, memory)
        self._jobs.pop(job.id, None)
        return changes

    async def _find_findings(self, job: Job) -> tuple[DriftFinding, ...]:
        """Return the findings about the items of an ended job; empty if unknown."""
        if self._parts.find_findings is None or job.end_reason is None:
            return ()
        try:
            return tuple(await _in_time(self._parts.find_findings(job)))
        except OperatorError as error:
            log.warning("the items of %s could not be looked at (%s)", job.id, error)
            return ()

    async def _count_left_out(self, job: Job) -> int:
        """Return how many links of an ended job were skipped as traps; 0 if unknown."""
        try:
            return count_left_out((await _in_time(self._parts.store.read_totals(job))).dropped)
        except OperatorError:
            return 0

    async def _judge_job(self, job: Job, look: JobLook, memory: JobMemory) -> AlertChanges:
        parts = self._parts
        rules = parts.rules if look.is_running else replace(parts.rules, clears_s=0.0)
        changes = judge_readings(memory.alerts, read_job(look, rules, parts.show(look.at)), rules, look.at)
        memory = replace(memory, alerts=changes.states)
        self._jobs[job.id] = job, memory
        with contextlib.suppress(StorageError):
            await _in_time(save_job_memory(parts.shared, job, memory))
        return changes


async def _in_time(answer: Awaitable[T]) -> T:
    """Return an answer; raise ``StorageError`` if it takes too long."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await answer
    except TimeoutError:
        raise StorageError(f"no answer within {PATIENCE_S:g} seconds") from None
