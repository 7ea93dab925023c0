"""What hooks are around keeps the promises of what it is around."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import pytest

from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.callbacks.hooks import SpiderHooks
from gossamer.core.requests import Request
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.hooked import RequestHookFetcher, ResponseHookFetcher
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.spiders.spider import Spider
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.extractor import EXTRACTOR_CHECKS, ExtractorSubject
from gossamer.testing.contracts.fetcher import FETCHER_CHECKS, LIMITS

pytestmark = pytest.mark.slow


class Passing:
    """A hook that changes a request on its way, and else nothing."""

    async def on_request(self, request: Request) -> None:
        request.headers["X-Passed"] = "yes"

    def on_response(self, response: Any) -> Any:
        return response

    def on_error(self, request: Request, failure: Any) -> None:
        """Nothing to say."""

    def on_output(self, response: Any, output: list[Any]) -> list[Any]:
        return output


def hooks_of(spider: Spider) -> SpiderHooks:
    spider.hooks = [Passing]
    return SpiderHooks(lambda _: spider, ManualClock(), timeout_s=5.0)


@pytest.mark.parametrize("name", FETCHER_CHECKS)
async def test_fetchers(name: str) -> None:
    options = HttpOptions(user_agent="gossamer-test", **LIMITS)
    guard, hooks = AddressGuard({"127.0.0.1", "localhost"}), hooks_of(Spider())
    async with BadSite() as site:
        plain = HttpFetcher(options, clock=ManualClock(), guard=guard)
        fetcher = ResponseHookFetcher(RequestHookFetcher(plain, hooks), hooks)
        try:
            await FETCHER_CHECKS[name](fetcher, site)
        finally:
            await fetcher.close()


@asynccontextmanager
async def extractors(clock: Any) -> Any:
    yield ExtractorSubject(
        lambda spider: SpiderExtractor(lambda _: spider, pass_output=hooks_of(spider).pass_output)
    )


@pytest.mark.parametrize("name", EXTRACTOR_CHECKS)
async def test_extractors(name: str) -> None:
    await EXTRACTOR_CHECKS[name](extractors)
