"""Run a spider: from code with :func:`crawl`, or in steps with :func:`prepare_crawl`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gossamer.callbacks.spider_end import ask_for_end
from gossamer.config.option import SettingOption
from gossamer.config.settings import Settings
from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault, LedgerReason, OperatorError
from gossamer.core.jobs import FrontierStats, Job, JobTotals, describe_end
from gossamer.core.lifecycle import FinishReason, JobCommand
from gossamer.core.notes import CrawlNote
from gossamer.core.requests import Request
from gossamer.core.results import AttemptFilter
from gossamer.core.steering import WorkLimits
from gossamer.crawl.following import ChangeMonitor
from gossamer.crawl.found_items import ItemCount, ItemSource
from gossamer.crawl.notes import ending_of, failed_hook_note, log_in_notes, notes_of
from gossamer.crawl.outputs import CrawlOutputs
from gossamer.crawl.quality import look_at_items
from gossamer.crawl.result import CrawlResult
from gossamer.crawl.watching import CrawlWatch
from gossamer.crawl.worker_groups import make_worker_group
from gossamer.engine.stat_changes import begin_job
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.observe.log import LogSink
from gossamer.observe.text import error_headline
from gossamer.policy.budget_status import BudgetStatus
from gossamer.policy.goals import read_goals
from gossamer.policy.job_life import EndFinder, JobEnd, change_job_record, end_run, fail_run
from gossamer.policy.shared_hosts import named_hosts
from gossamer.policy.spider_stats import read_spider_stats
from gossamer.ports.ledger_reader import LedgerReader
from gossamer.ports.sink import Sink
from gossamer.ports.worker_group import WorkerGroup
from gossamer.runtime.cancelling import end_tasks
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.runtime.log_context import describe_lines
from gossamer.runtime.user_code import await_value, ends_task, traceback_text
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import CrawlTarget
from gossamer.targets.launch import launch_of
from gossamer.targets.loading import load_target
from gossamer.targets.planned_spider import version_of
from gossamer.targets.unused_results import read_callback
from gossamer.wiring.assemble import CrawlParts, wire_crawl
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.budgets import end_finder_of, read_budget_statuses
from gossamer.wiring.code_warnings import read_code_warnings
from gossamer.wiring.trap_warnings import read_trap_warnings

log = logging.getLogger("gossamer.crawl")

LATEST_REDIRECTS = 1000
"""Latest redirects, whose most common target is named."""


RECORD_S = 5.0
"""Seconds for recording in the book of jobs that a run has failed; the book itself may have failed."""


LAST_NEWS_S = 5.0
"""Seconds that a crawl waits at its end for the targets of alerts."""


class CrawlRun:
    """One run of a job, made by :func:`prepare_crawl`."""

    def __init__(
        self,
        target: CrawlTarget,
        settings: Settings,
        wired: CrawlParts,
        shift: WorkerGroup,
        failed_elsewhere: list[str],
        *,
        is_watched: bool = True,
    ) -> None:
        self.spider = target.spider
        self.settings = settings  # with the changes that a person made to the job, when the run began
        self.resumed = wired.resumed
        self.job: Job = wired.parts.job
        self._wired = wired
        self._shift = shift
        self._supervisor = Supervisor(
            wired.parts,
            self._shift,
            max_time_s=settings.max_time,
            find_end=self._end_finder(settings),
            find_more=self._idle_finder(),
        )
        self._outputs = CrawlOutputs(settings, wired.backends)
        self._is_watched = is_watched  # the caller sees its error
        self._failed_hooks = failed_elsewhere  # also of this process, when the run has ended
        self.further: AsyncIterator[Request] | None = None  # besides the spider's requests
        self._aborting: asyncio.Task[None] | None = None
        self._changes = wired.parts.changes

    async def run(self) -> CrawlResult:
        """Crawl to the end. Raises ``OperatorError`` if storage fails; stored results stay."""
        describe_lines(job=self.job.id)
        with begin_job(self._changes):
            return await self._run()

    async def _run(self) -> CrawlResult:
        store, book = self._wired.backends.store, self._wired.backends.book
        await self._look_at_others()
        await book.update(change_job_record(self.job, JobCommand.RESUME, self._wired.parts.clock.now()))
        before = await store.read_totals(self.job)
        await self._outputs.start()
        reason = FinishReason.ERROR
        following = asyncio.create_task(self._follower().run())
        watch = self._make_watch()
        watching = asyncio.create_task(watch.run())
        told: list[CrawlNote] = []
        try:
            ran = await self._supervisor.run(self._first_requests(), resumed=self.resumed)
            tally = await store.read_totals(self.job)
            ended = end_run(self.job, ran.reason, ran.stats.state, ran.ended_at, error=ran.detail)
            await book.update(ended)
            reason = ran.reason
            if tally.pages != before.pages:
                told = await look_at_items(self.settings, self._wired, ended, tally, type(self.spider))
        except Exception as error:
            await self._record_failure(error)
            raise
        finally:
            await end_tasks(following, watching)
            await self._close_spider(reason)
            await self._outputs.end()
            await watch.end(LAST_NEWS_S)
        if counted := self._changes.take_counts():  # after the last page, in closed() for instance
            await store.record_attempts(self.job, (), counted)
            tally = await store.read_totals(self.job)
        if self.settings.store.ledger_days is not None:
            await self._wired.backends.keeping.prune_ledger(ran.ended_at)
        if self.settings.archive.days is not None:
            await import_module("gossamer.wiring.archives").prune_archive(self.settings, ran.ended_at)
        if self.settings.files.days is not None:
            files = self._wired.backends.files
            await import_module("gossamer.wiring.files").prune_files(self.settings, files, ran.ended_at)
        target = await _known_target(self._wired.backends, self.job, tally)
        lost = await self._wired.backends.count_letters(self.job, tally, Fault.HOST_LOST)
        steps = await self._wired.backends.count_letters(self.job, tally, Fault.PIPELINE)
        result = replace(self._make_result(ran, before, tally, lost), budgets=await self._read_budgets())
        warnings = await self._read_warnings(tally, ran.stats.dead)
        notes = (*result.notes, *log_in_notes(target), *told)
        ending = result.ending._replace(failed_steps=steps)
        return replace(result, known_target=target, warnings=warnings, notes=notes, ending=ending)

    async def _read_warnings(self, tally: JobTotals, dead: int) -> tuple[str, ...]:
        meter = self._wired.parts.admission.meter
        if meter is not None:
            await meter.save()
        backends, is_kept = self._wired.backends, not self.settings.memory
        failed = await read_code_warnings(backends, self.job, tally, dead, is_kept=is_kept)
        return failed + await read_trap_warnings(backends, self.job, tally, is_kept=is_kept)

    async def _look_at_others(self) -> None:
        """Say which other jobs ask the same hosts, and wait for none that was killed."""
        await self._wired.backends.withdraw_claims(self.job)
        hosts = named_hosts(self.spider.allowed_domains, self.spider.start_urls)
        for warning in await self._wired.backends.warn_of_shared_hosts(self.job, hosts):
            log.warning("%s", warning)

    async def _read_budgets(self) -> tuple[BudgetStatus, ...]:
        await self._wired.parts.router.close()  # the spending is saved
        return await read_budget_statuses(self._wired.backends.requests.shared, self.job)

    async def _first_requests(self) -> AsyncIterator[Request]:
        """Yield the spider's own requests, and those of known pages that are due."""
        async for request in self._wired.seeds_of(self.spider):
            yield request
        async for request in self._wired.due_requests():
            yield request
        if self.further is not None:
            async for request in self.further:
                yield request

    def _end_finder(self, settings: Settings) -> EndFinder:
        backends = self._wired.backends
        find_end = end_finder_of(settings, backends.requests.shared, backends.store, self.job)

        async def ask_spider_first(stats: FrontierStats) -> JobEnd | None:
            if why := ask_for_end(self.spider):
                return JobEnd(reason=FinishReason.STOPPED, detail=why)
            return await find_end(stats)

        return ask_spider_first

    def _idle_finder(self) -> Callable[[], AsyncIterator[Request]] | None:
        """Return the query to the spider for more requests at the end; ``None`` if it has none."""
        is_asked = type(self.spider).on_idle is not Spider.on_idle
        return (lambda: self._wired.seeds_of(self.spider, "on_idle")) if is_asked else None

    def _make_watch(self) -> CrawlWatch:
        sink, supervisor = self._wired.parts.sink, self._supervisor
        backends = self._wired.backends
        return CrawlWatch(self.settings, backends, self.job, sink, lambda _: supervisor.is_seeded)

    def _follower(self) -> ChangeMonitor:
        """Return the monitor that applies changes of the settings to the run."""

        def follow(settings: Settings, limits: WorkLimits) -> None:
            self._shift.follow_limits(limits)
            self._supervisor.follow_limits(settings.max_time, self._end_finder(settings))

        return ChangeMonitor(self._wired, follow)

    def stop(self) -> None:
        """Start nothing new and finish the requests in hand."""
        self._supervisor.stop()

    def abort(self) -> None:
        """Give everything back and end within a second."""
        self.stop()
        self._outputs.abandon()
        self._aborting = asyncio.ensure_future(self._shift.abandon())

    async def _record_failure(self, error: Exception) -> None:
        """Record in the job's end why this run ended, as far as there still is a place for it."""
        what = traceback_text(error, __file__) if not isinstance(error, OperatorError) else str(error)
        stats, ended_at = None, self._wired.parts.clock.now()
        with contextlib.suppress(OperatorError, TimeoutError):
            async with asyncio.timeout(RECORD_S):
                stats = await self._wired.parts.frontier.read_stats()
        error_text = error_headline(hide_secrets(what))
        ended = fail_run(self.job, stats, ended_at, error_text, is_watched=self._is_watched)
        with contextlib.suppress(OperatorError, TimeoutError):
            async with asyncio.timeout(RECORD_S):
                await self._wired.backends.book.update(ended)

    async def _close_spider(self, reason: FinishReason) -> None:
        """Close the pipelines and call the spider's ``closed()``; failures there are only logged."""
        self._failed_hooks += await self._wired.close_steps()
        if self.spider.feeds and not self.settings.replay.job:
            write_feeds = import_module("gossamer.crawl.feeds").write_feeds  # which most spiders do without
            store = self._wired.backends.store
            self._failed_hooks += await write_feeds(self.spider, self.settings, store, self.job)
        try:
            await await_value(self.spider.closed(reason.value), self.settings.parse.callback_timeout)
        except BaseException as error:
            if ends_task(error):
                raise
            failure = f"in closed() of the spider {self.spider.name}:\n{traceback_text(error, __file__)}"
            log.error("%s", failure.rstrip())  # noqa: TRY400 - with the traceback of the spider's code alone
            self._failed_hooks.append(failure)

    async def read_totals(self) -> JobTotals:
        """Return the totals of the job now, over all its runs."""
        return await self._wired.backends.store.read_totals(self.job)

    @property
    def ledger(self) -> LedgerReader:
        """The ledger of the run, until it is closed."""
        return self._wired.backends.ledger

    async def close(self) -> None:
        """Let go of files and connections."""
        await self._wired.close()

    async def open_backends(self) -> Backends:
        """Open the places of the crawl, to read them after its end. Raises as ``open_places`` does."""
        return self._wired.backends if self.settings.memory else await open_backends(self.settings)

    def _item_source(self) -> ItemSource:
        kept = self._wired.backends.keeping if self.settings.memory else None
        return ItemSource(self.settings, self.job, type(self.spider), kept)

    def _notes_of(self, ran: RunSummary, before: JobTotals, tally: JobTotals, lost: int) -> list[CrawlNote]:
        is_kept, callbacks = not self.settings.memory, partial(read_callback, self.spider)
        return notes_of(self.job.id, ran, before, tally, lost=lost, is_kept=is_kept, read_source=callbacks)

    def _make_result(self, ran: RunSummary, before: JobTotals, tally: JobTotals, lost: int) -> CrawlResult:
        seconds = max(ran.ended_at - ran.started_at, 1e-6)
        return CrawlResult(
            job=self.job.id,
            spider=self.job.name,
            finish_reason=describe_end(ran.reason, ran.detail),
            pages=tally.pages,
            items=ItemCount(tally.items, self._item_source()),
            attempts=tally.attempts,
            retries=tally.retries,
            dead=ran.stats.dead,
            dropped=DropKind.ITEM.count_in(tally.dropped),
            left_out=tally.dropped,
            duplicates=tally.duplicates,
            bytes=tally.bytes,
            seconds=round(seconds, 3),
            pages_per_second=round((tally.pages - before.pages) / seconds, 1),
            cost=tally.cost,
            by_rung=tally.by_rung,
            cost_by_rung=tally.cost_by_rung,
            by_status=tally.by_status,
            goals=read_goals(tally),
            stats=read_spider_stats(tally),
            cut_pages=DropKind.PAGE.select_from(tally.dropped),
            redirects_to_known=tally.by_reason.get(LedgerReason.KNOWN_TARGET, 0),
            peak_rss_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            notes=(
                *self._notes_of(ran, before, tally, lost),
                *map(failed_hook_note, self._failed_hooks),
            ),
            failed_hooks=tuple(self._failed_hooks),
            ending=ending_of(
                tally,
                ran.stats.dead,
                is_early=ran.reason.is_early,
                lost=lost,
                refused_seeds=sum(ran.seeded.refused.values()),
                failed_hooks=len(self._failed_hooks),
            ),
        )


