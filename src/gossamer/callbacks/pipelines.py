"""The pipelines of a crawl's spiders, opened when their first item comes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gossamer.core.requests import Request
from gossamer.core.results import ItemRecord
from gossamer.items.pipeline import DefaultPipeline
from gossamer.items.stages import name_of
from gossamer.policy.urls import DEFAULT_OPTIONS, UrlOptions
from gossamer.runtime.user_code import refuse_failed_opening
from gossamer.spiders.spider import Spider

log = logging.getLogger("gossamer.crawl")


class SpiderPipeline:
    """Port ``Pipeline``: an item passes the pipeline of the spider that its page went to."""

    def __init__(
        self,
        choose: Callable[[Request], Spider],
        *,
        timeout_s: float,
        stages: Sequence[str] = (),
        options: Mapping[str, Mapping[str, Any]] | None = None,
        url_options: UrlOptions = DEFAULT_OPTIONS,
    ) -> None:
        """``stages`` come after the spider's own; ``options`` are settings of stages, by their names.

        ``url_options`` say how URLs of files are written, as the job writes all.
        """
        self._url_options = url_options
        self._choose = choose
        self._timeout_s = timeout_s
        self._stages = stages
        self._options = options or {}
        self._open: dict[int, DefaultPipeline] = {}
        self._opening = asyncio.Lock()
        self.failures: list[str] = []
        """Tracebacks of the steps that did not close."""

    async def process(self, item: Any, url: str, page: Any = None) -> ItemRecord:
        """See :class:`~gossamer.ports.pipeline.Pipeline`."""
        spider = self._choose(Request(url))
        pipeline = self._open.get(id(spider)) or await self.open_pipeline(spider)
        return await pipeline.process(item, url, page)

    async def open_pipeline(self, spider: Spider) -> DefaultPipeline:
        """Return a spider's opened pipeline. Raises ``UsageError`` if a step raises: the crawl ends."""
        async with self._opening:  # no task uses a pipeline that is still being opened
            if id(spider) not in self._open:
                with refuse_failed_opening(f"a pipeline of the spider {spider.name!r}"):
                    pipeline = self._make_pipeline(spider)
                    await pipeline.open_steps()
                self._open[id(spider)] = pipeline
            return self._open[id(spider)]

    def _make_pipeline(self, spider: Spider) -> DefaultPipeline:
        own = (spider.pipelines,) if isinstance(spider.pipelines, str) else spider.pipelines
        stages = (*own, *self._stages)
        for name in sorted(self._options.keys() - set(map(name_of, stages))):
            known = ", ".join(map(name_of, stages)) or "none"
            log.warning("pipeline.options: %r is not a stage of the spider %r: %s", name, spider.name, known)
        return DefaultPipeline(
            require_fields=spider.require_fields,
            steps=stages,
            spider=spider,
            timeout_s=self._timeout_s,
            options=self._options,
            url_options=self._url_options,
        )

    async def close(self) -> None:
        """Close all that were opened; steps that raise are logged and kept in ``failures``. Idempotent."""
        opened, self._open = self._open, {}
        for pipeline in opened.values():
            for failure in await pipeline.close_steps():
                log.error("%s", failure.rstrip())
                self.failures.append(failure)
