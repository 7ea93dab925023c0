"""Saved pages as if they were fetched, and nothing outside of their folder."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.core.errors import Fault, FetchError, UsageError
from gossamer.core.requests import Request
from gossamer.fetch.replay import ReplayFetcher
from gossamer.testing.clock import EPOCH, ManualClock
from kit.corpora import from_corpus
from kit.saved_shop import PAGES, SavedShop, made_shop, real_shop


async def fault(fetcher: ReplayFetcher, url: str) -> Fault:
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch(Request(url))
    return caught.value.fault


@pytest.mark.parametrize("make", [made_shop, pytest.param(real_shop, marks=from_corpus("shop", cases=PAGES))])
async def test_a_saved_shop(make: Callable[[], SavedShop], tmp_path: Path) -> None:
    shop = make()
    for number, body in shop.pages.items():
        (tmp_path / f"{number}.html").write_bytes(body)
    rules = {shop.name + "/shop/page/{page}/": "{page}.html"}
    fetcher = ReplayFetcher(tmp_path, rules, clock=ManualClock())
    for number, body in shop.pages.items():
        fetched = await fetcher.fetch(Request(f"{shop.name}/shop/page/{number}/"))
        assert (fetched.status, fetched.header("content-type")) == (200, "text/html")
        assert fetched.body == body
        assert (fetched.started_at, fetched.rung) == (EPOCH, "replay")
    for path in (f"{PAGES + 1}/", "1/x/", "/"):
        assert await fault(fetcher, f"{shop.name}/shop/page/{path}") is Fault.NOT_ARCHIVED
    robots = await fetcher.fetch(Request(f"{shop.name}/robots.txt"))
    assert robots.status == 404
    assert not fetcher.touches_network
    await fetcher.close()


async def test_rules_are_tried_in_order_and_suffixes_tell_the_type(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "7.json").write_bytes(b"{}")
    (tmp_path / "p.html.gz").write_bytes(gzip.compress(b"<p>"))
    (tmp_path / "robots.txt").write_bytes(b"User-agent: *")
    (tmp_path / "blob").write_bytes(b"\0")
    rules = {
        "https://x.example/{kind}/{id}": "{kind}/{id}.json",
        "https://x.example/{kind}/7?q=(1+1)": "p.html.gz",
        "https://x.example/robots.txt": "robots.txt",
        "https://x.example/blob": "blob",
    }
    fetcher = ReplayFetcher(tmp_path, rules, clock=ManualClock())
    for path, body, kind in [
        ("a/7", b"{}", "application/json"),
        ("b/7?q=(1+1)", b"<p>", "text/html"),
        ("robots.txt", b"User-agent: *", "text/plain"),
        ("blob", b"\0", "application/octet-stream"),
    ]:
        fetched = await fetcher.fetch(Request(f"https://x.example/{path}"))
        assert (fetched.body, fetched.header("content-type")) == (body, kind)
    assert await fault(fetcher, "https://x.example/a/8") is Fault.NOT_ARCHIVED


async def test_nothing_outside_of_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.html").write_text("secret")
    folder = tmp_path / "pages"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.html").symlink_to(tmp_path / "secret.html")
    (folder / "loop.html").symlink_to(folder / "loop.html")
    rules = {"https://x.example/{a}": "{a}.html", "https://x.example/{a}/{b}": "{a}/{b}.html"}
    fetcher = ReplayFetcher(folder, rules, clock=ManualClock())
    names = ("../secret", "..", "link", "loop", "sub/../secret", "sub", "\0", "x" * 5000, "%2e%2e/secret")
    for name in (*names, f"{tmp_path}/secret"):
        assert await fault(fetcher, f"https://x.example/{name}") is Fault.NOT_ARCHIVED


async def test_damaged_archives_are_faults(tmp_path: Path) -> None:
    (tmp_path / "a.html.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    (tmp_path / "b.html.gz").write_bytes(b"no gzip")
    fetcher = ReplayFetcher(tmp_path, {"http://x/{n}": "{n}.html.gz"}, clock=ManualClock())
    for name in "ab":
        assert await fault(fetcher, f"http://x/{name}") is Fault.BAD_ENCODING


@pytest.mark.parametrize(
    "rules", [{"http://x/{a}": "{b}.html"}, {"http://x/{a}/{a}": "x"}, {"http://x/{}": "x"}]
)
def test_bad_rules_are_named(tmp_path: Path, rules: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"\{"):
        ReplayFetcher(tmp_path, rules, clock=ManualClock())
    with pytest.raises(UsageError, match="not a folder"):
        ReplayFetcher(tmp_path / "none", {}, clock=ManualClock())
