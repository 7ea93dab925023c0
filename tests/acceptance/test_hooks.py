"""Hooks: what they add to requests goes over the wire and is kept nowhere; what they do loses nothing."""

from __future__ import annotations

import gzip
import json
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.programs import rows, start

CANARY = "canaryofhooks7d1f"
SIGNED = """
import asyncio, hashlib, os
from gossamer import Request, Spider


class Sign:
    def __init__(self):
        self.key = ""

    async def open_spider(self, spider):
        self.key = "{canary}"

    async def on_request(self, request):
        await asyncio.sleep(0)
        if not request.url.startswith("{url}/"):
            return None
        request.headers["X-Signature"] = self.key + "|" + request.url
        request.headers["Authorization"] = "Bearer " + self.key
        return request.replace(url=request.url + ("&" if "?" in request.url else "?") + "sig=" + self.key)

    def close_spider(self, spider):
        open("closed-" + str(os.getpid()), "w").close()


def agent(request):
    return request.replace(headers={{**request.headers, "User-Agent": "agent-" + str(len(request.url) % 3)}})


class Shop(Spider):
    name = "shop"
    start_urls = ["{url}/", "{url}/moved"]
    allowed_domains = ["127.0.0.1"]
    hooks = [Sign, "shop:agent"]

    def parse(self, response):
        asked = response.request
        yield {{"url": response.url, "asked": asked.url, "headers": dict(asked.headers)}}
        yield from response.follow_all(css="a", callback=self.parse_form)

    def parse_form(self, response):
        if response.url.endswith("/1"):
            yield Request(response.urljoin("/post"), self.parse_form, method="POST", body=b"given")
        yield {{"url": response.url}}
"""


class Signed:
    """A site that answers those alone who sign every request."""

    def __init__(self) -> None:
        self.elsewhere = ""
        self.told: list[tuple[str, Mapping[str, str]]] = []

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        self.told.append((path, headers))
        if not headers.get("x-signature", "").startswith(CANARY) or f"sig={CANARY}" not in path:
            return SiteResponse(401)
        if path.startswith("/robots.txt"):
            return SiteResponse(200, b"User-agent: *\nDisallow: /secret\n", "text/plain")
        if path.startswith("/moved"):
            return SiteResponse(302, headers=(("Location", f"{self.elsewhere}/there"),))
        if path.startswith("/post"):
            return SiteResponse(200, b"<p>posted</p>" if headers.get(":body") == "given" else b"<p>no</p>")
        links = "".join(f"<a href=/{number}>x</a>" for number in range(4)) + "<a href=/secret>x</a>"
        return SiteResponse(200, f"<html>{links}</html>".encode())


@pytest.fixture
def other() -> Iterator[Site]:
    with serve_in_thread(lambda path, headers: SiteResponse(200, b"<html>other</html>")) as served:
        yield served


@pytest.fixture
def site(other: Site) -> Iterator[Site]:
    app = Signed()
    app.elsewhere = other.url
    with serve_in_thread(app) as served:
        yield served


def write_spider(folder: Path, url: str, text: str = SIGNED) -> None:
    (folder / "shop.py").write_text(text.format(canary=CANARY, url=url))


