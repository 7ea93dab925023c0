"""A crawl through real proxies with passwords: all pages arrive, and nobody sees who let us in."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.environment import environment
from kit.programs import command, rows, run
from kit.proxies import PASSWORD, PROXIES, USER, ProxyProcess

pytestmark = pytest.mark.server

PAGES = 30
WRONG = "canary-wrong"
SPIDER = """
from gossamer import Spider


class Proxied(Spider):
    name = "proxied"
    start_urls = ["{url}/"]
    settings = {{
        "proxies.urls": {urls},
        "proxies.failure_quarantine": {{"other": 1.0}},
        "log.file": "crawl.log",
        "log.level": "debug",
        "retry_backoff": 0.05,
    }}

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(css="a")
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, ProxyProcess]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(kind()) for name, kind in PROXIES.items()}


@pytest.fixture
def site() -> Iterator[Site]:
    def answer(path: str, headers: object) -> SiteResponse:
        if path == "/robots.txt":
            return SiteResponse(404, b"")
        time.sleep(0.02)
        links = "".join(f"<a href='/{n}'>{n}</a>" for n in range(PAGES)) if path == "/" else "a page"
        return SiteResponse(200, f"<html><body><p>{links}</p></body></html>".encode())

    with serve_in_thread(answer) as served:
        yield served


def write_spider(folder: Path, site: Site, urls: list[str]) -> Path:
    path = folder / "proxied.py"
    path.write_text(SPIDER.format(url=site.url, urls=json.dumps(urls)))
    return path


def command_lines(pid: int) -> bytes:
    """Of a process and its children."""
    lines = Path(f"/proc/{pid}/cmdline").read_bytes()
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            lines += command_lines(int(child))
    return lines


def test_passwords_of_proxies_are_seen_by_nobody(
    servers: dict[str, ProxyProcess], site: Site, tmp_path: Path
) -> None:
    """Not on the screen, in the log, in what is stored, in listings nor by ``ps``."""
    urls = [server.url("${PROXY_USER}", "${PROXY_PASSWORD}") for server in servers.values()]
    urls.append(servers["squid"].url("canary-other", "${WRONG_PASSWORD}"))
    spider = write_spider(tmp_path, site, urls)
    secrets = {"PROXY_USER": USER, "PROXY_PASSWORD": PASSWORD, "WRONG_PASSWORD": WRONG}
    options = ("--delay", "0", "--per-host", "2", "--data", tmp_path / "data")
    process = subprocess.Popen(
        command("crawl", spider, *options),
        cwd=tmp_path,
        env={**environment(), **secrets},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    seen = b""
    while not site.hits and process.poll() is None:
        seen += command_lines(process.pid)
        time.sleep(0.01)
    shown, _ = process.communicate(timeout=60)
    assert process.returncode == 0, shown.decode()
    assert b"crawl" in seen, "the command line was seen"
    assert rows(tmp_path / "data", "select count(*) from item") == [(PAGES + 1,)]
    by_proxy = dict(
        rows(tmp_path / "data", "select proxy, count(*) from attempt where status = 200 group by 1")
    )
    assert by_proxy.keys() == {server.proxy().name for server in servers.values()}, "each had its turn"
    assert not any(name.startswith("proxy-") for hit in site.hits for name in hit.headers)
    listed = run("attempts", "proxied", "--json", "--data", tmp_path / "data", cwd=tmp_path)
    assert '"reason": "proxy"' in listed.stdout or '"reason":"proxy"' in listed.stdout
    told = seen + shown + (listed.stdout + listed.stderr).encode() + (tmp_path / "crawl.log").read_bytes()
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    for secret in (USER, PASSWORD, WRONG, "canary-other"):
        assert secret.encode() not in told, secret
        assert secret.encode() not in stored, secret


@pytest.mark.long
def test_a_wrong_password_is_named_and_costs_no_page(
    servers: dict[str, ProxyProcess], site: Site, tmp_path: Path
) -> None:
    """The requests wait until the password is right, and the same command continues."""
    server = servers["tinyproxy"]
    spider = write_spider(tmp_path, site, [server.url(USER, "${PROXY_PASSWORD}")])
    options = ("--delay", "0", "--per-host", "4", "--data", tmp_path / "data")

    def start(password: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command("crawl", spider, *options),
            cwd=tmp_path,
            env={**environment(), "PROXY_PASSWORD": password},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    process = start(WRONG)
    log, deadline = tmp_path / "crawl.log", time.monotonic() + 60
    said = "refuses the user and password (401)"
    while time.monotonic() < deadline and process.poll() is None:
        if log.exists() and said in log.read_text():
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert f"proxy {server.proxy().name} {said}" in shown
    assert "no proxy may be used now: 1 proxy is in quarantine; requests wait" in shown
    assert "the same command continues" in shown
    assert not site.hits
    continued = start(PASSWORD)
    shown, _ = continued.communicate(timeout=60)
    assert continued.returncode == 0, shown
    assert rows(tmp_path / "data", "select count(*) from item") == [(PAGES + 1,)]
    assert rows(tmp_path / "data", "select count(*) from attempt where verdict = 'dead'") == [(0,)]
