"""A worker of scrapy-redis, idle until it has seeds: ``scrapy_redis_peer.py WORKLOAD REDIS_URL PER_HOST``.

The spiders are those of ``scrapy_peer.py``; queue, duplicates and items are in Redis, as it is meant.
"""

from __future__ import annotations

import json
import sys

import scrapy
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import CrawlerProcess
from scrapy_peer import Catalogue, Pages
from scrapy_redis.spiders import RedisSpider


class Fed(RedisSpider):
    def make_request_from_data(self, data):
        """Filter seeds like any other request; otherwise a page that links back is fetched once more."""
        return scrapy.Request(json.loads(data)["url"])


class RedisPages(Pages, Fed):
    pass


class RedisCatalogue(Catalogue, Fed):
    pass


def main(workload: str, redis_url: str, per_host: str) -> None:
    # The polling interval of an idle spider. The default of five seconds would be most of a short crawl.
    ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.25
    process = CrawlerProcess(
        {
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "COOKIES_ENABLED": False,
            "ROBOTSTXT_OBEY": True,
            "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
            "CONCURRENT_REQUESTS": int(per_host),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(per_host),
            "DOWNLOAD_DELAY": 0,
            "REDIS_URL": redis_url,
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            # One command instead of the default's transaction.
            "SCHEDULER_QUEUE_CLASS": "scrapy_redis.queue.FifoQueue",
            "SCHEDULER_PERSIST": True,  # else the first worker to end would empty the queue of both
            "ITEM_PIPELINES": {"scrapy_redis.pipelines.RedisPipeline": 300},
        }
    )
    process.crawl(RedisCatalogue if workload == "catalogue" else RedisPages, seeds=[])
    process.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
