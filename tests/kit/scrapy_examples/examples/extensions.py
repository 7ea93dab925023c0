"""An extension that counts items by signals."""

from scrapy import signals
from scrapy.exceptions import NotConfigured


class ItemCount:
    def __init__(self, crawler, name):
        self.stats, self.name = crawler.stats, name

    @classmethod
    def from_crawler(cls, crawler):
        name = crawler.settings.get("ITEM_COUNT_NAME")
        if not name:
            raise NotConfigured
        extension = cls(crawler, name)
        crawler.signals.connect(extension.on_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.on_scraped, signal=signals.item_scraped)
        return extension

    def on_opened(self, spider):
        self.stats.set_value(self.name, 0)
        spider.opened_with = "a signal"

    def on_scraped(self, item, spider):
        self.stats.inc_value(self.name)
