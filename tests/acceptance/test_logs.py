"""Logs of a crawl for programs: on stderr and in the file nothing but lines of JSON, whatever goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.command_line import gossamer
from kit.programs import run

OPTIONS = ("--delay", "0", "--per-host", "16", "--concurrency", "4")
JSON = ("-s", "log.format=json", "-s", "log.level=debug", "-s", "log.file=crawl.log")
SPIDER = """
import sys, warnings
from gossamer import Spider


class Noisy(Spider):
    name = "noisy"
    start_urls = [f"{url}/{number}" for number in range(20)]

    def parse(self, response):
        self.logger.warning("seen\\n%s\\x1b[31m", response.css("title::text").get())
        warnings.warn("one\\ntwo", stacklevel=1)
        if response.url.endswith("/7"):
            raise ValueError("bad\\r\\nprice")
        yield {"url": response.url}
"""


@pytest.fixture
def site() -> Iterator[Site]:
    title = b'<title>\n{"level": "error"}\xe2\x80\xa8\x1b]0;x</title>'

    def answer(path: str, headers: Mapping[str, str]) -> SiteResponse:
        if path == "/moved":
            return SiteResponse(302, headers=(("Location", "/1"),))
        return SiteResponse(404 if path == "/9" else 200, title)

    with serve_in_thread(answer) as served:
        yield served


def lines_of(text: str) -> list[dict[str, Any]]:
    assert text.replace("\n", "").isprintable()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("processes", ["1", "2"])
def test_stderr_and_the_log_are_lines_of_json(tmp_path: Path, site: Site, processes: str) -> None:
    (tmp_path / "noisy.py").write_text(SPIDER.replace("{url}", site.url))
    done = run("crawl", "noisy.py", "--processes", processes, *OPTIONS, *JSON, cwd=tmp_path)
    shown, kept = lines_of(done.stderr), lines_of((tmp_path / "crawl.log").read_text())
    assert kept == [line for line in shown if line["logger"] != "gossamer.cli"]
    by_event: dict[str, list[dict[str, Any]]] = {}
    for line in shown:
        by_event.setdefault(line["event"], []).append(line)
    assert {line["job"] for line in shown if line["event"] != "message"} == {"noisy-1"}
    assert len(by_event["page_done"]) == 20
    (failed,) = [line for line in by_event["page_done"] if line.get("reason") == "callback"]
    assert (failed["url"], failed["status"], failed["level"]) == (f"{site.url}/7", 200, "error")
    assert "ValueError: bad" in failed["detail"]
    said = [line for line in by_event["message"] if line["logger"].startswith("gossamer.spiders")]
    assert {line["url"] for line in said} == {f"{site.url}/{number}" for number in range(20) if number != 9}
    assert all('"level": "error"' in line["detail"] for line in said)
    assert any("UserWarning: one" in line["text"] for line in by_event["message"])
    (summary,) = by_event["summary"]
    assert (summary["attempts"], summary["dead"], summary["items"]) == (20, 1, 18)


def test_an_error_that_ends_the_command_is_a_line_too(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(SPIDER.replace("{url}", "http://127.0.0.1:1").replace("start_urls", "x"))
    done = run("crawl", "bad.py", *JSON, "-s", "log.file=/dev/null/x", cwd=tmp_path)
    assert done.returncode == 4
    (line,) = lines_of(done.stderr)
    assert (line["level"], line["logger"]) == ("error", "gossamer.cli")
    assert "the log /dev/null/x cannot be written" in line["text"]


def write_calm_spider(folder: Path, site: Site) -> None:
    """Without warnings, which are errors within a test's own process."""
    lines = SPIDER.replace("{url}", site.url).splitlines()
    (folder / "noisy.py").write_text("\n".join(line for line in lines if "warnings.warn" not in line))


def test_commands_for_one_page_write_lines_too(tmp_path: Path, site: Site) -> None:
    """Redirects, spiders' lines and tracebacks; what they print as a result is on stdout."""
    write_calm_spider(tmp_path, site)
    for command, code, texts in (
        (f"fetch {site.url}/moved", 0, ["302 -> "]),
        (f"parse {site.url}/7 --spider noisy.py", 2, ["seen", "parse() raised ValueError: bad"]),
        (f"shell {site.url}/moved -c 1/0", 2, ["302 -> ", "the code raised ZeroDivisionError"]),
        ("fetch http://127.0.0.1:1/ --no-robots", 4, ["was not fetched"]),
    ):
        done = gossamer(command, "-s", "log.format=json", cwd=tmp_path, code=code)
        lines = lines_of(done.stderr)
        for text in texts:
            assert any(text in line["text"] for line in lines), (command, text, lines)
        assert any("Traceback" in line.get("detail", "") for line in lines) == (code == 2)
    assert not (tmp_path / "crawl.log").exists()


def test_waiting_for_a_job_is_told_in_lines_too(tmp_path: Path, site: Site) -> None:
    write_calm_spider(tmp_path, site)
    gossamer("crawl noisy.py -q", *OPTIONS, cwd=tmp_path)
    line, warning = lines_of(gossamer("wait noisy -s log.format=json", cwd=tmp_path).stderr)
    assert (line["event"], line["job"], line["pages"]) == ("summary", "noisy-1", 19)
    assert warning["level"] == "warning"
    assert "1 page failed in the spider's code: ValueError: bad" in warning["text"]
