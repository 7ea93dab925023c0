"""Rows 25-27 and 75: pages made to be slow to parse, and callbacks that do what they want."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.testing.badroutes import PAGE
from kit.hostile.bad_site import Crawled, crawl, serving
from kit.large_pages import index_page

GOOD = [f"good/{number}" for number in range(20)]
AFTER = b"<a href='/after'>what comes after it</a>"

SLOW = {
    25: {
        "nested": b"<div>" * 500_000 + AFTER,
        "fonts": b"".join(b"<p><font a=%d>" % n for n in range(16_000)) + AFTER,
        "bodies": b"".join(b"<body a%d=b>" % n for n in range(20_000)) + AFTER,
        "tables": b"<table><tr><td>" * 30_000 + AFTER,
    },
    26: {
        "many_links": b"".join(b"<a href='/many/%d'>%d</a>" % (n, n) for n in range(120_000)),
    },
    27: {
        "long_attribute": b"<p title='" + b"x" * 30_000_000 + b"'>" + AFTER,
        "many_attributes": b"<p " + b" ".join(b"a%d=b" % n for n in range(150_000)) + b">" + AFTER,
        "open_comment": AFTER + b"<!-- " + b"x" * 5_000_000,
        "open_script": AFTER + b"<script>" + b"var x = '<div>';" * 300_000,
    },
}
"""Pages by row and name."""


def crawl_slow(tmp_path: Path, row: int, **settings: object) -> tuple[Crawled, dict[str, str]]:
    pages = {
        f"/slow/{name}": b"<!doctype html><title>slow</title>" + body for name, body in SLOW[row].items()
    }
    links = "".join(f"<a href='/{path}'>x</a>" for path in [*(path[1:] for path in pages), *GOOD])
    files = {"/": links.encode(), "/after": PAGE, "/robots.txt": b"", **{f"/{path}": PAGE for path in GOOD}}
    with serving(files={**files, **pages}) as site:
        crawled = crawl(
            tmp_path, [site.url()], **{"http.read_timeout": 20.0, "http.total_timeout": 60.0, **settings}
        )
        endings = {path: crawled.ending(site.url(path[1:])) for path in (*files, *pages)}
    crawled.behaved()
    assert {endings[f"/{path}"] for path in GOOD} == {"success"}, "the good pages beside them are had"
    return crawled, {
        path.rpartition("/")[2]: end for path, end in endings.items() if path.startswith("/slow")
    }


def test_row_25_half_a_million_nested_tags(tmp_path: Path) -> None:
    crawled, endings = crawl_slow(tmp_path, 25)
    assert endings == dict.fromkeys(SLOW[25], "success")
    assert crawled.left_out["page:parse_truncated"] >= 2
    assert any(url.endswith("/after") for url in crawled.tries), "links after the nested part are followed"


def test_row_26_a_hundred_thousand_links(tmp_path: Path) -> None:
    crawled, endings = crawl_slow(tmp_path, 26, max_depth=1, **{"parse.max_links": 20_000})
    assert endings == {"many_links": "success"}
    assert crawled.left_out["link:too_many"] > 0
    assert crawled.left_out["link:too_deep"] <= 20_000


@pytest.mark.long
def test_row_26_an_index_of_six_megabytes_gives_all_its_links(tmp_path: Path) -> None:
    files = {"/": b"<a href='/index'>x</a>", "/index": index_page().encode(), "/robots.txt": b""}
    with serving(files=files) as site:
        for number in range(3):  # its work is near the limit, and others at the same memory only add to it
            data = tmp_path / f"try-{number}"
            crawled = crawl(data, [site.url()], max_depth=1, **{"http.read_timeout": 20.0})
            assert crawled.ending(site.url("index")) == "success"
            if crawled.let_others_work:
                break
    crawled.behaved()
    assert crawled.left_out == {"link:too_deep": 30_000}


@pytest.mark.long
def test_row_27_giant_attributes_and_unclosed_elements(tmp_path: Path) -> None:
    crawled, endings = crawl_slow(tmp_path, 27)
    assert endings == dict.fromkeys(SLOW[27], "success")
    assert any(url.endswith("/after") for url in crawled.tries)


LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
XML = {
    "laughs": b"<!DOCTYPE r [<!ENTITY l0 'ha'>" + LAUGHS + b"]><r>&l9;<link>/after</link></r>",
    "file": b"<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><r><link>/after</link>&x;</r>",
    "network": b"<!DOCTYPE r SYSTEM '/asked/dtd' [<!ENTITY x SYSTEM '/asked/entity'>]><r>&x;</r>",
    "nested": b"<r><link>/after</link>" + b"<a>" * 1_000_000,
    "empties": b"<r><link>/after</link>" + b"<a/>" * 6_000_000,
    "attributes": b"<r><a " + b" ".join(b"a%d='b'" % n for n in range(150_000)) + b"/></r>",
    "namespaces": b"<r " + b" ".join(b"xmlns:a%d='b%d'" % (n, n) for n in range(50_000)) + b"/>",
    "open_data": b"<r><link>/after</link><![CDATA[" + b"<a>" * 1_500_000,
}


@pytest.mark.long
def test_row_35_xml_pages_do_no_harm(tmp_path: Path) -> None:
    pages = {f"/{name}.xml": b"<?xml version='1.0'?>" + body for name, body in XML.items()}
    links = "".join(f"<a href='{path}'>x</a>" for path in [*pages, *(f"/{path}" for path in GOOD)])
    files = {"/": links.encode(), "/after": PAGE, "/robots.txt": b"", **{f"/{path}": PAGE for path in GOOD}}
    with serving(files={**files, **pages}) as site:
        crawled = crawl(tmp_path, [site.url()], **{"http.read_timeout": 20.0, "http.total_timeout": 60.0})
        endings = {path: crawled.ending(site.url(path[1:])) for path in (*files, *pages)}
        assert not [hit for hit in site.log if hit.path.startswith("/asked")]
    crawled.behaved()
    assert {path: end for path, end in endings.items() if path != "/robots.txt"} == {
        path: "success" for path in endings if path != "/robots.txt"
    }
    assert crawled.left_out["page:parse_truncated"] == 3, "laughs, nested, empties"


RUDE = {
    "raises": "callback",
    "exits": "callback",
    "recurses": "callback",
    "returns_junk": "callback",
    "yields_junk": "callback",
    "waits_for_ever": "callback_timeout",
    "never_ends": "success",
    "is_polite": "success",
}
"""What a callback does, and how its page ends."""


def test_row_75_callbacks_are_isolated_from_each_other(tmp_path: Path) -> None:
    files = {"/robots.txt": b"", **{f"/{name}": PAGE for name in RUDE}}
    with serving(files=files) as site:
        crawled = crawl(
            tmp_path,
            [site.url(name) for name in RUDE],
            spider="Rude",
            **{"parse.callback_timeout": 0.5, "parse.max_links": 1000},
        )
        endings = {name: crawled.ending(site.url(name)) for name in RUDE}
    crawled.behaved()
    assert endings == RUDE
    assert crawled.result["dead"] == 6
    assert crawled.left_out["link:too_many"] > 0
    assert crawled.result["dropped"] == 0, "junk is no item, and its page says so"
