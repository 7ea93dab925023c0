"""Crawls that keep every answer: nothing is missing after a kill, nobody's password is in the files."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import time
from pathlib import Path

import pytest

from gossamer.archive.reader import WarcReader
from gossamer.blobs.folder import FolderBlobStore
from gossamer.testing.shop import Shop
from gossamer.testing.site import SiteResponse, serve_in_thread
from kit.command_line import gossamer
from kit.programs import crawl, rows, start
from kit.shop_spider import SPIDER

FAST = ("--delay", "0", "--per-host", "8", "--archive", "--processes", "2", "-s", "retry_backoff=0.1")


def archived_in(data: Path) -> dict[str, tuple[int, int]]:
    """What an archive has: status and size of the body by URL."""

    async def read() -> dict[str, tuple[int, int]]:
        reader, found = WarcReader(FolderBlobStore(data / "archive")), {}
        for folder in (data / "archive").iterdir():
            async for entry in reader.list_pages(folder.name):
                page = (await reader.read_page(entry.location.text)).fetched
                found[page.url] = (page.status, len(page.body))
        return found

    return asyncio.run(read())


@pytest.mark.long
def test_every_page_of_a_killed_and_resumed_crawl_is_in_the_archive(tmp_path: Path) -> None:
    """A commit that is not in the archive would be a page that no replay ever finds."""
    data = tmp_path / "data"
    with serve_in_thread(Shop(150, page_bytes=4000)) as site:
        spider = tmp_path / "shop.py"
        spider.write_text(SPIDER.replace("{url}", site.url.rstrip("/")))
        process = start("crawl", spider, "--data", data, *FAST)
        deadline = time.monotonic() + 30
        while len(site.hits) < 60 and time.monotonic() < deadline:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
        result = crawl(spider, "--data", data, *FAST)
        job = result["job"]
    pages = rows(data, "select url, status, size_bytes from page")
    archived = archived_in(data)
    assert len(pages) == result["pages"] > 150
    for url, *page in pages:
        assert archived[url] == tuple(page)
    assert not list((data / "archive").glob("*/*.open")), "what the killed processes left is finished"
    said = gossamer(f"explain {pages[-1][0]} --data {data}", cwd=tmp_path).stdout
    assert f"archived at {job}-" in " ".join(said.split())
    asked = json.loads(gossamer(f"explain {pages[-1][0]} --data {data} --json", cwd=tmp_path).stdout)
    assert asked["archived"].startswith(f"{job}-")


def test_no_password_and_no_cookie_is_in_the_archive(tmp_path: Path) -> None:
    def site(path: str, headers: dict[str, str]) -> SiteResponse:
        fields = (("Set-Cookie", "session=canary-cookie; Path=/"),)
        links = b"<a href=/two>two</a>" if path == "/" else b"<p>end</p>"
        return SiteResponse(200, b"<html><body>" + links, "text/html", headers=fields)

    with serve_in_thread(site) as served:
        url = served.url.replace("http://", "http://me:canary-password@")
        crawl(url, "--data", tmp_path / "data", *FAST[:5])
        sent = [hit.headers for hit in served.hits if hit.path == "/two"]
    assert "canary-cookie" in sent[0]["cookie"]
    assert sent[0]["authorization"].startswith("Basic ")
    files = list((tmp_path / "data" / "archive").glob("*/*"))
    text = b"".join(gzip.decompress(path.read_bytes()) for path in files if path.suffix == ".gz")
    text += b"".join(path.read_bytes() for path in files if path.suffix != ".gz")
    assert b"/two" in text
    for secret in (b"canary", sent[0]["authorization"].split()[1].encode()):
        assert secret not in text
