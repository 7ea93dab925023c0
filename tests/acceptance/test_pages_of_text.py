"""Answers that are no HTML: plain text is a page, and an empty answer is no failure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.programs import rows, run


def site_of(path: str, headers: Mapping[str, str]) -> SiteResponse:
    if path == "/robots.txt":
        return SiteResponse(200, b"User-agent: *\nDisallow: /private\n", "text/plain")
    if path == "/empty":
        return SiteResponse(204, content_type="")
    return SiteResponse(200, "Plain text, ä.\n".encode(), "text/plain; charset=utf-8")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve_in_thread(site_of) as served:
        yield served


def test_plain_text_is_a_page_and_its_text_is_kept(site: Site, tmp_path: Path) -> None:
    done = run("crawl", f"{site.url}/notes.txt", "--data", tmp_path, "--json")
    assert (done.returncode, json.loads(done.stdout)["pages"]) == (0, 1)
    ((data,),) = rows(tmp_path, "SELECT data FROM item")
    item = json.loads(data)
    assert (item["text"], item["title"]) == ("Plain text, ä.", "")
    assert "no page was parsed" not in done.stderr


def test_an_empty_answer_is_neither_dead_nor_a_failure(site: Site, tmp_path: Path) -> None:
    done = run("crawl", f"{site.url}/empty", "--data", tmp_path)
    assert done.returncode == 0
    assert "no page was parsed (1 answer without anything to parse: 204)" in done.stderr
    assert "dead list" not in done.stderr


def test_a_start_url_that_robots_txt_forbids_is_said_also_the_second_time(site: Site, tmp_path: Path) -> None:
    args = ("crawl", f"{site.url}/private", "--data", tmp_path)
    first, second = run(*args), run(*args)
    assert "no page was parsed (1 robots)" in first.stderr
    assert "this crawl is finished, without a page (1 robots)" in second.stderr
    assert "no start URLs" not in second.stderr
    assert (first.returncode, second.returncode) == (1, 1)
