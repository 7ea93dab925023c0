"""The declarative forms of the tutorials' spiders give the same items as those in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit import declarative_spiders as spiders
from kit.environment import environment
from kit.programs import crawl, run
from kit.quotes_site import PASSWORD, USER, QuotesSite

MEMBERS = """
name = "members"
start_urls = "URL/members"
items.Secret.fields.word = ".secret"
pages.members.items = "Secret"

[login]
url = "URL/login"
check = ".logout"
fields = { username = "QUOTES_USER", password = "QUOTES_PASSWORD" }
"""
FAST = ("--delay", "0", "--per-host", "4")
SAME = ("spider", "finish_reason", "pages", "items", "attempts", "dead", "dropped", "by_status")


def crawled(spider: Path, folder: Path) -> tuple[dict[str, Any], list[str]]:
    out = folder / "items.jsonl"
    result = crawl(spider, "--data", folder / "data", *FAST, "-O", out)
    return {name: result[name] for name in SAME}, sorted(out.read_text().splitlines())


@pytest.mark.parametrize(
    ("site", "in_python", "in_toml"),
    [
        pytest.param(lambda: Shop(60, page_bytes=900), spiders.SHOP, spiders.SHOP_TOML, id="shop"),
        pytest.param(QuotesSite, spiders.QUOTES, spiders.QUOTES_TOML, id="quotes"),
    ],
)
def test_both_forms_give_the_same(
    site: Callable[[], Any], in_python: str, in_toml: str, tmp_path: Path
) -> None:
    with serve_in_thread(site()) as served:
        found = []
        for name, text in (("spider.py", in_python), ("spider.toml", in_toml)):
            folder = tmp_path / name.replace(".", "-")
            folder.mkdir()
            (folder / name).write_text(text.format(url=served.url))
            found.append(crawled(folder / name, folder))
    (python, python_lines), (toml, toml_lines) = found
    assert toml == python
    assert len(toml_lines) == python["items"] > 50
    assert toml_lines == python_lines


@pytest.mark.long
def test_in_a_project_it_is_found_by_its_name(tmp_path: Path) -> None:
    """And ``list``, ``parse`` and ``replay`` know it, as they know any spider."""
    (tmp_path / "gossamer.toml").write_text("delay = 0\n")
    (tmp_path / "spiders").mkdir()
    with serve_in_thread(QuotesSite(15)) as site:
        file = tmp_path / "spiders" / "quotes.toml"
        file.write_text(spiders.QUOTES_TOML.format(url=site.url))
        listed = json.loads(run("list", "--json", cwd=tmp_path).stdout)
        assert [(one["spider"], one["file"]) for one in listed] == [("quotes", str(file))]
        parsed = json.loads(
            run("parse", f"{site.url}/author/Ada-Weaver", "--spider", "quotes", "--json", cwd=tmp_path).stdout
        )
        assert [item["data"] for item in parsed["items"]] == [
            {"name": "Ada Weaver", "born": "1879-01-01", "description": "Spins since 1900."}
        ]
        result = crawl("quotes", "--archive", cwd=tmp_path)
        assert (result["pages"], result["items"]) == (2 + 4, 15 + 4)
    file.write_text(
        file.read_text().replace('author = ".author"', 'author = "small"\nlink = "small + a::attr(href)"')
    )
    replayed = json.loads(run("replay", "quotes", "--diff", "--json", cwd=tmp_path).stdout)
    assert replayed, "archived pages are parsed by the file as it is now, and no host is asked"


def test_it_logs_in_with_what_the_environment_says(tmp_path: Path) -> None:
    file = tmp_path / "members.toml"
    with serve_in_thread(QuotesSite()) as site:
        file.write_text(MEMBERS.replace("URL", site.url))
        given = {"QUOTES_USER": USER}
        once = ("-s", "sessions.max_login_failures=1")
        lacking = run("crawl", file, "--data", tmp_path / "data", *FAST, *once, env=environment(**given))
        assert "QUOTES_PASSWORD, which the log-in needs, is not set" in lacking.stderr
        given["QUOTES_PASSWORD"] = PASSWORD
        ran = run("crawl", file, "--data", tmp_path / "data", "--json", *FAST, env=environment(**given))
        result = json.loads(ran.stdout)
        assert (result["pages"], result["items"]) == (1, 1)
    assert PASSWORD not in ran.stdout + ran.stderr


def test_what_is_wrong_is_said_with_line_and_key(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(
        spiders.SHOP_TOML.format(url="http://127.0.0.1:1").replace(
            'select = "a.product"', 'selct = "a.product"'
        )
    )
    ran = run("crawl", file)
    assert ran.returncode == 2
    assert (
        f"{file}, line 16: pages.listing.follow[0].selct: unknown key; did you mean 'select'?" in ran.stderr
    )
