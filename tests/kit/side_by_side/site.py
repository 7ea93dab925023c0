"""A site for one spider, which answers for every host."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from kit.side_by_side.needs import PageNeeds
from kit.side_by_side.pages import Flavour, PageMaker, is_last
from kit.side_by_side.texts import number_of


class Answer(NamedTuple):
    """A site's answer to a request."""

    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    body: bytes = b""
    headers: Mapping[str, str] = {}


Site = Callable[[str, Mapping[str, str], bytes], Answer]
"""``site(url, headers, body)``: the whole URL; names of headers in lower case."""


_NO_MORE = b"<!doctype html><html><head><title>No more</title></head><body><p>No more.</p></body></html>"


class MadeSite:
    """Pages that follow from their URLs; robots.txt allows all."""

    def __init__(self, needs: PageNeeds, flavour: Flavour) -> None:
        self._needs = needs
        self._pages = PageMaker(needs, flavour)

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer to one request."""
        parts = urlsplit(url)
        name = parts.path.rpartition("/")[2].lower()
        if parts.netloc.endswith("scrapeops.io"):  # a service for headers, which courses use
            return Answer(200, "application/json", b'{"result": [{"user-agent": "made/1.0"}]}')
        if name == "robots.txt":
            return Answer(200, "text/plain", b"User-agent: *\nDisallow:\n")
        if re.search(r"\.(jpe?g|png|gif|webp|ico|bmp)$", name):
            return Answer(200, "image/png", make_image(number_of(url) % 200))
        if re.search(r"\.(pdf|zip|docx?|xlsx?|mp3|mp4|rar|7z|gz)$", name):
            return Answer(200, "application/octet-stream", b"made " + str(number_of(url)).encode())
        whole = url + (f"#{body.decode('latin-1')}" if body else "")
        if (self._needs.is_sitemap and "sitemap" in url) or (
            url in self._needs.starts and self._needs.is_sitemap
        ):
            return Answer(200, "application/xml", self._pages.make_sitemap(url))
        if self._needs.node:
            return Answer(200, "application/xml", self._pages.make_feed(url))
        if self._needs.columns or name.endswith(".csv"):
            return Answer(200, "text/csv", self._pages.make_csv(url))
        if self._pages.is_json(whole, headers.get("accept", "")):
            body = b"{}" if is_last(url) else self._pages.make_json(whole)
            return Answer(200, "application/json", body)
        return Answer(
            200, "text/html; charset=utf-8", _NO_MORE if is_last(url) else self._pages.make_html(whole)
        )


@lru_cache
def make_image(shade: int) -> bytes:
    """A small PNG of one grey."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    size = 120
    rows = (b"\x00" + bytes([shade]) * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
