"""A page whose compressed body was cut: tried again, and kept in part only at the last try."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.core.archive import ARCHIVE_RUNG
from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, ExtractResult, FetchResult
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.policy.validators import validator_of
from kit.engine import CALM, URL, Kit, virtually

CUT = ("retry", "incomplete", (TRUNCATED,))


def cut_page(kit: Kit, status: int = 200) -> FetchResult:
    headers = {"content-type": "text/html", "location": URL + "b"}
    return replace(kit.site.page(URL, status, headers), flags=(TRUNCATED,))


async def crawl(*whole_after: int, rules: FrontierRules = CALM, status: int = 200, rung: str = "http") -> Kit:
    """A crawl of one page that is cut, and whole after so many tries; without a number, never."""
    kit = Kit(rules)
    cut = replace(cut_page(kit, status), rung=rung)
    kit.site.replies[URL] = [*[cut] * (whole_after or (1,))[0], kit.site.page(URL) if whole_after else cut]
    kit.pages.yields = {URL: ExtractResult(requests=(Request(URL + "linked"),))}
    await Supervisor(kit.parts, Worker(kit.parts, kit.shift), drain_s=5.0).run(kit.seeds_of(URL))
    return kit


def ends_of(kit: Kit, url: str = URL) -> list[tuple[str, str, tuple[str, ...]]]:
    rows = [row for result in kit.ledger.results for row in result.attempts if row.url == url]
    return [(row.verdict.value, row.reason, row.flags) for row in rows]


def test_the_next_try_brings_the_whole_page() -> None:
    kit = virtually(crawl, 1)
    assert ends_of(kit) == [CUT, ("success", "", ())]


def test_a_page_that_is_always_cut_is_kept_in_part_at_the_last_try() -> None:
    kit = virtually(crawl)
    assert ends_of(kit) == [*[CUT] * 3, ("success", "", (TRUNCATED,))]
    assert ends_of(kit, URL + "linked") == [("success", "", ())], "its links are followed, once"


def test_without_retries_the_part_is_kept_at_once() -> None:
    kit = virtually(lambda: crawl(rules=replace(CALM, max_retries=0)))
    assert ends_of(kit) == [("success", "", (TRUNCATED,))]


def test_an_archive_has_nothing_else_to_give() -> None:
    kit = virtually(lambda: crawl(rung=ARCHIVE_RUNG))
    assert ends_of(kit) == [("success", "", (TRUNCATED,))]


@pytest.mark.parametrize(("status", "end"), [(302, "redirect"), (404, "skipped")])
def test_the_body_of_a_redirect_or_a_refusal_is_not_needed(status: int, end: str) -> None:
    (row,) = ends_of(virtually(lambda: crawl(status=status)))
    assert row[0] == end


def test_a_part_of_a_page_is_never_what_has_not_changed() -> None:
    """Its validators are not kept: the next crawl asks for the page itself."""
    whole = virtually(crawl, 0).site.page(URL, 200, {"etag": '"1"'})
    assert validator_of(whole, "etag") == '"1"'
    assert validator_of(replace(whole, flags=(TRUNCATED,)), "etag") == ""
