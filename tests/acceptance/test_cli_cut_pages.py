"""A page that was cut says so everywhere: in the summary, in the ledger and in what is kept of it."""

import json

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

PAGES = {
    "/": SiteResponse(200, b"<a href=/deep>deep</a><a href=/plain>plain</a>"),
    "/deep": SiteResponse(200, b"<title>deep</title>" + b"<div>" * 100_000 + b"<a href=/after>after</a>"),
    "/plain": SiteResponse(200, b"<p>plain"),
    "/after": SiteResponse(200, b"<p>after"),
}


def job(url):
    """The job of a crawl of this URL."""
    return url.removeprefix("http://").replace(":", "-") + "-1"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut")
    with serve_in_thread(lambda path, headers: PAGES.get(path, SiteResponse(404))) as site:
        yield folder, site.url, gossamer(f"crawl {site.url} -o pages.jsonl", *FAST, cwd=folder).stderr


def test_the_summary_counts_cut_pages_and_says_where_they_are_listed(crawled):
    _, url, said = crawled
    (line,) = (line for line in said.splitlines() if line.startswith("cut"))
    assert line.split(maxsplit=1)[1] == f"1 page: `gossamer attempts {job(url)} --flag parse_truncated`"


def test_programs_are_told_too(crawled, tmp_path):
    done = gossamer(f"crawl {crawled[1]} --json", *FAST, cwd=tmp_path)
    assert json.loads(done.stdout)["cut_pages"] == {"parse_truncated": 1}


def test_the_ledger_says_what_was_left_out(crawled):
    folder, url, _ = crawled
    (row,) = asked(f"attempts {job(url)} --flag parse_truncated", cwd=folder)
    assert (row["url"], row["flags"]) == (f"{url}/deep", ["parse_truncated", "cut_depth"])
    assert row["verdict"] == "success"


def test_what_the_built_in_spider_keeps_says_so_too(crawled):
    folder, url, _ = crawled
    items = [json.loads(line) for line in (folder / "pages.jsonl").read_text().splitlines()]
    flags = {item["url"].removeprefix(url): item["flags"] for item in items}
    assert flags["/deep"] == "parse_truncated cut_depth"
    assert flags["/plain"] == flags["/after"] == ""
