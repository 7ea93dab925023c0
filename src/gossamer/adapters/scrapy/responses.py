"""Responses: Scrapy's own classes, made from Gossamer's results."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from scrapy.http import Headers
from scrapy.http import Request as ScrapyRequest
from scrapy.http import Response as ScrapyResponse
from scrapy.responsetypes import responsetypes

from gossamer.adapters.scrapy.requests import url_of
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.policy.urls import hostname_of
from gossamer.spiders.response import Response

_DECODED = "content-encoding"
"""The header that is left out, since the body is decoded: as Scrapy does."""
_NAMES: dict[str, bytes] = {}
_CLASSES: dict[str, type[ScrapyResponse]] = {}
_MOST_REMEMBERED = 1000
_address_of = lru_cache(maxsize=_MOST_REMEMBERED)(ip_address)


def make_response(response: Response, request: ScrapyRequest) -> ScrapyResponse:
    """Return the response for Scrapy's code, as if Scrapy had downloaded it for a request."""
    asked, body = response.request, response.body
    url = url_of(asked) if response.url == asked.url else response.url  # in a browser, a page may lead on
    headers = _make_headers(response)
    note_download(request, response)
    made: ScrapyResponse = _class_of(response, headers, url)(
        url,
        response.status,
        body=body,
        flags=list(response.flags) or None,
        request=request,
        ip_address=_address_of(response.address) if response.address else None,
        protocol="HTTP/1.1",
    )
    made.headers = headers
    return made


def to_response(asked: Request, made: ScrapyResponse) -> Response:
    """Convert a middleware's response to Gossamer's."""
    headers = [
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, values in dict.items(made.headers)
        for value in values
    ]
    fetched = FetchResult(
        url=asked.url,
        status=made.status,
        headers=tuple(headers),
        body=made.body,
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="",
    )
    return Response(asked, fetched)


def note_download(request: ScrapyRequest, response: Response) -> None:
    """Put into ``meta`` of a request what Scrapy's downloader puts there."""
    meta, own = request.meta, response.request
    meta["depth"] = own.depth
    meta["download_latency"] = response.elapsed_s
    meta.setdefault("download_slot", hostname_of(own.url))


def _make_headers(response: Response) -> Headers:
    """Return the headers, with names as Scrapy spells them."""
    headers = Headers()
    found: dict[bytes, list[bytes]] = {}
    for name, value in response.header_pairs:
        if name == _DECODED:
            continue
        key = _NAMES.get(name)
        if key is None:
            key = _remember(_NAMES, name, headers.normkey(name))
        found.setdefault(key, []).append(value.encode("latin-1", "replace"))
    dict.update(headers, found)
    return headers


def _class_of(response: Response, headers: Headers, url: str) -> type[ScrapyResponse]:
    """Return the class by Scrapy's own rules; cached for a type that decides it alone."""
    kind = response.content_type
    known = _CLASSES.get(kind)
    if known is not None:
        return known
    found = responsetypes.from_args(headers=headers, url=url, body=response.body)
    if kind and responsetypes.from_content_type(kind) is found is not ScrapyResponse:
        _remember(_CLASSES, kind, found)
    return found


def _remember(memory: dict[str, Any], name: str, value: Any) -> Any:
    if len(memory) >= _MOST_REMEMBERED:
        memory.clear()
    memory[name] = value
    return value
