"""``file:`` and ``data:`` URLs that a spider requests itself: read here, from no host.

A frontier accepts web URLs only, so each has one at a host that cannot exist, with its own URL beside it.
Pages cannot lead to them: a link or redirect to such a URL, or to its place at that host, is refused, since
only requests that this module accepted carry the original URL.
"""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from scrapy.exceptions import NotSupported
from scrapy.http import Request as ScrapyRequest
from scrapy.http import Response as ScrapyResponse
from scrapy.http import TextResponse
from scrapy.responsetypes import responsetypes
from w3lib.url import file_uri_to_path, parse_data_uri

SCHEMES = ("file:", "data:")
PLACES = ("http://file.invalid/", "http://data.invalid/")
REFUSED = "refused"
"""The mark of a request that a page has led to: it fails, so that its errback is called."""


def is_local(url: str) -> bool:
    """Return whether a URL has no host."""
    return url[:5].lower() in SCHEMES


def place_of(url: str) -> str:
    """Return the URL by which the frontier knows a local one."""
    if url[:5].lower() == "file:":
        return PLACES[0] + url[5:].lstrip("/")
    return PLACES[1] + blake2b(url.encode(), digest_size=16).hexdigest()


def is_allowed(url: str, page: Any) -> bool:
    """Return whether a callback's request to a local file may be read; ``page`` is its page, if any.

    A page of the web leads to no file; a local page leads only to files of its own folder. A page's link to
    ``data:`` is refused as well; one that the spider's code makes up is allowed.
    """
    if not isinstance(page, ScrapyResponse):
        return True
    if url[:5].lower() == "data:":
        return url.encode() not in page.body
    return page.url[:5].lower() == "file:" and _folder_of(page.url) in _path_of(url).parents


def _path_of(url: str) -> PurePosixPath:
    path = PurePosixPath(unquote(urlsplit(url).path))
    return PurePosixPath("/") if ".." in path.parts else path


def _folder_of(url: str) -> PurePosixPath:
    return _path_of(url).parent


async def read_local(request: ScrapyRequest, most: int) -> ScrapyResponse:
    """Return the response, as Scrapy's own handlers make it. Raises ``OSError``, ``ValueError``."""
    url = request.url
    if url[:5].lower() == "data:":
        return _read_data(url)
    path = Path(file_uri_to_path(url))
    body = await asyncio.to_thread(_read_file, path, most)
    kind = responsetypes.from_args(filename=str(path), body=body)
    return kind(url=url, body=body, request=request)


def refuse_local(request: ScrapyRequest) -> Exception:
    """Return the error for a refused request that a page has led to."""
    return NotSupported(
        f"{request.url[:200]}: pages must not lead to local files; a spider may request it in start()"
    )


def _read_file(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        body = file.read(most + 1) if most else file.read()
    if most and len(body) > most:
        raise ValueError(f"{path} is larger than DOWNLOAD_MAXSIZE ({most} bytes)")
    return body


def _read_data(url: str) -> ScrapyResponse:
    said = parse_data_uri(url)
    kind = responsetypes.from_mimetype(said.media_type)
    if issubclass(kind, TextResponse) and said.media_type.startswith("text/"):
        return kind(url=url, body=said.data, encoding=said.media_type_parameters.get("charset"))
    return kind(url=url, body=said.data)
