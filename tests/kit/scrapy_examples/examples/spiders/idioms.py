"""Idioms of real spiders of all ages: items and responses handed on, loops over one URL, old names."""

import json
import logging
from urllib.parse import urlencode

import scrapy
from itemloaders.processors import Compose, Join, MapCompose, TakeFirst
from scrapy import FormRequest, Request, Selector
from scrapy.exceptions import CloseSpider
from scrapy.linkextractors import LinkExtractor
from scrapy.loader import ItemLoader
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.spiders import CrawlSpider, Rule

SHOP = "http://shop.example"
ECHO = "http://api.example/echo"


class Product(scrapy.Item):
    """Fields with processors of their own."""

    name = scrapy.Field(input_processor=MapCompose(str.strip), output_processor=TakeFirst())
    price = scrapy.Field()
    tags = scrapy.Field(serializer=lambda tags: tags)
    parts = scrapy.Field()
    url = scrapy.Field()


class ProductLoader(ItemLoader):
    default_item_class = Product
    default_input_processor = MapCompose(str.strip)
    default_output_processor = TakeFirst()
    tags_out = Join("|")
    price_in = Compose(lambda values: values[0], lambda text: text.strip(" €"))


class Handing(scrapy.Spider):
    """An item, a selector, a response, a loader and the spider's own list go from page to page."""

    name = "handing"
    start_urls = [f"{SHOP}/list/1"]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.names = []

    def parse(self, response):
        for link in response.xpath('//a[@class="product"]'):
            item = Product(url=response.urljoin(link.xpath("@href").extract()[0]), parts=[])
            loader = ProductLoader(selector=link)
            yield Request(
                item["url"],
                callback=self.parse_product,
                meta={"item": item, "link": link, "from": response, "loader": loader},
                cb_kwargs={"rest": response.css("a.product")[2:], "again": self.parse_stock},
            )

    def parse_product(self, response, rest, again):
        item = response.meta["item"]
        item["name"] = response.css("h1::text").extract_first().strip()
        item["price"] = response.meta["link"].css("b::text").extract_first()
        item["parts"].append(response.meta["from"].url)
        item["parts"].append(len(rest))
        self.names.append(item["name"])
        loader = response.meta["loader"]
        loader.add_css("tags", "i::text")
        item["tags"] = loader.load_item()["tags"]
        request = Request(SHOP + "/stock/1?" + urlencode({"of": item["url"]}), callback=again)
        request.meta["item"] = item
        request.meta["response"] = response.replace(body=response.body[:40])
        yield request

    def parse_stock(self, response):
        item = response.meta["item"]
        item["parts"] += [json.loads(response.text)["stock"], len(response.meta["response"].body)]
        yield item

    def closed(self, reason):
        with open("names.txt", "w") as file:
            file.write("\n".join(sorted(self.names)))


class OneItem(scrapy.Spider):
    """One item goes through a chain of pages, and is given once."""

    name = "one-item"
    start_urls = [f"{SHOP}/list/1"]

    def parse(self, response):
        urls = [response.urljoin(url) for url in response.css("a.product::attr(href)").extract()]
        item = {"names": []}
        yield Request(urls.pop(), self.parse_next, meta={"item": item, "urls": urls}, dont_filter=True)

    def parse_next(self, response):
        item, urls = response.meta["item"], response.meta["urls"]
        item["names"].append(response.css("h1::text").get())
        if urls:
            yield Request(urls.pop(), self.parse_next, meta=response.meta, dont_filter=True)
        else:
            yield item


class Paged(scrapy.Spider):
    """Posts to the same URL, page after page, and gets the same URL with dont_filter until it has enough."""

    name = "paged"
    handle_httpstatus_list = [404]
    download_delay = 0
    allowed_domains = ["http://api.example/", "shop.example:80", "api.example"]

    def start_requests(self):
        self.page = 0
        yield FormRequest(ECHO, formdata={"page": "1", "size": "2"}, callback=self.parse_page)
        yield Request(
            SHOP + "/status/404", errback=self.on_error, cookies={"a": "1"}, meta={"proxy": None, "tries": 0}
        )
        yield Request(
            SHOP + "/status/403",
            callback=self.parse,
            errback=self.on_error,
            cookies=[{"name": "b", "value": "2", "domain": "shop.example"}],
        )
        yield Request(SHOP + "/visitor?1", callback=self.parse_visitor, cookies={"c": "3"}, dont_filter=True)

    def parse_visitor(self, response):
        yield {"cookie": response.css("h1::text").get()}

    def parse_page(self, response):
        told = json.loads(response.body)
        self.page += 1
        yield {"page": self.page, "told": told["body"], "type": told["content-type"]}
        if self.page < 4:
            yield FormRequest(
                url=response.url,
                formdata={"page": str(self.page + 1), "size": "2"},
                callback=self.parse_page,
                headers={"X-Requested-With": "XMLHttpRequest"},
                dont_filter=True,
            )
        elif self.page == 4:
            yield Request(
                ECHO,
                method="POST",
                body=json.dumps({"page": 5}),
                headers={"Content-Type": "application/json"},
                callback=self.parse_page,
            )
            yield Request(ECHO, method="POST", body=b"page=1&size=2", callback=self.parse_page)

    def parse(self, response):
        tries = response.meta["tries"]
        yield {"status": response.status, "tries": tries, "depth": response.meta["depth"]}
        if tries < 2:
            yield response.request.replace(meta={**response.meta, "tries": tries + 1}, dont_filter=True)
        if tries == 2:
            request = response.request.copy()
            request.dont_filter = True
            request.meta["tries"] = 3
            yield request

    def on_error(self, failure):
        if failure.check(HttpError):
            response = failure.value.response
            self.log(f"HttpError on {response.url}", level=logging.INFO)
            yield {"failed": response.url, "status": response.status}


