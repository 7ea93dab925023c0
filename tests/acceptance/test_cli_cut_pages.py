"""A page that was cut says so everywhere: in the summary, in the ledger and in what is kept of it."""

import gzip
import json
import zlib
from collections import Counter

import brotli
import pytest

from gossamer.fetch.http.codings import zstd
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


# --------------------------------------------------------------------------- a compressed body that is cut

PACK = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstd.compress}
ROWS = "".join(f"<p>Paragraph {n}, with {n * n} words of its own.</p>\n" for n in range(400))
AGAIN = ("--set", "retry_backoff=0.01", "--set", "max_retries=2")


def cut_site(tries):
    """Pages that are cut at their first ``tries`` tries: the link at the end of each is lost with it."""
    asked_for = Counter()

    def app(path, headers):
        coding = path[1:]
        if not coding:
            return SiteResponse(200, "".join(f"<a href=/{name}>{name}</a>" for name in PACK).encode())
        if coding not in PACK:
            return SiteResponse(200, b"<p>found")
        asked_for[coding] += 1
        body = PACK[coding](f"{ROWS}<a href=/after-{coding}>next</a>".encode())
        if asked_for[coding] <= tries:
            body = body[: -len(body) // 3]
        return SiteResponse(200, body, headers=(("Content-Encoding", coding),))

    return app


def test_a_page_that_was_cut_is_fetched_again_and_loses_no_link(tmp_path):
    with serve_in_thread(cut_site(1)) as site:
        done = gossamer(f"crawl {site.url} --json --archive", *AGAIN, *FAST, cwd=tmp_path)
        rows = asked(f"attempts {job(site.url)} --reason incomplete", cwd=tmp_path)
        found = json.loads(done.stdout)
        assert (found["pages"], found["cut_pages"]) == (1 + 2 * len(PACK), {})
        assert {(row["verdict"], *row["flags"]) for row in rows} == {("retry", "truncated")}
        hits = len(site.hits)
        again = json.loads(gossamer(f"replay {job(site.url)} --json", cwd=tmp_path).stdout)
        assert (again["pages"], len(site.hits)) == (found["pages"], hits)


def test_a_page_that_is_always_cut_is_kept_in_part_and_said_to_be(tmp_path):
    with serve_in_thread(cut_site(100)) as site:
        done = gossamer(f"crawl {site.url} --json --archive", *AGAIN, *FAST, cwd=tmp_path)
        assert json.loads(done.stdout)["cut_pages"] == {"truncated": len(PACK)}
        assert {n for path, n in site.log.count_paths().items() if path[1:] in PACK} == {3}
        again = json.loads(gossamer(f"replay {job(site.url)} --json", cwd=tmp_path).stdout)
        assert again["pages"] == 1 + len(PACK), "an archive has nothing else to give: it is not asked again"
