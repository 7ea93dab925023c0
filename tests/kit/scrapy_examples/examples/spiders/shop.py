"""Rules, loaders, pipelines, files: a shop."""

import scrapy
from examples.items import Product, ProductLoader, Saying
from scrapy.exceptions import CloseSpider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, CSVFeedSpider, Rule, SitemapSpider, XMLFeedSpider


class ByRules(CrawlSpider):
    name = "by-rules"
    allowed_domains = ["shop.example"]
    start_urls = ["http://shop.example/"]
    rules = (
        Rule(LinkExtractor(allow=(r"/list/",), deny=(r"/list/3",))),
        Rule(
            LinkExtractor(allow=(r"/product/\d+",)),
            callback="parse_product",
            cb_kwargs={"found": "by a rule"},
        ),
    )

    def parse_product(self, response, found):
        yield {
            "name": response.xpath("//h1/text()").get(),
            "link": response.meta["link_text"],
            "found": found,
            "url": response.url,
        }


class Loaded(scrapy.Spider):
    name = "loaded"
    start_urls = ["http://shop.example/list/1", "http://shop.example/list/2"]

    def parse(self, response):
        for link in response.css("a.product"):
            yield response.follow(link, lambda page, at=response.url: self.parse_product(page, at))

    def parse_product(self, response, at):
        loader = ProductLoader(response=response)
        loader.add_css("name", "h1::text")
        loader.add_xpath("price", "//p[@class='price']/text()")
        loader.nested_css("ul.tags").add_css("tags", "li::text")
        loader.add_value("url", response.url)
        loader.add_value("url", at)
        yield loader.load_item()


class Priced(scrapy.Spider):
    name = "priced"
    start_urls = ["http://shop.example/list/1", "http://shop.example/list/2"]
    custom_settings = {
        "ITEM_PIPELINES": {
            "examples.pipelines.AddTax": 100,
            "examples.pipelines.DropTwins": 200,
            "examples.pipelines.AskElsewhere": 300,
            "examples.pipelines.WriteLines": 800,
        },
        "LINES_FILE": "priced.jsonl",
        "FEEDS": {
            "names.csv": {"format": "csv", "fields": ["name"], "overwrite": True},
        },
    }

    def parse(self, response):
        for block in response.css("a.product"):
            price = block.css("b::text").get()
            yield {
                "name": block.css("i::text").get(),
                "price": float(price) if price else None,
                "without_tax": block.attrib.get("data-net") == "1",
            }


class WithFiles(scrapy.Spider):
    name = "with-files"
    start_urls = ["http://shop.example/product/1", "http://shop.example/product/2"]
    custom_settings = {
        "ITEM_PIPELINES": {
            "scrapy.pipelines.files.FilesPipeline": 1,
            "scrapy.pipelines.images.ImagesPipeline": 2,
        },
        "FILES_STORE": "kept",
        "IMAGES_STORE": "kept",
        "IMAGES_THUMBS": {"small": (20, 20)},
    }

    def parse(self, response):
        yield Product(
            name=response.css("h1::text").get(),
            file_urls=[response.urljoin(link) for link in response.css("a.sheet::attr(href)").getall()],
            image_urls=[response.urljoin(link) for link in response.css("img::attr(src)").getall()],
        )


class Endless(scrapy.Spider):
    """Ends by itself, before the pages end; one request at a time, so that both end at the same page."""

    name = "endless"
    start_urls = ["http://shop.example/count/1"]
    custom_settings = {"CONCURRENT_REQUESTS": 1}

    def parse(self, response):
        number = int(response.url.rpartition("/")[2])
        if number > 5:
            raise CloseSpider("enough")
        yield {"number": number}
        yield response.follow(f"/count/{number + 1}")


class Nodes(XMLFeedSpider):
    name = "nodes"
    start_urls = ["http://shop.example/feed.xml"]
    iterator = "iternodes"
    itertag = "product"

    def parse_node(self, response, node):
        yield Saying(
            text=node.xpath("name/text()").get(),
            author=node.xpath("@id").get(),
            tags=node.xpath("tag/text()").getall(),
        )


class Rows(CSVFeedSpider):
    name = "rows"
    start_urls = ["http://shop.example/prices.csv"]
    delimiter = ";"
    quotechar = "'"
    headers = ["id", "name", "price"]

    def parse_row(self, response, row):
        yield {**row, "of": response.url}


class Mapped(SitemapSpider):
    name = "mapped"
    sitemap_urls = ["http://shop.example/robots.txt"]
    sitemap_rules = [("/product/", "parse_product"), ("/list/", "parse_list")]

    def sitemap_filter(self, entries):
        for entry in entries:
            if entry.get("lastmod", "9") > "2020":
                yield entry

    def parse_product(self, response):
        yield {"product": response.css("h1::text").get()}

    def parse_list(self, response):
        yield {"list": response.url, "products": len(response.css("a.product"))}
