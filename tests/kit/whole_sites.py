"""Sites that have an end, and look to a machine like sites that have none: all of each is worth fetching."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

from gossamer import Request
from gossamer.testing.answers import App, SiteResponse
from gossamer.testing.traps import FILTERS, TEXT, WORDS

NOT_FOUND = SiteResponse(404)
FIGURE_TOWNS = WORDS[:8]
FIGURE_CROPS = ("rye", "oats", "wheat", "barley", "maize", "hops", "flax", "hemp")
Parse = Callable[[Any], Iterator[Any]]
"""The callback of a spider, without ``self``."""


class WholeSite(NamedTuple):
    """A site, the callback of a spider for it, and how many items that gives."""

    app: App
    parse: Parse
    items: int


def page(title: str, text: str, links: Iterable[str] = ()) -> SiteResponse:
    """A page with links that bear no words."""
    anchors = "".join(f'<a href="{link}"></a>' for link in links)
    body = f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{text}</p>{anchors}"
    return SiteResponse(body=body.encode())


def give_json(value: Any) -> SiteResponse:
    """An answer of an API."""
    return SiteResponse(body=json.dumps(value).encode(), content_type="application/json")


def make_text(seed: str, words: int = 60) -> str:
    """A text that no other page has."""
    random = Random(seed)
    return " ".join(f"{random.choice(WORDS)}{random.choice(WORDS)}" for _ in range(words))


def number_of(path: str) -> int:
    """The last number in a path."""
    return int("".join(c if c.isdigit() else " " for c in path).split()[-1])


def follow_and_take(css: str) -> Parse:
    """Follow all links; of pages with such an element keep its attribute and the page's URL."""

    def parse(response: Any) -> Iterator[Any]:
        for value in response.css(f"{css}::attr(data-value)").getall():
            yield {"url": response.url, "value": value}
        yield from response.follow_all(response.links())

    return parse


def _with_value(answer: SiteResponse, value: object) -> SiteResponse:
    """The page with a value that is not a part of its text."""
    mark = f'<i data-value="{value}"></i>'.encode()
    return SiteResponse(body=answer.body + mark)


# --------------------------------------------------------------------------- products


