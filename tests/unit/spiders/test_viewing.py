"""The copy of a page that a browser opens: it looks as on its site, and runs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer import Response, UsageError, view
from gossamer.parse.html import HtmlPage

URL = "https://shop.example/a/b?c=1&d=%22"


class Browser:
    """Takes what is to be opened."""

    def __init__(self, answer: bool = True) -> None:
        self.opened: list[str] = []
        self.answer = answer

    def open(self, url: str) -> bool:
        self.opened.append(url)
        return self.answer


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_copy_is_opened_whose_links_mean_what_they_mean_on_the_site() -> None:
    browser = Browser()
    page = "\n<!DOCTYPE html><html lang=de><head><base href='/x/'><title>Käse</title></head><a href=y>z</a>"
    path = view(Response.from_html(URL, page), open_url=browser.open)
    assert browser.opened == [path.as_uri()]
    copy = path.read_text()
    assert copy.startswith("\n<!DOCTYPE html><meta charset=utf-8>")
    parsed = HtmlPage(path.read_bytes(), "file:///tmp/x.html", "text/html")
    assert parsed.base_url == "https://shop.example/x/"
    assert parsed.title == "Käse"
    assert path.stat().st_mode & 0o077 == 0, "for the person alone"


def test_scripts_do_not_run_unless_that_is_asked_for() -> None:
    page = Response.from_html(URL, "<script>alert(1)</script>")
    silent = view(page, open_url=Browser().open).read_text()
    assert silent.index("script-src 'none'") < silent.index("<script>")
    assert "Content-Security-Policy" not in view(page, scripts=True, open_url=Browser().open).read_text()


def test_the_address_of_a_page_cannot_leave_its_attribute() -> None:
    odd = Response.from_html('https://shop.example/"><script>alert(1)</script>', "x")
    assert "<script>" not in view(odd, open_url=Browser().open).read_text()


def test_what_is_no_page_is_shown_as_text_and_pictures_as_they_are() -> None:
    kinds = {"content-type": "application/json"}
    shown = view(Response.from_html(URL, '{"a": "<b>"}', headers=kinds), open_url=Browser().open)
    assert shown.read_text() == "<meta charset=utf-8><pre>{&quot;a&quot;: &quot;&lt;b&gt;&quot;}</pre>"
    svg = Response.from_html(URL, "<svg><script>x</script></svg>", headers={"content-type": "image/svg+xml"})
    assert "<script>" not in view(svg, open_url=Browser().open).read_text()
    png = Response.from_html(URL, b"\x89PNG\0", headers={"content-type": "image/png"})
    picture = view(png, open_url=Browser().open)
    assert (picture.suffix, picture.read_bytes()) == (".png", b"\x89PNG\0")
    binary = Response.from_html(URL, b"PK\0\0", headers={"content-type": "application/zip"})
    with pytest.raises(UsageError, match="is application/zip, which no browser shows"):
        view(binary, open_url=Browser().open)


def test_where_there_is_no_browser_the_file_is_named() -> None:
    with pytest.raises(UsageError, match=r"no browser could be opened; the page is in .*gossamer-view-"):
        view(Response.from_html(URL, "x"), open_url=Browser(answer=False).open)


def test_pythons_own_way_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser()
    monkeypatch.setattr("webbrowser.open", browser.open)
    view(Response.from_html(URL, "x"))
    assert len(browser.opened) == 1
