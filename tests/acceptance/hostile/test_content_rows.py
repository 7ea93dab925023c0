"""What odd characters do to pages, and what strangers' texts do to the outputs.

The numbers are those of the rows of hostile inputs; each test names the class that its row ends in.
"""

from __future__ import annotations

import asyncio
import codecs
import csv
import io
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from gossamer import Spider
from gossamer.core.events import PageDoneEvent
from gossamer.core.jobs import StoredItem
from gossamer.core.results import Attempt, Verdict
from gossamer.export import write_items
from gossamer.observe.log import LogSink
from gossamer.observe.log_lines import LineFormatter
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve
from kit.hostile.inside import (
    NOT_FOUND,
    endings,
    follower,
    html,
    run,
)
from kit.programs import rows

# --------------------------------------------------------------------------- encodings


ODD_PAGES = {
    "/header": SiteResponse(body=b"<h1>caf\xe9</h1>", content_type="text/html; charset=iso-8859-1"),
    "/header-beats-meta": SiteResponse(
        body="<meta charset=koi8-r><h1>café</h1>".encode(), content_type="text/html; charset=utf-8"
    ),
    "/mark-beats-header": SiteResponse(
        body=codecs.BOM_UTF8 + "<h1>café</h1>".encode(), content_type="text/html; charset=koi8-r"
    ),
    "/utf16": SiteResponse(body=codecs.BOM_UTF16_LE + "<h1>café</h1>".encode("utf-16-le")),
    "/utf16-without-mark": SiteResponse(body="<h1>café</h1>".encode("utf-16-le"), content_type="text/html"),
    "/utf7": SiteResponse(body=b"<h1>+ADw-script+AD4-</h1>", content_type="text/html; charset=utf-7"),
    "/nonsense": SiteResponse(body="<h1>café</h1>".encode(), content_type="text/html; charset=nonsense"),
    "/junk": SiteResponse(body=bytes(range(256)) * 4, content_type="text/html; charset=utf-8"),
}


async def test_row_23_charsets_that_are_wrong_or_in_conflict_never_raise(tmp_path: Path) -> None:
    """``success``: what cannot be read is U+FFFD. UTF-7 is never spoken."""

    def app(path: str, headers: Any) -> SiteResponse:
        return ODD_PAGES.get(path, NOT_FOUND)

    class Heads(Spider):
        name = "heads"

        def parse(self, response: Any) -> Any:
            yield {
                "path": response.url[-40:],
                "head": response.css("h1::text").get(""),
                "text": response.text,
            }

    async with serve(app) as site:
        Heads.start_urls = [site.url + path for path in ODD_PAGES]
        result = await run(Heads, tmp_path)
    assert (result.items, result.dead, result.finish_reason) == (len(ODD_PAGES), 0, "finished")
    assert set(endings(tmp_path).values()) == {"success"}
    found = [json.loads(data) for (data,) in rows(tmp_path, "select data from item")]
    heads = {"/" + item["path"].rpartition("/")[2]: item["head"] for item in found}
    for path in ("/header", "/header-beats-meta", "/mark-beats-header", "/utf16", "/nonsense"):
        assert heads[path] == "café", path
    assert heads["/utf7"] == "+ADw-script+AD4-"


async def test_row_24_nul_and_surrogates_are_stored_without_harm_to_other_pages(tmp_path: Path) -> None:
    """``success``: NUL and lone surrogates become U+FFFD, in one batch with the others."""

    class Odd(Spider):
        name = "odd"

        def parse(self, response: Any) -> Any:
            yield {"n": 1, "text": "a\0b"}
            yield {"n": 2, "text": "lone \ud800 half"}
            yield {"n": 3, "text": "\ufffe\uffff", "\udfff key": 1}
            yield {"n": 4, "text": "plain"}

    async with serve(lambda path, headers: html("<title>a&#xD800;b\0c</title>")) as site:
        Odd.start_urls = [site.url + "/"]
        result = await run(Odd, tmp_path)
    assert (result.pages, result.dead) == (1, 0)
    found = {item["n"]: item for item in (json.loads(x) for (x,) in rows(tmp_path, "select data from item"))}
    assert found[1]["text"] == "a\ufffdb"
    assert found[2]["text"] == "lone \ufffd half"
    assert found[3]["text"] == "\ufffe\uffff"
    assert found[4]["text"] == "plain"
    assert (len(found), result.dropped) == (4, 0)
    stored = [StoredItem(type="item", key="", data=item, url="", first_seen=0, last_seen=0, changed_at=0)
              for item in found.values()]  # fmt: skip
    for suffix in ("jsonl", "json", "csv", "xml"):
        assert await write_items(stored, tmp_path / f"x.{suffix}") == len(found)


