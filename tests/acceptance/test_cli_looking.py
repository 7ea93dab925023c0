"""Commands that look at the ledger, one URL, one page, the settings; and the spider to begin with."""

import json
import re

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.programs import free_port

LINKS = (
    "/private",
    "/moved",
    "/gone",
    "/refused",
    "/busy",
    "/page?utm_source=x",
    "/hidden",
    "http://other.example/",
)


NOFOLLOW = b'<a rel="nofollow" href="/new">x</a>'


def world(path, headers):
    """A site with one page for every answer."""
    if path == "/robots.txt":
        return SiteResponse(body=b"User-agent: *\nDisallow: /private\n", content_type="text/plain")
    if path == "/":
        return SiteResponse(body="".join(f'<a href="{link}">x</a>' for link in LINKS).encode() + NOFOLLOW)
    if path == "/moved":
        return SiteResponse(301, headers=(("location", "/page"),))
    if path == "/abroad":  # typed as localhost
        port = headers["host"].rpartition(":")[2]
        return SiteResponse(301, headers=(("location", f"http://127.0.0.1:{port}/page"),))
    if path == "/refresh":
        return SiteResponse(body=b'<meta http-equiv="refresh" content="0; url=/page">')
    status = {"/gone": 404, "/refused": 403, "/busy": 500}.get(path, 200)
    return SiteResponse(status, b"<title>A \x1b[31mpage</title><h1>Page</h1>")


SPIDER = """
from gossamer import Item, Spider, key

class Thing(Item):
    url: str = key()
    title: str

class World(Spider):
    name = "world"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]
    settings = {"exclude": ["/hidden"], "retry_backoff": 1000.0, "retry_backoff_cap": 1000.0}

    def parse(self, response):
        yield Thing(url=response.url, title=response.css("h1::text").get())
        yield from response.follow_all(css="a")

    def parse_badly(self, response):
        yield {"title": "kept"}
        raise ValueError("no price")
"""


@pytest.fixture(scope="module")
def site():
    with serve_in_thread(world) as served:
        yield served


