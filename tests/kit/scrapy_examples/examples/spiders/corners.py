"""Less usual ways of the same: what responses tell, what callbacks may be, how crawls are steered."""

import datetime
from dataclasses import dataclass, field
from decimal import Decimal

import scrapy
from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http import HtmlResponse, TextResponse, XmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider, XMLFeedSpider
from twisted.internet.defer import inlineCallbacks, returnValue, succeed

SHOP = "http://shop.example"


class Told(scrapy.Spider):
    """A response's facts about itself and its request."""

    name = "told"

    async def start(self):
        yield scrapy.Request(f"{SHOP}/list/1#top", meta={"own": 1}, headers={"X-Own": "yes"}, flags=["first"])
        yield scrapy.Request(f"{SHOP}/moved?a=b c&ü=1", meta={"download_slot": "own"})
        yield scrapy.Request(f"{SHOP}/feed.xml")
        yield scrapy.Request(f"{SHOP}/image.png")
        yield scrapy.Request("https://api.example/echo/%7Euser/x%2Fy?q=1&q=&z")
        yield scrapy.Request(f"{SHOP}/coded/cp1251", priority=-1)
        yield scrapy.Request(f"{SHOP}/coded/gb2312")
        yield scrapy.Request(f"{SHOP}/list/1", method="HEAD")

    def parse(self, response):
        kind = next(
            k
            for k in (HtmlResponse, XmlResponse, TextResponse, scrapy.http.Response)
            if isinstance(response, k)
        )
        meta = {
            name: value for name, value in response.meta.items() if name in ("depth", "own", "download_slot")
        }
        yield {
            "url": response.url,
            "asked": response.request.url,
            "method": response.request.method,
            "kind": kind.__name__,
            "status": response.status,
            "type": response.headers.get("content-type"),
            "types": response.headers.getlist("Content-Type"),
            "meta": {name: str(value) for name, value in meta.items()},
            "slow": response.meta["download_latency"] > 60,
            "own header": response.request.headers.get("X-Own"),
            "agent": b"/" in response.request.headers["User-Agent"],
            "flags": response.request.flags,
            "encoding": getattr(response, "encoding", None),
            "title": response.css("h1::text").get() if isinstance(response, HtmlResponse) else None,
            "size": len(response.body) if "echo" not in response.url else None,
            "joined": response.urljoin("x/../y?z=1#f"),
            "repr": repr(response),
        }
        if (
            response.url.endswith("/list/1")
            and response.meta["depth"] < 2
            and response.request.method == "GET"
        ):
            yield response.follow(" /product/1\n", self.parse, meta={"own": 2})
            yield response.follow(response.css("a.product")[1])
            yield from response.follow_all(xpath="//a[@class='product'][3]")


class Callbacks(scrapy.Spider):
    """All that a callback may be and give."""

    name = "callbacks"
    handle_httpstatus_list = [404]

    async def start(self):
        kinds = (
            "listed",
            "single",
            "nothing",
            "coroutine",
            "async_listed",
            "inline",
            "deferred",
            "lambda",
            "later",
        )
        for kind in (*kinds, "failing", "errs_late", "odd"):
            callback = (lambda response: {"kind": "lambda"}) if kind == "lambda" else getattr(self, kind)
            yield scrapy.Request(
                f"{SHOP}/product/1?{kind}", callback, errback=self.on_error, meta={"kind": kind}
            )

    def listed(self, response):
        return [{"kind": "listed"}, response.follow("/product/2?listed", self.single), None]

    def single(self, response):
        return {"kind": "single", "url": response.url}

    def nothing(self, response):
        return None

    async def coroutine(self, response):
        return {"kind": "coroutine"}

    async def async_listed(self, response):
        return [{"kind": "async_listed"}, {"kind": "async_listed"}]

    @inlineCallbacks
    def inline(self, response):
        kind = yield succeed("inline")
        returnValue([{"kind": kind}])

    async def deferred(self, response):
        kind = await succeed("deferred")
        yield {"kind": kind}

    def failing(self, response):
        raise ValueError("on purpose")

    def errs_late(self, response):
        yield {"kind": "before it fails"}
        raise ValueError("on purpose")

    def odd(self, response):
        yield "a text"
        yield {"kind": "odd"}
        yield 7

    def later(self, response, given="nothing"):
        yield {"kind": "later", "given": given}
        if given == "nothing":
            yield response.request.replace(cb_kwargs={"given": "something"}, dont_filter=True)
            yield scrapy.Request(
                f"{SHOP}/status/503", self.single, errback=self.on_error, meta={"dont_retry": True}
            )
            yield scrapy.Request(f"{SHOP}/status/404", self.single, errback=self.on_error)

    def on_error(self, failure):
        yield {
            "kind": "error",
            "of": failure.type.__name__,
            "url": failure.request.url,
            "text": failure.getErrorMessage()[:12],
        }