# --------------------------------------------------------------------------- outputs


CELLS = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\rx",
    'say "hi", you',
    "two\nlines",
    "a,b;c",
    "plain",
]


def stored(data: dict[str, Any]) -> StoredItem:
    return StoredItem(type="item", key="", data=data, url="", first_seen=0, last_seen=0, changed_at=0)


async def test_row_50_csv_is_exact_by_default_and_safe_when_asked() -> None:
    """No error: in safe mode a formula gets a leading apostrophe, headers included."""
    items = [stored({"=name": cell, "n": n}) for n, cell in enumerate(CELLS)]

    async def written(**options: Any) -> list[list[str]]:
        out = io.BytesIO()
        await write_items(items, out, "csv", **options)
        return list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))

    exact = await written()
    assert exact[0] == ["=name", "n"]
    assert [row[0] for row in exact[1:]] == CELLS
    safe = await written(safe_csv=True)
    assert safe[0] == ["'=name", "n"]
    assert [row[0] for row in safe[1:]] == [f"'{cell}" for cell in CELLS[:6]] + CELLS[6:]


async def test_row_51_sql_in_texts_and_field_names_is_text(tmp_path: Path) -> None:
    """``success``: parameters only; names of fields are data, ten thousand of them too."""
    evil = 'a"; drop table item; --'

    class Evil(Spider):
        name = "'; drop table job; --"

        def parse(self, response: Any) -> Any:
            yield {evil: "'); delete from attempt; --", "url": "x' or '1'='1"}
            yield {f"field {n}\"'`]": n for n in range(10_000)}

    async with serve(lambda path, headers: html(f"<title>{evil}</title>")) as site:
        Evil.start_urls = [f"{site.url}/?q={evil}"]
        result = await run(Evil, tmp_path)
    assert (result.items, result.dead, result.dropped) == (2, 0, 0)
    assert rows(tmp_path, "pragma integrity_check") == [("ok",)]
    found = [json.loads(data) for (data,) in rows(tmp_path, "select data from item order by id")]
    assert found[0][evil] == "'); delete from attempt; --"
    assert len(found[1]) == 10_000
    assert rows(tmp_path, "select distinct spider from item") == [(Evil.name,)]
    for suffix in ("jsonl", "json", "csv", "xml"):
        assert await write_items(map(stored, found), tmp_path / f"x.{suffix}") == 2
    with (tmp_path / "x.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert first[evil] == found[0][evil]


NAMES = [
    "../../etc/x",
    "%2e%2e/%2e%2e",
    "a\0b",
    "CON",
    "x" * 300,
    "Case",
    "cASE",
    "..",
    "",
    "-rf",
    "a/../../b",
]


@pytest.mark.parametrize("name", NAMES)
def test_row_52_no_file_is_named_by_what_strangers_write(tmp_path: Path, name: str) -> None:
    """Names of spiders and jobs become slugs; everything written lies below the data directory."""
    data = tmp_path / "deep" / "data"
    spider = follower("http://127.0.0.1:9/", name=name or "-")
    result = asyncio.run(run(spider, data, **{"http.connect_timeout": 1.0}))
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*-\d+", result.job)
    assert {path.name for path in sorted(tmp_path.rglob("*")) if data not in path.parents} == {"deep", "data"}
    written = list(data.rglob("*"))
    assert written
    assert all(path.resolve().is_relative_to(data.resolve()) and len(path.name) < 100 for path in written)


def test_row_54_one_event_is_one_printable_line() -> None:
    """No error: line breaks, escapes and megabytes of strangers are escaped and cut."""
    texts = ("\r\nWARNING fake", "\x1b[31mred\x07", "%s{}%n{0}", "a" * 10**6, "\u202egnp.exe", "\u2028x")
    evil = [*(f"http://h/{text}" for text in texts), "http://user:canary@h/"]
    out = io.StringIO()
    logger = logging.Logger("test", logging.DEBUG)
    handler = logging.StreamHandler(out)
    handler.setFormatter(LineFormatter())
    logger.addHandler(handler)
    sink = LogSink(logger)
    for n, url in enumerate(evil):
        attempt = Attempt(
            at=0.0, url=url, fingerprint=n, verdict=Verdict.DEAD, reason=url, detail=url, via=url
        )
        sink.emit(PageDoneEvent(at=0.0, job="j-1", attempt=attempt, dropped={f"item:{url}": 1}))
    text = out.getvalue()
    lines = text.splitlines()
    assert len(lines) == 2 * len(evil)
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ WARNING ", line) for line in lines)
    assert text.replace("\n", "").isprintable()
    assert max(map(len, lines)) < 2000