@pytest.fixture(scope="module")
def crawled(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("crawled")
    (folder / "world.py").write_text(SPIDER.replace("{url}", site.url))
    gossamer(
        "crawl world.py -q --max-time 2 -s retry_backoff=100", *FAST, cwd=folder
    )  # /busy waits for its retry
    return folder


@pytest.mark.parametrize(
    ("path", "answer", "part"),
    [
        ("/page", "done", "Items of this job that were last found at this URL: 1"),
        ("/page?utm_source=other#top", "duplicate", "same page as"),
        ("/private", "robots", "robots.txt does not allow it"),
        ("/moved", "redirected", "a redirect to"),
        ("/gone", "skipped", "no such page"),
        ("/refused", "dead", "gossamer dead retry world-1"),
        ("/busy", "retrying", "an error of the server"),
        ("/hidden", "out_of_scope", "exclude has '/hidden'"),
        ("/private/other", "never_seen", "robots.txt does not allow it, so it would be skipped"),
        ("/new", "never_seen", "may be one of them: 1 marked nofollow."),
    ],
)
def test_explain_by_path(crawled, site, path, answer, part):
    found = asked("explain --spider world.py", f"{site.url}{path}", cwd=crawled)
    assert (found["answer"], found["job"], found["scope_known"]) == (answer, "world-1", True)
    assert part.lower() in " ".join(found["lines"]).lower()


def test_explain_what_is_far_from_the_crawl(crawled, site):
    found = asked("explain http://other.example/ --spider world.py --job world", cwd=crawled)
    assert (found["answer"], found["refused"]) == ("out_of_scope", "offsite")
    assert asked("explain http://[nonsense", cwd=crawled)["answer"] == "bad_url"
    assert "neither a URL nor a host" in gossamer("explain nonsense", cwd=crawled, code=2).stderr
    found = asked("explain http://other.example/", cwd=crawled)  # the spider is in a file, somewhere
    assert (found["answer"], found["scope_known"]) == ("never_seen", False)
    text = gossamer(f"explain {site.host}/gone", cwd=crawled).stdout
    assert "skipped" in text
    assert "--spider" in text
    (crawled / "other.py").write_text(SPIDER.replace('"world"', '"other"'))
    wrong = gossamer("explain http://x/ --job world --spider other.py", cwd=crawled, code=2)
    assert "is of 'world'" in wrong.stderr
    gossamer("explain http://x/ --data nowhere", cwd=crawled, code=4)


def test_explain_an_unfinished_crawl_of_a_url(tmp_path, site):
    gossamer(f"crawl {site.url} -q --max-pages 1", *FAST, cwd=tmp_path)
    found = asked("explain", f"{site.url}/gone", cwd=tmp_path)
    assert (found["answer"], found["state"], found["scope_known"]) == ("over_budget", "pending", True)
    found = asked("explain http://other.example/", cwd=tmp_path)
    assert (found["answer"], found["refused"]) == ("out_of_scope", "offsite")


def test_explain_is_true_of_every_way_a_request_ends(tmp_path, site):
    """Each sentence against a crawl in which it was so: budgets, a pause, dead letters that come and go."""
    (tmp_path / "world.py").write_text(SPIDER.replace("{url}", site.url))

    def told(path):
        found = asked(f"explain {site.url}{path} --spider world.py", cwd=tmp_path)
        return found["answer"], " ".join(found["lines"])

    def crawl(options, code=0):
        gossamer(f"crawl world.py -q {options}", *FAST, cwd=tmp_path, code=code)

    crawl("--max-pages 1", code=1)  # the item of the only page lacks its title
    assert told("/gone") == (
        "over_budget",
        "The job's budget of 1 page is spent; `gossamer crawl` with a larger --max-pages continues.",
    )
    gossamer("pause world", cwd=tmp_path)
    assert told("/gone") == ("stopped", "The job world-1 is paused: it continues when it is resumed.")
    gossamer("cancel world", cwd=tmp_path)
    remedy = "`gossamer crawl` makes a new job."
    ended = f"The job world-1 is cancelled: waiting requests are not fetched; {remedy}"
    assert told("/gone") == ("stopped", ended)
    answer, text = told("/never")
    assert (answer, ended in text, "may lead to it" in text) == ("never_seen", True, False)

    crawl("-s max_retries=0")  # makes a new job, as was said
    assert asked(f"explain {site.url}/gone --spider world.py", cwd=tmp_path)["job"] == "world-2"
    assert told("/moved")[0] == "redirected"
    answer, text = told("/refused")
    assert (answer, "To try it again: `gossamer dead retry world-2" in text) == ("dead", True)
    gossamer("dead drop world --reason client", cwd=tmp_path)
    answer, text = told("/refused")
    assert (answer, "its dead letter was dropped" in text) == ("done", True)
    gossamer("dead retry world --reason server", cwd=tmp_path)
    answer, text = told("/busy")
    assert (answer, "no process crawls the job world-2" in text) == ("stopped", True)
    assert "It waits" not in told("/never")[1]
    crawl("-s max_retries=0")  # the same command goes on, as was said
    assert told("/busy")[0] == "dead"


def test_explain_what_led_to_the_target_of_a_redirect(tmp_path):
    """That was a redirect and no link."""

    def chain(path, headers):
        if path == "/robots.txt":
            return SiteResponse(404)
        if path == "/old":
            return SiteResponse(301, headers=(("location", "/new"),))
        return SiteResponse(body=b'<a href="/old">x</a>' if path == "/" else b"<h1>x</h1>")

    with serve_in_thread(chain) as site:
        gossamer(f"crawl {site.url} -q", *FAST, cwd=tmp_path)
        lines = asked(f"explain {site.url}/new", cwd=tmp_path)["lines"]
        assert f"What led to it: a redirect of {site.url}/old, to which {site.url}/ has a link." in lines
        lines = asked(f"explain {site.url}/", cwd=tmp_path)["lines"]
        assert not [line for line in lines if line.startswith("What led")]
        (job,) = asked("jobs", cwd=tmp_path)
        header, *_ = gossamer(f"attempts {job['job']}", cwd=tmp_path).stdout.splitlines()
        assert "request" not in header.split()


def test_explain_a_link_that_the_built_in_spider_leaves_out(tmp_path):
    """It is counted, and is not called never seen although a page links to it."""

    def files(path, headers):
        if path == "/robots.txt":
            return SiteResponse(404)
        return SiteResponse(body=b'<a href="/paper.pdf">x</a><a href="/b.ZIP?x">x</a><a href="/page">x</a>')

    with serve_in_thread(files) as site:
        done = gossamer(f"crawl {site.url}", *FAST, cwd=tmp_path)
        assert "left out  4 links: 4 media" in done.stderr
        assert sorted(hit.path for hit in site.hits) == ["/", "/page", "/robots.txt"]
        for path, suffix in (("/paper.pdf", "pdf"), ("/b.ZIP?x", "zip")):
            found = asked(f"explain {site.url}{path}", cwd=tmp_path)
            assert (found["answer"], found["refused"]) == ("out_of_scope", "media")
            assert f"built-in spider follows no links to files with the suffix .{suffix}" in found["lines"][0]
        assert asked(f"explain {site.url}/no.html", cwd=tmp_path)["answer"] == "never_seen"
        gossamer(f"crawl {site.url}/paper.pdf", *FAST, cwd=tmp_path)  # a start URL is fetched
        found = asked(f"explain {site.url}/paper.pdf", cwd=tmp_path)
        assert (found["answer"], found["status"]) == ("done", 200)
        assert "would not be taken" not in " ".join(found["lines"])


def test_attempts_are_listed_and_filtered(crawled, site):
    rows = asked("attempts world", cwd=crawled)
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)
    by_path = {row["url"].removeprefix(site.url): row for row in rows}
    assert set(by_path) == {"/", "/private", "/moved", "/gone", "/refused", "/busy", "/page"}
    assert by_path["/page"]["via"] == f"{site.url}/"
    assert (by_path["/busy"]["verdict"], by_path["/busy"]["status"]) == ("retry", 500)
    for options, count in (
        ("--status 403", 1), ("--verdict skipped", 2), ("--reason robots", 1), ("--limit 2", 2),
        (f"--host {site.host}", 7), ("--host 127.0.0.1", 0), (f"--url {site.url}/page?utm_id=1", 1),
        ("--verdict retry --status 200", 0),
    ):  # fmt: skip
        assert len(asked(f"attempts world-1 {options}", cwd=crawled)) == count, options
    header, row = gossamer("attempts world --status 403", cwd=crawled).stdout.splitlines()
    assert header.split()[:5] == ["at", "try", "status", "verdict", "reason"]
    assert "403" in row
    assert "known are" in gossamer("attempts world --verdict lost", cwd=crawled, code=2).stderr
    assert "known are" in gossamer("attempts world --reason lost", cwd=crawled, code=2).stderr


