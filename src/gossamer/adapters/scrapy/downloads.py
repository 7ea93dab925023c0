"""``crawler.engine.download()``: pages that Scrapy's code requests during a callback or a pipeline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from scrapy import Request as ScrapyRequest
from scrapy.http import Response as ScrapyResponse

from gossamer.adapters.scrapy.failures import error_of
from gossamer.adapters.scrapy.requests import RequestMapper, note_redirects
from gossamer.adapters.scrapy.responses import make_response
from gossamer.core.errors import Fault, FetchError, UsageError
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult
from gossamer.spiders.response import Response

FetchPage = Callable[[Request], Awaitable[tuple[Request, FetchResult]]]


class DownloadRunner:
    """Fetches requests of code, once the crawl has provided the means."""

    def __init__(self, mapper: RequestMapper) -> None:
        self._mapper = mapper
        self.fetch: FetchPage | None = None

    async def download(self, request: ScrapyRequest) -> ScrapyResponse:
        """Return the response after redirects, with any status. Raises the errors of Scrapy's downloader."""
        if self.fetch is None:
            raise UsageError("crawler.engine.download() is there once the crawl has begun")
        try:
            asked, fetched = await self.fetch(self._mapper.to_plain(request))
        except FetchError as error:
            raise error_of(error.fault, error.detail) from None
        if TRUNCATED in fetched.flags:  # half a file is useless
            raise error_of(Fault.INCOMPLETE, f"the compressed body of {request.url} was cut")
        note_redirects(request.meta, asked, self._mapper.most_redirects)
        return make_response(Response(asked, fetched), request)
