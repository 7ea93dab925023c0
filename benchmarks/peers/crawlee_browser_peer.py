"""Crawlee's ``PlaywrightCrawler``: ``crawlee_browser_peer.py SEED AT_ONCE CHROMIUM ITEMS``.

As fast as a careful user would set it: one browser, no made-up fingerprints, no session pool, everything in
memory, and unwanted resources blocked by the browser itself (``Network.setBlockedURLs``).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import urljoin

from crawlee import ConcurrencySettings, Request
from crawlee.crawlers import PlaywrightCrawler, PlaywrightCrawlingContext, PlaywrightPreNavCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from parsel import Selector

BLOCKED = [".png", ".woff2"]
"""The pictures and fonts of the site."""


async def block(context: PlaywrightPreNavCrawlingContext) -> None:
    await context.block_requests(url_patterns=BLOCKED)


async def listing(context: PlaywrightCrawlingContext) -> None:
    await context.page.wait_for_selector("h1")
    css, url = Selector(await context.page.content()).css, context.request.url
    await context.add_requests(
        [
            *(
                Request.from_url(urljoin(url, href), label="product")
                for href in css("a.product::attr(href)").getall()
            ),
            *(urljoin(url, href) for href in css("nav.pages a::attr(href)").getall()),
        ]
    )


async def product(context: PlaywrightCrawlingContext) -> None:
    await context.page.wait_for_selector("h1")
    css = Selector(await context.page.content()).css
    await context.push_data(
        {
            "sku": css("p.sku::text").get(),
            "name": css("h1::text").get(),
            "price": css("p.price::text").get(),
        }
    )


async def main(seed: str, at_once: str, chromium: str, items: str) -> None:
    count = int(at_once)
    crawler = PlaywrightCrawler(
        headless=True,
        browser_type="chromium",
        browser_launch_options={"executable_path": chromium, "chromium_sandbox": os.geteuid() != 0},
        fingerprint_generator=None,
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=count, desired_concurrency=count, max_concurrency=count
        ),
        respect_robots_txt_file=True,
        use_session_pool=False,
        retry_on_blocked=False,
        configure_logging=False,
        status_message_logging_interval=timedelta(hours=1),
    )
    crawler.pre_navigation_hook(block)
    crawler.router.default_handler(listing)
    crawler.router.handler("product")(product)
    await crawler.run([seed])
    data = await crawler.get_data()
    lines = [json.dumps(item) + "\n" for item in data.items]
    Path(items).write_text("".join(lines), encoding="utf-8")  # noqa: ASYNC240 - the only task


if __name__ == "__main__":
    logging.disable()
    asyncio.run(main(*sys.argv[1:]))