class Argued(scrapy.Spider):
    """Has its name, its URLs and its settings from its arguments."""

    name = "argued"

    def __init__(self, category="2", limit=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [f"{SHOP}/list/{category}"]
        self.limit = int(limit or 3)
        self.allowed_domains = ["shop.example"]
        self.count = 0

    @classmethod
    def update_settings(cls, settings):
        super().update_settings(settings)
        settings.set("OWN_SETTING", "by the spider", priority="spider")

    def parse(self, response):
        for link in LinkExtractor(restrict_xpaths="//a").extract_links(response):
            self.count += 1
            if self.count > self.limit:
                raise CloseSpider("enough")
            self.crawler.stats.inc_value("argued/links")
            yield {
                "link": link.url,
                "own": self.settings["OWN_SETTING"],
                "int": self.settings.getint("OWN_COUNT", 7),
                "stats": self.crawler.stats.get_value("argued/links"),
                "state": len(getattr(self, "state", {})),
            }


class OldRules(CrawlSpider):
    """Rules by name, as a tuple, with links taken from a part of the page."""

    name = "old-rules"
    allowed_domains = ["shop.example"]
    start_urls = [f"{SHOP}/"]
    rules = (
        Rule(
            LinkExtractor(allow=(r"/list/\d+",), deny=("/list/[34]",), restrict_xpaths=("//body",)),
            process_links=lambda links: links[:2],
        ),
        Rule(
            LinkExtractor(allow=("product",), restrict_css=("a.product",)),
            callback="parse_item",
            follow=False,
            process_request="add_meta",
            cb_kwargs={"kind": "product"},
        ),
    )

    def add_meta(self, request, response):
        request.meta["seen_on"] = response
        return request

    def parse_item(self, response, kind):
        loader = ProductLoader(response=response)
        loader.add_css("name", "h1::text", MapCompose(str.upper))
        loader.add_xpath("price", '//p[@class="price"]/text()', re=r"([\d.]+)")
        loader.add_xpath("tags", "//li/text()")
        loader.add_value("url", response.url)
        loader.add_value("parts", [kind, response.meta["seen_on"].url, response.meta["link_text"]])
        item = loader.load_item()
        item["parts"] = [response.meta["depth"], response.meta.get("rule")]
        return item

    def parse_start_url(self, response):
        sel = Selector(response)
        return [Product(name=text) for text in sel.xpath("//h1/text()").extract()]


class Borrowing(scrapy.Spider):
    """Makes responses and requests of its own inside a callback, and reads files beside it."""

    name = "borrowing"
    start_urls = [f"{SHOP}/product/1", f"{SHOP}/list/2"]
    custom_settings = {
        "CONCURRENT_REQUESTS": 1,
        "ITEM_PIPELINES": {"examples.pipelines.AddTax": 300},
        "FEEDS": {"out/%(name)s.csv": {"format": "csv", "fields": ["name", "price"], "overwrite": True}},
        "DEPTH_PRIORITY": 1,
        "CLOSESPIDER_ITEMCOUNT": 100,
    }

    def parse(self, response):
        with open("scrapy.cfg") as file:
            first = file.readline().strip()
        made = scrapy.http.HtmlResponse(response.url, body=b"<b>made</b>", encoding="utf-8")
        made.request = response.request
        yield {"name": first, "price": 1.0, "made": made.css("b::text").get()}
        yield from self.parse_part(response, "called")
        yield from response.follow_all(
            css="a.product", callback=self.parse_part, cb_kwargs={"by": "followed"}
        )
        for number, row in enumerate(response.css("a.product")):
            yield {"name": row.attrib["href"], "price": number, "by": row.css("i").xpath("string()").get()}

    def parse_part(self, response, by):
        self.logger.info("part %s", response.url)
        yield {"name": response.css("h1::text").get().strip(), "price": 2.0, "by": by}