def test_a_try_is_the_same_object_everywhere(crawled, site):
    (row,) = asked("attempts world --status 403", cwd=crawled)
    (letter,) = asked("dead show world --reason client", cwd=crawled)
    for command in ("show", "retry", "drop"):
        said = gossamer(f"dead {command} world 99999", cwd=crawled, code=2).stderr
        assert "world has no dead letter 99999" in said, command
    assert letter["tries"] == [row]
    assert asked(f"explain {site.url}/refused", cwd=crawled)["tries"] == [row]


# --------------------------------------------------------------------------- spiders and their arguments


ARGUMENTS = """
from datetime import date
from gossamer import Spider

print("noise")

class Typed(Spider):
    name = "typed"
    start_urls = []
    allowed_domains = ["x.example"]
    pages: int = 3
    since: date | None = None
    token: str = "t0psecret"

class Free(Spider):
    name = "free"
    start_urls = []
"""


def test_spiders_are_listed_with_their_arguments(tmp_path):
    (tmp_path / "two.py").write_text(ARGUMENTS)
    typed, free = asked("list two.py", cwd=tmp_path)
    assert typed["arguments"][:2] == [
        {"name": "pages", "type": "int", "required": False, "default": 3},
        {"name": "since", "type": "date | none", "required": False, "default": None},
    ]
    assert (typed["other_arguments"], free["other_arguments"]) == (False, True)
    header, *rows = gossamer("list two.py:Typed", cwd=tmp_path).stdout.splitlines()
    assert header.split() == ["spider", "domains", "argument", "type", "default"]
    assert [row.split() for row in rows] == [
        ["typed", "x.example", "pages", "int", "3"],
        ["since", "date", "|", "none"],
        ["token", "str", "***"],
    ]
    assert "no gossamer.toml" in gossamer("list", cwd=tmp_path).stderr
    assert "unknown spider 'tpyed'" in gossamer("list tpyed", cwd=tmp_path, code=2).stderr
    slip = gossamer("crawl http:/127.0.0.1:1/", cwd=tmp_path, code=2).stderr
    assert "unknown spider 'http:/127.0.0.1:1/'; did you mean 'http://127.0.0.1:1/'?" in slip
    assert "there is no file" in gossamer("list three.py", cwd=tmp_path, code=2).stderr
    gossamer("new p", cwd=tmp_path)
    assert [row["spider"] for row in asked("list", cwd=tmp_path / "p")] == ["example"]


