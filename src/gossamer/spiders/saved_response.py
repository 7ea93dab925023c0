"""Responses made of pages that were saved or written by hand: to test a callback without a server."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from gossamer.core.lazy import lazy_pattern
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.parse.engines import engine_named
from gossamer.parse.html_engine import HTML
from gossamer.ports.selector_engine import SelectorEngine

NOWHERE = "http://localhost/"
"""The site of a saved page whose address is not known."""
_TYPES = {
    "json": "application/json",
    "xml": "application/xml",
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
}
"""Media types of files by their suffix; others count as HTML."""
_SAVED_FROM = lazy_pattern(rb"<!--\s*saved from url=\(\d{4,}\)(https?://\S+)\s*-->")
"""The comment that browsers write at the top of a saved page."""
_TOP_BYTES = 4096


class SavedPage:
    """The base of responses, with constructors that fetch nothing."""

    def __init__(self, request: Request, fetched: FetchResult, *, engine: SelectorEngine = HTML) -> None:
        raise NotImplementedError

    @classmethod
    def from_html(
        cls,
        url: str,
        html: str | bytes,
        *,
        status: int = 200,
        headers: Mapping[str, str | Sequence[str]] | None = None,
        encoding: str = "",
        meta: Mapping[str, Any] | None = None,
        cb_kwargs: Mapping[str, Any] | None = None,
        request: Request | None = None,
        engine: str = "turbohtml",
    ) -> Self:
        """Make a response from text or bytes, for the test of a callback.

        Args:
            url: URL of the page.
            html: the body.
            status: HTTP status.
            headers: headers of the response; their Content-Type says whether it is JSON or XML.
            encoding: charset of the body; by default UTF-8 for text, and found as for any page for bytes.
            meta: ``meta`` of the request.
            cb_kwargs: ``cb_kwargs`` of the request.
            request: the request, in place of ``meta`` and ``cb_kwargs``.
            engine: the parser, as in the setting ``parse.engine``.
        """
        fetched = make_fetched(url, html, "text/html", status=status, headers=headers, encoding=encoding)
        request = request or _request_for(url, meta, cb_kwargs)
        return cls(request, fetched, engine=engine_named(engine))

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        url: str = "",
        *,
        status: int = 200,
        headers: Mapping[str, str | Sequence[str]] | None = None,
        encoding: str = "",
        meta: Mapping[str, Any] | None = None,
        cb_kwargs: Mapping[str, Any] | None = None,
        request: Request | None = None,
        engine: str = "turbohtml",
    ) -> Self:
        """Make a response from a file.

        Args:
            path: the file; its suffix (``.html``, ``.json``, ``.xml``, ...) gives the type.
            url: URL of the page; by default the one that the browser noted when it saved the page.
            status: HTTP status.
            headers: headers of the response.
            encoding: charset of the body.
            meta: ``meta`` of the request.
            cb_kwargs: ``cb_kwargs`` of the request.
            request: the request, in place of ``meta`` and ``cb_kwargs``.
            engine: the parser, as in the setting ``parse.engine``.

        Raises ``OSError``.
        """
        fetched = read_page(Path(path), url, status=status, headers=headers, encoding=encoding)
        request = request or _request_for(fetched.url, meta, cb_kwargs)
        return cls(request, fetched, engine=engine_named(engine))


def find_address(body: bytes, name: str) -> str:
    """Return the address of a saved page as the browser noted it, or an address on ``localhost``."""
    noted = _SAVED_FROM.search(body[:_TOP_BYTES])
    return noted[1].decode("utf-8", "replace") if noted else f"{NOWHERE}{quote(name)}"


def read_page(
    path: Path,
    url: str = "",
    *,
    status: int = 200,
    headers: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str = "",
) -> FetchResult:
    """Read a file as the result of a fetch; see :meth:`SavedPage.from_file`. Raises ``OSError``."""
    body = path.read_bytes()
    kind = _TYPES.get(path.suffix.lower().removeprefix("."), "text/html")
    url = url or find_address(body, path.name)
    return make_fetched(url, body, kind, status=status, headers=headers, encoding=encoding)


def make_fetched(
    url: str,
    body: str | bytes,
    kind: str,
    *,
    status: int = 200,
    headers: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str = "",
) -> FetchResult:
    """Make the result of a fetch; ``kind`` is the media type if the headers name none."""
    if isinstance(body, str):
        encoding = encoding or "utf-8"
        body = body.encode(encoding, "surrogatepass" if encoding.lower() == "utf-8" else "strict")
    pairs = [
        (name.lower(), value)
        for name, values in (headers or {}).items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    if all(name != "content-type" for name, _ in pairs):
        pairs.append(("content-type", f"{kind}; charset={encoding}" if encoding else kind))
    return FetchResult(
        url=url,
        status=status,
        headers=tuple(pairs),
        body=body,
        started_at=time.time(),
        latency_s=0.0,
        elapsed_s=0.0,
        rung="file",
        wire_bytes=len(body),
    )


def _request_for(url: str, meta: Mapping[str, Any] | None, cb_kwargs: Mapping[str, Any] | None) -> Request:
    return Request(url, meta=dict(meta or {}), cb_kwargs=dict(cb_kwargs or {}))
