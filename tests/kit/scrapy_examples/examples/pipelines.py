"""Item pipelines: one that checks, one that tells twins apart, one that writes a file, one that waits."""

import asyncio
import json

import scrapy
from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem
from scrapy.pipelines.files import FilesPipeline


class AddTax:
    rate = 1.25

    def process_item(self, item, spider):
        fields = ItemAdapter(item)
        if not fields.get("price"):
            raise DropItem(f"{fields.get('name')} has no price")
        if fields.get("without_tax"):
            fields["price"] = round(fields["price"] * self.rate, 2)
        return item


class DropTwins:
    def __init__(self):
        self.seen = set()

    def process_item(self, item, spider):
        name = ItemAdapter(item)["name"]
        if name in self.seen:
            raise DropItem(f"{name} was there before")
        self.seen.add(name)
        return item


class WriteLines:
    def __init__(self, place):
        self.place = place

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings.get("LINES_FILE", "lines.jsonl"))

    def open_spider(self, spider):
        self.file = open(self.place, "w", encoding="utf-8")  # noqa: SIM115

    def close_spider(self, spider):
        self.file.close()

    def process_item(self, item, spider):
        self.file.write(json.dumps(ItemAdapter(item).asdict(), sort_keys=True) + "\n")
        return item


class AskElsewhere:
    """Fetches a page for each item, by the engine of the crawl."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_item(self, item, spider):
        await asyncio.sleep(0)
        request = scrapy.Request(f"http://shop.example/stock/{item['name']}", dont_filter=True)
        response = await self.crawler.engine.download_async(request)
        item["stock"] = response.json()["stock"] if response.status == 200 else None
        return item


class Breaks:
    """Fails at some items."""

    def process_item(self, item, spider):
        if item["name"].endswith("2"):
            raise ValueError("on purpose")
        return item


class OwnFiles(FilesPipeline):
    """Asks for files and names them in its own way."""

    def get_media_requests(self, item, info):
        for link in item["wanted"]:
            yield scrapy.Request(
                f"http://shop.example{link}?of={item['of'][-1]}", meta={"number": item["of"][-1]}
            )

    def file_path(self, request, response=None, info=None, *, item=None):
        return f"by-number/{request.meta['number']}.pdf"

    def item_completed(self, results, item, info):
        item["paths"] = [found["path"] for is_kept, found in results if is_kept]
        item["failed"] = sum(not is_kept for is_kept, _ in results)
        return item
