"""Crawlee for Python, with the same limits: ``crawlee_peer.py SITE SEEDS PER_HOST DELAY ITEMS``.

It stores only the items, at the end. It has no delay per host; ``DELAY`` must be 0.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import urljoin

from crawlee import ConcurrencySettings, Request
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import MemoryStorageClient


async def pages(context: ParselCrawlingContext) -> None:
    if "html" not in (context.http_response.headers.get("content-type") or ""):
        return
    url = context.request.url
    await context.push_data({"url": url, "title": context.selector.xpath("//title/text()").get()})
    hrefs = dict.fromkeys(href.partition("#")[0] for href in context.selector.xpath("//a/@href").getall())
    found = dict.fromkeys(urljoin(url, href) for href in hrefs)
    await context.add_requests([link for link in found if link.startswith(urljoin(url, "/"))])


async def catalogue(context: ParselCrawlingContext) -> None:
    url, selector = context.request.url, context.selector
    products = dict.fromkeys(selector.css("a.product::attr(href)").getall())
    listings = dict.fromkeys(selector.css("nav.pages a::attr(href)").getall())
    await context.add_requests(
        [
            *(Request.from_url(urljoin(url, href), label="product") for href in products),
            *(urljoin(url, href) for href in listings),
        ]
    )


async def product(context: ParselCrawlingContext) -> None:
    css = context.selector.css
    await context.push_data(
        {
            "sku": css("p.sku::text").get(),
            "name": css("h1::text").get(),
            "price": css("p.price::text").get(),
        }
    )


async def main(workload: str, seeds: str, per_host: str, delay: str, items: str) -> None:
    assert float(delay) == 0
    at_once, is_tls = int(per_host), seeds.startswith("https:")
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        http_client=ImpitHttpClient(verify=False) if is_tls else None,
        # A constant concurrency, however busy the machine seems.
        concurrency_settings=ConcurrencySettings(
            min_concurrency=at_once, desired_concurrency=at_once, max_concurrency=at_once
        ),
        respect_robots_txt_file=True,
        use_session_pool=False,
        retry_on_blocked=False,
        configure_logging=False,
        status_message_logging_interval=timedelta(hours=1),
    )
    crawler.router.default_handler(catalogue if workload.startswith("catalogue") else pages)
    crawler.router.handler("product")(product)
    await crawler.run(seeds.split(","))
    data = await crawler.get_data()
    lines = [json.dumps(item) + "\n" for item in data.items]
    Path(items).write_text("".join(lines), encoding="utf-8")  # noqa: ASYNC240 - the only task


if __name__ == "__main__":
    logging.disable()
    asyncio.run(main(*sys.argv[1:]))
