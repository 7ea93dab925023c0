"""``gossamer fetch URL --ladder``: what each rung gets, side by side."""

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import asked, gossamer

CHALLENGE = (("cf-mitigated", "challenge"),)


def world(path, headers):
    """A site that refuses some pages."""
    if path == "/robots.txt":
        return SiteResponse(404)
    if path == "/refusing":
        return SiteResponse(403, b"<title>Just a moment...</title>", headers=CHALLENGE)
    return SiteResponse(body=b'<title>Shop</title><a href="/a">a</a><a href="/b">b</a>')


@pytest.fixture(scope="module")
def site():
    with serve_in_thread(world) as served:
        yield served


def test_the_rungs_stand_side_by_side(site, tmp_path):
    """One that is missing here is a row, too, and costs the others nothing."""
    one, two = asked("fetch", site.url + "/", "--rungs", "http,http+mobile", cwd=tmp_path)
    assert (one["rung"], one["status"], one["links"], one["title"], one.get("block", "")) == (
        "http",
        200,
        2,
        "Shop",
        "",
    )
    assert one["seen_as"].startswith("gossamer/")
    assert (two["rung"], two["status"]) == ("http+mobile", 0)
    assert "mobile" in two["error"]


def test_a_refusal_says_by_what_it_was_recognised(site, tmp_path):
    (row,) = asked("fetch", site.url + "/refusing", "--ladder", cwd=tmp_path)
    assert (row["status"], row["block"]) == (403, "cloudflare")
    shown = gossamer(f"fetch {site.url}/refusing --ladder", cwd=tmp_path).stdout
    assert "cloudflare" in shown
    assert "blocked by" in shown


def test_the_page_of_another_rung_says_which_browser_it_looked_like(site, tmp_path):
    (row,) = asked("fetch", site.url + "/", "--rungs", "impersonate", cwd=tmp_path)
    assert (row["status"], row["seen_as"]) == (200, "chrome")


def test_a_rung_that_does_not_exist_names_the_nearest(site, tmp_path):
    told = gossamer(f"fetch {site.url}/ --rungs http,brwser", cwd=tmp_path, code=2).stderr
    assert "did you mean 'browser'?" in told


def test_options_that_have_no_effect_on_a_comparison_are_refused(site, tmp_path):
    for option in ("--body", "--headers"):
        told = gossamer(f"fetch {site.url}/ --rungs http {option}", cwd=tmp_path, code=2).stderr
        assert "--body and --headers show one answer" in told
    told = gossamer(f"fetch {site.url}/ --ladder --rungs http", cwd=tmp_path, code=2).stderr
    assert "--ladder and --rungs both say which rungs to compare" in told