async def _known_target(backends: Backends, job: Job, tally: JobTotals) -> str:
    """Return the target of most of a job's latest redirects to known pages; ``""`` without any."""
    if not tally.by_reason.get(LedgerReason.KNOWN_TARGET):
        return ""
    rows = await backends.ledger.find_attempts(
        job, LATEST_REDIRECTS, AttemptFilter(reason=LedgerReason.KNOWN_TARGET)
    )
    return Counter(row.detail for row in rows).most_common(1)[0][0] if rows else ""


async def prepare_crawl(
    target: str | type[Spider],
    *,
    arguments: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | Sequence[SettingOption] = (),
    env: Mapping[str, str] | None = None,
    fresh: bool = False,
    sinks: Sequence[Sink] = (),
    start: Path | None = None,
    key: bytes = b"",
) -> CrawlRun:
    """Find the spider, settle the settings, open the files. Close the result when done with it.

    ``arguments`` go to the spider, ``overrides`` are settings of the strongest layer (a mapping, or the
    options of a command line), ``fresh`` starts over instead of resuming, with a ``key`` it is the one
    job of that key. Actions that are due are carried out before its job is chosen. Raises ``OperatorError``.
    """
    found = load_target(target, arguments or {}, overrides, env=env, start=start)
    launch = b""
    if isinstance(target, str):
        launch = launch_of(target, arguments or {}, found.loaded, version=version_of(found.target))
    wired = await wire_crawl(
        *(found.settings, found.target), fresh=fresh, sinks=sinks, launch=launch, key=key, before=_finish_due
    )
    try:
        failed_hooks: list[str] = []
        shift = make_worker_group(target, arguments or {}, wired.settings, wired, failed_hooks)
    except BaseException:
        await wired.close()
        raise
    return CrawlRun(found.target, wired.settings, wired, shift, failed_hooks, is_watched=not key)


