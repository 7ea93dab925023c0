from contextlib import asynccontextmanager
from uuid import uuid4

from fastapi import FastAPI, HTTPException
from scrapy import signals
from scrapy.crawler import AsyncCrawlerRunner
from shop import Shop


class Crawl:
    def __init__(self, pages):
        settings = {"TWISTED_REACTOR_ENABLED": False, "CLOSESPIDER_PAGECOUNT": pages}
        self.runner = AsyncCrawlerRunner(settings)
        self.crawler = self.runner.create_crawler(Shop)
        self.crawler.signals.connect(self.keep_item, signal=signals.item_scraped)
        self.items = []
        self.task = self.runner.crawl(self.crawler)

    def keep_item(self, item):
        self.items.append(item)


crawls = {}


@asynccontextmanager
async def lifespan(app):
    yield
    for crawl in crawls.values():
        await crawl.runner.stop()
        await crawl.runner.join()


app = FastAPI(lifespan=lifespan)


@app.post("/crawls", status_code=202)
async def begin(pages: int = 100):
    if any(not crawl.task.done() for crawl in crawls.values()):
        raise HTTPException(409, "a crawl is running")
    job = uuid4().hex
    crawls[job] = Crawl(pages)
    return {"job": job}


@app.get("/crawls/{job}")
async def look(job: str):
    pages = crawls[job].crawler.stats.get_value("response_received_count", 0)
    return {"pages": pages, "items": len(crawls[job].items), "is_over": crawls[job].task.done()}


@app.get("/crawls/{job}/items")
async def read(job: str) -> list[dict]:
    await crawls[job].task
    return crawls[job].items
