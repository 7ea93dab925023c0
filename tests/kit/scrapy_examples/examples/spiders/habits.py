"""Habits of older projects: global signals, databases in pipelines, exporters by hand, filters."""

import sqlite3

import scrapy
from pydispatch import dispatcher
from scrapy import signals
from scrapy.dupefilters import RFPDupeFilter
from scrapy.exporters import CsvItemExporter, JsonLinesItemExporter
from scrapy.http import HtmlResponse
from scrapy.utils.project import get_project_settings
from twisted.enterprise import adbapi
from twisted.internet.threads import deferToThread

SHOP = "http://shop.example"
BOT = get_project_settings().get("BOT_NAME")


class Row(scrapy.Item):
    name = scrapy.Field()
    price = scrapy.Field()


class IntoSqlite:
    """Opens its database when it is made, and writes each item at once."""

    def __init__(self):
        self.connection = sqlite3.connect("rows.db")
        self.connection.execute("CREATE TABLE IF NOT EXISTS rows (name TEXT, price TEXT)")

    def process_item(self, item, spider):
        self.connection.execute("INSERT INTO rows VALUES (?, ?)", (item["name"], item["price"]))
        self.connection.commit()
        return item

    def close_spider(self, spider):
        rows = self.connection.execute("SELECT name FROM rows ORDER BY name").fetchall()
        with open("rows.txt", "w") as file:
            file.write("\n".join(name for (name,) in rows))
        self.connection.close()


class IntoPool:
    """Writes by a pool of threads, as the guides for MySQL have it."""

    def __init__(self, dbpool):
        self.dbpool = dbpool

    @classmethod
    def from_crawler(cls, crawler):
        return cls(adbapi.ConnectionPool("sqlite3", crawler.settings["POOL_FILE"], check_same_thread=False))

    def open_spider(self, spider):
        return self.dbpool.runQuery("CREATE TABLE rows (name TEXT)")

    def process_item(self, item, spider):
        query = self.dbpool.runInteraction(self.insert, item)
        query.addErrback(self.on_error, item, spider)
        return item

    def insert(self, cursor, item):
        cursor.execute("INSERT INTO rows VALUES (?)", (item["name"],))

    def on_error(self, failure, item, spider):
        spider.logger.error(failure)

    def close_spider(self, spider):
        self.dbpool.close()


class ByExporters:
    """Exports by signals that it connects itself."""

    @classmethod
    def from_crawler(cls, crawler):
        pipeline = cls()
        crawler.signals.connect(pipeline.spider_opened, signals.spider_opened)
        crawler.signals.connect(pipeline.spider_closed, signals.spider_closed)
        return pipeline

    def spider_opened(self, spider):
        self.file = open(f"{spider.name}_rows.csv", "wb")  # noqa: SIM115
        self.lines = open("rows.jsonl", "wb")  # noqa: SIM115
        self.exporters = [CsvItemExporter(self.file), JsonLinesItemExporter(self.lines)]
        self.exporters[0].fields_to_export = ["price", "name"]
        for exporter in self.exporters:
            exporter.start_exporting()

    def spider_closed(self, spider):
        for exporter in self.exporters:
            exporter.finish_exporting()
        self.file.close()
        self.lines.close()

    def process_item(self, item, spider):
        for exporter in self.exporters:
            exporter.export_item(item)
        return item


class InThread:
    """Blocks in a thread."""

    def process_item(self, item, spider):
        return deferToThread(self.change, item)

    def change(self, item):
        item["name"] = item["name"].strip()
        return item


class Rendering:
    """As a middleware for a browser does it: answers all requests itself, and adds to them."""

    def process_request(self, request, spider):
        if "/list/" in request.url:
            return None
        request.meta["rendered"] = True
        body = f"<h1>{request.url[-1]} by {spider.browser}</h1>"
        return HtmlResponse(request.url, body=body, encoding="utf-8", request=request)


class Habits(scrapy.Spider):
    """Makes itself without Scrapy's help."""

    name = "habits"
    allowed_domains = ["shop.example"]
    custom_settings = {
        "ITEM_PIPELINES": {
            "examples.spiders.habits.InThread": 1,
            "examples.spiders.habits.IntoSqlite": 300,
            "examples.spiders.habits.IntoPool": 301,
            "examples.spiders.habits.ByExporters": 302,
        },
        "DOWNLOADER_MIDDLEWARES": {"examples.spiders.habits.Rendering": 543},
        "POOL_FILE": "pool.db",
    }

    def __init__(self):
        self.browser = "none"
        self.seen = []
        dispatcher.connect(self.spider_closed, signals.spider_closed)
        dispatcher.connect(self.on_item, signals.item_scraped)

    def start_requests(self):
        return [scrapy.Request(f"{SHOP}/list/{number}") for number in range(1, 3)]

    def on_item(self, item, spider):
        if spider is not self:  # both hear of all spiders of the process
            return
        self.seen.append(item["name"])

    def parse(self, response):
        for link in response.css("a.product"):
            row = Row(name=" " + BOT, price=link.css("b::text").get())
            yield scrapy.Request(response.urljoin(link.attrib["href"]), self.parse_row, meta={"row": row})

    def parse_row(self, response):
        row = response.meta["row"].copy()
        row["name"] = row["name"] + response.css("h1::text").get() + str(response.meta["rendered"])
        return row

    def spider_closed(self, spider, reason):
        if spider is not self:
            return
        stats = spider.crawler.stats.get_stats()
        names = (
            "item_scraped_count",
            "finish_reason",
            "request_depth_max",
        )
        with open("seen.txt", "w") as file:
            file.write("\n".join([reason, *sorted(self.seen), *(str(stats.get(name)) for name in names)]))


class OwnFilter(RFPDupeFilter):
    """Two URLs are the same whatever their query is."""

    def request_fingerprint(self, request):
        return super().request_fingerprint(request.replace(url=request.url.partition("?")[0]))


class OwnSeen(RFPDupeFilter):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.paths = set()

    def request_seen(self, request):
        path = request.url.partition("?")[0]
        if path in self.paths:
            return True
        self.paths.add(path)
        return False


class Filtered(scrapy.Spider):
    name = "filtered"
    custom_settings = {"DUPEFILTER_CLASS": "examples.spiders.habits.OwnFilter"}

    def start_requests(self):
        for number in range(4):
            yield scrapy.Request(f"{SHOP}/product/{number % 2}?{number}")

    def parse(self, response):
        yield {"title": response.css("h1::text").get()}


class Lettered(scrapy.Spider):
    """Its domain is a text, not a list: Scrapy allows nothing but the first page."""

    name = "lettered"
    allowed_domains = "shop.example"
    start_urls = [f"{SHOP}/list/1"]

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a.product")


class Seen(Filtered):
    name = "seen"
    custom_settings = {"DUPEFILTER_CLASS": "examples.spiders.habits.OwnSeen"}


class Moved(scrapy.Spider):
    """Reads the traces of a redirect."""

    name = "moved"
    start_urls = [SHOP + "/moved"]

    def parse(self, response):
        names = ("redirect_urls", "redirect_times", "download_slot", "depth")
        yield {name: str(response.meta.get(name)) for name in names} | {
            "requested": response.request.url,
            "protocol": response.protocol,
            "has address": bool(response.ip_address),
            "flags": response.flags,
        }
        self.crawler.engine.close_spider(self, "seen enough")

    def closed(self, reason):
        with open("moved.txt", "w") as file:
            file.write(reason)