def test_wrong_arguments_are_refused_and_secrets_are_not_shown(tmp_path):
    (tmp_path / "two.py").write_text(ARGUMENTS)
    done = gossamer("crawl two.py:Typed -a pages=many", cwd=tmp_path, code=2)
    assert "-a pages=many: the argument pages of the spider 'typed' is of type int" in done.stderr
    assert "did you mean 'pages'?" in gossamer("crawl two.py:Typed -a pagse=1", cwd=tmp_path, code=2).stderr
    assert not (tmp_path / ".gossamer").exists()
    for secret in ("hunter2", "hunter3", "hunter2"):
        gossamer(f"crawl two.py:Typed -q -a pages=5 -a token={secret}", cwd=tmp_path)
    shown = gossamer("jobs", cwd=tmp_path).stdout + gossamer("jobs --json", cwd=tmp_path).stdout
    assert "typed pages=5 token=***" in shown
    assert len(asked("jobs", cwd=tmp_path)) == 2  # the same secret is the same crawl
    stored = b"".join(path.read_bytes() for path in (tmp_path / ".gossamer").rglob("*") if path.is_file())
    assert b"hunter" not in stored
    assert "hunter" not in shown


# --------------------------------------------------------------------------- single pages


def test_fetch_shows_what_happened(tmp_path, site):
    found = asked("fetch", f"{site.url}/moved", cwd=tmp_path)
    assert (found["url"], found["status"], found["address"]) == (f"{site.url}/page", 200, "127.0.0.1")
    assert found["redirects"] == [{"url": f"{site.url}/moved", "status": 301}]
    assert found["size_bytes"] > 0
    assert ["content-type", "text/html; charset=utf-8"] in found["headers"]
    text = gossamer(f"fetch {site.url}/moved --headers", cwd=tmp_path).stdout
    for part in (
        "redirect  301",
        "rung      http",
        "encoding  UTF-8",
        "title     A \\x1b[31mpage",
        "content-type: ",
    ):
        assert part in text, text
    assert "status    404" in gossamer(f"fetch {site.url}/gone", cwd=tmp_path).stdout
    assert not (tmp_path / ".gossamer").exists()


def test_fetch_gives_the_body_alone_to_stdout(tmp_path, site):
    done = gossamer(f"fetch {site.url}/page --body", cwd=tmp_path)
    assert done.stdout_bytes == world("/page", {}).body
    assert "status    200" in done.stderr
    gossamer(f"fetch {site.url}/page --body --json", cwd=tmp_path, code=2)


