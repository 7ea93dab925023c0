"""What ``gossamer guess`` proposes runs as it is on its page, and takes what repeats there."""

import gzip
import re
import tomllib
from html import escape
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import Request
from gossamer.core.errors import UsageError
from gossamer.core.results import FetchResult
from gossamer.crawl.guessing import GuessResult, guess_on
from gossamer.spiders.declarative.guessing import propose_spider
from gossamer.spiders.declarative.reading import parse_document
from gossamer.spiders.declarative.spider import DeclarativeSpider, make_spider
from gossamer.spiders.response import Response
from gossamer.testing.shop import Shop
from kit.corpora import corpus, from_corpus
from kit.guess_pages import PAGES as GUESS_PAGES
from kit.guess_pages import GuessPage
from kit.quotes_site import QuotesSite

URL = "http://site.test/list"


def page(body: str | bytes, url: str = URL) -> Response:
    fetched = FetchResult(
        url=url,
        status=200,
        headers=(("content-type", "text/html; charset=utf-8"),),
        body=body.encode() if isinstance(body, str) else body,
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="http",
    )
    return Response(Request(url), fetched)


def spider_of(guess: GuessResult) -> DeclarativeSpider:
    return make_spider(parse_document(guess.text, tomllib.loads(guess.text), "guess"))()


def items_of(guess: GuessResult, response: Response) -> list[dict[str, Any]]:
    found = spider_of(guess).parse(response)
    return [item.model_dump(mode="json") for item in found if not isinstance(item, Request)]


def next_of(guess: GuessResult, response: Response) -> list[str]:
    return [found.url for found in spider_of(guess).parse(response) if isinstance(found, Request)]


def test_the_catalogue_of_a_shop() -> None:
    shop = Shop(60)
    response = page(shop("/catalog", {}).body, "http://shop.test/catalog")
    guess = guess_on(response)
    assert [(item["title"], item["price"]) for item in items_of(guess, response)] == [
        (product["name"], product["price"]) for product in shop.truth()[:20]
    ]
    assert next_of(guess, response) == ["http://shop.test/catalog/page/2/"]
    assert 'key = "link"' in guess.text
    other = page(shop("/catalog/page/3/", {}).body, "http://shop.test/catalog/page/3/")
    assert len(items_of(guess, other)) == 20


@pytest.mark.parametrize(
    ("url", "domain"), [("http://127.0.0.1:85/list", "127.0.0.1:85"), ("http://www.site.test/x", "site.test")]
)
def test_the_domain_is_that_of_the_site(url: str, domain: str) -> None:
    assert f'allowed_domains = ["{domain}"]' in guess_on(page(HEADING, url)).text


def test_quotes_have_lists_of_tags() -> None:
    site = QuotesSite(20)
    response = page(site("/", {}).body, "http://quotes.test/")
    guess = guess_on(response)
    found = items_of(guess, response)
    truth = site.truth()[:10]
    assert [(item["text"], item["author"]) for item in found] == [
        (one["text"], one["author"]) for one in truth
    ]
    assert [item["tags"] or [] for item in found] == [one["tags"] for one in truth]
    assert next_of(guess, response) == ["http://quotes.test/page/2/"]


def test_rows_of_a_table() -> None:
    rows = "".join(f"<tr><td>Town {n}</td><td>{1000 + n * 7}</td><td>open</td></tr>" for n in range(12))
    response = page(f"<h1>Towns</h1><table id=towns><tbody>{rows}</tbody></table>")
    found = items_of(guess_on(response), response)
    assert len(found) == 12
    assert {"Town 3", 1021} <= set(found[3].values())


def test_dates_optional_values_and_a_pager_of_numbers() -> None:
    blocks = "".join(
        f'<article class="post"><h2><a href="/p/{n}">Post {n}</a></h2>'
        f'<time datetime="2026-01-{n + 1:02d}">then</time>'
        + (f'<p class="summary">About {n} and more.</p>' if n % 2 else "")
        + "</article>"
        for n in range(8)
    )
    pager = "".join(f'<a href="?page={n}">{n}</a>' for n in (1, 2, 3, 40))
    response = page(
        f"<nav><a href=/a>A</a><a href=/b>B</a><a href=/c>C</a></nav>{blocks}<div class=pager>{pager}</div>"
    )
    guess = guess_on(response)
    found = items_of(guess, response)
    assert [(one["title"], one["link"], one["date"][:10]) for one in found] == [
        (f"Post {n}", f"http://site.test/p/{n}", f"2026-01-{n + 1:02d}") for n in range(8)
    ]
    assert [one["summary"] for one in found[:2]] == [None, "About 1 and more."]
    assert next_of(guess, response) == [f"{URL}?page={n}" for n in range(2, 41)]


