"""Single pages on the command line: saved ones, and requests with a method, headers and a body."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.cli.commands.parse import parse_page
from gossamer.core.errors import Fault, FetchError, MissingServiceError, UsageError
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import Site, serve_in_thread
from kit.programs import run

SPIDER = """
from gossamer import Item, Spider, key


class Product(Item):
    sku: str = key()
    name: str


class Shop(Spider):
    name = "shop"
    allowed_domains = ["shop.example"]
    login_url = "https://shop.example/login"

    async def log_in(self, login):
        raise AssertionError("nobody logs in for a file")

    def parse(self, response):
        yield Product(sku=response.url.rpartition("/")[2], name=response.css("h1::text").get())
        yield from response.follow_all(css="a")

    def parse_api(self, response):
        yield from response.json()["products"]
"""
PAGE = "<h1>Lamp</h1><a href='/2'>next</a><a href='https://other.example/'>other</a>"


def echo(path: str, headers: Any) -> SiteResponse:
    """What was asked for, as JSON."""
    if path == "/robots.txt":
        return SiteResponse(404)
    said = {"path": path, "body": headers.get(":body", ""), "headers": dict(headers)}
    return SiteResponse(body=json.dumps(said).encode(), content_type="application/json")


@pytest.fixture
def site() -> Iterator[Site]:
    with serve_in_thread(echo) as site:
        yield site


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SPIDER)
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "saved.html").write_text(f"<!-- saved from url=(0022)https://shop.example/7 -->{PAGE}")
    (tmp_path / "api.json").write_text('{"products": [{"sku": 1}, {"sku": 2}]}')
    return tmp_path


def parse(folder: Path, *arguments: str) -> dict[str, Any]:
    done = run("parse", *arguments, "--spider", "shop.py", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_saved_page_is_parsed_as_that_of_an_address(folder: Path) -> None:
    found = parse(folder, "page.html", "--url", "https://shop.example/1")
    assert (found["url"], found["status"], found["verdict"]) == ("https://shop.example/1", 200, "")
    assert [item["data"] for item in found["items"]] == [{"sku": "1", "name": "Lamp"}]
    links = [(link["url"], link["refused"]) for link in found["requests"]]
    assert links == [("https://shop.example/2", ""), ("https://other.example/", "offsite")]
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {
        "shop.py",
        "page.html",
        "saved.html",
        "api.json",
    }


def test_without_an_address_it_is_what_the_browser_noted_or_the_name_of_the_file(folder: Path) -> None:
    assert parse(folder, "saved.html")["url"] == "https://shop.example/7"
    assert parse(folder, str(folder / "page.html"))["url"] == "http://localhost/page.html"


def test_a_file_of_json_is_an_answer_of_an_api(folder: Path) -> None:
    found = parse(folder, "api.json", "--callback", "parse_api")
    assert [item["data"] for item in found["items"]] == [{"sku": 1}, {"sku": 2}]


def test_an_address_without_a_file_is_wrong_use(folder: Path) -> None:
    done = run("parse", "none.html", "--url", "https://shop.example/", cwd=folder)
    assert (done.returncode, "there is no file none.html" in done.stderr) == (2, True)


def test_what_is_neither_a_file_nor_a_host_is_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def know_no_host(*given: object, **more: object) -> None:
        raise FetchError(Fault.DNS, "none.example: Name or service not known")

    monkeypatch.setattr("gossamer.cli.commands.parse.preview_page", know_no_host)
    with pytest.raises(UsageError, match=r"^none\.example is neither a file nor a known host \(dns: none"):
        parse_page("none.example")
    with pytest.raises(MissingServiceError, match="was not fetched: dns"):
        parse_page("http://none.example/")
    with pytest.raises(UsageError, match=r"^there is no file none\.html; name a page by its URL$"):
        parse_page("none.html")


def fetched(url: str, *arguments: str, cwd: Path | None = None) -> dict[str, Any]:
    done = run("fetch", url, "--body", *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.long
def test_fetch_sends_a_method_headers_and_a_body(site: Site, folder: Path) -> None:
    found = fetched(f"{site.url}/api", "-d", '{"page": 1}', "-H", "X-One: a:b", "-H", "Accept: text/plain")
    assert (site.hits[-1].method, found["body"]) == ("POST", '{"page": 1}')
    headers = found["headers"]
    assert headers["content-type"] == "application/json"
    assert (headers["x-one"], headers["accept"]) == ("a:b", "text/plain")
    found = fetched(f"{site.url}/api", "--form", "a=1 2", "--form", "b=ä", "-X", "put")
    assert (site.hits[-1].method, found["body"]) == ("PUT", "a=1+2&b=%C3%A4")
    assert found["headers"]["content-type"] == "application/x-www-form-urlencoded"
    (folder / "body.xml").write_text("<a/>")
    found = fetched(f"{site.url}/api", "-d", "@body.xml", "-H", "content-type: text/xml", cwd=folder)
    assert (found["body"], found["headers"]["content-type"]) == ("<a/>", "text/xml")
    assert fetched(f"{site.url}/api", "-d", "a=1")["headers"]["content-type"].endswith("urlencoded")
    run("fetch", f"{site.url}/api", "-X", "HEAD")
    assert site.hits[-1].method == "HEAD"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("-H", "nothing"), "--header 'nothing' is not of the form 'NAME: VALUE'"),
        (("--form", "nothing"), "--form 'nothing' is not of the form NAME=VALUE"),
        (("--form", "a=1", "-d", "x"), "--data and --form both give the body"),
        (("-d", "@none"), "--data @none: the file cannot be read"),
        (("-X", "A B"), "method"),
    ],
)
def test_what_is_no_request_is_said(wrong: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run("fetch", "http://127.0.0.1:1/", *wrong, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_parse_and_shell_send_them_too(site: Site, folder: Path) -> None:
    (folder / "api.py").write_text(
        "from gossamer import Spider\n\n\nclass Api(Spider):\n    name = 'api'\n\n"
        "    def parse(self, response):\n        yield {'sent': response.json()['body']}\n"
    )
    done = run("parse", f"{site.url}/x", "--spider", "api.py", "-d", "[1]", "--json", cwd=folder)
    assert json.loads(done.stdout)["items"][0]["data"] == {"sent": "[1]"}
    code = "print(response.json()['body']); fetch('/b', json={'a': 1}); print(response.json()['body'])"
    done = run("shell", f"{site.url}/x", "--form", "a=1", "-c", code, "-s", "delay=0", cwd=folder)
    assert done.stdout.splitlines() == ["a=1", '{"a":1}'], done.stderr
    assert [hit.method for hit in site.hits if hit.path != "/robots.txt"][-2:] == ["POST", "POST"]
