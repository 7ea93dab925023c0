"""A spider of Scrapy's with middlewares of its own, in every form that they are written in."""

SPIDER = '''
import scrapy
from scrapy import signals
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from twisted.internet.defer import succeed


class Agents:
    """Older code: every method takes the spider."""

    @classmethod
    def from_crawler(cls, crawler):
        made = cls()
        crawler.signals.connect(made.spider_opened, signal=signals.spider_opened)
        return made

    def spider_opened(self, spider):
        pass

    def process_request(self, request, spider):
        request.headers["User-Agent"] = "mine"
        request.meta["seen"] = spider.name

    def process_response(self, request, response, spider):
        request.meta.setdefault("statuses", []).append(response.status)
        return response

    def process_exception(self, request, exception, spider):
        return None


class Asynchronous:
    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_request(self, request):
        if request.url.endswith("/made"):
            body = b"<h1>made</h1>"
            return HtmlResponse(request.url, body=body, encoding="utf-8", headers={"X-Made": "1"})
        if request.url.endswith("/old"):
            return request.replace(url=request.url.replace("/old", "/page/2/"))
        if request.url.endswith("/refused"):
            raise IgnoreRequest("refused")
        if request.url.endswith("/wrong"):
            request.meta["wrong"] = self.crawler.get_downloader_middleware(Asynchronous) is self
            raise ZeroDivisionError("a slip")

    async def process_response(self, request, response):
        if request.url.endswith("/flaky"):
            spider = self.crawler.spider
            return get_retry_request(request, spider=spider, reason="flaky", max_retry_times=2) or response
        if request.url.endswith("/shown"):
            return response.replace(body=b"<h1>shown by a middleware</h1>")
        return response


class Deferring:
    def process_request(self, request, spider):
        return succeed(None)

    def process_exception(self, request, exception, spider):
        if request.meta.get("saves"):
            return HtmlResponse(request.url, body=b"<h1>saved</h1>", encoding="utf-8")


class Around:
    def process_spider_input(self, response, spider):
        response.meta["input"] = True
        if response.url.endswith("/bad"):
            raise ValueError("bad input")

    async def process_spider_output(self, response, result):
        async for one in result:
            if isinstance(one, dict):
                one["around"] = response.status
            yield one

    def process_spider_exception(self, response, exception, spider):
        return [{"path": response.url.partition(spider.url)[2], "error": str(exception)}]

    async def process_start(self, start):
        async for request in start:
            request.meta["start"] = True
            yield request


class Within:
    async def process_spider_output(self, response, result):
        async for one in result:
            if not (isinstance(one, dict) and one.get("dropped")):
                yield one
        if response.url.endswith("/added"):
            yield {"added": True}
            yield scrapy.Request(response.urljoin("/more"))


class Shop(scrapy.Spider):
    name = "shop"
    custom_settings = {
        "DOWNLOADER_MIDDLEWARES": {
            "shop.Agents": 400,
            Asynchronous: 543,
            "shop.Deferring": 900,
            "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None,
        },
        "SPIDER_MIDDLEWARES": {Around: 543, Within: 600},
        "RETRY_HTTP_CODES": [403, 503],
    }

    def start_requests(self):
        paths = "echo made old refused flaky shown raises bad broken gone to added wrong forbidden"
        for path in paths.split():
            yield scrapy.Request(f"{self.url}/{path}", errback=self.failed, dont_filter=True)
        for port, saves in ((1, True), (2, False)):
            yield scrapy.Request(f"http://127.0.0.1:{port}/", errback=self.failed, meta={"saves": saves})

    def parse(self, response):
        path, meta = response.url.replace(self.url, ""), response.meta
        if path == "/raises":
            raise KeyError("own")
        yield {"dropped": True}
        yield {
            "path": path,
            "kind": type(response).__name__,
            "status": response.status,
            "text": response.text,
            "made": response.headers.get("X-Made", b"").decode(),
            "meta": [meta.get(name) for name in ("seen", "statuses", "input", "start", "retry_times")],
            "depth": None if path == "/more" else meta["depth"],
            "redirects": [url.replace(self.url, "") for url in meta.get("redirect_urls", [])],
        }

    def failed(self, failure):
        path = failure.request.url.replace(self.url, "")
        meta = failure.request.meta
        said = {"seen": meta["seen"], "wrong": meta.get("wrong")}
        yield {"path": path, "failure": failure.type.__name__, **said}
'''
OLD = '''
import random
import scrapy
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware


class RandomAgent(UserAgentMiddleware):
    def process_request(self, request, spider):
        request.headers.setdefault("User-Agent", random.choice(["one"]))


class PatientRetry(RetryMiddleware):
    def process_response(self, request, response, spider):
        if response.status == 503:
            return self._retry(request, "busy") or response
        return response


class ThroughProxy:
    def process_request(self, request, spider):
        if spider.proxy:
            request.meta["proxy"] = spider.proxy
            request.headers["Proxy-Authorization"] = "Basic bWU6Y2FuYXJ5cHJveHk3ZDFm"


LOG = []


class Seen:
    def __init__(self, name):
        self.name = name

    def process_response(self, request, response, spider):
        request.meta.setdefault("seen", []).append(self.name + str(response.status))
        LOG.append([request.url, self.name, response.status])
        return response


class Early(Seen):
    def __init__(self):
        super().__init__("early")


class Late(Seen):
    def __init__(self):
        super().__init__("late")


class OldSpiderMiddleware:
    """As the templates of older Scrapy had it."""

    def process_spider_output(self, response, result, spider):
        for one in result:
            if isinstance(one, dict):
                one["old"] = spider.name
            yield one

    def process_start_requests(self, start_requests, spider):
        for request in start_requests:
            yield request.replace(headers={"X-Start": "yes"})


class Old(scrapy.Spider):
    name = "old"
    proxy = ""
    custom_settings = {
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
            "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware": 110,
            "old.RandomAgent": 400,
            "old.Early": 500,
            "old.PatientRetry": 550,
            "old.Late": 610,
            "old.ThroughProxy": 750,
        },
        "SPIDER_MIDDLEWARES": {"old.OldSpiderMiddleware": 543},
        "RETRY_TIMES": 3,
    }

    def start_requests(self):
        for path in ("busy", "moved", "fine"):
            yield scrapy.Request(f"{self.url}/{path}")

    def parse(self, response):
        import old

        log = [[name, status] for url, name, status in old.LOG if url == response.url]
        yield {"path": response.url.replace(self.url, ""), "seen": response.meta.get("seen"), "log": log}
'''
