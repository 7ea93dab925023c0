"""The recipe of many tutorials: a Celery task per URL, requests, BeautifulSoup, a set of seen URLs in Redis.

``celery -A tutorial_peer worker -c 2`` with ``BENCH_REDIS_URL`` in the environment. A little better than most
of them: one session and one look at robots.txt per process, no results kept, and a link is put into the set
when it is found, not when it is fetched, so that no page is fetched twice.
"""

from __future__ import annotations

import json
import os
from functools import cache
from urllib.parse import urldefrag, urljoin
from urllib.robotparser import RobotFileParser

import redis
import requests
from bs4 import BeautifulSoup
from celery import Celery

REDIS_URL = os.environ["BENCH_REDIS_URL"]
app = Celery("tutorial_peer", broker=REDIS_URL)
app.conf.task_ignore_result = True
seen = redis.Redis.from_url(REDIS_URL)
session = requests.Session()


@cache
def robots(site: str) -> RobotFileParser:
    rules = RobotFileParser(urljoin(site, "/robots.txt"))
    rules.read()
    return rules


def follow(task, page_url: str, anchors) -> None:
    site = urljoin(page_url, "/")
    for anchor in anchors:
        url = urldefrag(urljoin(page_url, anchor["href"]))[0]
        if url.startswith(site) and seen.sadd("seen", url) and robots(site).can_fetch("*", url):
            task.delay(url)


def store(item: dict[str, str | None]) -> None:
    seen.rpush("items", json.dumps(item))


@app.task
def page(url: str) -> None:
    answer = session.get(url, timeout=30)
    if answer.ok and "html" in answer.headers.get("Content-Type", ""):
        soup = BeautifulSoup(answer.text, "html.parser")
        store({"url": url, "title": soup.title.get_text() if soup.title else None})
        follow(page, url, soup.find_all("a", href=True))


@app.task
def listing(url: str) -> None:
    soup = BeautifulSoup(session.get(url, timeout=30).text, "html.parser")
    follow(product, url, soup.select("a.product"))
    follow(listing, url, soup.select("nav.pages a"))


@app.task
def product(url: str) -> None:
    soup = BeautifulSoup(session.get(url, timeout=30).text, "html.parser")
    names = {"sku": "p.sku", "name": "h1", "price": "p.price"}
    store({name: soup.select_one(css).get_text() for name, css in names.items()})
