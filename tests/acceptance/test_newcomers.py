"""What people who come from Scrapy, or are in a hurry, type first: each is answered with the way to go on."""

from __future__ import annotations

from pathlib import Path

import pytest

import gossamer as package
from gossamer.compat.scrapy import hints
from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

SPIDER = """
from gossamer import {imported}Spider

class Mine(Spider):
    name = "mine"
    start_urls = ["http://127.0.0.1:9/"]
    {line}
"""


def refused(folder: Path, *, imported: str = "", line: str = "", options: str = "") -> str:
    (folder / "mine.py").write_text(SPIDER.format(imported=imported, line=line))
    done = gossamer(f"crawl mine.py {options}", cwd=folder, code=2)
    said: str = done.stderr
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize("name", hints.IMPORTS)
def test_a_name_of_scrapy_that_is_not_here_says_what_to_use(tmp_path: Path, name: str) -> None:
    said = refused(tmp_path, imported=f"{name}, ")
    assert f"line 2: ImportError: gossamer has no {name}: " in said
    assert hints.IMPORTS[name][:30] in said


def test_a_name_that_nobody_has_is_an_ordinary_error() -> None:
    assert not hasattr(package, "Nonsense")
    with pytest.raises(ImportError, match="cannot import name 'Nonsense' from 'gossamer'"):
        from gossamer import Nonsense  # type: ignore[attr-defined]  # noqa: F401


def test_settings_of_scrapy_in_a_spider_are_answered_one_by_one(tmp_path: Path) -> None:
    said = refused(tmp_path, line="custom_settings = {'DOWNLOAD_DELAY': 2, 'ITEM_PIPELINES': {}, 'X_Y': 1}")
    assert "DOWNLOAD_DELAY; did you mean 'delay'?" in said
    assert "ITEM_PIPELINES: the spider names them: pipelines = [Step]" in said
    assert "X_Y: no such setting" in said
    said = refused(tmp_path, line="settings = {'HTTPCACHE_ENABLED': True}")
    assert "unknown setting 'HTTPCACHE_ENABLED' (= True): --cache (cache.on) keeps fetched pages" in said
    said = refused(tmp_path, line="download_delay = 2.0")
    assert "the attribute download_delay, which Gossamer does not read; use the setting delay instead" in said


def test_settings_of_scrapy_elsewhere(tmp_path: Path) -> None:
    assert "the delay follows the host's response time" in refused(
        tmp_path, options="-s AUTOTHROTTLE_ENABLED=1"
    )
    (tmp_path / "gossamer.toml").write_text("COOKIES_ENABLED = false\n")
    assert "cookies are always kept, in one jar" in refused(tmp_path)


def test_a_saved_page_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<h1>Saved</h1>")
    assert '"text":"Saved"' in gossamer("parse page.html", cwd=tmp_path).stdout


@pytest.mark.parametrize("line", ["fetch page.html", "crawl page.html"])
def test_a_file_is_not_looked_up_as_a_host(tmp_path: Path, line: str) -> None:
    (tmp_path / "page.html").write_text("<h1>Saved</h1>")
    said = gossamer(line, cwd=tmp_path, code=2).stderr
    assert "page.html is a file, and a URL is needed: serve its folder with `python -m http.server" in said
    assert "http://127.0.0.1:8000/page.html" in said


def test_a_job_is_found_as_the_listing_spells_it(tmp_path: Path) -> None:
    with serve_in_thread(Shop(products=3)) as site:
        for _ in range(2):
            gossamer(f"crawl {site.url}/ -q --fresh", *FAST, cwd=tmp_path)
        port = site.url.rpartition(":")[2]
    assert [row["job"] for row in asked("jobs", cwd=tmp_path)] == [
        f"127.0.0.1-{port}-2",
        f"127.0.0.1-{port}-1",
    ]
    for name in (f"127.0.0.1-{port}-2", f"127.0.0.1-{port}", f"127.0.0.1:{port}"):
        assert asked(f"status {name}", cwd=tmp_path)["job"] == f"127.0.0.1-{port}-2", name
    assert asked(f"status 127.0.0.1-{port}-1", cwd=tmp_path)["job"] == f"127.0.0.1-{port}-1"
    assert "no job is named '127.0.0.1'" in gossamer("status 127.0.0.1", cwd=tmp_path, code=2).stderr
