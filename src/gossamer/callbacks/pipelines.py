"""The pipelines of a crawl's spiders, opened when their first item comes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.core.results import ItemRecord
from gossamer.items.pipeline import DefaultPipeline
from gossamer.spiders.spider import Spider

log = logging.getLogger("gossamer.crawl")


class SpiderPipeline:
    """Port ``Pipeline``: an item passes the pipeline of the spider that its page went to."""

    def __init__(self, choose: Callable[[Request], Spider], *, timeout_s: float) -> None:
        self._choose = choose
        self._timeout_s = timeout_s
        self._open: dict[int, DefaultPipeline] = {}
        self._opening = asyncio.Lock()
        self.failures: list[str] = []
        """Tracebacks of the steps that did not close."""

    async def process(self, item: Any, url: str) -> ItemRecord:
        """See :class:`~gossamer.ports.pipeline.Pipeline`."""
        spider = self._choose(Request(url))
        return await (self._open.get(id(spider)) or await self.open_pipeline(spider)).process(item, url)

    async def open_pipeline(self, spider: Spider) -> DefaultPipeline:
        """A spider's pipeline, opened. Raises ``UsageError`` for what its steps raise: the crawl ends."""
        async with self._opening:  # nobody uses a pipeline that is still being opened
            if id(spider) not in self._open:
                try:
                    pipeline = DefaultPipeline(
                        require_fields=spider.require_fields,
                        steps=spider.pipelines,
                        spider=spider,
                        timeout_s=self._timeout_s,
                    )
                    await pipeline.open_steps()
                except (Exception, SystemExit) as error:  # users' code
                    raise UsageError(
                        f"a pipeline of the spider {spider.name!r} cannot be opened: "
                        f"{type(error).__name__}: {error}"
                    ) from error
                self._open[id(spider)] = pipeline
            return self._open[id(spider)]

    async def close(self) -> None:
        """Close all that were opened; steps that raise are logged and kept in ``failures``. Idempotent."""
        opened, self._open = self._open, {}
        for pipeline in opened.values():
            for failure in await pipeline.close_steps():
                log.error("%s", failure.rstrip())
                self.failures.append(failure)
