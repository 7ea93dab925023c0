"""Bodies other than HTML from Firefox: handed over as text, or saved in a file.

Firefox decodes text as UTF-8. A body that is not UTF-8 arrives with each byte as the character of that
number, so the original bytes can be restored in any charset.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import Download

_MAX_DIGITS = 18
_BOM = b"\xef\xbb\xbf"  # of UTF-8: Firefox leaves it out
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"<\?xml[^>]*\sencoding\s*=\s*[\"']([\w.:-]+)")
_NO_TEXT = re.compile(rb"[\x00\x80-\x9f]")  # in no text of Unicode, but in the bytes of other charsets
_SHOWN = re.compile(
    r"text/(?:plain|css|xml|javascript|ecmascript)|(?:image|audio|video)/.*"
    r"|application/(?:x-)?(?:json|xml|javascript|ecmascript)|.*\+(?:json|xml)|"
)
"""Kinds that Firefox shows (nothing: it looks for itself); it saves all others."""


def is_shown_kind(content_type: str, disposition: str) -> bool:
    """Return whether Firefox is likely to show an answer rather than save it."""
    kind = content_type.partition(";")[0].strip().lower()
    return not disposition.lower().startswith("attachment") and _SHOWN.fullmatch(kind) is not None


def restore_bytes(told: bytes, headers: Mapping[str, str]) -> bytes:
    """Restore a body from the form in which Firefox delivers it; header names are in lower case."""
    length = headers.get("content-length", "")
    is_known = length.isascii() and length.isdigit() and "content-encoding" not in headers
    return _restore(told, headers.get("content-type", ""), int(length[:_MAX_DIGITS]) if is_known else 0)


def _restore(told: bytes, content_type: str, length: int) -> bytes:
    """Restore a body; ``length`` is the Content-Length of the answer, 0 if unknown."""
    if length == len(told) + len(_BOM):
        return _BOM + told
    try:
        raw = told.decode().encode("latin-1")
    except ValueError:
        return told  # no text, or one with other characters: it came in UTF-8
    if len(raw) == len(told) or _is_utf8(raw):
        return told
    if length in (len(told), len(raw)):
        return raw if length == len(raw) else told
    said = _CHARSET.search(content_type)
    charset = said[1].encode() if said else _first_group(_XML_CHARSET.search(raw))
    if charset:
        return told if charset.lower() in (b"utf-8", b"utf8") else raw
    return raw if _NO_TEXT.search(raw) else told


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except ValueError:
        return False
    return True


def _first_group(found: re.Match[bytes] | None) -> bytes:
    return found[1] if found else b""


class SavedFileReader:
    """The files that one tab saves: the one that is expected is read, all others are removed."""

    def __init__(self, start: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._start = start
        self._url = ""
        self._found: asyncio.Future[Download] | None = None

    def expect(self, url: str) -> None:
        """Accept a download of ``url`` from now on, until :meth:`expect_none`."""
        self._url, self._found = url.partition("#")[0], asyncio.get_running_loop().create_future()

    def expect_none(self) -> None:
        """Stop expecting a file: the answer has arrived, or its reader has given up."""
        found, self._found = self._found, None
        if found is not None and found.done():
            self._start(_remove(found.result()))

    def note(self, saved: Download) -> None:
        """Take in a download that has begun in the tab."""
        found = self._found
        if found is not None and not found.done() and saved.url.partition("#")[0] == self._url:
            found.set_result(saved)
        else:
            self._start(_remove(saved))

    async def read(self, begin_s: float, check_size: Callable[[int], None]) -> bytes:
        """Return the expected file when it is complete.

        Raises ``TimeoutError`` if it has not begun after ``begin_s``. Errors of ``check_size`` and of the
        driver are passed on.
        """
        assert self._found is not None
        async with asyncio.timeout(begin_s):
            saved = await asyncio.shield(self._found)
        return await asyncio.to_thread(_read_file, Path(await saved.path()), check_size)


def _read_file(path: Path, check_size: Callable[[int], None]) -> bytes:
    check_size(path.stat().st_size)
    return path.read_bytes()


async def _remove(saved: Download) -> None:
    with contextlib.suppress(Exception):  # the tab is closed, and its files are removed with it
        await saved.delete()