@dataclass
class Measures:
    width: float
    parts: list = field(default_factory=list)


class Own(scrapy.Item):
    name = scrapy.Field()
    inner = scrapy.Field()
    empty = scrapy.Field()


class Kinds(scrapy.Spider):
    """Items of all kinds, with values of all kinds."""

    name = "kinds"
    start_urls = [f"{SHOP}/product/1"]

    def parse(self, response):
        yield Own(name="own", inner=Measures(2.0, [Own(name="deep")]), empty=None)
        yield Measures(1.5)
        yield {
            "when": datetime.datetime(2024, 2, 3, 4, 5, 6),
            "day": datetime.date(2024, 2, 3),
            "price": Decimal("1.10"),
            "bytes": b"abc",
            "set": {1},
            "tuple": (1, "a"),
            "none": None,
            "float": 1e20,
            "text": "ü\u2028\U0001f577",
            "nested": {"a": [{"b": Decimal(2)}]},
        }
        yield {}
        item = Own()
        item["name"] = response.css("h1::text").get()
        yield item
        yield ItemAdapter(item).asdict()
        yield item.copy()


class Steered(scrapy.Spider):
    """Goes on when it is idle."""

    name = "steered"
    start_urls = [f"{SHOP}/product/1"]

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.on_idle, signals.spider_idle)
        spider.more = [2, 3]
        return spider

    def on_idle(self, spider):
        if self.more:
            number = self.more.pop(0)
            self.crawler.engine.crawl(scrapy.Request(f"{SHOP}/product/{number}", self.parse))
            raise DontCloseSpider

    def parse(self, response):
        yield {"url": response.url, "more": len(self.more)}


class Retried(scrapy.Spider):
    """Asks again by itself."""

    name = "retried"
    start_urls = [f"{SHOP}/product/1?first"]

    def parse(self, response):
        if response.meta.get("retry_times", 0) < 2:
            request = get_retry_request(response.request, spider=self, reason="not yet", max_retry_times=2)
            if request:
                yield request
                return
        yield {"url": response.url, "times": response.meta.get("retry_times")}


class Limited(scrapy.Spider):
    """Settings that end or narrow a crawl."""

    name = "limited"
    start_urls = [f"{SHOP}/count/1"]
    custom_settings = {
        "DEPTH_LIMIT": 3,
        "USER_AGENT": "made/2.0",
        "DEFAULT_REQUEST_HEADERS": {"Accept-Language": "de", "X-Own": "always"},
        "COOKIES_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "HTTPERROR_ALLOWED_CODES": [302],
    }

    def parse(self, response):
        number = int(response.css("h1::text").get("0"))
        yield {"number": number, "depth": response.meta["depth"], "status": response.status}
        if number:
            yield response.follow(f"/count/{number + 1}")
            yield scrapy.Request(
                "https://api.example/echo", self.parse_told, cookies={"a": "b"}, dont_filter=number == 1
            )
            yield response.follow("/moved")

    def parse_told(self, response):
        yield response.json()


class Ruled(CrawlSpider):
    """Rules with all their helpers."""

    name = "ruled"
    start_urls = [f"{SHOP}/"]
    allowed_domains = ["shop.example"]
    rules = [
        Rule(LinkExtractor(restrict_css="body", allow="/list/[12]"), process_links="cut_links", follow=True),
        Rule(
            LinkExtractor(allow=r"/product/", process_value=lambda value: value + "?by=rule", unique=True),
            callback="parse_product",
            process_request="mark",
            errback="on_error",
        ),
    ]

    def parse_start_url(self, response):
        return [{"start": response.url}]

    def cut_links(self, links):
        return [link for link in links if "/list/2" not in link.url or link.text]

    def mark(self, request, response):
        if "/product/3" in request.url:
            return None
        return request.replace(meta={**request.meta, "from": response.url.rpartition("/")[2]}, priority=2)

    def parse_product(self, response):
        yield {"url": response.url, "from": bool(response.meta["from"]), "rule": response.meta["rule"]}

    def on_error(self, failure):
        self.logger.error(repr(failure))


