"""Pictures of a page, bounded in height and size, and the folder in which those of a job are kept."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.core.requests import Lease

if TYPE_CHECKING:
    from playwright.async_api import FloatRect, Page

MAX_HEIGHT = 12_000
"""Pixels of a picture of a whole page."""
MAX_PICTURE_BYTES = 16 * 1024 * 1024
_HEIGHT = "Math.max(document.documentElement.scrollHeight, window.innerHeight)"

log = logging.getLogger("gossamer.crawl")


async def take_screenshot(page: Page, timeout_s: float, *, full_page: bool = False) -> bytes:
    """Return the page as a PNG. Driver errors are passed on."""
    size = page.viewport_size
    clip: FloatRect | None = None
    if full_page and size is not None:
        height = min(await page.evaluate(_HEIGHT), MAX_HEIGHT)
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height}
    picture = await page.screenshot(type="png", full_page=full_page, clip=clip, timeout=timeout_s * 1000)
    if len(picture) > MAX_PICTURE_BYTES and full_page:
        return await take_screenshot(page, timeout_s)
    return picture


class ScreenshotFolder:
    """Port ``ScreenshotStore``: a folder for each job below the data directory. ``max_files`` bounds it."""

    def __init__(
        self, folder: Path, job_id: str, *, max_files: int, keeps_all: bool = False, keeps_html: bool = False
    ) -> None:
        self.keeps_all = keeps_all
        self._keeps_html = keeps_html
        self._folder = folder / re.sub(r"[^\w.-]", "_", job_id)
        self._max_files = max_files
        self._writing = threading.Lock()

    def __repr__(self) -> str:
        return f"ScreenshotFolder({str(self._folder)!r})"

    async def keep(self, lease: Lease, picture: bytes, page: bytes = b"") -> str:
        """See :class:`~gossamer.ports.screenshot_store.ScreenshotStore`."""
        name = f"{lease.entry.fingerprint % 2**64:016x}-{lease.attempt}.png"
        try:
            is_kept = await asyncio.to_thread(self._write, name, picture, page if self._keeps_html else b"")
        except OSError as error:
            log.warning("the screenshot %s cannot be written: %s", self._folder / name, error)
            return ""
        return f"{self._folder.name}/{name}" if is_kept else ""

    def _write(self, name: str, picture: bytes, page: bytes) -> bool:
        with self._writing:  # several pages may fail at once
            self._folder.mkdir(parents=True, exist_ok=True)
            if sum(1 for _ in self._folder.glob("*.png")) >= self._max_files:
                return False
            (self._folder / name).write_bytes(picture)
            if page:
                (self._folder / name).with_suffix(".html").write_bytes(page)
            return True
