"""Middlewares of one's own: before the site is asked, after it has answered, and around callbacks."""

from itertools import cycle

from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse


class SignRequests:
    def __init__(self, agents):
        self.agents = cycle(agents)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings.getlist("AGENTS", ["first", "second"]))

    def process_request(self, request, spider):
        request.headers["User-Agent"] = next(self.agents)
        request.headers["X-Signed"] = f"{request.method} {request.url}"
        if "forbidden" in request.url:
            raise IgnoreRequest("not this one")
        if "canned" in request.url:
            return HtmlResponse(request.url, body=b"<h1>canned</h1>", request=request)
        return None


class TryAgain:
    def process_response(self, request, response, spider):
        if b"try again" in response.body and not request.meta.get("again"):
            return request.replace(
                url=f"{request.url}?again=1", meta={**request.meta, "again": True}, dont_filter=True
            )
        return response

    def process_exception(self, request, exception, spider):
        return None


class MarkItems:
    def process_spider_input(self, response, spider):
        if "unwanted" in response.url:
            raise ValueError("an unwanted page")

    async def process_spider_output(self, response, result, spider):
        async for one in result:
            if isinstance(one, dict):
                one["marked"] = response.status
            yield one

    def process_spider_exception(self, response, exception, spider):
        return [{"refused": response.url}]

    async def process_start(self, start):
        async for request in start:
            yield request