def call_template(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Products of one template: only the price differs. Each names four others, as shops do."""
    if path == "/":
        return page("Shop", "All that we have", (f"/product/{n}" for n in range(400)))
    number = number_of(path)
    related = (f"/product/{(number * 7 + turn) % 400}" for turn in range(4))
    return _with_value(page("Product", f"{TEXT} Now {number}.99", related), f"{number}.99")


def call_one_price(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Everything costs the same, and is described in the same words."""
    if path == "/":
        return page("Everything for a pound", "All that we have", (f"/item/{n}" for n in range(400)))
    return _with_value(page("Everything for a pound", TEXT), "1.00")


def call_sold_out(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Lists of twenty; the first 300 products are sold out."""
    if path.startswith("/product/"):
        number = number_of(path)
        if number < 300:
            return page("Sold out", TEXT)
        return _with_value(page(f"Product {number}", TEXT), number)
    number = number_of(path) if "page=" in path else 0
    products = [f"/product/{n}" for n in range(number * 20, number * 20 + 20)]
    return page("Shop", TEXT, [*products, *([f"/?page={number + 1}"] if number < 24 else [])])


def call_tiles(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Lists of pictures without a word, in the directory of the products."""
    number = number_of(path) if path != "/" else 0
    if "/item/" in path:
        return _with_value(page("Item", make_text(path)), number)
    items = [f"/shop/item/{number * 2 + turn}" for turn in (0, 1)]
    return page("Shop", "", [*items, *([f"/shop/list/{number + 1}"] if number < 300 else [])])


def call_one_script(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """One script with many sets of parameters shows lists and products, whose words are those of others."""
    query = dict(part.split("=") for part in path.partition("?")[2].split("&") if part)
    if "product" in query:
        number = int(query["product"])
        near = (f"/index.php?product={(number * 7 + turn) % 400}" for turn in range(4))
        words = f"{WORDS[number % 32]} {WORDS[number // 32]}"
        return _with_value(page(f"Product {words}", TEXT, near), f"{words} {number % 50}.99")
    number = int(query.get("page", 0))
    products = (f"/index.php?product={n}" for n in range(number * 20, number * 20 + 20))
    sorted_by = (f"/index.php?page={number}&{name}=1" for name in FILTERS)
    more = [f"/index.php?page={number + 1}"] if number < 19 else []
    return page("Shop", TEXT, [*products, *sorted_by, *more])


def call_json_ld(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """A template that a script fills; its contents are in the page as JSON-LD."""
    if path == "/":
        return page("Shop", "All that we have", (f"/product/{n}" for n in range(400)))
    data = json.dumps({"@type": "Product", "offers": {"price": number_of(path)}})
    body = page("Product", TEXT).body + f'<script type="application/ld+json">{data}</script>'.encode()
    return SiteResponse(body=body)


def take_json_ld(response: Any) -> Iterator[Any]:
    """The price of a page's JSON-LD, and its links."""
    for text in response.css('script[type="application/ld+json"]::text').getall():
        yield {"url": response.url, "price": json.loads(text)["offers"]["price"]}
    yield from response.follow_all(response.links())


def call_figures(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Figures by year, town and crop, in a script with pages for many other parameters as well."""
    query = dict(part.split("=") for part in path.partition("?")[2].split("&") if part)
    if "town" not in query:
        names = (f"/stat.php?{name}=1" for name in (*FILTERS, "about", "help"))
        return page(
            "Statistics", TEXT, ("/stat.php?town=oak&year=1990&crop=rye", *names) if path == "/" else ()
        )
    town, year, crop = (
        FIGURE_TOWNS.index(query["town"]),
        int(query["year"]),
        FIGURE_CROPS.index(query["crop"]),
    )
    place = (year - 1990) * 64 + town * 8 + crop
    links = (
        f"/stat.php?town={FIGURE_TOWNS[one // 8 % 8]}&year={1990 + one // 64}&crop={FIGURE_CROPS[one % 8]}"
        for one in (place + 1, place + 2)
        if one < 640
    )
    random = Random(place)
    cells = {**query, "harvest": f"{random.randint(1, 300)} t", "rain": f"{random.randint(1, 300)}"}
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in cells.items())
    return page("Harvest", f"<table>{rows}</table>", (link.replace("&", "&amp;") for link in links))


def take_table(response: Any) -> Iterator[Any]:
    """The rows of a page's table, and its links."""
    names, values = response.css("th::text").getall(), response.css("td::text").getall()
    if names:
        yield {"url": response.url, **dict(zip(names, values, strict=True))}
    yield from response.follow_all(response.links())


# --------------------------------------------------------------------------- machines


def call_sparse_api(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """An API in which one of twenty ids is in use."""
    if path == "/":
        return give_json([f"/api/{n}" for n in range(600)])
    number = number_of(path)
    return give_json([{"id": number}] if number % 20 == 19 else [])


def take_listed(response: Any) -> Iterator[Any]:
    """All ids that the first answer names."""
    for one in response.json():
        yield response.follow(one) if isinstance(one, str) else {"url": response.url, "id": one["id"]}


def take_in_turn(response: Any) -> Iterator[Any]:
    """One id after the other, whatever came."""
    number = number_of(response.url) if "/api/" in response.url else -1
    if "/api/" in response.url:
        for one in response.json():
            yield {"url": response.url, "id": one["id"]}
    if number < 599:
        yield Request(response.urljoin(f"/api/{number + 1}"))


def call_one_body(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Pages of one body, which the first one names."""
    return page(
        "Home" if path == "/" else "Page", TEXT, (f"/page/{n}" for n in range(600)) if path == "/" else ()
    )


def take_url(response: Any) -> Iterator[Any]:
    """Every page is an item."""
    yield {"url": response.url}
    yield from response.follow_all(response.links())


def call_shells(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Pages that a script fills: one body, with a relative link to the data."""
    if path == "/":
        return page("App", "", (f"/item/{n}/" for n in range(400)))
    if path.endswith("data.json"):
        return give_json({"id": number_of(path)})
    return page("App", "Loading", ["data.json"])


def take_data(response: Any) -> Iterator[Any]:
    """The data, and links to them."""
    if response.url.endswith(".json"):
        yield {"url": response.url, "id": response.json()["id"]}
    else:
        yield from response.follow_all(response.links())


# --------------------------------------------------------------------------- chains


def call_gallery(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Pictures, each with a link to the next one and not a word that differs."""
    number = number_of(path) if path != "/" else 0
    answer = page("Gallery", TEXT, [f"/photo/{number + 1}"] if number < 400 else [])
    return _with_value(answer, f"/img/{number}.jpg")


def call_comments(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """One article, whose comments are spread over many pages; every page repeats the article."""
    number = number_of(path) if "=" in path else 1
    text = f"{make_text('article', 400)} {make_text(path, 12)}"
    answer = page("An article", text, [f"/?comments={number + 1}"] if number < 400 else [])
    return _with_value(answer, f"comment {number}")


def call_forum(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """A long thread."""
    number = number_of(path) if "=" in path else 1
    answer = page("A long thread", make_text(path), [f"/?page={number + 1}"] if number < 400 else [])
    return _with_value(answer, f"post {number}")


def call_archive(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """A newspaper, month by month back to 1940, with one article in each."""
    if "article" in path:
        return _with_value(page("Article", make_text(path)), path)
    month = 1985 * 12
    if path != "/":
        year, number = path.split("/")[2:4]
        month = int(year) * 12 + int(number) - 1
    before, own = (f"/archive/{one // 12}/{one % 12 + 1:02}" for one in (month - 1, month))
    links = [f"{own}/article-{month}", *([before] if month > 1960 * 12 else [])]
    return page("Our archive", make_text(path, 30), links)


def call_ports(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """A machine with a different page on each of many ports."""
    return page("Home", TEXT, (f"/a/{n}" for n in range(40)) if path == "/" else ())


WHOLE_SITES: Mapping[str, WholeSite] = {
    "template": WholeSite(call_template, follow_and_take("i"), 400),
    "one price": WholeSite(call_one_price, follow_and_take("i"), 400),
    "sold out": WholeSite(call_sold_out, follow_and_take("i"), 200),
    "tiles": WholeSite(call_tiles, follow_and_take("i"), 602),
    "one script": WholeSite(call_one_script, follow_and_take("i"), 400),
    "figures": WholeSite(call_figures, take_table, 640),
    "json-ld": WholeSite(call_json_ld, take_json_ld, 400),
    "sparse api": WholeSite(call_sparse_api, take_listed, 30),
    "ids in turn": WholeSite(call_sparse_api, take_in_turn, 30),
    "one body": WholeSite(call_one_body, take_url, 601),
    "shells": WholeSite(call_shells, take_data, 400),
    "gallery": WholeSite(call_gallery, follow_and_take("i"), 401),
    "comments": WholeSite(call_comments, follow_and_take("i"), 400),
    "forum": WholeSite(call_forum, follow_and_take("i"), 400),
    "archive": WholeSite(call_archive, follow_and_take("i"), 301),
}
"""Each in some 300 to 900 pages: a trap is known after 250."""
