from scrapy import signals
from scrapy.crawler import AsyncCrawlerRunner
from shop import Shop

runner = AsyncCrawlerRunner({"TWISTED_REACTOR_ENABLED": False, "CLOSESPIDER_PAGECOUNT": 20})
crawler = runner.create_crawler(Shop)
products = []


def keep_item(item):
    products.append(item)


crawler.signals.connect(keep_item, signal=signals.item_scraped)
await runner.crawl(crawler)
