"""Generated sites and the whole truth about them: which pages, answers and items a complete crawl has.

Deterministic, made when asked for. The catalogue has what loses or doubles pages in real crawls: links that
are spelled in several ways, pages that only a redirect leads to, chains of redirects, dead links, pages that
fail once and then answer, pages that robots.txt forbids, and a fact (a brand) that hundreds of pages state.
The truth comes from the plan of the site, not from its HTML.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gossamer.testing.answers import SiteResponse

PER_LISTING = 20
PER_CATEGORY = 400
RELATED = 6
BRANDS = 25
COUNTRIES = ("Austria", "Brazil", "Canada", "Denmark", "Estonia")
FAILS_ONCE = SiteResponse(500, b"<!doctype html><title>Out of order</title>\n")
NOT_FOUND = SiteResponse(404, b"<!doctype html><title>No such page</title>\n")
ROBOTS = b"User-agent: *\nDisallow: /private/\n"
TEXT = (
    "solid wood with a soft finish that ages well and a frame made by hand in small numbers for rooms "
    "that are lived in every day of the year whatever the weather brings to the window"
)
WORDS = TEXT.split()


@dataclass(frozen=True)
class Truth:
    """The results of a complete crawl. URLs are in their canonical form."""

    pages: frozenset[str]  # stored, each once
    answers: Mapping[str, tuple[int, ...]]  # for every URL to be fetched, in order, without kills
    items: frozenset[str]  # as `canonical` writes them
    denied: frozenset[str] = frozenset()  # never to be fetched, by robots.txt


def canonical(item: Mapping[str, Any]) -> str:
    """One spelling of an item, whatever the order of its fields."""
    return json.dumps(item, sort_keys=True, ensure_ascii=False)


def mixed(number: int, salt: int) -> int:
    """A number that looks random (Knuth's multiplicative hash), cheaper than a generator for each page."""
    return ((number + salt * 7919 + 1) * 2654435761 & 0xFFFFFFFF) >> 7


class Catalogue:
    """A site of exactly ``pages`` pages (answers 200 in HTML); ``delay_s`` is how long each takes."""

    def __init__(self, pages: int, *, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        products = pages
        while products and 1 + _listings(products) + products > pages:
            products -= 1
        self.products = products
        # The products left over when one more would need a listing of its own: pages without a product.
        self.extras = pages - 1 - _listings(products) - products
        self._has_failed: set[str] = set()

    def __repr__(self) -> str:
        return f"<Catalogue of {self.products} products>"

    @cached_property
    def categories(self) -> range:
        """Every category."""
        return range(-(-self.products // PER_CATEGORY))

    def listings(self, category: int) -> range:
        """The numbers of a category's listings, from 1."""
        members = min(PER_CATEGORY, self.products - category * PER_CATEGORY)
        return range(1, -(-members // PER_LISTING) + 1)

    # ----------------------------------------------------------------- the truth

    def truth(self, url: str) -> Truth:
        """Return the expected results of a crawl of this site at ``url`` (without a final slash)."""
        answers: dict[str, tuple[int, ...]] = dict.fromkeys(self._pages(), (200,))
        answers |= {path: (500, *answers[path]) for path in answers if fails_once(path)}
        answers |= {path: (301,) for number in range(self.products) for path in detours(number)}
        answers |= {f"/gone/{number}": (404,) for number in range(self.products) if links_nowhere(number)}
        return Truth(
            pages=frozenset(f"{url}{path}" for path, given in answers.items() if given[-1] == 200),
            answers={f"{url}{path}": given for path, given in answers.items()},
            items=frozenset(map(canonical, self._items())),
            denied=frozenset(f"{url}/private/{number}" for number in range(50)),
        )

    def _pages(self) -> Iterator[str]:
        yield "/"
        yield from (f"/extra/{number}" for number in range(self.extras))
        for category in self.categories:
            yield from (listing_path(category, number) for number in self.listings(category))
        yield from (f"/p/{number}" for number in range(self.products))

    def _items(self) -> Iterator[dict[str, Any]]:
        for category in self.categories:
            members = min(PER_CATEGORY, self.products - category * PER_CATEGORY)
            yield {"number": category, "title": f"Category {category}", "products": members}
        yield from (product(number) for number in range(self.products))
        yield from map(brand, {mixed(number, 3) % BRANDS for number in range(self.products)})

    # ----------------------------------------------------------------- answers

    def again(self) -> None:
        """Forget all visits."""
        self._has_failed.clear()

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        """The answer to one request."""
        if fails_once(path) and path not in self._has_failed:
            self._has_failed.add(path)
            return FAILS_ONCE
        if path == "/robots.txt":
            return SiteResponse(200, ROBOTS, "text/plain")
        parts = path.partition("?")[0].split("/")
        if len(parts) > 2 and parts[1] == "go":
            return self._detour(path, int(parts[2]))
        body = self._body(path, parts, f"HTTP://{headers.get('host', 'site.test')}")
        if not body:
            return NOT_FOUND
        return SiteResponse(200, page(path, body).encode(), delay_s=self.delay_s)

    def _body(self, path: str, parts: list[str], base: str) -> str:
        if path == "/":
            categories = "".join(f'<li><a href="/c/{n}/">Category {n}</a>' for n in self.categories)
            extras = "".join(f'<li><a href="extra/{n}">More</a>' for n in range(self.extras))
            return f"<h1>Home</h1><ul>{categories}{extras}</ul>"
        if parts[1] == "c":
            return self._listing(int(parts[2]), int(path.partition("?page=")[2] or 1), base)
        if parts[1] == "p" and int(parts[2]) < self.products:
            return self._details(int(parts[2]), base)
        return f"<p>{path}</p>" if parts[1] == "extra" else ""

    def _listing(self, category: int, number: int, base: str) -> str:
        first = category * PER_CATEGORY + (number - 1) * PER_LISTING
        shown = range(first, min(first + PER_LISTING, (category + 1) * PER_CATEGORY, self.products))
        entries = "".join(f"<li>{link(n, n, base)}</li><li>{link(n, n + 2, base)}</li>" for n in shown)
        all_listings = self.listings(category)
        near = [n for n in all_listings if n in (1, all_listings[-1]) or abs(n - number) == 1]
        others = " ".join(f'<a class="page" href="{listing_path(category, n)}">{n}</a>' for n in near)
        about = min(PER_CATEGORY, self.products - category * PER_CATEGORY)
        head = f'<h1 data-number="{category}" data-products="{about}">Category {category}</h1>'
        return f"{head}<ul>{entries}</ul><nav>{others}</nav>"

    def _details(self, number: int, base: str) -> str:
        item = product(number)
        made_by = brand(mixed(number, 3) % BRANDS)
        related = (mixed(number, 10 + n) % self.products for n in range(RELATED))
        links = "".join(f"<li>{link(other, number + n, base)}</li>" for n, other in enumerate(related))
        nowhere = f'<a href="/gone/{number}">Offer</a>' if links_nowhere(number) else ""
        return (
            f'<article data-sku="{item["sku"]}"><h1>{item["name"]}</h1><b class="price">{item["price"]}</b>'
            f'<i class="stock">{item["stock"]}</i><p class="text">{item["text"]}</p>'
            f'<span class="brand" data-country="{made_by["country"]}">{made_by["name"]}</span></article>'
            f"<p>{prose(number, 300)}</p><ul>{links}</ul>{nowhere}"
        )

    def _detour(self, path: str, number: int) -> SiteResponse:
        hops = [*detours(number), f"/p/{number}"]
        if path not in hops or number >= self.products:
            return NOT_FOUND
        target = hops[hops.index(path) + 1]
        return SiteResponse(301, headers=(("Location", target),), delay_s=self.delay_s)


def _listings(products: int) -> int:
    whole, rest = divmod(products, PER_CATEGORY)
    return whole * (PER_CATEGORY // PER_LISTING) + -(-rest // PER_LISTING)


def listing_path(category: int, number: int) -> str:
    """Where a listing is."""
    return f"/c/{category}/" + (f"?page={number}" if number > 1 else "")


def fails_once(path: str) -> bool:
    """Whether a page answers 500 the first time: every 60th product, every 13th listing of a category."""
    if path.startswith("/p/"):
        return int(path[3:]) % 60 == 11
    return path.endswith(("?page=5", "?page=18"))


def detours(number: int) -> tuple[str, ...]:
    """The redirects on the way to a product; listings link to the first of them."""
    if number % 200 == 107:
        return (f"/go/{number}?by=mail", f"/go/{number}")
    return (f"/go/{number}",) if number % 50 == 7 else ()


def links_nowhere(number: int) -> bool:
    """Whether a product links to a page that is not there."""
    return number % 40 == 3


def product(number: int) -> dict[str, Any]:
    """The item of a product's page, as it is exported."""
    return {
        "sku": f"F-{number:06d}",
        "name": f"{WORDS[mixed(number, 1) % len(WORDS)].title()} & Söhne No. {number}",
        "price": f"{mixed(number, 2) % 99_900 + 100}.{number % 100:02d}",
        "stock": mixed(number, 4) % 500,
        "text": prose(number, 40),
    }


def brand(number: int) -> dict[str, Any]:
    """The item that many pages state in the same way."""
    return {"name": f"Brand {number}", "country": COUNTRIES[number % len(COUNTRIES)]}


def prose(number: int, words: int) -> str:
    """Text that differs from page to page."""
    start = mixed(number, 5) % len(WORDS)
    return " ".join(((WORDS[start:] + WORDS[:start]) * (words // len(WORDS) + 1))[:words])


def link(number: int, spelling: int, base: str) -> str:
    """A link to a product in one of the ways that all mean the same page; to a detour where there is one."""
    path = (*detours(number), f"/p/{number}")[0]
    ways = (
        path,
        f"{path}#reviews",
        f"{path}{'&' if '?' in path else '?'}utm_source=related&gclid={spelling}",
        f"{base}{path}",
        f"/x/..{path}",
        f"/.{path}",
    )
    return f'<a class="product" href="{ways[spelling % len(ways)]}">No. {number}</a>'


def page(path: str, body: str) -> str:
    """A whole page; robots.txt forbids what its menu leads to."""
    menu = f'<a href="/private/{mixed(len(body), 8) % 50}">Account</a>'
    head = f'<meta charset="utf-8"><title>{path}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{menu}\n{body}\n</body></html>\n'


class Hosts:
    """Many small hosts of ``pages`` pages each, the first of which links to all others."""

    def __init__(self, names: tuple[str, ...], pages: int) -> None:
        self.names = names
        self.pages = pages

    def truth(self, port: int) -> Truth:
        """Return the expected results of a crawl of all of them."""
        found = [(name, number) for name in self.names for number in range(self.pages)]
        urls = {f"http://{name}:{port}/{number or ''}": (200,) for name, number in found}
        items = (canonical({"host": f"{name}:{port}", "number": number}) for name, number in found)
        return Truth(pages=frozenset(urls), answers=urls, items=frozenset(items))

    def again(self) -> None:
        """Nothing is remembered here."""

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        """The answer to one request."""
        if path == "/robots.txt":
            return SiteResponse(200, ROBOTS, "text/plain")
        number, host = int(path[1:] or 0), headers.get("host", "")
        links = "".join(f'<a href="/{n}">{n}</a> ' for n in range(1, self.pages)) if number == 0 else ""
        body = f'<h1 data-host="{host}" data-number="{number}">{number}</h1>{links}<p>{prose(number, 50)}</p>'
        return SiteResponse(200, page(path, body).encode())
