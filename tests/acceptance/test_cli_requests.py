"""Requests to one URL are told apart wherever they are listed: by method, body, headers and arguments."""

import gzip
import random

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

SPIDER = """
from gossamer import Request, Spider

class Search(Spider):
    name = "search"
    allowed_domains = ["127.0.0.1"]

    def start(self):
        for page in (1, 2, 3):
            form = f"q=shoes&page={page}&password=hunter2"
            yield Request("{url}/find", callback=self.parse_found, method="POST", body=form,
                          headers={"X-Page": str(page), "X-Auth": "hunter3"}, cb_kwargs={"page": page})
        yield Request("{url}/plain")
        yield Request("{url}/cut")

    def parse(self, response):
        yield {"url": response.url}

    def parse_found(self, response, page):
        yield {"page": page}
"""

CUT = gzip.compress(random.Random(1).randbytes(9999))[:5000]


def search(path, headers):
    """Page 2 is refused."""
    if path == "/robots.txt":
        return SiteResponse(404)
    if path == "/cut":
        return SiteResponse(200, CUT, headers=(("content-encoding", "gzip"),))
    return SiteResponse(403 if headers.get("x-page") == "2" else 200)


@pytest.fixture(scope="module")
def site():
    with serve_in_thread(search) as served:
        yield served