class Extracted(scrapy.Spider):
    name = "extracted"
    start_urls = [f"{SHOP}/links"]

    def parse(self, response):
        ways = {
            "plain": LinkExtractor(),
            "same": LinkExtractor(allow_domains=["shop.example"]),
            "denied": LinkExtractor(deny_domains=["elsewhere.example"], deny=r"\?"),
            "images": LinkExtractor(tags=("img",), attrs=("src",), deny_extensions=[]),
            "canonical": LinkExtractor(canonicalize=True),
            "text": LinkExtractor(restrict_text="two"),
            "extensions": LinkExtractor(deny_extensions=["zip"]),
        }
        for name, way in ways.items():
            yield {
                "way": name,
                "links": [[x.url, x.text, x.fragment, x.nofollow] for x in way.extract_links(response)],
            }


class Named(XMLFeedSpider):
    name = "named"
    start_urls = [f"{SHOP}/atom.xml"]
    iterator = "xml"
    itertag = "a:entry"
    namespaces = [("a", "http://www.w3.org/2005/Atom")]

    def adapt_response(self, response):
        return response.replace(body=response.body.replace(b"silk", b"wool"))

    def parse_node(self, response, node):
        return {"title": node.xpath("a:title/text()").get(), "link": node.xpath("a:link/@href").get()}

    def process_results(self, response, results):
        return [{**dict(result), "seen": True} for result in results]


class Indexed(SitemapSpider):
    name = "indexed"
    sitemap_urls = [f"{SHOP}/sitemaps.xml.gz"]
    sitemap_follow = ["/sitemap"]
    sitemap_alternate_links = True

    def parse(self, response):
        yield {"url": response.url}


class Dropped(scrapy.Spider):
    """Signals of what happens to items and pages; a middleware that refuses."""

    name = "dropped"
    start_urls = [f"{SHOP}/list/1", f"{SHOP}/list/2", f"{SHOP}/refused"]
    custom_settings = {
        "ITEM_PIPELINES": {"examples.pipelines.AddTax": 1, "examples.pipelines.Breaks": 2},
        "DOWNLOADER_MIDDLEWARES": {"examples.spiders.corners.Refusing": 10},
    }

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.events = {}
        for name in (
            "item_scraped",
            "item_dropped",
            "item_error",
            "spider_error",
            "spider_opened",
        ):
            crawler.signals.connect(spider.counter_of(name), getattr(signals, name), weak=False)
        return spider

    def counter_of(self, name):
        def count(**kwargs):
            self.events[name] = self.events.get(name, 0) + 1

        return count

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, errback=self.on_error)

    def parse(self, response):
        for block in response.css("a.product"):
            price = block.css("b::text").get()
            yield {"name": block.css("i::text").get(), "price": float(price) if price else None}
        if response.url.endswith("/2"):
            raise KeyError("on purpose")

    def on_error(self, failure):
        return {"name": failure.type.__name__, "price": 1.0}

    def closed(self, reason):
        with open("events.txt", "w", encoding="utf-8") as file:
            file.writelines(f"{name} {count}\n" for name, count in self.events.items())
            names = (
                "item_scraped_count",
                "item_dropped_count",
                "examples/scraped",
            )
            file.writelines(f"{name} {self.crawler.stats.get_value(name)}\n" for name in names)


class Refusing:
    def process_request(self, request, spider):
        if request.url.endswith("/refused"):
            raise IgnoreRequest("on purpose")


class Kept(scrapy.Spider):
    """Files by a pipeline of one's own, the old settings of feeds, fields chosen."""

    name = "kept"
    start_urls = [f"{SHOP}/product/1", f"{SHOP}/product/2"]
    custom_settings = {
        "ITEM_PIPELINES": {"examples.pipelines.OwnFiles": 1},
        "FILES_STORE": "own-files",
        "FEEDS": {"%(name)s-kept.json": {"format": "json", "indent": 1}, "kept.xml": {"format": "xml"}},
        "FEED_EXPORT_FIELDS": ["name", "paths"],
    }

    def parse(self, response):
        yield {
            "name": response.css("h1::text").get(),
            "wanted": ["/sheet.pdf", "/nowhere.pdf"],
            "of": response.url,
        }
