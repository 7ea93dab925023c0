"""The pipeline gets the page that an item was found on, through all that is around it."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from gossamer.callbacks.pipelines import SpiderPipeline
from gossamer.core.results import ExtractResult, ItemRecord
from gossamer.crawl.preview import PreviewPipeline
from gossamer.engine.page_results import keep_items
from gossamer.items.pipeline import DefaultPipeline
from gossamer.observe.tracing import TracedPipeline
from gossamer.spiders.spider import Spider

URL = "http://a.example/1"
pages: list[Any] = []


class Lookout(DefaultPipeline):
    """Notes the pages that items come with."""

    async def process(self, item: Any, url: str, page: Any = None) -> ItemRecord:
        pages.append(page)
        return await super().process(item, url, page)


def spiders_pipeline(patch: pytest.MonkeyPatch) -> SpiderPipeline:
    patch.setattr("gossamer.callbacks.pipelines.DefaultPipeline", Lookout)
    spider = Spider()
    return SpiderPipeline(lambda _: spider, timeout_s=60.0)


@pytest.mark.parametrize("given", ["the page", None])
async def test_each_item_comes_with_its_page(monkeypatch: pytest.MonkeyPatch, given: Any) -> None:
    """A layer that forgets to hand it on would leave the stages behind it without a page."""
    pages.clear()
    pipeline = TracedPipeline(
        PreviewPipeline(spiders_pipeline(monkeypatch)), TracerProvider().get_tracer("test")
    )
    result = ExtractResult(items=({"a": 1}, {"a": 2}), response=given)
    kept, _ = await keep_items(pipeline, result, URL, {})
    assert len(kept) == 2
    assert pages == [given, given]
