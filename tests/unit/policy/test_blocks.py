"""Pages that refuse us are recognised, and no others: a labelled set, made here, and real pages."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator

import pytest

from gossamer.core.results import FetchResult
from gossamer.core.routes import BlockKind
from gossamer.policy.blocks import BlockRules, find_block, find_redirect_block
from gossamer.testing.answers import SiteResponse
from gossamer.testing.refusals import ORDINARY, REFUSALS, refusal
from kit.corpora import corpus, from_corpus

RULES = BlockRules()


def fetched(answer: SiteResponse) -> FetchResult:
    return FetchResult(
        url="https://a.example/",
        status=answer.status,
        headers=(("content-type", answer.content_type), *answer.headers),
        body=answer.body,
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="http",
    )


def page(body: bytes, status: int = 200) -> FetchResult:
    return fetched(SiteResponse(status, body, "text/html"))


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_recognised_by_its_kind(name: str) -> None:
    wanted = REFUSALS[name]
    found = find_block(fetched(wanted.answer), RULES)
    assert found is not None
    assert (found.kind, found.is_certain) == (wanted.kind, wanted.is_certain)
    assert found.detail, "a person hears by what"


def test_every_kind_of_refusal_has_a_page() -> None:
    elsewhere = {
        *(BlockKind.MISSING, BlockKind.LOG_IN, BlockKind.CHALLENGE, BlockKind.SHELL, BlockKind.SPIDER),
    }
    assert {refusal.kind for refusal in REFUSALS.values()} == set(BlockKind) - elsewhere


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_page_is_no_refusal(name: str) -> None:
    assert find_block(fetched(ORDINARY[name]), RULES) is None


def real_pages() -> Iterator[tuple[str, bytes]]:
    for path in sorted(corpus("pages").glob("*.html.gz")):
        yield path.name, gzip.decompress(path.read_bytes())
    for path in sorted(corpus("shop").glob("*.html")):
        yield path.name, path.read_bytes()


@from_corpus("pages", cases=108)
@from_corpus("shop", cases=0)
def test_no_real_page_gives_a_false_alarm() -> None:
    pages = dict(real_pages())
    assert len(pages) == 108
    assert {name: found for name, body in pages.items() if (found := find_block(page(body), RULES))} == {}


@from_corpus("pages", cases=60)
def test_the_beginning_of_a_real_page_gives_no_false_alarm_either() -> None:
    """Small pages are looked at more closely than large ones."""
    for name, body in real_pages():
        for size in (1_000, 5_000, 19_000):
            assert find_block(page(body[:size]), RULES) is None, f"{name}, {size} bytes"


def test_large_pages_and_pages_with_links_are_left_alone() -> None:
    mark = b"<script>window._cf_chl_opt={};'challenge'</script>"
    assert find_block(page(mark), RULES) is not None
    assert find_block(page(mark + b" " * 30_000), RULES) is None
    assert find_block(page(mark + b"<a href=x>y</a>" * 20), RULES) is None
    assert find_block(page(mark + b"<a href=x>y</a>" * 20, status=403), RULES) is not None


def test_own_marks_count_on_every_page() -> None:
    rules = BlockRules(marks=(b"house rules",))
    body = b"<a href=x>y</a>" * 20 + b"<p>Our House Rules forbid it"
    found = find_block(page(body), rules)
    assert found is not None
    assert (found.kind, found.is_certain) == (BlockKind.WORDS, True)
    assert "house rules" in found.detail
    assert find_block(page(body), RULES) is None


def test_nothing_is_found_when_nothing_is_looked_for() -> None:
    assert find_block(fetched(refusal("cloudflare")), BlockRules(is_detected=False)) is None


@pytest.mark.parametrize("piece", [b"<script", b"<!--", b"<", b"<script></script", b"</script>", b"<style>a"])
def test_hostile_markup_costs_little(piece: bytes) -> None:
    body = b"captcha denied access denied <title>access denied" + piece * 20_000
    began = time.process_time()
    find_block(page(body, status=403), RULES)
    find_block(page(body[:20_000]), RULES)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("url", "location", "kind"),
    [
        ("/item/7", "/login?next=/item/7", BlockKind.LOG_IN),
        ("/item/7", "https://id.example/users/sign_in", BlockKind.LOG_IN),
        ("/item/7", "/account/login.php", BlockKind.LOG_IN),
        ("/item/7", "/sorry/index?continue=x", BlockKind.CHALLENGE),
        ("/item/7", "/errors/validateCaptcha", BlockKind.CHALLENGE),
        ("/daily", "/challenge/two-sum/", BlockKind.CHALLENGE),
        ("/login", "/login/step2", None),
        ("/item/7", "/item/8", None),
        ("/item/7", "/blog/login-pages-explained", None),
        ("/item/7", "/author/ann", None),
        ("/item/7", "", None),
        ("/item/7", "http://[::bad", None),
    ],
)
def test_a_redirect_tells_by_where_it_leads(url: str, location: str, kind: BlockKind | None) -> None:
    found = find_redirect_block("https://a.example" + url, location)
    assert (found and found.kind) == kind
    if found:
        is_proof = "sorry" in location or "validate" in location
        assert found.is_certain is is_proof, "there are ordinary pages of the other names"
