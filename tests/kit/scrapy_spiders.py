"""Spiders as people have written them for Scrapy; ``-a url=`` gives each the address of its site."""

START_REQUESTS = """
import scrapy


class Quotes(scrapy.Spider):
    name = "quotes"

    def start_requests(self):
        yield scrapy.Request(self.url + "/", callback=self.parse)

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield {
                "text": quote.css("span.text::text").get(),
                "author": quote.xpath("span/small/text()").get(),
                "tags": quote.css("div.tags a.tag::text").getall(),
                "page": response.url,
                "depth": response.meta["depth"],
            }
        yield from response.follow_all(css="ul.pager a", callback=self.parse)
"""
AUTHORS = """
import scrapy


class Authors(scrapy.Spider):
    name = "author"

    def __init__(self, url=None, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url + "/"]

    def parse(self, response):
        yield from response.follow_all(css=".author + a", callback=self.parse_author)
        yield from response.follow_all(css="li.next a", callback=self.parse)

    def parse_author(self, response):
        def extract_with_css(query):
            return response.css(query).get(default="").strip()

        yield {"name": extract_with_css("h3.author-title::text"), "kind": type(response).__name__}
"""
OBJECTS = """
import datetime
from dataclasses import dataclass
from decimal import Decimal

import scrapy
from itemloaders.processors import Join, MapCompose, TakeFirst
from scrapy.loader import ItemLoader
from scrapy.spidermiddlewares.httperror import HttpError


class Author(scrapy.Item):
    name = scrapy.Field(serializer=str.upper)
    seen = scrapy.Field()
    born = scrapy.Field()


class AuthorLoader(ItemLoader):
    default_item_class = Author
    default_output_processor = TakeFirst()
    name_in = MapCompose(str.strip)


@dataclass
class Sum:
    value: Decimal
    when: datetime.date


class Objects(scrapy.Spider):
    name = "objects"

    def start_requests(self):
        yield scrapy.Request(self.url + "/", meta={"tags": {"b", "b"}, "pair": (1, b"x")})

    def parse(self, response):
        yield {"same": 1}
        yield {"same": 1}
        yield {"tags": sorted(response.meta["tags"]), "pair": repr(response.meta["pair"])}
        yield Sum(Decimal("1.50"), datetime.date(2026, 1, 2))
        shared = {"seen": 0}
        for link in response.css("a[href^='/author/']"):
            loader = AuthorLoader(response=response)
            loader.add_value("born", ["", "1900"])
            yield response.follow(
                link,
                callback=lambda found, loader=loader: self.parse_author(found, loader),
                meta={"shared": shared},
            )
        for again in range(3):
            yield scrapy.Request(
                response.urljoin("/page/2/"), self.parse_again, dont_filter=True, cb_kwargs={"again": again}
            )
        yield response.follow("/nowhere", self.parse, errback=self.say)

    def parse_again(self, response, again):
        yield {"again": again}

    def parse_author(self, response, loader):
        response.meta["shared"]["seen"] += 1
        loader.add_value("name", response.css("h3::text").get())
        loader.add_value("seen", 7)
        yield loader.load_item()

    def say(self, failure):
        assert failure.check(HttpError)
        yield {"failed": failure.value.response.status, "at": failure.request.url}
"""
RULES = """
import scrapy
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Rules(CrawlSpider):
    name = "rules"
    allowed_domains = ["127.0.0.1"]
    rules = (
        Rule(LinkExtractor(allow=r"/author/"), callback="parse_author", cb_kwargs={"by": "rule"}),
        Rule(
            LinkExtractor(allow=r"/page/\\d+/", deny=r"/page/3/"),
            callback="parse_page",
            follow=True,
            process_links="mark",
            process_request="add",
        ),
        Rule(LinkExtractor(restrict_css="h1"), callback="parse_page"),
    )

    def __init__(self, url=None, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url + "/"]

    def mark(self, links):
        for link in links:
            link.text = "marked " + link.text
        return links

    def add(self, request, response):
        request.meta["from"] = response.url
        return request

    def parse_start_url(self, response):
        return [{"start": response.url}]

    def parse_page(self, response):
        return {"page": response.url, **{n: response.meta.get(n) for n in ("from", "link_text", "rule")}}

    def parse_author(self, response, by):
        yield {"author": response.css("h3::text").get().strip(), "by": by, "depth": response.meta["depth"]}
"""
ASYNC = """
import asyncio

import scrapy
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred, succeed


class Async(scrapy.Spider):
    name = "async"
    custom_settings = {"HTTPERROR_ALLOWED_CODES": [404]}

    async def start(self):
        await asyncio.sleep(0)
        yield {"before": {1, 1}}
        yield {"before": "any page"}
        for number in (1, 2, 3):
            yield scrapy.Request(f"{self.url}/page/{number}/", cb_kwargs={"number": number})
        yield scrapy.Request(self.url + "/none", self.parse_once)
        yield scrapy.Request(self.url + "/page/1/", self.parse_list)

    async def parse(self, response, number):
        await asyncio.sleep(0)
        found = await maybe_deferred_to_future(succeed(number * 2))
        yield {"number": number, "found": found}
        yield response.follow("/author/Ada-Weaver", self.parse_once)

    async def parse_once(self, response):
        await asyncio.sleep(0)
        return [{"status": response.status, "url": response.url}]

    def parse_list(self, response):
        yield {"never": "a duplicate"}
"""
LOG_IN = """
import scrapy


class LogIn(scrapy.Spider):
    name = "login"

    def start_requests(self):
        for jar in ("a", "b"):
            yield scrapy.Request(self.url + "/login", self.log_in, meta={"cookiejar": jar}, dont_filter=True)

    def log_in(self, response):
        password = "spinning-wheel" if response.meta["cookiejar"] == "a" else "wrong"
        return scrapy.FormRequest.from_response(
            response,
            formid=None,
            formxpath="//form[@method='post']",
            formdata={"username": "weaver", "password": password},
            callback=self.after,
            meta={"cookiejar": response.meta["cookiejar"]},
            dont_filter=True,
        )

    def after(self, response):
        yield {
            "jar": response.meta["cookiejar"],
            "secret": response.css(".secret::text").get(),
            "url": response.url,
            "redirects": response.meta.get("redirect_times"),
            "urls": response.meta.get("redirect_urls"),
        }
"""
FEEDS = """
import scrapy
from scrapy.spiders import CSVFeedSpider, XMLFeedSpider


class XmlFeed(XMLFeedSpider):
    name = "xml"
    itertag = "item"

    def __init__(self, url=None, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url + "/feed.xml"]

    def parse_node(self, response, node):
        return {"title": node.xpath("title/text()").get(), "kind": type(response).__name__}
"""
CSV = """
from scrapy.spiders import CSVFeedSpider


class CsvFeed(CSVFeedSpider):
    name = "csv"
    delimiter = ";"
    quotechar = "'"

    def __init__(self, url=None, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url + "/feed.csv"]

    def parse_row(self, response, row):
        return {**row, "kind": type(response).__name__}
"""
SITEMAP = """
from scrapy.spiders import SitemapSpider


class Map(SitemapSpider):
    name = "map"
    sitemap_rules = [("/page/", "parse_page"), ("/author/", "parse_author")]

    def __init__(self, url=None, **kwargs):
        super().__init__(**kwargs)
        self.sitemap_urls = [url + "/robots.txt"]

    def parse_page(self, response):
        yield {"page": response.url, "quotes": len(response.css("div.quote"))}

    def parse_author(self, response):
        yield {"author": response.css("h3::text").get()}
"""
WAYS = """
import functools
import json

import scrapy
from scrapy.http import JsonRequest


class Ways(scrapy.Spider):
    name = "ways"
    handle_httpstatus_list = [404]

    def start_requests(self):
        kept = {"dont_redirect": True}
        yield scrapy.Request(self.url + "/to?a=1&b=2", self.parse, meta=kept, errback=self.no)
        yield scrapy.Request(self.url + "/to?b=2&a=1", self.parse)
        yield scrapy.Request(self.url + "/to#top", self.parse, meta={"handle_httpstatus_list": [302]})
        yield JsonRequest(self.url + "/echo", data={"x": [1]}, callback=self.parse_json)
        yield scrapy.Request(self.url + "/echo", self.parse_json, headers={"X-Own": "o"}, cookies={"c": "1"})
        yield scrapy.Request(self.url + "/gone", functools.partial(self.parse, more=1), errback=self.no)
        yield scrapy.Request(self.url + "/broken", self.parse, errback=self.no, meta={"dont_retry": True})
        yield scrapy.Request(self.url + "/picture.png", self.parse)
        yield scrapy.Request(self.url + "/latin", self.parse)
        yield scrapy.Request("http://127.0.0.1:1/", self.parse, errback=self.no)
        yield scrapy.FormRequest(self.url + "/echo", formdata={"a": "b c"}, callback=self.parse_json)

    def parse(self, response, more=0):
        text = response.text if hasattr(response, "text") else None
        yield {
            "path": response.url.partition(":")[2].partition("/")[2],
            "status": response.status,
            "kind": type(response).__name__,
            "more": more,
            "text": text,
            "type": response.headers.get("Content-Type", b"").decode(),
        }

    def parse_json(self, response):
        yield {**response.json(), "kind": type(response).__name__}

    def no(self, failure):
        status = getattr(getattr(failure.value, "response", None), "status", None)
        yield {"failed": failure.type.__name__, "status": status, "url": failure.request.url[-6:]}
"""
INLINE = """
import scrapy
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import inlineCallbacks


class Inline(scrapy.Spider):
    name = "inline"
    allowed_domains = ["127.0.0.1"]  # on all ports

    def start_requests(self):
        yield scrapy.Request(self.url + "/page/1/", self.parse)
        yield scrapy.Request(self.url + "/page/2/", self.parse_old)

    async def parse(self, response):
        request = scrapy.Request(self.url + "/to", callback=NO_CALLBACK, headers={"X-Own": "o"})
        second = await self.crawler.engine.download_async(request)
        third = await maybe_deferred_to_future(self.crawler.engine.download(response.follow("/gone")))
        yield {"first": response.url, "second": second.url, "quotes": len(second.css("div.quote"))}
        yield {"third": third.status, "kind": type(third).__name__}
        try:
            await self.crawler.engine.download_async(scrapy.Request("http://127.0.0.1:1/"))
        except Exception as error:
            yield {"error": type(error).__name__}

    @inlineCallbacks
    def parse_old(self, response):
        author = yield self.crawler.engine.download(response.follow("/author/Ada-Weaver"))
        return [{"author": author.css("h3::text").get()}]
"""
HEADERS = """
import scrapy


class Headers(scrapy.Spider):
    name = "headers"
    custom_settings = {"USER_AGENT": "own (+mail)", "DEFAULT_REQUEST_HEADERS": {"X-Own": "each"}}

    def start_requests(self):
        yield scrapy.Request(self.url + "/page/2/")

    def parse(self, response):
        sent = response.request.headers
        yield {"agent": sent["User-Agent"].decode(), "own": "X-Own" in sent}
        yield scrapy.Request(self.url + "/echo", self.parse_echo)
        own = {"Referer": "own", "X-Own": "o"}
        yield scrapy.Request(self.url + "/echo?more", self.parse_echo, headers=own)

    def parse_echo(self, response):
        said = response.json()
        names = ("Referer", "X-Own")
        found = {name: response.request.headers[name].decode() for name in names}
        yield {"at": said["referer"].rpartition(":")[2][5:], "own": said["own"], "found": found["X-Own"]}
"""