def test_fetch_asks_robots_and_says_faults(tmp_path, site):
    assert "robots.txt does not allow" in gossamer(f"fetch {site.url}/private", cwd=tmp_path, code=2).stderr
    assert asked(f"fetch {site.url}/private --no-robots", cwd=tmp_path)["status"] == 200
    assert "connect" in gossamer("fetch http://127.0.0.1:1/ --no-robots", cwd=tmp_path, code=4).stderr
    done = gossamer("fetch http://127.0.0.1:1/ --no-robots --json", cwd=tmp_path, code=4)
    assert json.loads(done.stdout)["fault"] == "connect"


FAILING = """
from gossamer import Spider

def fragile(item):
    if "b" in item:
        raise ConnectionError("the database is away")
    return item

class Failing(Spider):
    name = "failing"
    pipelines = [fragile]

    def parse(self, response):
        yield {"a": 1}
        yield {"a": response}

    def parse_both(self, response):
        yield response.follow("/gone")
        yield {"a": 1}
        yield {"b": 1}
"""


@pytest.mark.parametrize(
    ("callback", "verdict", "why"),
    [
        ("parse", "callback: an item cannot be stored", "item.a: a Response cannot be stored as JSON"),
        (
            "parse_both",
            "pipeline: a pipeline step failed on an item; if a server",
            "ConnectionError: the data",
        ),
    ],
)
def test_parse_tells_items_that_fail_their_page_from_dropped_ones(tmp_path, site, callback, verdict, why):
    (tmp_path / "failing.py").write_text(FAILING)
    command = f"parse {site.url}/page --spider failing.py --callback {callback}"
    text = gossamer(command, cwd=tmp_path, code=2).stdout
    assert "items     1 to store, 0 dropped, 1 not possible to store" in text
    assert f"verdict   {verdict}" in text
    assert "cannot be stored: " in text
    found = json.loads(gossamer(f"{command} --json", cwd=tmp_path, code=2).stdout)
    assert found["verdict"].startswith(verdict)
    assert why in found["items"][1]["dropped"]
    assert found["requests"] == []


def test_parse_shows_what_a_crawl_would_keep(crawled, site):
    found = asked(f"parse {site.url} --spider world.py", cwd=crawled)
    assert (found["spider"], found["callback"], found["status"]) == ("world", "parse", 200)
    assert [item["dropped"] for item in found["items"]] == [
        "Thing.title: nothing found by response.css('h1::text').get()"
    ]
    refused = {request["url"].removeprefix(site.url): request["refused"] for request in found["requests"]}
    assert refused["/page"] == ""
    assert (refused["/hidden"], refused["http://other.example/"]) == ("excluded", "offsite")
    (item,) = asked(f"parse {site.url}/page --spider world.py", cwd=crawled)["items"]
    assert (item["type"], item["key"], item["data"]["title"]) == ("Thing", f"{site.url}/page", "Page")
    found = asked(f"parse {site.url} --spider world.py -s max_depth=0", cwd=crawled)
    assert "too_deep" in {request["refused"] for request in found["requests"]}
    text = gossamer(f"parse {site.url}/page", cwd=crawled).stdout
    assert "generic, parse()" in text
    assert "WebPage" in text
    assert text.replace("\n", "").isprintable()


def test_parse_holds_a_page_to_the_bounds_of_a_crawl(crawled, site):
    found = asked(f"parse {site.url} --spider world.py -s parse.max_links=2", cwd=crawled)
    assert (len(found["requests"]), found["left_out"]["too_many"]) == (2, 1)


