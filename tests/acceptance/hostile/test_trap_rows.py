"""What sites that never end do to a crawl.

The numbers are those of the rows of hostile inputs; each test names the class that its row ends in.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from gossamer.policy.traps import TrapRules, path_trap
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve
from kit.corpora import corpus, from_corpus
from kit.hostile.inside import (
    follower,
    html,
    paths,
    run,
)


def links(*targets: str) -> SiteResponse:
    return html("".join(f'<a href="{target}">x</a>' for target in targets))


def calendar(path: str, headers: Any) -> SiteResponse:
    """Every month links to the next one, and every page to the next page."""
    month = int(re.sub(r"\D", "", path.partition("?")[0]) or 0)
    page = int(path.partition("page=")[2] or 1)
    return links(f"/calendar/{month + 1}", f"/calendar/{month}?page={page + 1}")


def good(path: str, headers: Any) -> SiteResponse:
    number = int(path[1:] or 0)
    return html(
        f"{number}" + "".join(f'<a href="/{n}">x</a>' for n in (2 * number + 1, 2 * number + 2) if n < 60)
    )


async def test_row_41_an_infinite_site_beside_a_good_one_costs_only_its_budget(tmp_path: Path) -> None:
    """``max_pages``: the budget of the host is spent, the other host is complete."""
    async with serve(calendar) as bad, serve(good, host="127.0.0.2") as fine:
        spider = follower(bad.url + "/", fine.url + "/")
        result = await run(spider, tmp_path, max_pages_per_host=100)
        assert (len(bad.hits), len(fine.hits)) == (100, 60)
        assert result.finish_reason == "max_pages"


async def test_row_41_a_pattern_has_a_budget_of_its_own(tmp_path: Path) -> None:
    """``link:trap_pattern``: the crawl is finished, with so many URLs of each pattern."""
    async with serve(calendar) as bad, serve(good, host="127.0.0.2") as fine:
        settings = {"traps.max_per_pattern": 60}
        result = await run(follower(bad.url + "/", fine.url + "/"), tmp_path, **settings)
        assert len(fine.hits) == 60
        assert 100 < len(bad.hits) <= 121
        assert max(Counter(paths(bad)).values()) == 1
    assert result.finish_reason == "finished"
    assert result.left_out["link:trap_pattern"] > 0
    assert (await run(follower(bad.url + "/"), tmp_path / "deep", max_depth=3, max_pages=1)).pages == 0


async def test_row_42_session_ids_and_random_queries_end(tmp_path: Path) -> None:
    """``link:trap_same_body``: pages with the same words are the same, whatever ids they carry."""
    serial = itertools.count()

    def app(path: str, headers: Any) -> SiteResponse:
        word = f"{(next(serial) * 2654435761) % 2**32:08x}"
        return links(*(f"/shop?sid={word}{n}a" for n in range(4)))

    async with serve(app) as site:
        settings = {"traps.max_same_body": 50}
        result = await run(follower(site.url + "/shop?sid=1"), tmp_path, **settings, max_pages=5000)
        assert len(site.hits) < 400
    assert result.finish_reason == "finished"
    assert result.left_out["link:trap_same_body"] > 100
    # Ids that are known by name can be left out from the start.
    async with serve(app) as site:
        result = await run(follower(site.url + "/shop?sid=1"), tmp_path / "b", drop_session_ids=True)
        assert (len(site.hits), result.finish_reason) == (1, "finished")


async def test_row_43_paths_that_nest_into_themselves_end(tmp_path: Path) -> None:
    """``link:trap_repeats`` and ``link:trap_segments``."""

    def app(path: str, headers: Any) -> SiteResponse:
        serial = path.count("/")
        return links("a/", "b/c/") if path.startswith("/same") else links(f"x{serial}/")

    async with serve(app) as site:
        result = await run(follower(f"{site.url}/same/", f"{site.url}/deep/"), tmp_path, max_pages=8000,
                           **{"traps.max_segments": 8})  # fmt: skip
        asked = paths(site)
    assert result.finish_reason == "finished"
    assert "/same/a/a/" in asked
    assert not [path for path in asked if "/a/a/a/" in path or "/b/c/b/c/b/c/" in path]
    assert max(path.count("/") for path in asked) == 9
    assert result.left_out["link:trap_repeats"] > 0
    assert result.left_out["link:trap_segments"] > 0


def test_row_43_real_addresses_are_no_traps_and_long_ones_are_judged_at_once() -> None:
    rules = TrapRules()
    for path in (
        "/",
        "",
        "/a/a/",
        "/a/b/a/b/",
        "/2024/01/01/",
        "//x//y",
        "/a/b/c/a/b/c",
        "/en/docs/en/docs/x",
    ):
        assert path_trap("http://h.test" + path, rules) is None, path
    for path in ("/a/a/a", "/x/a/a/a/y", "/a/b/a/b/a/b/", "////", "/a/a/a?b"):
        assert path_trap("http://h.test" + path, rules) == "trap_repeats", path
    assert path_trap("http://h.test/" + "/".join("abcdefghijklmnopqrstu"), rules) == "trap_segments"
    begin = time.thread_time()
    for one in ("a/", "a/b/", "ab/cd/ef/"):
        path_trap("http://h.test/" + one * 4000, TrapRules(max_segments=None, max_repeats=5000))
    assert time.thread_time() - begin < 0.2


def ordinary_addresses() -> set[str]:
    """Addresses as they are found on pages: of shops, news, documentation, forums, wikis and repositories."""
    words = [
        "about",
        "news",
        "blog",
        "archive",
        "tag",
        "lamp",
        "chair",
        "guide",
        "python",
        "the-long-title-of-an-article",
        "page",
        "item",
    ]
    found = set()
    for n in range(400):
        one, two = words[n % len(words)], words[n // len(words) % len(words)]
        year, month, day = 2000 + n % 30, f"{n % 12 + 1:02}", f"{n % 28 + 1:02}"
        found |= {
            f"/{year}/{month}/{day}/{one}-{two}-{n}.html",
            f"/{one}/{two}/page-{n}/",
            f"/products/{one}/{one}-{two}/?color={n % 9}&size={n % 7}&sort=price",
            f"/wiki/{one.title()}:{two.title()}_({n})",
            f"/user/{one}{n}/repo-{two}/blob/main/src/{one}/{two}/{one}_{two}.py",
            f"/{one}/{two}/{one}-{n}/index.html",
            f"/docs/{n % 5}.{n % 10}/library/{one}.html?highlight={two}",
            f"/forum/viewtopic.php?f={n % 50}&t={n}&start={n % 20 * 10}",
            f"/en/{one}/en-gb/{two}/{n}",
            f"/img/{n:032x}/{one}.jpg",
        }
    return {f"https://{host}.example{path}" for host in ("www", "shop") for path in found}


def test_row_43_no_ordinary_address_is_a_trap() -> None:
    urls = ordinary_addresses()
    assert len(urls) > 4000
    assert {url: trap for url in urls if (trap := path_trap(url, TrapRules()))} == {}


@from_corpus("pages/links.jsonl", cases=60)
def test_row_43_no_link_of_a_real_page_is_a_trap() -> None:
    pages = [json.loads(line) for line in corpus("pages/links.jsonl").read_text().splitlines()]
    real = {url for page in pages for url in page["links"]}
    assert len(real) > 4000
    assert {url: trap for url in real if (trap := path_trap(url, TrapRules()))} == {}


async def test_row_44_the_same_body_on_thousands_of_urls_is_followed_only_so_often(tmp_path: Path) -> None:
    """``link:trap_same_body``: the pages are kept, their links are not followed any more."""

    def app(path: str, headers: Any) -> SiteResponse:
        return links("l/", "r/") if path != "/other" else links("/more")

    async with serve(app) as site:
        spider = follower(f"{site.url}/", f"{site.url}/other")
        result = await run(
            spider, tmp_path, max_pages=500, **{"traps.max_same_body": 40, "traps.max_repeats": None}
        )
        assert 80 <= len(site.hits) <= 85
        assert "/more" in paths(site)
    assert result.finish_reason == "finished"
    assert result.left_out["link:trap_same_body"] >= 80


async def test_row_45_a_site_that_answers_everywhere_has_one_budget_for_its_domain(tmp_path: Path) -> None:
    """``link:trap_domain``: hosts below one registrable domain count together."""
    from gossamer.core.requests import Request
    from gossamer.engine.admission import Admission
    from gossamer.policy.scope import Scope
    from gossamer.policy.traps import TrapCounter
    from gossamer.policy.urls import UrlOptions
    from kit.engine import follow

    admission = Admission(Scope(), UrlOptions(), b"k", traps=TrapCounter(TrapRules(max_per_domain=50)))
    dropped: dict[str, int] = {}
    taken = []
    for n in range(40):
        found = follow(*(f"http://h{n}-{i}.wild.co.uk/" for i in range(10)), f"http://good{n}.co.uk/")
        taken += admission.admit_links(Request("http://wild.co.uk/"), found.requests, dropped)
    assert dropped == {"link:trap_domain": 350}
    assert Counter(entry.host.endswith(".wild.co.uk") for entry in taken) == {True: 50, False: 40}
