"""``gossamer explain`` of requests that wait, are in hand, or not to be had: each made so by a real crawl."""

import json
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from gossamer.cli.app import build_app
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.environment import environment

PATIENCE_S = 30
SPIDER = """
from gossamer import Spider

class Pages(Spider):
    name = "pages"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
"""


class Pages:
    """A page that never comes, one that waits behind it; ``asked`` says when the first was asked for."""

    def __init__(self):
        self.asked = threading.Event()

    def __call__(self, path, headers):
        if path == "/robots.txt":
            return SiteResponse(404)
        if path == "/slow":
            self.asked.set()
            return SiteResponse(fail="stall")
        return SiteResponse(body=b'<a href="/slow">x</a><a href="/other">x</a>')


@pytest.fixture
def pages():
    return Pages()


@pytest.fixture
def site(pages):
    with serve_in_thread(pages) as served:
        yield served


@pytest.fixture
def here(tmp_path, site):
    (tmp_path / "pages.py").write_text(SPIDER.replace("{url}", site.url))
    return tmp_path


def gossamer(*arguments, cwd):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        done = CliRunner().invoke(build_app(), [*map(str, arguments)], prog_name="gossamer")
    assert done.exit_code == 0, (arguments, done.exit_code, done.stdout[-2000:], done.stderr[-4000:])
    return done.stdout


def explained(url, cwd):
    return json.loads(gossamer("explain", url, "--spider", "pages.py", "--json", cwd=cwd))


def seconds_until(text):
    return (datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) - datetime.now(UTC)).seconds


def test_what_is_in_hand_and_what_waits_for_its_host(here, pages, site):
    gossamer("crawl", "pages.py", "-q", "--delay", 0, "--max-pages", 1, cwd=here)
    command = [sys.executable, "-m", "gossamer.cli.main", "crawl", "pages.py", "-q", "--delay", "0"]
    with subprocess.Popen(command, cwd=here, env=environment(), stdin=subprocess.DEVNULL) as crawl:
        try:
            assert pages.asked.wait(PATIENCE_S)
            gossamer("set", "pages", "delay=1000", "per_host=2", cwd=here)
            leased, waiting = explained(f"{site.url}/slow", here), explained(f"{site.url}/other", here)
            text = gossamer("explain", f"{site.url}/other", cwd=here)
            (host,) = json.loads(gossamer("status", "pages", "--json", cwd=here))["hosts"]
        finally:
            crawl.send_signal(signal.SIGKILL)
    assert (leased["answer"], leased["state"], leased["process"]) == ("leased", "leased", crawl.pid)
    assert 0 < seconds_until(leased["deadline"]) <= 60
    assert f"worker of process {crawl.pid} has had it" in leased["lines"][0]
    assert (waiting["answer"], waiting["state"]) == ("waiting", "pending")
    assert 900 < seconds_until(waiting["host_next_at"]) <= 1000
    assert "waits for politeness" in waiting["lines"][0]
    assert host["delay_s"] == 1000.0
    assert "1,000 s apart" in text or "16m 40s apart" in text, text

    # The process is gone, and could not say so.
    leased, waiting = explained(f"{site.url}/slow", here), explained(f"{site.url}/other", here)
    assert (leased["answer"], leased["process"]) == ("leased", None)
    assert "its process ended" in leased["lines"][0]
    assert waiting["answer"] == "stopped"
    assert "no process crawls the job pages-1" in waiting["lines"][0]


@pytest.mark.parametrize(
    ("options", "answer", "part"),
    [
        (["--max-pages", 1], "over_budget", "budget of 1 page is spent"),
        (["-s", "max_pages_per_host=1"], "over_budget", "budget of 1 page for the host"),
        (["--max-time", 0.5, "--delay", 1000], "over_budget", "budget of time was spent"),
        (["--max-depth", 0], "never_seen", "may be one of them: 2 deeper than max_depth 0."),
    ],
)
def test_every_budget_says_that_it_is_spent(here, site, options, answer, part):
    gossamer("crawl", "pages.py", "-q", "--delay", 0, *options, cwd=here)
    path = "/" if "--max-time" in options else "/other"
    found = explained(f"{site.url}{path}", here)
    assert found["answer"] == answer, found["lines"]
    assert part in " ".join(found["lines"])


def test_a_trap_is_named(here, site):
    gossamer("crawl", "pages.py", "-q", "--delay", 0, "--max-pages", 1, cwd=here)
    found = explained(f"{site.url}/{'deeper/' * 30}", here)
    assert (found["answer"], found["canonical"] is not None) == ("trap", True)
    assert "traps.max_segments" in found["lines"][0]


def test_a_duplicate_names_the_url_that_is_known(here, site):
    gossamer("crawl", "pages.py", "-q", "--delay", 0, "--max-pages", 1, cwd=here)
    found = explained(f"{site.url}/?utm_source=mail", here)
    assert (found["answer"], found["page_answer"], found["status"]) == ("duplicate", "done", 200)
    assert found["duplicate_of"] == f"{site.url}/"
    assert [tried["verdict"] for tried in found["tries"]] == ["success"]
    found = explained(site.url.upper().replace("HTTP", "Http"), here)
    assert (found["answer"], found["duplicate_of"]) == ("done", None)


def test_a_named_spider_means_its_own_jobs(here, site):
    """Also beside newer jobs, of spiders with arguments that it does not take."""
    other = SPIDER.replace("{url}", site.url).replace(
        'name = "pages"', 'name = "other"\n    mode: str = "all"'
    )
    (here / "other.py").write_text(other)
    (here / "third.py").write_text(other.replace('"other"', '"third"'))
    pages = here / "pages.py"
    pages.write_text(pages.read_text().replace('name = "pages"', 'name = "pages"\n    size: int = 1'))
    gossamer("crawl", "pages.py", "-q", "--delay", 0, "--max-pages", 1, cwd=here)
    gossamer("crawl", "other.py", "-a", "mode=new", "-q", "--delay", 0, "--max-pages", 1, cwd=here)
    assert explained(f"{site.url}/unseen", here)["job"] == "pages-1"
    assert explained(site.url, here)["job"] == "pages-1"
    with pytest.raises(
        AssertionError, match=r"no job is of --spider third\.py; the newest are: other-1, pages-1"
    ):
        gossamer("explain", site.url, "--spider", "third.py", cwd=here)
    with pytest.raises(AssertionError, match="the job other-1 is of 'other', and --spider names 'pages'"):
        gossamer("explain", site.url, "--spider", "pages.py", "--job", "other", cwd=here)
