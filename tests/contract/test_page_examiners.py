"""Every page examiner keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.parse.isolation.limits import ParseLimits
from gossamer.parse.isolation.process import IsolatedExaminer
from gossamer.testing.contracts.page_examiner import PAGE_EXAMINER_CHECKS, check_page_examiner


@asynccontextmanager
async def isolated(clock):
    examiner = IsolatedExaminer(ParseLimits())
    try:
        yield examiner
    finally:
        examiner.close()


@pytest.mark.parametrize("name", PAGE_EXAMINER_CHECKS)
async def test_contract(name):
    await PAGE_EXAMINER_CHECKS[name](isolated)


async def test_the_suite_catches_an_examiner_that_lets_everything_pass():
    class Lenient:
        async def examine(self, body, content_type):
            return None

    @asynccontextmanager
    async def lenient(clock):
        yield Lenient()

    with pytest.raises(AssertionError, match="the page is cut"):
        await check_page_examiner(lenient)
    assert len(PAGE_EXAMINER_CHECKS) >= 4