def test_parse_goes_where_a_crawl_would_go(crawled, site):
    done = gossamer(f"parse {site.url}/refresh --spider world.py --json", cwd=crawled)
    found = json.loads(done.stdout)
    assert (found["url"], found["items"][0]["data"]["title"]) == (f"{site.url}/page", "Page")
    assert f"meta refresh -> {site.url}/page" in done.stderr
    done = gossamer(f"parse {site.url}/moved --spider world.py -s exclude=/page", cwd=crawled, code=4)
    assert f"out_of_scope: redirects to {site.url}/page (excluded)" in done.stderr
    assert asked(f"fetch {site.url}/moved -s exclude=/page", cwd=crawled)["url"] == f"{site.url}/page"


def test_parse_gives_the_spider_the_redirects_that_it_handles_itself(tmp_path, site):
    text = SPIDER.replace("{url}", site.url).replace(
        "    def parse(", "    handle_httpstatus_list = [301]\n\n    def parse("
    )
    (tmp_path / "world.py").write_text(text)
    found = asked(f"parse {site.url}/moved --spider world.py", cwd=tmp_path)
    assert (found["status"], found["url"], found["verdict"]) == (301, f"{site.url}/moved", "")


def test_parse_may_be_led_to_the_private_addresses_that_the_spider_names(crawled, site):
    page = f"http://localhost:{site.url.rpartition(':')[2]}/abroad"
    assert asked(f"parse {page} --spider world.py", cwd=crawled)["url"] == f"{site.url}/page"
    assert "guard" in gossamer(f"fetch {page}", cwd=crawled, code=4).stderr


def test_budgets_of_a_crawl_do_not_bound_how_many_pages_a_person_looks_at(crawled, site):
    script = "assert fetch('/page').status == fetch('/page?b').status == 200"
    gossamer(f"shell {site.url} -s max_pages=1 -s max_pages_per_host=1", "-c", script, cwd=crawled)


def test_parse_says_what_goes_wrong(crawled, site):
    done = gossamer(f"parse {site.url} --spider world.py --callback parse_badly", cwd=crawled, code=2)
    assert "ValueError: no price" in done.stderr
    assert '{"title":"kept"}' in done.stdout
    assert (
        "no method 'x'"
        in gossamer(f"parse {site.url} --spider world.py --callback x", cwd=crawled, code=2).stderr
    )
    found = asked(f"parse {site.url}/gone --spider world.py", cwd=crawled)
    assert found["verdict"].startswith("gone:")
    assert found["items"] == []
    gossamer("parse http://127.0.0.1:1/ --no-robots", cwd=crawled, code=4)


# --------------------------------------------------------------------------- settings, genspider


