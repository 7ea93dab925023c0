"""A crawl of a site that refuses whoever does not look like a browser, by real fetchers."""

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

RUNGS = ("-s", 'ladder.rungs=["http", "impersonate"]')


def world(path, headers):
    if path == "/robots.txt":
        return SiteResponse(404)
    if "Mozilla" not in headers.get("user-agent", ""):
        return SiteResponse(403, b"<title>Just a moment...</title>", headers=(("cf-mitigated", "challenge"),))
    links = "".join(f'<a href="/{n}">x</a>' for n in range(20)) if path == "/" else ""
    return SiteResponse(body=f"<title>Page</title>{links}".encode())


def test_the_host_climbs_every_page_arrives_and_the_next_crawl_knows_it(tmp_path):
    with serve_in_thread(world) as site:
        ran = asked("crawl", f"{site.url}/", *RUNGS, *FAST, cwd=tmp_path)
        assert (ran["pages"], ran["dead"], ran["retries"]) == (21, 0, 1)
        rows = asked("attempts", ran["job"], cwd=tmp_path)
        (refused,) = [row for row in rows if row["reason"] == "blocked"]
        step = "climbs from http to impersonate: cloudflare: the header cf-mitigated: challenge"
        assert (refused["rung"], refused["detail"].split(";")[0]) == ("http", step)
        assert {row["rung"] for row in rows if row["verdict"] == "success"} == {"impersonate"}

        told = asked("explain", f"{site.url}/3", cwd=tmp_path)
        assert (told["rung"], told["rung_why"]) == ("impersonate", step)
        assert told["probe_at"] > told["rung_since"]
        assert any("has been on the rung impersonate since" in line for line in told["lines"])
        shown = gossamer(f"explain {site.url}/3", cwd=tmp_path).stdout
        assert "has been on the rung impersonate since" in " ".join(shown.split())

        again = asked("crawl", f"{site.url}/", "--fresh", *RUNGS, *FAST, cwd=tmp_path)
        assert (again["pages"], again["retries"]) == (21, 0), "nothing is learnt twice"


@pytest.mark.parametrize("status", [426, 505])
def test_robots_txt_is_read_by_the_rung_that_speaks_the_version_of_the_host(tmp_path, status):
    asked_for = []

    def app(path, headers):
        is_browser = "Mozilla" in headers.get("user-agent", "")
        asked_for.append((path, is_browser))
        if not is_browser:
            return SiteResponse(status, b"<title>No</title>")
        if path == "/robots.txt":
            return SiteResponse(
                body=b"User-agent: *\nDisallow: /private", headers=(("content-type", "text/plain"),)
            )
        return SiteResponse(body=b"<title>Page</title><a href=/private>x</a><a href=/open>y</a>")

    with serve_in_thread(app) as site:
        ran = asked("crawl", f"{site.url}/", *RUNGS, *FAST, cwd=tmp_path)
    assert (ran["pages"], ran["dead"], ran["retries"]) == (2, 0, 1)
    assert asked_for[:4] == [("/robots.txt", False), ("/", False), ("/robots.txt", True), ("/", True)]
    assert ("/private", True) not in asked_for


@pytest.mark.parametrize("status", [421, 426, 505])
def test_a_host_that_wants_another_version_of_http_climbs_at_once(tmp_path, status):
    def app(path, headers):
        if path == "/robots.txt":
            return SiteResponse(404)
        if "Mozilla" not in headers.get("user-agent", ""):
            return SiteResponse(status, b"<title>No</title>", headers=(("upgrade", "h2c"),) * (status == 426))
        return SiteResponse(body=b"<title>Page</title>")

    with serve_in_thread(app) as site:
        ran = asked("crawl", f"{site.url}/", *RUNGS, *FAST, cwd=tmp_path)
        assert (ran["pages"], ran["dead"], ran["retries"]) == (1, 0, 1)
        rows = {row["status"]: row for row in asked("attempts", ran["job"], cwd=tmp_path)}
    step = f"climbs from http to impersonate: status {status} asks for another version of HTTP"
    assert rows.keys() == {status, 200}
    assert (rows[status]["detail"].split(";")[0], rows[200]["rung"]) == (step, "impersonate")


def refusal_of(how):
    """How a site of three rungs refuses; the log-in is a page like any other."""
    if how == "status":
        return SiteResponse(403, b"<title>No</title>")
    if how == "redirect":
        return SiteResponse(302, headers=(("location", "/login"),))
    return SiteResponse(body=b'<title>Wait</title><meta http-equiv="refresh" content="0; url=/login">')


SPIDER = """
from gossamer import Spider


class Shop(Spider):
    name = "shop"
    start_urls = ["{url}/%d" % number for number in range(12)]

    def parse(self, response):
        yield {"title": response.css("title::text").get(), "price": response.css("b::text").get()}
"""


@pytest.mark.long
@pytest.mark.parametrize("how", ["status", "redirect", "refresh"])
def test_a_site_that_refuses_both_plain_rungs_loses_no_page(tmp_path, how):
    """The log-in to which it sends visitors is never taken for one of its pages."""

    def app(path, headers):
        if path == "/robots.txt":
            return SiteResponse(404)
        if path == "/login":
            return SiteResponse(body=b"<title>Log in</title>")
        page = SiteResponse(body=f"<title>Lamp {path}</title><b>9</b>".encode())
        return page if "sec-fetch-dest" in headers else refusal_of(how)

    rungs = ("-s", 'ladder.rungs=["http", "impersonate", "browser"]')
    with serve_in_thread(app) as site:
        (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", site.url))
        ran = asked("crawl shop.py --delay 0 --per-host 2", *rungs, cwd=tmp_path)
        rows = asked("attempts", ran["job"], cwd=tmp_path)
    assert (ran["pages"], ran["items"], ran["dead"]) == (12, 12, 0)
    items = asked("export shop", cwd=tmp_path)
    assert {item["price"] for item in items} == {"9"}
    assert {row["rung"] for row in rows if row["verdict"] == "success"} == {"browser"}
    assert not [row for row in rows if row["url"].endswith("/login")]
