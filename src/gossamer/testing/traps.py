"""Endless sites, one of each kind, and a good one that ends, to test a crawl's behaviour in traps.

Each is an app for :func:`gossamer.testing.site.serve`: deterministic, without state, and made on demand. ::

    async with serve(TRAPS["calendar"]) as trap, serve(GoodSite(200), "127.0.0.2") as good:
        ...crawl both: len(good.hits) == 201, and trap.hits are few...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from itertools import chain

from gossamer.testing.answers import App, SiteResponse

NOT_FOUND = SiteResponse(404, b"<!doctype html><title>Not found</title>\n")
PER_LIST = 20
_PLACES = "oak ash elm pine birch maple cedar willow poplar larch linden walnut hazel alder beech rowan"
_THINGS = "chair table shelf lamp bench stool desk chest frame clock mirror basket vase rug tray hook"
WORDS = (*_PLACES.split(), *_THINGS.split())
TEXT = (
    "Everything in this house was made by hand in small numbers, from wood that grew within a day's walk, "
    "and is meant to be used every day of the year, whatever the weather brings to the window."
)
FILTERS = ("color", "size", "wood", "price", "sort", "stock", "maker", "age", "view", "rating", "sale", "set")


class GoodSite:
    """A catalogue of ``products``, each with its own page; all are on lists that link to each other.

    Two sites with the same ``name`` have the same pages. ``links`` are more links of the first page, to traps
    for example.
    """

    def __init__(self, products: int, name: str = "good", *, links: Iterable[str] = ()) -> None:
        self.products = products
        self.name = name
        self.links = tuple(links)

    @property
    def pages(self) -> int:
        """The number of pages: lists and products."""
        return -(-self.products // PER_LIST) + self.products

    def __repr__(self) -> str:
        return f"GoodSite({self.products}, {self.name!r})"

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        """Return the page at a path."""
        if path == "/":
            return self._list(0, self.links)
        kind, _, number = path[1:].partition("/")
        if kind == "list" and number.isdigit() and 0 < int(number) * PER_LIST < self.products:
            return self._list(int(number), ())
        if kind == "product" and number.isdigit() and int(number) < self.products:
            return _product(int(number), self.name)
        return NOT_FOUND

    def _list(self, number: int, links: Iterable[str]) -> SiteResponse:
        first = number * PER_LIST
        own = [f"/product/{sku}" for sku in range(first, min(first + PER_LIST, self.products))]
        more = [f"/list/{number + 1}"] if first + PER_LIST < self.products else []
        return _page(f"List {number}", TEXT, [*own, *more, *links])


def call_session_ids(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Ten products, to which every page links with a new id of the visit in the path."""
    number = path.rpartition("/")[2]
    ids = (f"/visit/{_token(path, turn)}/item/{turn}" for turn in range(10))
    return _product(int(number) % 10 if number.isdigit() else 0, "ids", ids)


def call_session_queries(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """The same with the id as a parameter, which the page's own links keep."""
    page, _, own = path.partition("?sid=")
    new = (f"/item/{turn}?sid={_token(path, turn)}" for turn in range(3))
    return _product(int(page[-1]) if page[-1:].isdigit() else 0, "queries", [f"{page}?sid={own}", *new])


def call_calendar(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Months without any events; each links to its neighbours and its days."""
    parts = [int(part) for part in path.split("/") if part.isdigit()] or [2026, 11]
    year, month = parts[0], parts[1] if len(parts) > 1 else 1
    months = [divmod(year * 12 + month - 1 + step, 12) for step in (-1, 1, 12)]
    links = [f"/events/{then}/{one + 1:02}" for then, one in months]
    days = [f"/events/{year}/{month:02}/{day:02}" for day in (1, 15)]
    return _page(f"Events in {month}/{year}", f"Nothing is on in {month}/{year}.", [*links, *days])


def call_repeats(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Any address answers, with relative links that lead deeper each time."""
    return _page("Start", TEXT, ["rooms/", "tables/oak/", "../rooms/"])


def call_parameters(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """A search whose filters combine without end; the products are always the same few."""
    sku = path.removeprefix("/product/")
    if sku.isdigit():
        return _product(int(sku), "search")
    chosen = dict(part.split("=", 1) for part in path.partition("?")[2].split("&") if "=" in part)
    more = [{**chosen, name: WORDS[len(chosen) + turn]} for turn, name in enumerate(FILTERS)]
    queries = ("&".join(f"{name}={value}" for name, value in sorted(one.items())) for one in more)
    found = " ".join(WORDS[int(_token(path, turn), 16) % len(WORDS)] for turn in range(40))
    links = chain((f"/product/{number}" for number in range(5)), (f"/search?{query}" for query in queries))
    return _page("Search", f"Found for {chosen}: {found}", links)


def call_soft_404(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Any address answers with status 200, an excuse and links to made-up addresses."""
    made_up = ("/".join(_words(path, turn, 1 + turn % 3)) for turn in range(6))
    excuse = f"We could not find what you were looking for. {TEXT}"
    return _page("Sorry", excuse, (f"/help/{place}" for place in made_up))


def call_near_duplicates(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """One story at any number, with a word or two that differ."""
    links = (f"/story/{int(_token(path, turn), 16) % 10**9}" for turn in range(5))
    return _page("The story of the house", f"{TEXT} {TEXT} Today's word is {_words(path, 9, 1)[0]}.", links)


TRAPS: Mapping[str, App] = {
    "session_ids": call_session_ids,
    "session_queries": call_session_queries,
    "calendar": call_calendar,
    "repeats": call_repeats,
    "parameters": call_parameters,
    "soft_404": call_soft_404,
    "near_duplicates": call_near_duplicates,
}
"""An endless site of each kind. A mirror is a :class:`GoodSite` that is served twice."""


def _product(number: int, shop: str, links: Iterable[str] = ()) -> SiteResponse:
    name = " ".join(_words(shop, number, 3))
    article = f'<article data-sku="{shop}-{number:06}">{name} No. {number}</article>'
    return _page(f"{name} {number}", f"{article}{TEXT} {' '.join(_words(f'{shop} text', number, 12))}", links)


def _page(title: str, text: str, links: Iterable[str]) -> SiteResponse:
    anchors = "".join(f'<a href="{link.replace("&", "&amp;")}">on</a>\n' for link in links)
    body = f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{text}</p>\n{anchors}"
    return SiteResponse(body=body.encode())


def _token(path: str, turn: int) -> str:
    """Return a random-looking token: twelve hexadecimal digits."""
    return blake2b(f"{path} {turn}".encode(), digest_size=6).hexdigest()


def _words(path: str, turn: int, count: int) -> list[str]:
    digest = blake2b(f"{path} {turn}".encode(), digest_size=count).digest()
    return [WORDS[byte % len(WORDS)] + WORDS[byte // len(WORDS)] for byte in digest]