def test_blocks_that_are_links_themselves() -> None:
    blocks = "".join(f'<a class="offer" href="/o/{n}">Offer {n} <b>{n},50 \u20ac</b></a>' for n in range(4))
    response = page(f"<div>{blocks}</div>")
    guess = guess_on(response)
    assert "[items.Offer]" in guess.text
    assert items_of(guess, response)[2] == {
        "link": "http://site.test/o/2",
        "title": "Offer 2 2,50 \u20ac",
        "price": "2.50",
    }


def test_microdata_names_the_type_and_the_fields() -> None:
    blocks = "".join(
        f'<div class="x{n}9" itemscope itemtype="https://schema.org/Book"><span itemprop="name">B {n}</span>'
        f'<b itemprop="isbn">97{n}</b></div>'
        for n in range(5)
    )
    response = page(f"<section>{blocks}</section>")
    guess = guess_on(response)
    assert "[items.Book]" in guess.text
    assert items_of(guess, response)[2] == {"title": "B 2", "isbn": 972}


def test_a_page_about_one_thing_by_its_json_ld() -> None:
    shop = Shop(60)
    response = page(shop(shop.product_path(1), {}).body)
    guess = guess_on(response)
    assert "[items.Product]" in guess.text
    product = shop.product(1)
    (machine,) = items_of(guess, response)  # what is related to it is not what the page is about
    assert (machine["sku"], machine["name"], machine["offers_price"]) == (
        product["sku"],
        product["name"],
        product["price"],
    )


OPENGRAPH = """<meta property="og:type" content="product"><meta property="og:title" content="Arc lamp">
<meta property="product:price:amount" content="12.50"><meta property="product:price:currency" content="EUR">
<meta property="og:image" content="/i/arc.jpg"><meta name="description" content="A lamp that bends.">"""
MICRODATA = """<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Arc  lamp</h1>
<img itemprop="image" src="/i/arc.jpg"><meta itemprop="sku" content="A-17">
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
<b itemprop="price" content="12.50">12,50 EUR</b>
<time itemprop="priceValidUntil" datetime="2027-01-31">soon</time></div></div>"""
HEADING = """<title>Arc lamp | Shop</title><meta name="description" content="A lamp that bends.">
<nav><a href=/a>A</a></nav><main><h1>Arc lamp</h1><img src="/i/arc.jpg">
<p class="price-tag">\u20ac 12.50</p></main>"""
IMAGE = "http://site.test/i/arc.jpg"
ARC = {"url": URL, "title": "Arc lamp", "image": IMAGE, "description": "A lamp that bends."}


@pytest.mark.parametrize(
    ("body", "kind", "item"),
    [
        (OPENGRAPH, "Product", {**ARC, "price": "12.50", "currency": "EUR"}),
        (HEADING, "Product", {**ARC, "price": "12.50"}),
        (HEADING.replace("price-tag", "x"), "Page", ARC),
        (
            MICRODATA,
            "Product",
            {
                "url": URL,
                "name": "Arc lamp",
                "image": IMAGE,
                "sku": "A-17",
                "offers_price": "12.50",
                "offers_price_valid_until": "2027-01-31T00:00:00",
            },
        ),
    ],
    ids=["opengraph", "heading", "heading without a price", "microdata"],
)
def test_a_page_about_one_thing_gives_what_it_says_of_it(body: str, kind: str, item: dict[str, Any]) -> None:
    """And each page is one item, by its URL."""
    guess = guess_on(page(body))
    assert f'[items.{kind}]\nkey = "url"' in guess.text
    assert items_of(guess, page(body)) == [item]


def test_an_article_has_its_text_and_its_date() -> None:
    text = "A thread is a thread, whatever holds it. " * 20
    body = (
        '<meta property="og:type" content="article"><meta property="og:title" content="Threads">'
        '<meta property="article:published_time" content="2026-11-23T08:00:00+01:00">'
        f"<article><h1>Threads</h1><p>{text}</p></article>"
    )
    (item,) = items_of(guess_on(page(body)), page(body))
    assert (item["title"], item["published"]) == ("Threads", "2026-11-23T08:00:00+01:00")
    assert text.strip() in item["text"]


def test_a_list_is_not_taken_for_one_thing() -> None:
    """A heading above a list, the group of products of a shop: the list is what matters."""
    blocks = "".join(
        f'<div class=offer><a href="/o/{n}">Offer {n}</a><b>{n},50 \u20ac</b></div>' for n in range(4)
    )
    for more in (
        '<meta property="og:type" content="product.group">',
        '<meta name="description" content="All.">',
    ):
        guess = guess_on(page(f"{more}<h1>Offers</h1><div>{blocks}</div>"))
        assert guess.text.count("[items.") == 2, "one type of items, and its fields"
        assert guess.items == 4


