"""A crawl that runs beside the program which has started it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from types import TracebackType
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.jobs import JobTotals
from gossamer.crawl.event_stream import EventStream, StreamSink
from gossamer.crawl.result import CrawlResult
from gossamer.crawl.run import CrawlRun, prepare_crawl, run_and_close
from gossamer.observe.log import LogSink
from gossamer.ports.sink import Sink
from gossamer.spiders.spider import Spider


class RunningCrawl:
    """A crawl that runs beside the program, made by :func:`start_crawl`.

    ``async with`` waits for its end; if the block raises, the crawl is aborted.
    """

    def __init__(self, run: CrawlRun, hub: StreamSink) -> None:
        self._run = run
        self._hub = hub
        self._loop = asyncio.get_running_loop()
        self._totals: JobTotals | None = None
        self._task = asyncio.create_task(self._run_to_end(), name=f"crawl {run.job.id}")

    def __repr__(self) -> str:
        return f"<RunningCrawl {self.job} ({'over' if self.is_over else 'running'})>"

    async def _run_to_end(self) -> CrawlResult:
        try:
            return await run_and_close(self._run, self._note_totals)
        finally:
            self._hub.end()

    def _note_totals(self, totals: JobTotals) -> None:
        self._totals = totals

    @property
    def job(self) -> str:
        """Id of the job, as in ``gossamer status``."""
        return self._run.job.id

    @property
    def is_over(self) -> bool:
        """Whether the crawl has ended."""
        return self._task.done()

    def events(self, limit: int = 1000) -> EventStream:
        """Iterate over the events of the crawl from now to its end.

        A slow reader does not slow the crawl down: the latest ``limit`` unread events are kept, and a
        ``NoticeEvent`` gives the number of events dropped before them.
        """
        if limit < 1:
            raise UsageError(f"events(limit={limit}) could keep no event; give 1 or more")
        return self._hub.open_stream(limit)

    def stop(self) -> None:
        """Finish the requests in flight and end; the same crawl can be resumed. Works from any thread."""
        self._call(self._run.stop)

    def abort(self) -> None:
        """End within a second; requests in flight are fetched again when the crawl is resumed."""
        self._call(self._run.abort)

    def _call(self, function: Callable[[], None]) -> None:
        if not self.is_over:
            self._loop.call_soon_threadsafe(function)

    async def read_totals(self) -> JobTotals:
        """Return the totals of the job so far, over all its runs."""
        return await self._run.read_totals() if self._totals is None else self._totals

    async def wait(self) -> CrawlResult:
        """Wait for the end and return the result. Raises ``OperatorError`` as ``crawl()`` does.

        Cancelling the wait does not end the crawl.
        """
        return await asyncio.shield(self._task)

    async def __aenter__(self) -> RunningCrawl:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.wait()
            return
        self.abort()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # that of the body is the one to see


class CrawlStarter:
    """Result of :func:`start_crawl`: to be awaited, or to be used with ``async with``."""

    def __init__(self, starting: Coroutine[Any, Any, RunningCrawl]) -> None:
        self._starting = starting
        self._crawl: RunningCrawl | None = None

    def __await__(self) -> Generator[Any, Any, RunningCrawl]:
        return self._starting.__await__()

    async def __aenter__(self) -> RunningCrawl:
        self._crawl = await self._starting
        return self._crawl

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._crawl is not None
        await self._crawl.__aexit__(kind, error, trace)


def start_crawl(
    target: str | type[Spider],
    *,
    arguments: Mapping[str, str] | None = None,
    fresh: bool = False,
    sinks: Sequence[Sink] = (),
    **settings: Any,
) -> CrawlStarter:
    """Start a crawl in the running event loop: ``await`` it, or use it with ``async with``.

    Both give a :class:`RunningCrawl`; ``async with`` waits for the end of the crawl.

    Args:
        target: the class of a spider, or a spider file, or a URL as on the command line.
        arguments: spider arguments by name.
        fresh: start a new job instead of resuming an unfinished one.
        sinks: objects with a method ``emit(event)``; by default events are logged to ``gossamer.crawl``.
        settings: settings by name: ``max_pages=100``.

    Raises ``OperatorError`` if the crawl cannot start, such as ``SettingError`` or ``JobBusyError``.
    """
    return CrawlStarter(_start(target, arguments, settings, fresh, sinks))


async def _start(
    target: str | type[Spider],
    arguments: Mapping[str, str] | None,
    settings: Mapping[str, Any],
    fresh: bool,
    sinks: Sequence[Sink],
) -> RunningCrawl:
    hub = StreamSink()
    run = await prepare_crawl(
        target, arguments=arguments, overrides=settings, fresh=fresh, sinks=(*(sinks or (LogSink(),)), hub)
    )
    return RunningCrawl(run, hub)