def nothing_is_kept(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file() and file.suffix not in (".py", ".pyc"):
            content = file.read_bytes()
            if file.suffix == ".gz":
                content = gzip.decompress(content)
            assert CANARY.encode() not in content, file


def read_items(folder: Path) -> list[dict[str, object]]:
    return [json.loads(data) for (data,) in rows(folder / ".gossamer", "select data from item")]


def reasons_of(folder: Path) -> Counter[tuple[str, str]]:
    """How attempts ended: their verdicts and reasons."""
    return Counter(rows(folder / ".gossamer", "select verdict, reason from attempt"))


@pytest.mark.parametrize("rung", ["http", "impersonate"])
def test_what_is_signed_is_signed_on_the_wire_and_nowhere_else(
    tmp_path: Path, site: Site, other: Site, rung: str
) -> None:
    write_spider(tmp_path, site.url)
    line = f"crawl shop.py -s fetch={rung} -s archive.on=true -s archive.what=all"
    result = asked(f"{line} -s log.file=log -s log.level=debug", *FAST, cwd=tmp_path)
    assert result["by_status"] == {"200": 7, "302": 1}
    assert isinstance(site.app, Signed)
    assert {path.partition("?")[0] for path, _ in site.app.told} == {
        "/robots.txt", "/", "/moved", "/0", "/1", "/2", "/3", "/post",
    }  # fmt: skip
    agents = {headers["user-agent"] for _, headers in site.app.told}
    assert agents <= {"agent-0", "agent-1", "agent-2"}
    assert other.hits
    assert not any(CANARY in str(hit) for hit in other.hits), "a redirect takes nothing of it elsewhere"
    assert {item["asked"] for item in read_items(tmp_path) if "asked" in item} == {
        f"{site.url}/",
        f"{other.url}/there",
    }
    assert all(item.get("headers", {}) == {} for item in read_items(tmp_path))
    assert list(tmp_path.rglob("*.warc.gz"))
    nothing_is_kept(tmp_path)
    assert len(list(tmp_path.glob("closed-*"))) == 1


@pytest.mark.long
@pytest.mark.server
def test_pages_in_a_browser_are_signed(tmp_path: Path, site: Site) -> None:
    write_spider(tmp_path, site.url)
    result = asked("crawl shop.py -s fetch=browser -s max_pages=2", *FAST, cwd=tmp_path)
    assert result["pages"] >= 1
    assert "401" not in result["by_status"]
    nothing_is_kept(tmp_path)


@pytest.mark.parametrize(
    "line", ["fetch {url}/", "parse {url}/ --spider shop.py", "shell {url}/ -c response.status"]
)
def test_single_pages_pass_the_hooks_of_their_spider(tmp_path: Path, site: Site, line: str) -> None:
    """Those of the settings where no spider is named."""
    write_spider(tmp_path, site.url)
    module = f"hooks_of_{line.partition(' ')[0]}"  # modules of one process last longer than a test
    (tmp_path / "gossamer.toml").write_text("" if "--spider" in line else f'hooks = ["{module}:Sign"]\n')
    (tmp_path / f"{module}.py").write_text(SIGNED.format(canary=CANARY, url=site.url))
    done = gossamer(line.format(url=site.url), cwd=tmp_path)
    said = done.stdout.replace(site.url, "")  # a port may have these digits, too
    assert "401" not in said
    assert "200" in said
    assert CANARY not in done.stdout + done.stderr


def test_every_process_has_hooks_of_its_own(tmp_path: Path, site: Site) -> None:
    write_spider(tmp_path, site.url)
    result = asked("crawl shop.py --processes 2", *FAST, cwd=tmp_path)
    assert result["by_status"] == {"200": 7, "302": 1}
    assert len(list(tmp_path.glob("closed-*"))) >= 2
    nothing_is_kept(tmp_path)


TROUBLED = """
import asyncio
from gossamer import IgnoreRequest, Replacement, Request, Response, Spider


def answer(request, body):
    return Response.from_html(request.url, body)


class Hooks:
    tried = 0

    def on_request(self, request):
        path = request.url.partition("{url}")[2]
        if path == "/raises":
            raise LookupError("no token for " + request.url)
        if path == "/once" and not Hooks.tried:
            Hooks.tried = 1
            raise LookupError("not yet")
        if path == "/junk":
            return 7
        if path == "/refused":
            raise IgnoreRequest("not in this season")
        if path == "/given":
            return answer(request, b"<html><h1>made by a hook</h1></html>")
        if path == "/elsewhere":
            return request.replace(url="http://127.0.0.1:1/")
        if path == "/old":
            return Replacement(request.replace(url="{url}/new"))
        if path == "/waits":
            return self.wait()
        return None

    async def wait(self):
        await asyncio.sleep(1000)

    async def on_response(self, response):
        path = response.url.partition("{url}")[2]
        if path == "/unwanted":
            raise IgnoreRequest("nothing on it")
        if path == "/token" and response.css("h1::text").get() != "with token":
            return Request("{url}/token?t=1", response.request.callback, cb_kwargs={{"of": "token"}})
        if path == "/shown":
            return answer(response.request, b"<html><h1>shown</h1></html>")
        if path == "/breaks":
            return None + 1

    def on_error(self, request, failure):
        if failure.fault == "connect" or failure.fault == "incomplete":
            return answer(request, b"<html><h1>from a cache</h1></html>")

    def on_output(self, response, output):
        for thing in output:
            if isinstance(thing, dict):
                if thing["path"] == "/filtered":
                    continue
                thing["seen"] = True
            yield thing
        if response.url.endswith("/filtered"):
            yield Request("{url}/added", cb_kwargs={{"of": "output"}})


class Troubled(Spider):
    name = "troubled"
    paths: str = ""
    hooks = [Hooks()]
    settings = {{"retry_backoff": 0.01, "max_retries": 1, "parse.callback_timeout": 0.3}}

    async def start(self):
        for path in self.paths.split(","):
            yield Request("{url}" + path, errback=self.failed)

    def on_start(self, requests):
        return self.filtered(requests)

    async def filtered(self, requests):
        async for request in requests:
            if not request.url.endswith("/never"):
                yield request

    def parse(self, response, of=""):
        yield {{"path": response.url.partition("{url}")[2], "text": response.css("h1::text").get(), "of": of}}

    def failed(self, failure):
        yield {{"path": "failed", "text": failure.fault, "of": failure.detail[:300]}}
"""


def pages(path: str, headers: Mapping[str, str]) -> SiteResponse:
    if path == "/robots.txt":
        return SiteResponse(404)
    if path == "/resets":
        return SiteResponse(200, b"<p>never whole</p>", fail="half")
    title = "with token" if "t=1" in path else path
    return SiteResponse(200, f"<html><h1>{title}</h1></html>".encode())


@pytest.fixture
def plain() -> Iterator[Site]:
    with serve_in_thread(pages) as served:
        yield served


def crawl_paths(folder: Path, site: Site, paths: str, code: int = 0) -> dict[str, Any]:
    write_spider(folder, site.url, TROUBLED)
    done = gossamer(f"crawl shop.py -a paths={paths} --json", *FAST, cwd=folder, code=code)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_hook_that_fails_loses_nothing(tmp_path: Path, plain: Site) -> None:
    """The request is tried again, then a dead letter that names the hook and the request, and says why."""
    result = crawl_paths(tmp_path, plain, "/raises,/once,/junk,/elsewhere,/waits,/breaks,/fine", code=1)
    assert result["dead"] == 5
    assert reasons_of(tmp_path) == {
        ("retry", "hook"): 6, ("dead", "hook"): 5, ("success", ""): 2,
    }  # fmt: skip
    details = dict(rows(tmp_path / ".gossamer", "select url, detail from attempt where verdict = 'dead'"))
    told = {url.rpartition("/")[2]: detail for url, detail in details.items()}
    assert f"the hook Hooks.on_request() for GET {plain.url}/raises:" in told["raises"]
    assert "LookupError: no token" in told["raises"]
    assert "raise LookupError(" in told["raises"]
    assert "returned a int: return None, a Request, a Response or a Replacement" in told["junk"]
    assert f"changed the URL from {plain.url} to http://127.0.0.1:1" in told["elsewhere"]
    assert "Replacement(request)" in told["elsewhere"]
    assert "longer than 0.3 s" in told["waits"]
    assert "Hooks.on_response() for GET" in told["breaks"]
    assert not {"/raises", "/junk", "/elsewhere", "/waits"} & set(plain.log.count_paths())
    errbacks = [item for item in read_items(tmp_path) if item["path"] == "failed"]
    assert {item["text"] for item in errbacks} == {"hook"}
    assert len(errbacks) == 5


def test_a_hook_refuses_and_explain_says_so(tmp_path: Path, plain: Site) -> None:
    result = crawl_paths(tmp_path, plain, "/refused,/unwanted,/fine,/never")
    assert (result["dead"], result["pages"]) == (0, 1)
    assert reasons_of(tmp_path) == {("skipped", "ignored"): 2, ("success", ""): 1}
    assert "/refused" not in plain.log.count_paths()
    assert "/never" not in plain.log.count_paths(), "on_start() left it out"
    for path, why in (("refused", "not in this season"), ("unwanted", "nothing on it")):
        said = gossamer(f"explain {plain.url}/{path}", cwd=tmp_path).stdout
        assert "a hook refuses it" in said
        assert why in said


def test_a_hook_answers(tmp_path: Path, plain: Site) -> None:
    """A response of its own, and nobody is asked; another request, which is one of its own."""
    result = crawl_paths(tmp_path, plain, "/given,/old,/token,/shown,/resets,/filtered")
    assert result["dead"] == 0
    found = {item["path"]: (item["text"], item["of"], item.get("seen")) for item in read_items(tmp_path)}
    assert found == {
        "/given": ("made by a hook", "", True),
        "/new": ("/new", "", True),
        "/token?t=1": ("with token", "token", True),
        "/shown": ("shown", "", True),
        "/resets": ("from a cache", "", True),
        "/added": ("/added", "output", True),
    }
    assert not {"/given", "/old"} & set(plain.log.count_paths())
    assert rows(tmp_path / ".gossamer", "select rung, status from attempt where url like '%/given'") == [
        ("hook", 200)
    ]
    assert reasons_of(tmp_path) == {("success", ""): 7, ("redirect", ""): 2}


def test_replay_passes_answers_through_hooks_and_asks_nobody(tmp_path: Path, plain: Site) -> None:
    write_spider(tmp_path, plain.url, TROUBLED)
    result = asked("crawl shop.py -a paths=/shown,/given -s archive.on=true", *FAST, cwd=tmp_path)
    hits = len(plain.hits)
    gossamer(f"replay {result['job']}", cwd=tmp_path)
    assert len(plain.hits) == hits
    assert sorted(item["text"] for item in read_items(tmp_path)) == ["made by a hook"] * 1 + ["shown"] * 1


def test_a_killed_crawl_resumes_with_its_hooks(tmp_path: Path, site: Site) -> None:
    write_spider(tmp_path, site.url)
    process = start("crawl", "shop.py", "--delay", "0.15", cwd=tmp_path)
    deadline = time.monotonic() + 30
    while len(site.hits) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    result = asked("crawl shop.py", *FAST, cwd=tmp_path)
    assert result["by_status"] == {"200": 7, "302": 1}
    assert result["dead"] == 0
    nothing_is_kept(tmp_path)
