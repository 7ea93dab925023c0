import asyncio
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from scrapy import signals
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.http import HtmlResponse
from shop import Shop

PAGE = "<h1>Brass lamp</h1> <b class=sku>L-1</b>"
PAGES = {"catalog.html": "<a class=product href=1.html>Lamp</a>", "1.html": PAGE}


def page_of(url, html):
    return HtmlResponse(url, body=html, encoding="utf-8")


def test_a_product():
    items = list(Shop().parse_product(page_of("https://shop.example/1", PAGE)))
    assert items == [{"sku": "L-1", "name": "Brass lamp"}]


def test_links():
    page = page_of("https://shop.example/catalog?page=1", "<a class=next href='?page=2'>next</a>")
    assert [request.url for request in Shop().parse(page)] == ["https://shop.example/catalog?page=2"]


async def crawl_it(url):
    items = []

    def keep_item(item):
        items.append(item)

    runner = AsyncCrawlerRunner({"TWISTED_REACTOR_ENABLED": False})
    crawler = runner.create_crawler(Shop)
    crawler.signals.connect(keep_item, signal=signals.item_scraped)
    await runner.crawl(crawler, start_urls=[url])
    return items


def test_the_crawl_finds_the_product(tmp_path):
    for name, html in PAGES.items():
        (tmp_path / name).write_text(html)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever).start()
        items = asyncio.run(crawl_it(f"http://127.0.0.1:{server.server_port}/catalog.html"))
        server.shutdown()
    assert items == [{"sku": "L-1", "name": "Brass lamp"}]
