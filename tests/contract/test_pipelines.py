"""Every item pipeline keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.callbacks.pipelines import SpiderPipeline
from gossamer.core.errors import DropItem, PipelineError
from gossamer.crawl.preview import PreviewPipeline
from gossamer.items.pipeline import DefaultPipeline
from gossamer.spiders.spider import Spider
from gossamer.testing.contracts.pipeline import PIPELINE_CHECKS, PipelineSubject, check_pipeline


@asynccontextmanager
async def of_steps(clock):
    async def build(*steps):
        return DefaultPipeline(steps=steps)

    yield PipelineSubject(build)


@asynccontextmanager
async def of_spiders(clock):
    opened = []

    async def build(*steps):
        spider = Spider()
        spider.pipelines = steps
        opened.append(SpiderPipeline(lambda _: spider, timeout_s=60.0))
        return opened[-1]

    yield PipelineSubject(build)
    for pipeline in opened:
        await pipeline.close()


@asynccontextmanager
async def of_previews(clock):
    async def build(*steps):
        return PreviewPipeline(DefaultPipeline(steps=steps))

    yield PipelineSubject(build)


MAKES = {"steps": of_steps, "spiders": of_spiders, "previews": of_previews}


@pytest.mark.parametrize("name", PIPELINE_CHECKS)
@pytest.mark.parametrize("kind", MAKES)
async def test_contract(kind, name):
    await PIPELINE_CHECKS[name](MAKES[kind])


async def test_the_suite_runs_every_check():
    await check_pipeline(of_steps)
    assert len(PIPELINE_CHECKS) >= 10


async def test_the_suite_catches_a_pipeline_that_drops_what_fails():
    class Silent(DefaultPipeline):
        async def process(self, item, url, page=None):
            try:
                return await super().process(item, url, page)
            except PipelineError as error:
                raise DropItem(str(error)) from error

    @asynccontextmanager
    async def silent(clock):
        async def build(*steps):
            return Silent(steps=steps)

        yield PipelineSubject(build)

    with pytest.raises(AssertionError, match="broken fails its page"):
        await PIPELINE_CHECKS["a_step_that_fails_fails_the_page"](silent)
