"""A redirect to a page that is known already is said: in the summary, in the ledger, by explain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.programs import rows

SPIDER = """
from gossamer import Spider


class Guarded(Spider):
    name = "guarded"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield from response.follow_all(css="a.login", callback=self.parse_login, priority=4)
        yield from response.follow_all(css="a.item", callback=self.parse_item)

    def parse_login(self, response):
        yield {"page": "login"}

    def parse_item(self, response):
        yield {"page": response.url}
"""


def guarded(path: str, headers: Mapping[str, str]) -> SiteResponse:
    """Three of its items are for people who are logged in; the fourth has moved, the fifth is a ring."""
    if path == "/":
        items = "".join(f"<a class=item href=/item/{number}>x</a>" for number in range(6))
        return SiteResponse(200, f"<html><a class=login href=/login>x</a>{items}</html>".encode())
    if path in ("/item/0", "/item/1", "/item/2"):
        return SiteResponse(302, headers=(("Location", "/login?utm_source=redirect"),))
    if path == "/item/3":
        return SiteResponse(301, headers=(("Location", "/moved"),))
    if path == "/item/4" and "seen=1" not in headers.get("cookie", ""):
        return SiteResponse(302, headers=(("Location", "/item/4"), ("Set-Cookie", "seen=1")))
    return SiteResponse(404) if path == "/robots.txt" else SiteResponse(200, b"<html>fine</html>")


@pytest.fixture
def site() -> Iterator[Site]:
    with serve_in_thread(guarded) as served:
        yield served


@pytest.fixture
def here(tmp_path: Path, site: Site) -> Path:
    (tmp_path / "guarded.py").write_text(SPIDER.replace("{url}", site.url))
    return tmp_path


@pytest.mark.parametrize("layout", [(), ("-s", "store.url=sqlite:///items.db")])
def test_it_is_counted_listed_and_explained(here: Path, site: Site, layout: tuple[str, ...]) -> None:
    shown = gossamer("crawl guarded.py", *FAST, *layout, cwd=here)
    assert "3 redirects led to pages that were known already, most of them to " in shown.stderr
    assert f"{site.url}/login" in shown.stderr
    assert "gossamer attempts guarded-1 --reason known_target" in shown.stderr
    assert f"pages redirect to {site.url}/login, which looks like a log-in" in shown.stderr

    listed = asked("attempts guarded-1 --reason known_target", *layout, cwd=here)
    assert sorted(row["url"] for row in listed) == [f"{site.url}/item/{number}" for number in range(3)]
    assert {row["verdict"] for row in listed} == {"redirect"}
    assert [row["flags"] for row in listed] == [["block:log_in"]] * 3, "and is no silent success"
    status = gossamer("status guarded", *layout, cwd=here).stdout
    assert "redirects  3 to pages that were known already" in status
    assert "failures" not in status, "nothing has failed"

    found = asked(f"explain {site.url}/item/1", *layout, cwd=here)
    assert found["answer"] == "redirected"
    text = " ".join(found["lines"])
    assert f"a redirect to {site.url}/login, which was known already." in text
    assert "That looks like a page where one logs in: this one is for members." in text
    assert "That was fetched by a request of its own at " in text
    assert (
        f"(what led to it: a link on {site.url}/): the callback was not run for the page of this one." in text
    )
    other = asked(f"explain {site.url}/item/3", *layout, cwd=here)
    assert "which is a request of its own" in other["lines"][0]
    assert "logs in" not in " ".join(other["lines"])


def test_a_page_that_redirects_to_itself_is_not_told_of(here: Path) -> None:
    gossamer("crawl guarded.py -q", *FAST, cwd=here)
    query = "select verdict, reason from attempt where url like '%/item/4' order by id"
    assert rows(here / ".gossamer", query) == [("redirect", ""), ("success", "")]


def test_redirects_that_are_under_way_together_are_all_told_of(tmp_path: Path) -> None:
    """Ten pages redirect to one that nobody knew: the first brings it, nine are told of."""

    def app(path: str, headers: Mapping[str, str]) -> SiteResponse:
        if path == "/":
            return SiteResponse(200, "".join(f"<a href=/{n}>x</a>" for n in range(10)).encode())
        if path == "/robots.txt":
            return SiteResponse(404)
        if path == "/form":
            return SiteResponse(200, b"<html>form</html>")
        return SiteResponse(302, headers=(("Location", "/form"),), delay_s=0.05)

    with serve_in_thread(app) as site:
        result = asked(f"crawl {site.url}/", *FAST, cwd=tmp_path)
    assert (result["redirects_to_known"], result["pages"], result["attempts"]) == (9, 2, 12)