@pytest.fixture(scope="module")
def crawled(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("crawled")
    (folder / "search.py").write_text(SPIDER.replace("{url}", site.url))
    gossamer("crawl search.py -q --set max_retries=0", *FAST, cwd=folder)
    return folder


def test_attempts_tell_requests_to_one_url_apart(crawled, site):
    rows = asked(f"attempts search --url {site.url}/find", cwd=crawled)
    assert {row["method"] for row in rows} == {"POST"}
    assert len({row["fingerprint"] for row in rows}) == 3
    told = {row["request"]["body"]: row["request"] for row in rows}
    assert set(told) == {f"q=shoes&page={page}&password=***" for page in (1, 2, 3)}
    (second,) = (request for body, request in told.items() if "page=2" in body)
    assert second == {
        "callback": "parse_found",
        "headers": ["X-Page", "X-Auth"],
        "body": "q=shoes&page=2&password=***",
        "body_bytes": len("q=shoes&page=2&password=hunter2"),
        "cb_kwargs": {"page": 2},
        "meta": [],
        "redirected_by": "",
        "options": [],
    }
    (plain,) = asked(f"attempts search --url {site.url}/plain", cwd=crawled)
    assert (plain["method"], plain["request"], plain["flags"]) == ("GET", None, [])
    assert len(asked("attempts search --method post", cwd=crawled)) == 3
    assert len(asked("attempts search --method post --status 403", cwd=crawled)) == 1


def test_the_table_has_columns_for_it_only_where_it_is_needed(crawled):
    header, *rows = gossamer("attempts search --method post", cwd=crawled).stdout.splitlines()
    assert header.split()[-3:] == ["method", "request", "url"]
    assert sorted(row.split("q=shoes&page=")[1][0] for row in rows) == ["1", "2", "3"]
    assert all(" POST " in row for row in rows)
    header, *_ = gossamer("attempts search --method get", cwd=crawled).stdout.splitlines()
    assert not {"method", "request"} & set(header.split())


def test_a_dead_letter_shows_its_request_and_its_own_tries(crawled):
    (letter,) = asked("dead show search", cwd=crawled)
    (listed,) = asked("dead list search", cwd=crawled)
    assert {**listed, "tries": letter["tries"]} == letter
    assert [try_["request"]["cb_kwargs"] for try_ in letter["tries"]] == [{"page": 2}]
    assert (letter["method"], letter["body"]) == ("POST", "q=shoes&page=2&password=***")
    assert letter["headers"] == {"X-Page": "2", "X-Auth": "***"}
    assert (letter["cb_kwargs"], letter["callback"]) == ({"page": 2}, "parse_found")
    text = gossamer("dead show search", cwd=crawled).stdout
    for part in ("POST", "X-Page: 2; X-Auth: ***", "31 bytes: q=shoes&page=2", '{"page": 2}', "parse_found"):
        assert part in text, text
    assert text.count("attempt 1") == 1
    assert "hunter" not in text + str(letter)


def test_dead_letters_of_one_url_are_told_apart_in_the_list(crawled):
    header, row = gossamer("dead list search", cwd=crawled).stdout.splitlines()
    assert header.split()[-3:] == ["method", "request", "url"]
    assert " POST " in row
    assert "q=shoes&page=2&password=***" in row


def test_no_secret_is_in_the_ledger(crawled):
    for shown in (gossamer("attempts search", cwd=crawled), gossamer("attempts search --json", cwd=crawled)):
        assert "hunter" not in shown.stdout


def test_what_fetching_says_of_a_page_is_in_the_ledger(crawled, site):
    (row,) = asked("attempts search --flag truncated", cwd=crawled)
    assert (row["url"], row["flags"]) == (f"{site.url}/cut", ["truncated"])
    assert (row["rung"], row["address"], row["proxy"], row["session"]) == ("http", "127.0.0.1", "", "")
    assert row["wire_bytes"] == 5000, "as it came"
    assert row["cost"] == 0
    header, line = gossamer("attempts search --flag truncated", cwd=crawled).stdout.splitlines()
    assert "flags" in header.split()
    assert " truncated " in line
    assert asked("attempts search --flag trunc", cwd=crawled) == []


def test_explain_tells_the_requests_to_a_url_whatever_their_method(crawled, site):
    """Before, it was never seen."""
    url = f"{site.url}/find"
    found = asked(f"explain {url} --spider search.py", cwd=crawled)
    assert (found["job"], len(found["other_requests"])) == ("search-1", 3)
    answers = {other["request"]["cb_kwargs"]["page"]: other["answer"] for other in found["other_requests"]}
    assert answers == {1: "done", 2: "dead", 3: "done"}
    assert found["answer"] in ("done", "dead")
    text = " ".join(found["lines"])
    assert "never seen" not in text
    assert "No GET of it is known, but other requests to this URL are: 3." in text
    assert "POST (q=shoes&page=1&password=***; cb_kwargs" in text
    assert "hunter" not in text


def test_explain_one_of_them_by_its_method_and_body(crawled, site):
    body = "q=shoes&page=2&password=hunter2"
    found = asked(f"explain {site.url}/find --spider search.py --body {body!r}", cwd=crawled)
    assert (found["method"], found["answer"], found["status"]) == ("POST", "dead", 403)
    assert [tried["request"]["cb_kwargs"] for tried in found["tries"]] == [{"page": 2}]
    assert len(found["other_requests"]) == 2
    unknown = asked(f"explain {site.url}/find --spider search.py -X PUT --body x", cwd=crawled)
    assert "No PUT of it (x) is known, but other requests to this URL are: 3." in unknown["lines"]
    plain = asked(f"explain {site.url}/plain --spider search.py", cwd=crawled)
    assert (plain["answer"], plain["other_requests"]) == ("done", [])


def test_the_same_where_requests_are_in_redis_and_items_in_postgresql(
    tmp_path, site, redis_url, postgres_url
):
    env = {"GOSSAMER_FRONTIER__URL": redis_url, "GOSSAMER_STORE__URL": postgres_url}
    (tmp_path / "search.py").write_text(SPIDER.replace("{url}", site.url))
    gossamer("crawl search.py -q --set max_retries=0", *FAST, cwd=tmp_path, env=env)

    def told(line):
        return asked(line, cwd=tmp_path, env=env)

    rows = told("attempts search --method post")
    assert {row["request"]["body"] for row in rows} == {f"q=shoes&page={n}&password=***" for n in (1, 2, 3)}
    assert [row["url"] for row in told("attempts search --flag truncated")] == [f"{site.url}/cut"]
    (letter,) = told("dead show search")
    assert [tried["request"]["cb_kwargs"] for tried in letter["tries"]] == [letter["cb_kwargs"]]
    found = told(f"explain {site.url}/find --spider search.py")
    assert sorted(other["answer"] for other in found["other_requests"]) == ["dead", "done", "done"]
    found = told(f"explain {site.url}/find --spider search.py --body 'q=shoes&page=2&password=hunter2'")
    assert (found["answer"], len(found["other_requests"])) == ("dead", 2)
