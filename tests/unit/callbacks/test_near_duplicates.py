"""Pages that say almost the same are marked, or left out; the same page twice is not like itself."""

import pytest

from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.callbacks.near_duplicates import CopyExtractor
from gossamer.config.settings import Settings
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.policy.simhash import PageIndex
from gossamer.spiders.spider import Spider
from gossamer.wiring.extractors import compare_pages

WORDS = " ".join(f"word{number}" for number in range(2000))


class One(Spider):
    name = "one"

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")


def extractor_of(*, skips):
    spider = One()
    inner = SpiderExtractor(lambda _: spider)
    return CopyExtractor(inner, PageIndex(3), min_words=50, skips=skips)


async def extract(extractor, url, text=WORDS, kind="text/html"):
    fetched = FetchResult(
        url=url, status=200, headers=(("content-type", kind),), rung="http",
        body=f"<p>{text}</p><a href=/next>next</a>".encode(), started_at=0.0, latency_s=0.0, elapsed_s=0.0,
    )  # fmt: skip
    return await extractor.extract(Request(url), fetched)


@pytest.mark.parametrize("skips", [False, True])
async def test_a_page_like_another_is_marked_and_may_be_left_out(skips):
    extractor = extractor_of(skips=skips)
    first = await extract(extractor, "http://a.example/1")
    again = await extract(extractor, "http://a.example/1")
    for result in (first, again):
        assert (len(result.items), len(result.requests), result.flags) == (1, 1, ())
    copy = await extract(extractor, "http://a.example/2", f"{WORDS} 7")
    assert copy.flags == ("near_duplicate",)
    assert copy.dropped["page:near_duplicate"] == 1
    assert (len(copy.items), len(copy.requests)) == ((0, 0) if skips else (1, 1))
    assert copy.is_parsed


@pytest.mark.parametrize(
    ("url", "text", "kind"),
    [
        ("http://b.example/1", WORDS, "text/html"),
        ("http://a.example/2", "short", "text/html"),
        ("http://a.example/2", WORDS[::-1], "text/html"),
        ("http://a.example/2", WORDS, "text/plain"),
    ],
)
async def test_what_is_not_like_it_is_taken(url, text, kind):
    extractor = extractor_of(skips=True)
    await extract(extractor, "http://a.example/1")
    assert (await extract(extractor, url, text, kind)).flags == ()


def product_page(number):
    name = f"Folding Shade No. {number}"
    return f"<title>{name} - Shop</title><h1>{name}</h1><p>{number * 7}.50 EUR</p>{WORDS}"


def product_page_without_a_name(number):
    return f"<title>Shop</title><p>Folding Shade No. {number}</p><p>{number * 7}.50 EUR</p>{WORDS}"


def copied_article(number):
    return f"<title>News</title><h1>What has happened</h1><p>Read on {number} May</p>{WORDS}"


@pytest.mark.parametrize(
    ("make", "pages", "kept"),
    [(product_page, 48, 48), (product_page_without_a_name, 48, 1), (copied_article, 10, 1)],
)
async def test_products_of_one_template_are_kept_and_copies_of_an_article_are_not(make, pages, kept):
    """A bug it would catch: most of a shop is left out, for its template has more words than its products."""
    extractor = extractor_of(skips=True)
    found = [await extract(extractor, f"http://a.example/{number}", make(number)) for number in range(pages)]
    assert sum(bool(result.items) for result in found) == kept
    assert sum("near_duplicate" in result.flags for result in found) == pages - kept


async def test_nothing_is_compared_unless_asked_for():
    inner = SpiderExtractor(lambda _: One())
    assert compare_pages(Settings(), inner) is inner
    asked = Settings(duplicates={"near": "skip"})
    assert isinstance(compare_pages(asked, inner), CopyExtractor)