def test_settings_name_the_layer(crawled):
    (crawled / "gossamer.toml").write_text("delay = 1.0\nmax_retries = 9\n")
    try:
        done = gossamer(
            "settings --spider world.py -s delay=3 --json", cwd=crawled, env={"GOSSAMER_DELAY": "2"}
        )
        rows = {row["key"]: row for row in json.loads(done.stdout)}
        layers = [rows[key]["layer"] for key in ("delay", "exclude", "max_retries", "max_pages")]
        assert layers == ["command line", "spider", "file", "default"]
        assert rows["delay"]["value"] == 3.0
        line = "settings --explain delay -s delay=3"
        text = gossamer(line, cwd=crawled, env={"GOSSAMER_DELAY": "2"}).stdout
        for part in ("Seconds between", "command line (-s delay)", "2.0 (GOSSAMER_DELAY)", "1.0 ("):
            assert part in text, text
        table = gossamer("settings", cwd=crawled).stdout.splitlines()
        assert table[0].split() == ["setting", "layer", "value"]
        assert ["delay", "file", "1.0"] in [row.split() for row in table]
        assert "max_pages" in gossamer("settings --explain max_page", cwd=crawled, code=2).stderr
    finally:
        (crawled / "gossamer.toml").unlink()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--delay -1", "delay = -1.0 (--delay): "),
        ("-s delay=-1", "delay = -1.0 (-s delay): "),
        ("--max-pages 0", "max_pages = 0 (--max-pages): "),
    ],
)
@pytest.mark.parametrize("command", ["crawl", "submit"])
def test_a_complaint_names_the_option_that_was_typed(tmp_path, command, options, said):
    assert said in gossamer(f"{command} http://x.example/ {options}", cwd=tmp_path, code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_genspider_writes_a_spider_that_runs(tmp_path, site):
    done = gossamer(f"genspider my-shop {site.url}", cwd=tmp_path)
    assert "gossamer crawl my_shop.py" in done.stdout
    result = asked("crawl my_shop.py", *FAST, "-s", "max_retries=0", cwd=tmp_path)
    assert (result["spider"], result["finish_reason"]) == ("my-shop", "finished")
    assert result["items"] >= 2
    before = (tmp_path / "my_shop.py").read_text()
    assert "exists already" in gossamer("genspider my_shop x.example", cwd=tmp_path, code=2).stderr
    assert (tmp_path / "my_shop.py").read_text() == before


def test_genspider_writes_one_in_toml_that_runs(tmp_path, site):
    done = gossamer(f"genspider --declarative my-shop {site.url}", cwd=tmp_path)
    assert "gossamer crawl my_shop.toml" in done.stdout
    result = asked("crawl my_shop.toml", *FAST, "-s", "max_retries=0", cwd=tmp_path)
    assert (result["spider"], result["finish_reason"]) == ("my-shop", "finished")
    assert result["items"] >= 2


def test_genspider_in_a_project(tmp_path):
    gossamer("new first", cwd=tmp_path)
    below = tmp_path / "first" / "deep"
    below.mkdir()
    gossamer("genspider shop www.shop.example", cwd=below)
    text = (tmp_path / "first/spiders/shop.py").read_text()
    assert 'start_urls = ["https://www.shop.example/"]' in text
    assert 'allowed_domains = ["shop.example"]' in text
    found = asked("settings --spider shop", cwd=below)
    assert found


@pytest.mark.parametrize(
    ("name", "domain", "part"),
    [
        ("../up", "x.example", "not a name"),
        ("1st", "x.example", "not a name"),
        ("json", "x.example", "would hide"),
        ("lxml", "x.example", "would hide"),
        ("shop", "not a domain", "is not a domain"),
        ("shop", "ftp://x.example", "is not a domain"),
        ("shop", "https://x.example/?q=\\", ""),
    ],
)
def test_genspider_refuses_what_would_not_run(tmp_path, name, domain, part):
    done = gossamer("genspider", name, domain, cwd=tmp_path, code=2 if part else 0)
    assert part in done.stderr
    if part:
        assert list(tmp_path.iterdir()) == []
    else:
        compile((tmp_path / "shop.py").read_text(), "shop.py", "exec")


def test_list_says_what_to_do_where_there_is_nothing_to_list(tmp_path):
    said = gossamer("list", cwd=tmp_path).stderr
    assert "`gossamer list FILE.py` lists the spiders of a file, `gossamer new DIR` makes a project" in said
    (tmp_path / "gossamer.toml").write_text("")
    assert "`gossamer genspider NAME DOMAIN` writes one" in gossamer("list", cwd=tmp_path).stderr


def test_status_says_which_host_does_not_answer(tmp_path):
    (tmp_path / "silent.py").write_text(
        "from gossamer import Spider\n"
        "class Silent(Spider):\n"
        "    name = 'silent'\n"
        f"    start_urls = [f'http://127.0.0.1:{free_port()}/{{n}}' for n in range(5)]\n"
        "    settings = {'retry_backoff': 1000.0, 'retry_backoff_cap': 1000.0, 'robots': False}\n"
    )
    gossamer("crawl silent.py --max-time 1s", cwd=tmp_path, code=1)
    said = gossamer("status silent", cwd=tmp_path).stdout
    assert re.search(r"silent +127.0.0.1:\d+ has not answered for [\d.]+ s; next try in ", said), said
    assert asked("status silent", cwd=tmp_path)["hosts"][0]["silent_since"]


def test_status_without_a_job_shows_the_latest(crawled):
    assert asked("status", cwd=crawled)["job"] == asked("jobs", cwd=crawled)[0]["job"]
