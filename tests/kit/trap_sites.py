"""Every trap beside a good site, and the spider that follows all links of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

from gossamer.testing.answers import App, SiteResponse
from gossamer.testing.site import Site, serve_in_thread
from gossamer.testing.traps import TEXT, TRAPS, WORDS, GoodSite

PRODUCTS = 300
MIRRORED = 900
SPIDER = """
from gossamer import Item, Spider, key


class Product(Item):
    sku: str = key()
    name: str


class Traps(Spider):
    name = "traps"
    start_urls = {urls}
    allowed_domains = {hosts}

    def parse(self, response):
        for article in response.css("article"):
            yield Product(sku=article.attrib["data-sku"], name=article.css("::text").get())
        yield from response.follow_all(response.links())
"""


def call_loop(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Any address answers, with a title of its own and relative links that lead deeper each time."""
    title, links = f"At {path}", '<a href="products/list.php"></a><a href="about/us.php"></a>'
    return _give_page(title, f"<p>You are here: {path}. {TEXT}</p>{links}")


class FacetSite:
    """A shop beside a search for its products, whose six filters have five values each.

    The title names the chosen values; the URL has their ids.
    """

    def __init__(self, shop: GoodSite) -> None:
        self.shop = shop

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        if not path.startswith("/search"):
            answer = self.shop(path, headers)
            more = b'<a href="/search">all</a>' if path == "/" else b""
            return replace(answer, body=answer.body + more)
        query = path.partition("?")[2]
        chosen = dict(part.split("=") for part in query.split("&") if part)
        combined = ({**chosen, f"f{number // 5}": str(number)} for number in range(30))
        pairs = ([f"{name}={value}" for name, value in sorted(one.items())] for one in combined)
        found = Random(query).sample(range(self.shop.products), 20)
        links = (
            *(f"/product/{number}" for number in found),
            *(f"/search?{'&amp;'.join(one)}" for one in pairs),
        )
        title = f"Search {' '.join(WORDS[int(value)] for value in chosen.values())}"
        return _give_page(title, "".join(f'<a href="{link}">on</a>' for link in links))


JOINED_TRAPS = {**TRAPS, "loop": call_loop}


def join_traps(good: GoodSite, *, has_items: bool = True) -> App:
    """Return one host with a good site, a search for its pages, and each trap in a directory of its own."""
    shop = FacetSite(good)

    def call_site(path: str, headers: Mapping[str, str]) -> SiteResponse:
        name, _, rest = path[1:].partition("/")
        if name in JOINED_TRAPS:
            answer = JOINED_TRAPS[name](f"/{rest}", headers)
            return replace(answer, body=answer.body.replace(b'href="/', f'href="/{name}/'.encode()))
        answer = shop(path, headers)
        body = answer.body if has_items else answer.body.replace(b"<article", b"<div")
        more = "".join(f'<a href="/{name}/">on</a>' for name in JOINED_TRAPS if path == "/")
        return replace(answer, body=body + more.encode())

    return call_site


def _give_page(title: str, body: str) -> SiteResponse:
    return SiteResponse(body=f"<!doctype html><title>{title}</title><h1>{title}</h1>{body}".encode())


@contextmanager
def serve_all() -> Iterator[Mapping[str, Site]]:
    """The good site, each trap, and two hosts with the same pages, each on an address of its own.

    The good site links to the mirror.
    """
    twice, good = GoodSite(MIRRORED, "twice"), GoodSite(PRODUCTS)
    apps = {"good": good, **TRAPS, "first": twice, "mirror": twice}
    with ExitStack() as serving:
        sites = {
            name: serving.enter_context(serve_in_thread(app, f"127.0.2.{number}"))
            for number, (name, app) in enumerate(apps.items(), 1)
        }
        good.links = (f"{sites['mirror'].url}/",)
        yield sites


def write_spider(folder: Path, sites: Mapping[str, Site]) -> Path:
    """The spider for these sites."""
    urls = [f"{site.url}/" for name, site in sites.items() if name != "mirror"]
    hosts = [site.host.partition(":")[0] for site in sites.values()]
    file = folder / "traps.py"
    file.write_text(SPIDER.format(urls=urls, hosts=hosts))
    return file


def check_costs(sites: Mapping[str, Site], budget: int) -> None:
    """The good sites are complete, and each trap has cost about its budget at most."""
    costs = {name: len(site.hits) for name, site in sites.items()}
    assert {hit.path for hit in sites["good"].hits} == paths_of(GoodSite(PRODUCTS)), costs
    assert {hit.path for hit in sites["first"].hits} == paths_of(GoodSite(MIRRORED)), costs
    assert costs["mirror"] < budget, costs
    most = budget + budget // 10  # some pages of a closed group are fetched all the same
    assert {name: cost for name, cost in costs.items() if name in TRAPS and cost >= most} == {}, costs


def paths_of(site: GoodSite) -> set[str]:
    """All of its pages."""
    lists = (f"/list/{number}" for number in range(1, site.pages - site.products))
    return {"/", *lists, *(f"/product/{number}" for number in range(site.products))}
