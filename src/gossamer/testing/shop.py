"""A shop of any size whose every product is known: the site of the demo, the tests and the benchmarks.

Deterministic: the same arguments give the same pages byte for byte, made when they are asked for, so a shop
of a million products costs no memory. It has what real shops have: pagination, categories, JSON-LD,
relative and repeated links, tracking parameters, a redirect, a dead link, ``nofollow``, pages that
robots.txt forbids, offers that only a script shows.

``python -m gossamer.testing.shop --port 8000`` serves one; with ``--validators`` its pages have honest ETags,
and ``--changed 0.01`` is the same shop with other prices for one product in a hundred.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.utils import formatdate
from functools import cached_property, lru_cache
from hashlib import blake2b
from html import escape
from random import Random
from urllib.parse import parse_qs

from gossamer.testing.answers import SiteResponse, compress_answers
from gossamer.testing.site import serve_until_interrupted

CATEGORIES = ("lamps", "chairs", "tables", "rugs", "clocks")
_ADJECTIVES = ("Amber", "Crimson", "Café", "Quiet", "Nordic", "Little", "Folding", "Grand", "Linen", "Old")
_NOUNS = ("Lantern", "Armchair", "Desk", "Carpet", "Pendulum", "Stool", "Shade", "Bench", "Mirror", "Vase")
_ENDINGS = ("", " & Co", ' 12"', " <S>", " («blue»)", " d'Or")
_WORDS = (
    "solid wood with a soft finish that ages well and a frame made by hand in small numbers for rooms that "
    "are lived in every day of the year whatever the weather brings to the window"
)

ROBOTS = "User-agent: *\nDisallow: /cart\nDisallow: /private\n{delay}\nSitemap: {base}/sitemap.xml\n"
SITEMAP_URLS = 50_000
"""URLs per sitemap file, the protocol's limit (https://www.sitemaps.org/protocol.html)."""

OPENED_AT = 1_577_836_800.0
"""The opening of the shop: 2020-01-01."""

NOT_FOUND = SiteResponse(404, b"<!doctype html><title>Not found</title><h1>No such page</h1>\n")
_XML = "application/xml"


def _format_sku(seed: int, number: int) -> str:
    return f"G{seed}-{number:06d}"


@lru_cache(maxsize=1 << 16)
def _format_link(seed: int, number: int) -> str:
    """A link from one product to another; remembered, because benchmarks want hundreds on each page."""
    sku = _format_sku(seed, number)
    return f'<li><a href="{sku}.html">{sku}</a></li>'


