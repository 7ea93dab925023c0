"""One shift in a worker: the crawl of its job put together here, worked on, and taken apart again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from math import inf
from pathlib import Path

from msgspec.structs import replace

from gossamer.callbacks.spider_end import ask_for_end
from gossamer.config.layers import find_project
from gossamer.config.live import with_changes
from gossamer.config.running import ClusterSettings
from gossamer.config.settings import Settings
from gossamer.core.errors import OperatorError, StorageError, UsageError
from gossamer.core.events import Event, PageDoneEvent
from gossamer.core.jobs import Job, tag_of
from gossamer.core.logs import LogEvent
from gossamer.core.requests import Request
from gossamer.core.results import Verdict
from gossamer.core.shifts import SEED_LANE, EndReason, Shift, ShiftResult
from gossamer.core.text import describe_error, format_count
from gossamer.engine.answer_memory import AnswerTable
from gossamer.engine.job_stop import JobStop
from gossamer.engine.seeding import Seeder
from gossamer.engine.worker import Worker
from gossamer.fleet.shift import ShiftRun
from gossamer.fleet.shift_watch import WatchedShift
from gossamer.observe.log import LogSink
from gossamer.observe.text import shown_url
from gossamer.ports.clock import Clock
from gossamer.ports.sink import Sink
from gossamer.runtime.cancelling import end_soon, end_tasks
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.runtime.log_context import describe_lines, line_details
from gossamer.runtime.user_code import await_endable
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import CrawlTarget
from gossamer.targets.plan import (
    check_domains,
    check_headers,
    check_options,
    check_proxies,
    plan_from,
    settings_under,
)
from gossamer.targets.planned_spider import target_under
from gossamer.wiring.assemble import CrawlParts, assemble_worker
from gossamer.wiring.backends import Backends
from gossamer.wiring.fleet import named_seeds

ASK_EVERY_S = 0.5
"""A spider is asked so often whether it wants its job to end."""
MUCH = 32
"""At this many new requests the supervisor is notified at once: another shift may be worth it."""

log = logging.getLogger("gossamer.worker")


class ShiftTask:
    """A shift under way."""

    def __init__(
        self,
        shift: Shift,
        settings: Settings,
        backends: Backends,
        ring: Callable[[], Awaitable[None]],
        sinks: Sequence[Sink] = (),
        *,
        answers: AnswerTable | None = None,
    ) -> None:
        self._shift = shift
        self._settings = settings
        self._backends = backends
        self._ring = ring
        self._answers = answers or AnswerTable()
        self._sinks: tuple[Sink, ...] = (self, LogSink(), *sinks)
        self._lengths = settings.cluster
        self._pages = 0
        self._found = 0  # requests
        self._tell_at = MUCH
        self._worker: Worker | None = None
        self._run: ShiftRun | None = None
        self._seeding: asyncio.Task[str] | None = None
        self._why: EndReason | None = None  # why it is to end
        self._bell: asyncio.Task[None] | None = None

    @property
    def watched(self) -> WatchedShift:
        """The shift's limits, for the watch of its deadline."""
        is_told = self._why is not None
        patience_s = self._settings.store.patience
        return watch_shift(self._shift, self._lengths, patience_s, is_told=is_told)

    @property
    def current_shift(self) -> Shift:
        """The shift as it stands."""
        in_flight = self._worker.in_flight if self._worker else 0
        return replace(self._shift, pages=self._pages, in_flight=in_flight)

    def stop(self, why: EndReason) -> None:
        """End the shift soon; requests in flight are finished."""
        self._why = self._why or why
        if self._run is not None:
            self._run.stop(why)
        end_soon(self._seeding)

    async def abandon(self) -> None:
        """End the shift at once; requests in flight are given back."""
        self.stop(EndReason.DRAINED)
        if self._run is not None:
            await self._run.abandon()

    def emit(self, event: Event) -> None:
        """Port ``Sink``: counts the recorded results."""
        if not isinstance(event, PageDoneEvent):
            return
        self._pages += event.attempt.verdict is Verdict.SUCCESS
        self._found += event.requests
        if self._found >= self._tell_at:
            self._tell_at *= 4
            self._notify_supervisor()

    async def run(self) -> ShiftResult:
        """Work to the end, whatever it is. Raises nothing."""
        shift, detail, clean = self._shift, "", True
        describe_lines(job=shift.job, lane=shift.lane, shift=shift.id, worker=shift.worker)
        try:
            why, detail = await self._run_lane()
        except StorageError as error:
            why, detail, clean = EndReason.FAILED, str(error), False
        except UsageError as error:
            why, detail = EndReason.REFUSED, str(error)
        except OperatorError as error:
            why, detail, clean = EndReason.FAILED, str(error), False
        except Exception as error:
            log.exception("a shift of %s failed", self._shift.job)
            why, detail, clean = EndReason.FAILED, trouble_of(error), False
        detail = hide_secrets(detail)
        self._log_end(why, detail)
        return ShiftResult(
            id=shift.id, job=shift.job, lane=shift.lane, why=why, detail=detail,
            pages=self._pages, visits=self._worker.ended_visits if self._worker else 0, clean=clean,
        )  # fmt: skip

    def _log_end(self, why: EndReason, detail: str) -> None:
        shift = self._shift
        extra = line_details(event=LogEvent.SHIFT_ENDED, reason=why.value, pages=self._pages)
        if why in (EndReason.FAILED, EndReason.REFUSED):
            log.warning("%s: a shift on %s %s: %s", shift.job, shift.lane, why.value, detail, extra=extra)
            return
        pages = format_count(self._pages, "page")
        log.info("%s: a shift on %s ends (%s): %s", shift.job, shift.lane, why.value, pages, extra=extra)

    async def _run_lane(self) -> tuple[EndReason, str]:
        job = await self._backends.book.get(self._shift.job)
        if job is None:
            raise StorageError(f"the store of this worker has no job {self._shift.job}")
        if self._shift.tag not in ("", tag_of(job)):
            raise UsageError(
                f"the shift is for a job {job.id} of another store than the one that this worker works with: "
                "end the worker and start it with the fleet's store.url"
            )
        plan = plan_from(job.plan)
        check_headers(plan, self._settings)
        check_options(plan, self._settings)
        check_domains(plan, self._settings)
        check_proxies(plan, self._settings)
        changes = {change.key: change.value for change in await self._backends.book.read_changes(job)}
        settings = with_changes(settings_under(plan, self._settings), changes)
        target = target_under(plan, find_project(Path.cwd()))
        wired = await assemble_worker(
            settings, target, self._backends, job,
            sinks=self._sinks, resumed=True, owner=self._shift.id, lane=self._shift.lane,
        )  # fmt: skip
        try:
            if self._shift.lane == SEED_LANE:
                return await self._seed_job(wired, target, job)
            return await self._crawl_lane(wired, settings, target.spider), ""
        finally:
            await wired.close()

    async def _crawl_lane(self, wired: CrawlParts, settings: Settings, spider: Spider) -> EndReason:
        shift = self._shift
        self._worker = Worker(
            replace(wired.parts, answers=self._answers.open_memory(tag_of(wired.parts.job))),
            replace(wired.shift, lane=shift.lane, worker=shift.worker),
        )
        self._lengths = settings.cluster
        self._run = ShiftRun(
            self._worker,
            wired.parts.frontier,
            wired.parts.clock,
            lane=self._shift.lane,
            max_s=self._lengths.shift,
            drain_s=self._lengths.drain,
            when_empty=self._notify_supervisor,
        )
        if self._why is not None:  # told to end while it was being put together
            self._run.stop(self._why)
        if type(spider).find_end is Spider.find_end:
            return await self._run.run()
        asking = asyncio.create_task(self._ask_spider(spider, wired.stop, wired.parts.clock))
        try:
            ended = await self._run.run()
        finally:
            await end_tasks(asking)
            if not asking.cancelled():
                asking.result()
        if why := ask_for_end(spider):  # since the last look, with the last item for instance
            await wired.stop.note(why)
        return ended

    async def _ask_spider(self, spider: Spider, stop: JobStop, clock: Clock) -> None:
        """Until the spider wants its job to end, by code outside of callbacks; the supervisor ends it."""
        try:
            while not (why := ask_for_end(spider)):
                await clock.sleep(ASK_EVERY_S)
            await stop.note(why)
        except (UsageError, StorageError):
            self.stop(EndReason.FAILED)
            raise
        self._notify_supervisor()

    def _notify_supervisor(self) -> None:
        """Ring the bell: the job may be over, or there is work for more shifts."""
        if self._bell is None or self._bell.done():
            self._bell = asyncio.ensure_future(_notify_quietly(self._ring))

    async def _seed_job(self, wired: CrawlParts, target: CrawlTarget, job: Job) -> tuple[EndReason, str]:
        frontier = self._backends.require_fleet().open_frontier(job, wired.parts.rules, owner=self._shift.id)
        seeding = Seeder(wired.parts.admission, frontier, lambda: None)
        seeds = named_seeds(self._backends, wired, target, job)
        self._seeding = asyncio.create_task(_all_of(seeding, seeds))
        if self._why is not None:
            end_soon(self._seeding)
        try:
            detail = await self._seeding
        except asyncio.CancelledError:
            if self._why is None:
                raise
            return self._why, ""
        if why := ask_for_end(target.spider):  # the job ends; resumed, it begins with its first URL again
            await wired.stop.note(why)
        else:
            await frontier.finish_seeding()
        return EndReason.SEEDED, detail


async def _all_of(seeding: Seeder, seeds: AsyncIterator[Request]) -> str:
    """Add all seeds. Return a note on refused ones, for the operator."""
    await await_endable(seeding.add_seeds(seeds))
    seeded = seeding.so_far
    if not seeded.refused:
        return ""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in seeded.refused.items())
    return f"some start URLs were not accepted ({reasons}), for example {shown_url(seeded.example)}"


async def _notify_quietly(ring: Callable[[], Awaitable[None]]) -> None:
    try:
        await ring()
    except StorageError as error:
        log.debug("the supervisor could not be notified: %s", error)


def watch_shift(
    shift: Shift, lengths: ClusterSettings, patience_s: float, *, is_told: bool = False
) -> WatchedShift:
    """Return how long a shift may take; seeding takes as long as it takes. ``patience_s``: with the store."""
    return WatchedShift(
        name=f"a shift of {shift.job} on {shift.lane}",
        max_s=inf if shift.lane == SEED_LANE else lengths.shift,
        drain_s=lengths.drain,
        patience_s=patience_s,
        is_told=is_told,
    )


def trouble_of(error: BaseException) -> str:
    """Return an error in one line."""
    return describe_error(error)[:500]