def test_a_hostile_page_gives_a_file_that_can_be_written() -> None:
    thing = (
        r'{"@type": "Product", "name": "\ud800 x", "copy": 1, "model_dump": 2, '
        r'"a\ud800b": "y", "new\nline": "z"}'
    )
    guess = guess_on(page(f'<script type="application/ld+json">{thing}</script>'))
    assert guess.text.encode()
    assert items_of(guess, page(f'<script type="application/ld+json">{thing}</script>'))


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<h1>Hello</h1><p>One text.</p>",
        "<nav><ul><li><a href=/a>A</a><li><a href=/b>B</a><li><a href=/c>C</a></ul></nav><p>text",
        "<ul class=menu><li><a href=/a>A</a><li><a href=/b>B</a><li><a href=/c>C</a></ul>",
        "<p>same</p><p>same</p><p>same</p><p>same</p>",
        '<script type="application/ld+json">{"@type": "WebSite", "name": "x"}</script>',
    ],
)
def test_where_nothing_repeats_that_is_said(body: str) -> None:
    with pytest.raises(UsageError, match=r"nothing on .* repeats"):
        guess_on(page(body))


def is_right(made: GuessPage) -> bool:
    """Whether the proposal for a page takes what a person would, and shows another reading."""
    response = page(made.body)
    try:
        guess = guess_on(response)
    except UsageError:
        return False
    items = items_of(guess, response)
    held = [[str(value) for value in item.values()] for item in items]
    return (
        len(items) == made.size
        and set(made.values) <= set(held[0])
        and not any(word in value for values in held for value in values for word in made.without)
        and (not made.other or ("# items = [{ type = " in guess.text and made.other in guess.text))
        and any(line.startswith("another reading") for line in guess.found) >= bool(made.other)
    )


@pytest.mark.parametrize("name", GUESS_PAGES)
def test_a_page_of_each_kind_is_read_as_a_person_would(name: str) -> None:
    assert is_right(GUESS_PAGES[name])


@pytest.mark.slow
def test_the_score_over_all_kinds_of_page(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [name for name, made in GUESS_PAGES.items() if not is_right(made)]
    kinds = len(GUESS_PAGES)
    with capsys.disabled():
        print(f"\ngossamer guess is right on {kinds - len(wrong)} of {kinds} kinds of page")
    assert not wrong


def test_the_other_reading_runs_when_it_is_taken() -> None:
    """Whoever prefers it removes the marks of comments, and the line of the first reading."""
    made = GUESS_PAGES["a product with what others bought"]
    response = page(made.body)
    text = guess_on(response).text
    head, mark, other = text.partition("# The page may be read in another way")
    lines = [line.removeprefix("# ").removeprefix("#") for line in other.splitlines()[1:]]
    assert mark
    taken = re.sub(r"(?m)^items = .*$", lines[0], head, count=1) + "\n".join(lines[1:])
    spider = make_spider(parse_document(taken, tomllib.loads(taken), "guess"))()
    found = [one for one in spider.parse(response) if not isinstance(one, Request)]
    assert [item.title for item in found] == [f"Lamp {n}" for n in range(6)]


TAGS = ("div", "p", "ul", "li", "a", "h2", "span", "table", "tr", "td", "img", "article")
MARKUP = st.recursive(
    st.text(max_size=8).map(escape),
    lambda inner: st.builds(
        lambda tag, name, children: (
            f'<{tag} class="{escape(name)}" href="{escape(name)}">{"".join(children)}</{tag}>'
        ),
        st.sampled_from(TAGS),
        st.text(max_size=6),
        st.lists(inner, max_size=4),
    ),
    max_leaves=25,
)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(blocks=st.lists(MARKUP, min_size=1, max_size=6), times=st.integers(1, 4))
def test_whatever_a_page_is_the_proposal_runs_or_there_is_none(blocks: list[str], times: int) -> None:
    response = page("".join(blocks) * times)
    if propose_spider(response, "site.test") is not None:
        assert guess_on(response).items > 0


@from_corpus("shop", cases=48)
def test_a_real_shop() -> None:
    """What is proposed for the first page finds every product on all of its pages."""
    pages = {
        number: page(
            (corpus("shop") / f"{number}.html").read_bytes(), f"https://scrapeme.live/shop/page/{number}/"
        )
        for number in range(1, 49)
    }
    guess = guess_on(pages[1])
    found = [item for one in pages.values() for item in items_of(guess, one)]
    assert len(found) == len({item["product_id"] for item in found}) == 755
    assert all(item["title"] and float(item["price"]) > 0 and item["link"] for item in found)
    assert next_of(guess, pages[1]) == ["https://scrapeme.live/shop/page/2/"]
    assert next_of(guess, pages[48]) == []


@pytest.mark.slow
@from_corpus("pages", cases=60)
def test_real_pages_give_spiders_that_run_or_none() -> None:
    count = 0
    for file in sorted(corpus("pages").glob("*.html.gz")):
        count += 1
        response = page(gzip.decompress(file.read_bytes()))
        if propose_spider(response, "site.test") is not None:
            assert guess_on(response).items > 0, file.name
    assert count == 60
