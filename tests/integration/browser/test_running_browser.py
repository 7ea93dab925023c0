"""A browser that runs already is used, and stays."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gossamer.core.errors import MissingServiceError
from gossamer.core.requests import Request
from gossamer.fetch.guard import AddressGuard
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = pytest.mark.server


@asynccontextmanager
async def running_chromium(folder: Path) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """A Chromium of somebody else, and its DevTools URL."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    process = await asyncio.create_subprocess_exec(
        shutil.which("chromium") or "chromium",
        "--headless",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        *sandbox,
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        file = folder / "DevToolsActivePort"
        async with asyncio.timeout(30):
            while not file.exists() or not file.read_text().strip():  # noqa: ASYNC110 - the file is all it gives
                await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{file.read_text().split()[0]}", process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@pytest.mark.long
async def test_a_browser_that_runs_is_used_and_stays(tmp_path: Path) -> None:
    site_pages = {"/": answer("<img src=/picture.png><p id=a></p><script>a.textContent='shown'</script>")}
    async with running_chromium(tmp_path) as (url, process), Raw(site_pages) as site:
        async with open_fetcher(connect=url, timeout_s=20) as browser:
            for _ in range(2):
                page = await browser.fetch(Request(f"{site.url}/"))
                assert b'<p id="a">shown</p>' in page.body
            assert page.wire_bytes > 0, "it goes through the relay"
        assert all(b"picture" not in head.split(b"\r\n")[0] for head in site.heads), "images are blocked"
        assert b"user-agent: gossamer-test\r\n" in site.heads[0].lower()
        assert process.returncode is None, "it is not ours to end"
        async with open_fetcher(connect=url, guard=AddressGuard(()), timeout_s=20) as browser:
            with pytest.raises(Exception, match="not a public address"):
                await browser.fetch(Request(f"{site.url}/"))
        assert process.returncode is None


@pytest.mark.long
async def test_where_none_answers_that_is_said_without_the_url() -> None:
    async with open_fetcher(connect="http://127.0.0.1:1/secret") as browser:
        with pytest.raises(MissingServiceError, match="no Chromium answers there") as caught:
            await browser.fetch(Request("http://127.0.0.1:1/"))
        assert "secret" not in str(caught.value)
