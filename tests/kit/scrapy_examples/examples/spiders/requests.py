"""The data of requests, the handling of failures, and an API that is read page by page."""

import json

import scrapy
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError
from scrapy.http import JsonRequest
from scrapy.spidermiddlewares.httperror import HttpError


class Scroll(scrapy.Spider):
    """An API that a page loads as one scrolls."""

    name = "scroll"
    address = "https://api.example/quotes?page=%s"
    start_urls = [address % 1]

    def parse(self, response):
        data = json.loads(response.text)
        for quote in data["quotes"]:
            yield {"text": quote["text"], "author": quote["author"]["name"]}
        if data["has_next"]:
            yield scrapy.Request(self.address % (data["page"] + 1))


class Posted(scrapy.Spider):
    name = "posted"

    async def start(self):
        yield JsonRequest("https://api.example/echo", data={"query": "silk", "page": 1}, callback=self.parse)
        yield scrapy.FormRequest(
            "https://api.example/echo", formdata={"a": "1", "b": "ü"}, callback=self.parse
        )
        yield scrapy.Request(
            "https://api.example/echo",
            method="PUT",
            body="ä",
            headers={"X-Own": "yes"},
            cookies={"taste": "good"},
        )

    def parse(self, response):
        yield response.json()


class Handed(scrapy.Spider):
    """Arguments, meta data, a jar of cookies for each of two visitors."""

    name = "handed"

    async def start(self):
        for visitor in ("ann", "ben"):
            yield scrapy.Request(
                f"http://shop.example/visit?who={visitor}",
                callback=self.parse_first,
                meta={"cookiejar": visitor, "kept": {"seen": [1, 2]}},
                cb_kwargs={"visitor": visitor},
            )

    def parse_first(self, response, visitor):
        yield response.follow(
            "/visitor",
            self.parse_second,
            meta=response.meta,
            cb_kwargs={"visitor": visitor, "depth": 1},
            dont_filter=True,
        )

    def parse_second(self, response, visitor, depth=0):
        yield {
            "visitor": visitor,
            "site says": response.css("h1::text").get(),
            "kept": response.meta["kept"],
            "depth": depth,
        }


class Failing(scrapy.Spider):
    name = "failing"
    start_urls = [
        "http://shop.example/",
        "http://shop.example/status/404",
        "http://shop.example/status/500",
        "http://refused.example:6379/",
        "http://nobody.invalid/",
    ]
    custom_settings = {"RETRY_ENABLED": False}

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(
                url, callback=self.parse, errback=self.on_failure, dont_filter=True, cb_kwargs={"asked": url}
            )

    def parse(self, response, asked):
        yield {"url": response.url, "status": response.status, "asked": asked}

    def on_failure(self, failure):
        asked = failure.request.cb_kwargs["asked"]
        if failure.check(HttpError):
            yield {
                "refused": failure.value.response.url,
                "status": failure.value.response.status,
                "asked": asked,
            }
        elif failure.check(CannotResolveHostError, DownloadTimeoutError):
            yield {"name": failure.request.url, "asked": asked}
        else:
            yield {"failed": failure.request.url, "asked": asked}


class Statuses(scrapy.Spider):
    """Error pages and redirects that the callback wants."""

    name = "statuses"
    handle_httpstatus_list = [404]

    async def start(self):
        yield scrapy.Request("http://shop.example/status/404")
        yield scrapy.Request("http://shop.example/moved")
        yield scrapy.Request(
            "http://shop.example/moved?stay", meta={"dont_redirect": True, "handle_httpstatus_list": [302]}
        )
        yield scrapy.Request("http://shop.example/status/410", meta={"handle_httpstatus_all": True})

    def parse(self, response):
        yield {
            "url": response.url,
            "status": response.status,
            "to": response.headers.get("Location", b"").decode(),
        }


class Old(scrapy.Spider):
    """Begins as spiders did before Scrapy 2.13."""

    name = "old"
    start_urls = ["http://shop.example/list/1"]

    def start_requests(self):
        for url in self.start_urls:
            yield scrapy.Request(url, self.parse_list, meta={"list": 1}, priority=5)

    def parse_list(self, response):
        for link in response.css("a.product::attr(href)").extract():
            request = scrapy.Request(response.urljoin(link), callback=self.parse_product)
            request.meta["list"] = response.meta["list"]
            yield request

    def parse_product(self, response):
        yield {"name": response.css("h1::text").extract_first(), "list": response.meta["list"]}


class Signed(scrapy.Spider):
    """With middlewares of its own."""

    name = "signed"
    start_urls = [
        f"https://api.example/echo/{name}" for name in ("one", "forbidden", "canned", "unwanted", "again")
    ]
    custom_settings = {
        "DOWNLOADER_MIDDLEWARES": {
            "examples.middlewares.SignRequests": 543,
            "examples.middlewares.TryAgain": 560,
            "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None,
        },
        "SPIDER_MIDDLEWARES": {"examples.middlewares.MarkItems": 543},
        "AGENTS": ["the-only-one"],
    }

    def parse(self, response):
        if b"<h1>" in response.body:
            yield {"title": response.css("h1::text").get()}
        else:
            told = response.json()
            yield {"agent": told["agent"], "signed": told["signed"], "url": response.url}


class Counted(scrapy.Spider):
    """Reads its crawler's settings and statistics, and takes a signal itself."""

    name = "counted"
    start_urls = ["http://shop.example/list/1"]

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.on_scraped, signal=scrapy.signals.item_scraped)
        spider.scraped = 0
        return spider

    def on_scraped(self, item, response, spider):
        self.scraped += 1

    def parse(self, response):
        self.crawler.stats.inc_value("own/pages")
        yield {"bot": self.settings.get("BOT_NAME"), "pages": self.crawler.stats.get_value("own/pages")}
        yield response.follow("/list/2", self.parse_last)

    async def parse_last(self, response):
        other = await self.crawler.engine.download_async(response.follow("/product/7"))
        yield {"scraped": self.scraped, "other": other.css("h1::text").get()}

    def closed(self, reason):
        with open("closed.txt", "w", encoding="utf-8") as file:
            file.write(f"{reason} {self.scraped}")
