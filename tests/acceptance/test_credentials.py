"""``user:password@`` in a start URL: sent to its origin with every request, and kept nowhere."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.command_line import FAST, asked, gossamer

PASSWORD = "pass:w\u00f6rd"
BASIC = "Basic " + b64encode(f"me:{PASSWORD}".encode()).decode()
WRITTEN = "me:pass%3Aw%C3%B6rd@"
SPIDER = """
from gossamer import Spider


class Mine(Spider):
    name = "mine"
    start_urls = ["{url}/"]
    settings = {{"http.headers": {{"Authorization": "Bearer other"}}}}

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(css="a")
"""


class Closed:
    """A site for one user, with a link to another place."""

    def __init__(self) -> None:
        self.elsewhere = ""

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        if headers.get("authorization") != BASIC:
            return SiteResponse(401)
        links = "".join(f"<a href=/{number}>x</a>" for number in range(4))
        return SiteResponse(200, f"<html>{links}<a href={self.elsewhere}/x>x</a></html>".encode())


@pytest.fixture
def other() -> Iterator[Site]:
    with serve_in_thread(lambda path, headers: SiteResponse(200, b"<html>other</html>")) as served:
        yield served


@pytest.fixture
def site(other: Site) -> Iterator[Site]:
    app = Closed()
    app.elsewhere = other.url
    with serve_in_thread(app) as served:
        yield served


def with_credentials(url: str) -> str:
    return url.replace("://", f"://{WRITTEN}")


def nothing_is_kept(folder: Path) -> None:
    secrets = [PASSWORD.encode(), b"pass%3A", BASIC.removeprefix("Basic ").encode()]
    for file in folder.rglob("*"):
        content = file.read_bytes() if file.is_file() and file.suffix != ".py" else b""
        assert not any(secret in content for secret in secrets), file


def test_a_url_that_is_typed(tmp_path: Path, site: Site) -> None:
    done = gossamer(
        f"crawl {with_credentials(site.url)}/ --json -s log.file=log -s log.level=debug", *FAST, cwd=tmp_path
    )
    assert '"pages": 5' in done.stdout
    assert {hit.headers.get("authorization") for hit in site.hits} == {BASIC}
    assert {hit.path for hit in site.hits} >= {"/robots.txt", "/", "/3"}
    text = done.stdout + done.stderr + gossamer("jobs", cwd=tmp_path).stdout
    assert "pass%3A" not in text
    assert PASSWORD not in text
    nothing_is_kept(tmp_path)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_start_urls_of_a_spider(tmp_path: Path, site: Site, other: Site, processes: str) -> None:
    """They go to their origin, before what the settings say; that goes to the other one that is named."""
    text = SPIDER.format(url=with_credentials(site.url))
    (tmp_path / "mine.py").write_text(
        text.replace("    settings", '    allowed_domains = ["127.0.0.1"]\n    settings')
    )
    result = asked(f"crawl mine.py --processes {processes}", *FAST, cwd=tmp_path)
    assert (result["pages"], result["by_status"]) == (6, {"200": 6})
    assert {hit.headers.get("authorization") for hit in site.hits} == {BASIC}
    assert {hit.headers.get("authorization") for hit in other.hits} == {"Bearer other"}
    nothing_is_kept(tmp_path / ".gossamer")


def test_single_pages(tmp_path: Path, site: Site) -> None:
    for line in ("fetch", "parse"):
        assert asked(f"{line} {with_credentials(site.url)}/", cwd=tmp_path)["status"] == 200


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("fetch http://{}127.0.0.1:1/ --no-robots", 4),
        ("fetch http://{}127.0.0.1:1/ --no-robots --json", 4),
        ("parse http://{}127.0.0.1:1/ --no-robots", 4),
        ("shell http://{}127.0.0.1:1/ --no-robots -c 1", 4),
        ("fetch http://{}/x", 2),
        ("crawl ftp://{}h/", 2),
        ("crawl wrong.py", 2),
    ],
)
def test_a_password_is_not_in_what_is_said_of_a_failure(tmp_path: Path, line: str, code: int) -> None:
    text = SPIDER.format(url=f"ftp://{WRITTEN}127.0.0.1")
    (tmp_path / "wrong.py").write_text(text)
    done = gossamer(line.format(WRITTEN), cwd=tmp_path, code=code)
    assert "***@" in done.stdout + done.stderr
    assert "pass%3A" not in done.stdout + done.stderr


REQUESTS = """
from gossamer import Request, Spider


class Mine(Spider):
    name = "mine"

    async def start(self):
        yield Request("{url}/")

    def parse(self, response):
        yield {{"url": response.url}}
        if not response.meta.get("followed"):
            yield Request("{url}/2", meta={{"followed": True}})
            yield from response.follow_all(css="a")
"""


def test_requests_that_a_spider_makes(tmp_path: Path, site: Site, other: Site) -> None:
    """They ask with the credentials of their URL; links of pages that have some are not followed."""
    assert isinstance(site.app, Closed)
    site.app.elsewhere = with_credentials(other.url)
    (tmp_path / "mine.py").write_text(REQUESTS.format(url=with_credentials(site.url)))
    line = "crawl mine.py --json -s log.level=debug -s log.file=log"
    done = gossamer(line, *FAST, cwd=tmp_path, code=1)  # three of five pages are refused
    result = json.loads(done.stdout)
    assert result["by_status"] == {"200": 2, "401": 3}, "links that say nothing get nothing"
    assert other.hits == []
    sent = [hit.headers.get("authorization") for hit in site.hits if hit.path in ("/", "/2")]
    assert sent == [BASIC, BASIC]
    assert "link:credentials 1" in gossamer("status mine", cwd=tmp_path).stdout
    shown = done.stdout + done.stderr + (tmp_path / "log").read_text()
    for line in ("attempts mine --json", f"explain {site.url}/2", "status mine", "dead list mine --json"):
        shown += gossamer(line, cwd=tmp_path).stdout
    assert not any(secret in shown for secret in ("pass%3A", PASSWORD, BASIC.removeprefix("Basic ")))


def test_a_fleet_says_how_to_go_on(tmp_path: Path, site: Site) -> None:
    said = gossamer(f"submit {with_credentials(site.url)}/", cwd=tmp_path, code=2).stderr
    assert "user and password of a URL are not kept with a job" in said
    assert "pass%3A" not in said


def test_who_submits_a_crawl_with_a_secret_is_told_that_workers_need_it(
    tmp_path: Path, redis_url: str, postgres_url: str
) -> None:
    env = {"GOSSAMER_FRONTIER__URL": redis_url, "GOSSAMER_STORE__URL": postgres_url}
    (tmp_path / "mine.py").write_text(
        "from gossamer import Spider\n\n\nclass Mine(Spider):\n"
        '    name = "mine"\n    start_urls = ["http://127.0.0.1:1/"]\n    password: str = ""\n'
    )
    said = gossamer("submit mine.py -a password=hunter2", cwd=tmp_path, env=env).stderr
    assert "secret arguments are not kept with a job: set SPIDER_ARG_PASSWORD for every worker" in said
    assert "hunter2" not in said