class Shop:
    """A shop of any size to serve in tests: a function of path and headers, and the data of its products.

    Args:
        products: number of products.
        per_page: products on a page of the catalogue.
        seed: another number makes other products.
        page_bytes: approximate size of a product's page.
        related: links of a product's page to other products.
        crawl_delay_s: Crawl-delay of robots.txt in seconds; ``None``: there is none.
        delay_s: seconds that every response takes.
        has_count: each page of the catalogue shows the number of products (``1-16 of 4,213``).
        validators: send correct ETag, Last-Modified and ``lastmod``, and answer conditional requests.
    """

    def __init__(
        self,
        products: int = 200,
        per_page: int = 20,
        seed: int = 0,
        *,
        page_bytes: int = 20_000,
        related: int = 4,
        crawl_delay_s: float | None = None,
        delay_s: float = 0.0,
        has_count: bool = False,
        validators: bool = False,
    ) -> None:
        self.products = products
        self.per_page = per_page
        self.seed = seed
        self.page_bytes = page_bytes
        self.related = related
        self.crawl_delay_s = crawl_delay_s
        self.delay_s = delay_s
        self.has_count = has_count
        self.validators = validators
        self._revisions: dict[int, int] = {}  # how often products have changed, by number
        self._changed_at: dict[int, float] = {}

    def __repr__(self) -> str:
        return f"Shop(products={self.products}, per_page={self.per_page}, seed={self.seed})"

    # ----------------------------------------------------------------- the truth

    def product(self, number: int) -> dict[str, str]:
        """Return ``sku``, ``name`` and ``price`` (two decimals) of the product ``number``, from 0."""
        random = Random(self.seed * 1_000_003 + number)  # noqa: S311 - made-up products
        revision = self._revisions.get(number, 0)
        name = f"{random.choice(_ADJECTIVES)} {random.choice(_NOUNS)}{random.choice(_ENDINGS)} No. {number}"
        cents = random.randrange(99, 99_999) + 100 * revision
        return {"sku": self.sku(number), "name": name, "price": f"{cents / 100:.2f}"}

    def change_products(self, share: float, seed: int = 1) -> list[int]:
        """Change the prices of a number of products; return their numbers, ascending."""
        changed = sorted(Random(seed).sample(range(self.products), round(self.products * share)))  # noqa: S311
        for number in changed:
            self._revisions[number] = self._revisions.get(number, 0) + 1
            self._changed_at[number] = time.time()
        return changed

    def changed_at(self, number: int) -> float:
        """Return when a product last changed, as its page and the sitemap say."""
        return self._changed_at.get(number, OPENED_AT)

    def truth(self) -> list[dict[str, str]]:
        """Return the data of all products."""
        return [self.product(number) for number in range(self.products)]

    def sku(self, number: int) -> str:
        """Return the product's own code."""
        return _format_sku(self.seed, number)

    @property
    def catalog_pages(self) -> int:
        """The number of catalogue pages; an empty shop has one."""
        return max(1, -(-self.products // self.per_page))

    def product_path(self, number: int) -> str:
        """Return the path of the product's page."""
        return f"/product/{self.sku(number)}.html"

    def catalog_path(self, page: int) -> str:
        """Return the path of a page of the catalogue, from 1."""
        return "/catalog" if page == 1 else f"/catalog/page/{page}/"

    # ----------------------------------------------------------------- answers

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        """Answer one request."""
        answer = self._answer(path, headers)
        return answer_condition(answer, headers) if self.validators else answer

    def _answer(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        path, _, query = path.partition("?")
        base = f"http://{headers.get('host', 'shop.example')}"
        if path.startswith("/product/"):
            return self._product_page(path)
        if path == "/catalog" or path.startswith("/catalog/page/"):
            return self._catalog_page(path, query)
        if path.startswith("/category/"):
            return self._category_page(path)
        if path.startswith("/sitemap"):
            return self._sitemap_page(path, base)
        if path == "/robots.txt":
            delay = "" if self.crawl_delay_s is None else f"Crawl-delay: {self.crawl_delay_s:g}"
            text = ROBOTS.format(delay=delay, base=base)
            return SiteResponse(body=text.encode(), content_type="text/plain")
        page = self._other_pages.get(path)
        return page() if page else NOT_FOUND

    @cached_property
    def _other_pages(self) -> dict[str, Callable[[], SiteResponse]]:
        return {
            "/": self._home_page,
            "/js/offers.html": self._offers_page,
            "/old-catalog": lambda: SiteResponse(301, headers=(("Location", "/catalog"),)),
            "/cart": lambda: self._html_page("Cart", "<h1>Your cart is empty</h1>"),
            "/private/prices.html": lambda: self._html_page("Prices", "<h1>For the staff only</h1>"),
            "/login": lambda: self._html_page(
                "Log in", "<h1>Log in</h1><form action='/login' method='post'></form>"
            ),
            "/about.html": lambda: self._html_page("About", "<h1>About the shop</h1><a href='./'>Home</a>"),
        }

    def _html_page(self, title: str, body: str, head: str = "") -> SiteResponse:
        page = (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(title)}</title>{head}</head>\n"
            '<body><nav><a href="/">Home</a> <a href="/catalog">Catalogue</a> <a href="/cart">Cart</a> '
            f'<a rel="nofollow" href="/login">Log in</a></nav>\n{body}\n</body></html>\n'
        )
        return SiteResponse(body=page.encode(), delay_s=self.delay_s)

    def _home_page(self) -> SiteResponse:
        categories = "".join(f'<li><a href="category/{name}/">{name.title()}</a></li>' for name in CATEGORIES)
        return self._html_page(
            "The Gossamer Shop",
            f"<h1>The Gossamer Shop</h1><ul>{categories}</ul>"
            '<p><a href="catalog">All products</a> <a href="/catalog?utm_source=home&amp;page=1">News</a> '
            '<a href="/old-catalog">The old catalogue</a> <a href="/gone.html">Sold out</a> '
            '<a href="js/offers.html">Offers</a> <a href="about.html#top">About</a> '
            '<a href="/private/prices.html">Staff</a> <a href="mailto:shop@shop.example">Mail</a> '
            '<a href="javascript:void(0)">Top</a></p>',
        )

    def _catalog_page(self, path: str, query: str) -> SiteResponse:
        asked = path.removeprefix("/catalog/page/").strip("/") if path != "/catalog" else ""
        asked = asked or parse_qs(query).get("page", ["1"])[0]
        page = _parse_number(asked)
        if not 1 <= page <= self.catalog_pages:
            return NOT_FOUND
        first = (page - 1) * self.per_page
        last = min(first + self.per_page, self.products)
        entries = "".join(map(self._format_entry, range(first, last)))
        steps = ""
        if page > 1:
            steps += f'<a class="prev" rel="prev" href="{self.catalog_path(page - 1)}">Back</a> '
        if page < self.catalog_pages:
            steps += f'<a class="next" rel="next" href="{self.catalog_path(page + 1)}">Next</a>'
        count = f'<p class="count">{first + 1:,}-{last:,} of {self.products:,}</p>' if self.has_count else ""
        body = f'<h1>Catalogue</h1>{count}<ul class="products">{entries}</ul>{steps}'
        return self._html_page(f"Catalogue, page {page}", body)

    def _category_page(self, path: str) -> SiteResponse:
        name = path.removeprefix("/category/").rstrip("/")
        if name not in CATEGORIES:
            return NOT_FOUND
        if not path.endswith("/"):
            return SiteResponse(301, headers=(("Location", path + "/"),))
        mine = range(CATEGORIES.index(name), self.products, len(CATEGORIES))[: self.per_page]
        links = "".join(
            f'<li><a class="product" href="../..{self.product_path(number)}">{self.sku(number)}</a></li>'
            for number in mine
        )
        return self._html_page(name.title(), f"<h1>{name.title()}</h1><ul>{links}</ul>")

    def _format_entry(self, number: int) -> str:
        """Return a product in a list: its picture and its name link to the same page, every tenth with
        tracking.
        """
        product, path = self.product(number), self.product_path(number)
        tracked = f"{path}?utm_source=catalog&amp;utm_medium=list" if number % 10 == 9 else path
        return (
            f'<li><a class="thumb" href="{tracked}"><img src="/img/{product["sku"]}.jpg" alt=""></a>'
            f'<a class="product" href="{path}">{escape(product["name"])}</a> '
            f'<span class="price">{product["price"]}</span></li>\n'
        )

    def _product_page(self, path: str) -> SiteResponse:
        sku = path.removeprefix("/product/").removesuffix(".html")
        number = _parse_number(sku.rpartition("-")[2])
        if not 0 <= number < self.products or path != self.product_path(number):
            return NOT_FOUND
        product = self.product(number)
        name, price = escape(product["name"]), product["price"]
        data = {
            "@context": "https://schema.org",
            "@type": "Product",
            "sku": sku,
            "name": product["name"],
            "offers": {"@type": "Offer", "price": price, "priceCurrency": "EUR"},
        }
        json_ld = json.dumps(data).replace("<", "\\u003c")
        others = ((number + step * step) % self.products for step in range(1, self.related + 1))
        links = "".join(_format_link(self.seed, other) for other in others)
        page = self._html_page(
            product["name"],
            f'<article data-sku="{sku}"><h1>{name}</h1><p class="sku">{sku}</p>'
            f'<p class="price" data-currency="EUR">{price}</p><div class="description">'
            f'{self._filler_text}</div></article>\n<ul class="related">{links}</ul>',
            head=f'<link rel="canonical" href="{path}"><script type="application/ld+json">{json_ld}</script>',
        )
        if self.validators:
            modified = ("Last-Modified", formatdate(self.changed_at(number), usegmt=True))
            page = replace(page, headers=(*page.headers, modified))
        return page

    @cached_property
    def _filler_text(self) -> str:
        wanted = max(0, self.page_bytes - 880 - 44 * self.related)
        paragraph = f"<p>{_WORDS.capitalize()}.</p>\n"
        return paragraph * (wanted // len(paragraph))

    def _offers_page(self) -> SiteResponse:
        offers = json.dumps([self.sku(number) for number in range(min(5, self.products))])
        return self._html_page(
            "Offers",
            '<h1>Offers</h1><noscript>Please allow scripts.</noscript><ul id="offers"></ul>'
            f"<script>for (const sku of {offers}) {{ const offer = document.createElement('li');"
            "offer.className = 'offer'; offer.textContent = sku;"
            "document.getElementById('offers').append(offer); }</script>",
        )

    def _sitemap_page(self, path: str, base: str) -> SiteResponse:
        files = -(-self.products // SITEMAP_URLS)
        if path == "/sitemap.xml" and files > 1:
            places = [f"{base}/sitemap-{number}.xml" for number in range(1, files + 1)]
            return _sitemap_file("sitemapindex", "sitemap", places)
        part = "1" if path == "/sitemap.xml" else path.removeprefix("/sitemap-").removesuffix(".xml")
        number = _parse_number(part)
        if not 1 <= number <= max(1, files):
            return NOT_FOUND
        first = (number - 1) * SITEMAP_URLS
        numbers = range(first, min(first + SITEMAP_URLS, self.products))
        places = [base + self.product_path(number) for number in numbers]
        if not self.validators:
            return _sitemap_file("urlset", "url", places)
        days = [
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.changed_at(number))) for number in numbers
        ]
        return _sitemap_file("urlset", "url", places, days)


def _parse_number(text: str) -> int:
    """Return a decimal number from a path, or -1."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1


def _sitemap_file(root: str, element: str, places: list[str], times: Sequence[str] = ()) -> SiteResponse:
    dates = [f"<lastmod>{at}</lastmod>" for at in times] or [""] * len(places)
    entries = "\n".join(
        f"<{element}><loc>{place}</loc>{date}</{element}>" for place, date in zip(places, dates, strict=True)
    )
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}\n</{root}>\n'
    )
    return SiteResponse(body=text.encode(), content_type=_XML)


def answer_condition(answer: SiteResponse, headers: Mapping[str, str]) -> SiteResponse:
    """Return a page with its ETag, or 304 for a client that has this version (RFC 9110, 13)."""
    if answer.status != 200:
        return answer
    etag = f'"{blake2b(answer.body, digest_size=8).hexdigest()}"'
    answer = replace(answer, headers=(*answer.headers, ("ETag", etag)))
    given, modified = headers.get("if-none-match"), dict(answer.headers).get("Last-Modified")
    if given is not None:
        is_same = given.strip() == "*" or etag in [tag.strip().removeprefix("W/") for tag in given.split(",")]
    else:
        is_same = modified is not None and headers.get("if-modified-since") == modified
    return replace(answer, status=304, body=b"", content_type="") if is_same else answer


def main(arguments: list[str] | None = None) -> None:
    """Serve a shop until interrupted; the first line on stdout is its URL."""
    parser = argparse.ArgumentParser(
        prog="python -m gossamer.testing.shop", description="Serve a made-up shop."
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--products", type=int, default=200)
    parser.add_argument("--per-page", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page-bytes", type=int, default=20_000, help="about the size of a product's page")
    parser.add_argument("--related", type=int, default=4, help="links from a product to others")
    parser.add_argument("--count", action="store_true", help="lists say which products of how many they have")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that every page takes")
    parser.add_argument("--validators", action="store_true", help="ETag, Last-Modified and lastmod")
    parser.add_argument("--gzip", action="store_true", help="answers are compressed, as most sites' are")
    parser.add_argument("--changed", type=float, default=0.0, help="share of products with other prices")
    given = parser.parse_args(arguments)
    shop = Shop(
        given.products,
        given.per_page,
        given.seed,
        page_bytes=given.page_bytes,
        related=given.related,
        delay_s=given.delay,
        has_count=given.count,
        validators=given.validators,
    )
    shop.change_products(given.changed)
    serve_until_interrupted(compress_answers(shop) if given.gzip else shop, given.port)


if __name__ == "__main__":
    main()
