"""The benchmark's sites and their expected items, below ``.cache/bench/sites``.

Deterministic: the same pages byte for byte on every machine (except for python3.11-doc, which is Debian's).
``<site>.json`` beside each site has the items of a complete crawl. Run as a separate program (``python
benchmarks/sites.py``), so that its memory does not count for the measuring process.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from urllib.parse import urljoin, urlsplit

import brotli
import scripted_site  # beside this file

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "bench"
SITES = CACHE / "sites"
DOCS = ROOT / ".cache/docs/python3.11-doc/usr/share/doc/python3.11/html"
EDITION = "3"
"""Part of the version stamp; increase it when the pages below change."""

LISTINGS, PER_LISTING = 200, 25
HOST_PAGES = 50
SLOW_LISTINGS, SLOW_PER_LISTING = 50, 100
ROBOTS = "User-agent: *\nDisallow: /private/\n"

_TEXT = (
    "solid wood with a soft finish that ages well and a frame made by hand in small numbers for rooms "
    "lived in every day of the year whatever the weather brings to the window and the light with it"
)
_WORDS = _TEXT.split()


def build() -> None:
    """Make missing sites, and read every file once: no run must pay for a cold page cache."""
    stamp = SITES / "edition"
    if not stamp.is_file() or stamp.read_text() != EDITION:
        shutil.rmtree(SITES, ignore_errors=True)
        SITES.mkdir(parents=True)
        write_truth("catalogue", catalogue(SITES / "catalogue"))
        write_truth("scripted", scripted_site.build_site(SITES / "scripted"))
        write_truth("hosts", linked_pages(SITES / "hosts", 0, HOST_PAGES))
        write_truth("slow", linked_pages(SITES / "slow", SLOW_LISTINGS, SLOW_PER_LISTING))
        write_truth("docs", list(reachable(DOCS)))
        for site, coding in (("catalogue", "gzip"), ("catalogue", "br"), ("hosts", "gzip")):
            write_compressed(site, coding)
        stamp.write_text(EDITION)
    for folder in (DOCS, SITES):
        for file in folder.rglob("*.html"):
            file.read_bytes()


def write_compressed(site: str, coding: str) -> None:
    """Write a copy of a site with compressed files, so that no crawler waits for the server to compress."""
    compress = {
        "gzip": lambda data: gzip.compress(data, 6, mtime=0),
        "br": lambda data: brotli.compress(data, quality=5),
    }
    for file in sorted((SITES / site).rglob("*.*")):
        copy = SITES / f"{site}-{coding}" / file.relative_to(SITES / site)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(compress[coding](file.read_bytes()))


def write_truth(site: str, items: list[dict[str, str]]) -> None:
    (SITES / f"{site}.json").write_text(json.dumps(items))


def read_truth(site: str) -> list[dict[str, str]]:
    """Return the items of a complete crawl: products of the catalogue; for the others ``url`` (a path) and
    ``title``.
    """
    items: list[dict[str, str]] = json.loads((SITES / f"{site}.json").read_text())
    return items


# --------------------------------------------------------------------------- the catalogue


def catalogue(folder: Path) -> list[dict[str, str]]:
    """200 listings of 25 products each, ``/`` being the first; every product has a page of about 20 KB."""
    (folder / "list").mkdir(parents=True)
    (folder / "product").mkdir()
    products = [product(number) for number in range(LISTINGS * PER_LISTING)]
    for number in range(LISTINGS):
        shown = products[number * PER_LISTING : (number + 1) * PER_LISTING]
        file = "index.html" if number == 0 else f"list/{number}.html"
        (folder / file).write_text(page(f"Catalogue, page {number + 1}", listing(number, shown)))
    for number, item in enumerate(products):
        (folder / "product" / f"{item['sku']}.html").write_text(
            page(item["name"], details(number, item, products))
        )
    (folder / "robots.txt").write_text(ROBOTS)
    return products


def product(number: int) -> dict[str, str]:
    random = Random(number)
    name = f"{random.choice(_WORDS)} {random.choice(_WORDS)} No. {number}".title()
    return {"sku": f"B-{number:05d}", "name": name, "price": f"{random.randrange(99, 99_999) / 100:.2f}"}


def listing(number: int, shown: list[dict[str, str]]) -> str:
    """Each product is linked twice, as in real shops: by its picture and by its name."""
    entries = "".join(
        f'<li class="entry"><a class="thumb" href="/product/{item["sku"]}.html">'
        f'<img src="/i/{item["sku"]}.jpg" alt=""></a>'
        f'<h2><a class="product" href="/product/{item["sku"]}.html">{item["name"]}</a></h2>'
        f'<p class="price">{item["price"]}</p><p>{prose(Random(number), 30)}</p></li>\n'
        for item in shown
    )
    near = sorted({*range(number - 5, number + 6), *range(0, LISTINGS, 10)} & set(range(LISTINGS)))
    pages = " ".join(f'<a href="{"/" if n == 0 else f"/list/{n}.html"}">{n + 1}</a>' for n in near)
    return f'<h1>Catalogue</h1><ul>{entries}</ul><nav class="pages">{pages}</nav>'


def details(number: int, item: dict[str, str], products: list[dict[str, str]]) -> str:
    random = Random(number + 1_000_003)
    rows = "".join(f"<tr><th>{prose(random, 2)}</th><td>{prose(random, 6)}</td></tr>\n" for _ in range(40))
    reviews = "".join(
        f'<article class="review"><h3>{prose(random, 4)}</h3><p>{prose(random, 120)}</p></article>\n'
        for _ in range(22)
    )
    related = "".join(
        f'<li><a href="/product/{other["sku"]}.html">{other["name"]}</a></li>\n'
        for other in random.sample(products, 8)
    )
    return (
        f'<h1>{item["name"]}</h1><p class="sku">{item["sku"]}</p><p class="price">{item["price"]}</p>\n'
        f"<p>{prose(random, 200)}</p><table>{rows}</table>{reviews}<ul class='related'>{related}</ul>"
    )


def prose(random: Random, words: int) -> str:
    return " ".join(random.choices(_WORDS, k=words))


def page(title: str, body: str) -> str:
    menu = "".join(f'<li><a href="/private/{n}.html">Account {n}</a></li>' for n in range(20))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body><ul class='menu'>{menu}</ul>\n{body}\n</body></html>\n"
    )


# --------------------------------------------------------------------------- small pages


def linked_pages(folder: Path, listings: int, per_listing: int) -> list[dict[str, str]]:
    """Pages of about 2 KB: ``/`` links to all of them, or to listings that do."""
    truth = {"/": "Home"}
    (folder / "p").mkdir(parents=True)
    groups = [("", range(per_listing))] if not listings else []
    for number in range(listings):
        truth[f"/p/l{number}.html"] = f"Listing {number}"
        groups.append((f"p/l{number}.html", range(number * per_listing, (number + 1) * per_listing)))
    for file, members in groups:
        for number in members:
            truth[f"/p/{number}.html"] = f"Page {number}"
            body = f'<h1>Page {number}</h1><p>{prose(Random(number), 350)}</p><a href="/">Home</a>'
            (folder / f"p/{number}.html").write_text(plain(f"Page {number}", body))
        links = "".join(f'<li><a href="/p/{number}.html">{number}</a></li>' for number in members)
        if file:
            (folder / file).write_text(plain(truth[f"/{file}"], f"<ul>{links}</ul>"))
    if listings:
        links = "".join(f'<li><a href="/p/l{number}.html">{number}</a></li>' for number in range(listings))
    (folder / "index.html").write_text(plain("Home", f"<ul>{links}</ul>"))
    (folder / "robots.txt").write_text(ROBOTS)
    return [{"url": path, "title": title} for path, title in truth.items()]


def plain(title: str, body: str) -> str:
    return f'<!doctype html>\n<meta charset="utf-8"><title>{title}</title>\n{body}\n'


# --------------------------------------------------------------------------- documentation


def reachable(folder: Path) -> Iterator[dict[str, str]]:
    """Every HTML page that links lead to from ``/``, with its title as a browser shows it."""
    from lxml import html  # not for those who only want to know where things are: it is megabytes

    todo, seen = ["/"], {"/"}
    while todo:
        path = todo.pop()
        file = folder / (path + "index.html" if path.endswith("/") else path).lstrip("/")
        if file.suffix != ".html" or not file.is_file():
            continue
        tree = html.fromstring(file.read_bytes(), parser=html.HTMLParser(encoding="utf-8"))
        yield {"url": path, "title": " ".join((tree.findtext(".//title") or "").split())}
        for href in tree.xpath("//a/@href | //area/@href"):
            parts = urlsplit(urljoin(f"http://docs.test{path}", href.strip()))
            if parts.scheme == "http" and parts.netloc == "docs.test" and parts.path not in seen:
                seen.add(parts.path)
                todo.append(parts.path)


if __name__ == "__main__":
    build()
