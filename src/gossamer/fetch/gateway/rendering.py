"""Turn a request into the call of a gateway: placeholders become values. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any
from urllib.parse import quote
from uuid import UUID

from gossamer.core.requests import Request
from gossamer.fetch.gateway.template import GatewayTemplate
from gossamer.fetch.http.fields import own_headers_of

Option = str | bool | int | float

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
OPTIONAL = ("render", "country")
"""Placeholders for which only options have values."""
PLACEHOLDERS = (
    *("key", "key_basic", "url", "method", "body", "text", "cookies", "cookie_list"),
    *("header_list", "header_table", "has_headers", "session", "session_number", "session_uuid"),
    *OPTIONAL,
)
"""Every placeholder whose name no option makes."""


def build_call(
    template: GatewayTemplate,
    request: Request,
    *,
    key: str,
    session: str,
    cookies: str,
    options: Mapping[str, Option],
) -> Request:
    """Return the request to the gateway; ``cookies`` is the Cookie header for the page."""
    values = {**options, **_values_of(request, key=key, session=session, cookies=cookies)}
    extra = {name: value for name, value in options.items() if name not in _names_in(template)}
    headers = {name: _fill_text(text, values) for name, text in template.headers.items()}
    if template.sends_headers:
        taken = {name.lower() for name in headers}
        own = {**_own_headers(request), **({"Cookie": cookies} if cookies else {})}
        headers |= {name: text for name, text in own.items() if name.lower() not in taken}
    body = request.body
    if template.body is not None:
        body = json.dumps({**_fill_json(template.body, values), **extra}, ensure_ascii=False).encode()
        extra = {}
    return Request(
        _fill_url(template.url, values, extra),
        method=_fill_text(template.method, values),
        headers=headers,
        body=body,
        timeout=request.timeout,
    )


def key_forms(key: str) -> tuple[str, ...]:
    """Return the forms in which a key may appear in a gateway's answer, the longest first."""
    bare = [base64.b64encode(f"{key}{end}".encode()).decode().rstrip("=") for end in (":", "")]
    forms = {key, quote(key, safe=""), quote(key), json.dumps(key)[1:-1], key.replace("/", r"\/"), *bare}
    return tuple(sorted(forms, key=len, reverse=True)) if key else ()


def unknown_placeholders(template: GatewayTemplate, options: Iterable[str]) -> list[str]:
    """Placeholders that nothing gives a value to."""
    return sorted(_names_in(template) - {*PLACEHOLDERS, *options})


def _own_headers(request: Request) -> dict[str, str]:
    """Return the request's headers without its cookies, which are passed separately."""
    return {name: value for name, value in own_headers_of(request).items() if name.lower() != "cookie"}


def _names_in(template: GatewayTemplate) -> set[str]:
    texts = (template.url, template.method, *template.headers.values(), json.dumps(template.body))
    return {name for text in texts for name in _PLACEHOLDER.findall(text)}


def _values_of(request: Request, *, key: str, session: str, cookies: str) -> dict[str, Any]:
    """Return the values of placeholders; ``None`` for one without a value."""
    digest = blake2b(session.encode("utf-8", "surrogatepass"), digest_size=16).digest() if session else b""
    own = _own_headers(request)
    pairs = [pair.partition("=") for pair in cookies.split("; ") if pair]
    host = request.url.partition("://")[2].partition("/")[0].partition(":")[0]
    return {
        "key": key,
        "key_basic": base64.b64encode(f"{key}:".encode()).decode(),
        "url": request.url,
        "method": request.method,
        "body": base64.b64encode(request.body).decode() or None,
        "text": request.body.decode("utf-8", "replace") or None,
        "cookies": cookies or None,
        "cookie_list": [{"name": n, "value": v, "domain": host} for n, _, v in pairs] or None,
        "header_list": [{"name": n, "value": v} for n, v in own.items()] or None,
        "header_table": own or None,
        "has_headers": bool(own or cookies) or None,
        "session": session or None,
        "session_number": int.from_bytes(digest[:4], "big") if digest else None,
        "session_uuid": str(UUID(bytes=digest, version=4)) if digest else None,
    }


def _fill_url(url: str, values: Mapping[str, Any], extra: Mapping[str, Option]) -> str:
    """Values are encoded; parameters with a placeholder that has no value are left out."""
    path, _, query = url.partition("?")
    parts = [part for part in query.split("&") if part and not _is_void(part, values)]
    parts = [_fill_text(part, values, encoded=True) for part in parts]
    parts += [f"{quote(name, safe='')}={quote(_as_text(value), safe='')}" for name, value in extra.items()]
    filled = _fill_text(path, values, encoded=True)
    return f"{filled}?{'&'.join(parts)}" if parts else filled


def _is_void(text: str, values: Mapping[str, Any]) -> bool:
    names = _PLACEHOLDER.findall(text)
    return bool(names) and all(values.get(name) is None for name in names)


def _fill_text(text: str, values: Mapping[str, Any], *, encoded: bool = False) -> str:
    def value_of(match: re.Match[str]) -> str:
        value = _as_text(values.get(match[1]))
        return quote(value, safe="") if encoded else value

    return _PLACEHOLDER.sub(value_of, text)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def _fill_json(part: Any, values: Mapping[str, Any]) -> Any:
    """Replace a text that is one placeholder by its value; drop parts without a value."""
    if isinstance(part, str):
        whole = _PLACEHOLDER.fullmatch(part)
        return values.get(whole[1]) if whole else _fill_text(part, values)
    if isinstance(part, list):
        return [value for inner in part if (value := _fill_json(inner, values)) is not None]
    if isinstance(part, dict):
        filled = {name: _fill_json(inner, values) for name, inner in part.items()}
        kept = {name: value for name, value in filled.items() if value is not None}
        return kept if kept or not part else None
    return part
