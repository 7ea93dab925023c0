"""A crawl of a site that refuses whoever does not look like a browser, by real fetchers."""

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
