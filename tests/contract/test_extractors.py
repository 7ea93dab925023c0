"""Every extractor keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.core.results import ExtractResult
from gossamer.crawl.preview import PreviewExtractor
from gossamer.parse.isolation.limits import ParseLimits
from gossamer.parse.isolation.process import IsolatedExaminer
from gossamer.testing.contracts.extractor import EXTRACTOR_CHECKS, ExtractorSubject, check_extractor


@asynccontextmanager
async def plain(clock):
    yield ExtractorSubject(lambda spider: SpiderExtractor(lambda _: spider))


@asynccontextmanager
async def with_a_process_for_suspicious_pages(clock):
    examiner = IsolatedExaminer(ParseLimits())
    try:
        yield ExtractorSubject(lambda spider: SpiderExtractor(lambda _: spider, isolation=examiner))
    finally:
        examiner.close()


@asynccontextmanager
async def of_previews(clock):
    yield ExtractorSubject(lambda spider: PreviewExtractor(SpiderExtractor(lambda _: spider)))


MAKES = {"plain": plain, "isolated": with_a_process_for_suspicious_pages, "previews": of_previews}


@pytest.mark.parametrize("name", EXTRACTOR_CHECKS)
@pytest.mark.parametrize("kind", MAKES)
async def test_contract(kind, name):
    await EXTRACTOR_CHECKS[name](MAKES[kind])


async def test_the_suite_runs_every_check():
    await check_extractor(plain)
    assert len(EXTRACTOR_CHECKS) >= 8


async def test_the_suite_catches_an_extractor_that_forgets_what_came_before_an_error():
    class Forgetful(SpiderExtractor):
        async def extract(self, request, fetched):
            found = await super().extract(request, fetched)
            return ExtractResult(fault=found.fault, error=found.error) if found.fault else found

    @asynccontextmanager
    async def forgetful(clock):
        yield ExtractorSubject(lambda spider: Forgetful(lambda _: spider))

    with pytest.raises(AssertionError, match="raises: expected"):
        await EXTRACTOR_CHECKS["what_a_callback_raises_is_a_fault_of_its_page"](forgetful)