async def _finish_due(backends: Backends) -> None:
    """Carry out the actions of people that are due. That they cannot be keeps no crawl from beginning."""
    try:
        await import_module("gossamer.jobs.delayed_actions").finish_due(backends)  # it knows all actions
    except Exception as error:  # noqa: BLE001 - where its places are away, the crawl itself says so
        log.warning("actions that are due wait: %s", error)


async def crawl(
    target: str | type[Spider],
    *,
    arguments: Mapping[str, str] | None = None,
    fresh: bool = False,
    sinks: Sequence[Sink] = (),
    **settings: Any,
) -> CrawlResult:
    """Crawl to the end in the running event loop, and return the result.

    Args:
        target: the class of a spider, or a spider file, or a URL as on the command line.
        arguments: spider arguments by name.
        fresh: start a new job instead of resuming an unfinished one.
        sinks: objects with a method ``emit(event)``; by default events are logged to ``gossamer.crawl``.
        settings: settings by name: ``max_pages=100``.

    Raises ``OperatorError``: ``SettingError`` for a wrong setting, ``JobBusyError`` if the crawl runs
    already, ``LogInError`` if the log-in keeps failing, ``StorageError`` if the store cannot be written.
    Stored results are kept.
    """
    return await run_and_close(
        await prepare_crawl(
            target, arguments=arguments, overrides=settings, fresh=fresh, sinks=sinks or (LogSink(),)
        )
    )


async def run_and_close(crawling: CrawlRun, tell: Callable[[JobTotals], None] | None = None) -> CrawlResult:
    """Run a crawl to its end, release its files, and log notes for people.

    ``tell`` receives the totals while they can be read.
    """
    try:
        try:
            result = await crawling.run()
        finally:
            if tell is not None:
                with contextlib.suppress(OperatorError):  # the run has reported the error
                    tell(await crawling.read_totals())
    finally:
        await crawling.close()
    for warning in result.warnings:
        log.warning("%s: %s", result.job, warning)
    for note in result.notes:
        log.log(logging.WARNING if note.is_warning else logging.INFO, "%s: %s", result.job, note)
    return result
