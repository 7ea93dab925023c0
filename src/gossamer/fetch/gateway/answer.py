"""Extract the page or the failure from a gateway's answer. Pure."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gossamer.core.record import Record
from gossamer.core.results import FetchResult
from gossamer.fetch.gateway.template import ERRORS, GatewayFailure, GatewayTemplate

Headers = tuple[tuple[str, str], ...]

MAX_MESSAGE = 200
"""Longest message of a gateway about a failure, in characters."""
_OWN_HEADERS = frozenset(
    {"content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive", "set-cookie"}
)
"""Headers that are about the answer of the gateway, or are read apart."""
_SPACE = re.compile(r"\s+")


class GatewayResponse(Record, frozen=True, kw_only=True):
    """A gateway's answer: a page or a failure."""

    trouble: GatewayFailure | None = None
    message: str = ""  # of the gateway, for people
    status: int = 0  # of the page
    headers: Headers = ()
    cookie_lines: tuple[str, ...] = ()  # as in Set-Cookie
    body: bytes = b""
    credits: float | None = None  # None: the answer does not say it


def read_answer(
    template: GatewayTemplate, fetched: FetchResult, secrets: Sequence[str] = ()
) -> GatewayResponse:
    """Read a gateway's answer; an answer that does not match the template is a failed call.

    ``secrets`` are struck out of the gateway's message.
    """
    document = _read_json(template, fetched)
    cost = _credits(_part(template.cost, fetched, document)) if template.cost else None
    status = _page_status(template, fetched, document)
    if isinstance(status, GatewayFailure):
        return GatewayResponse(trouble=status, message=_message_of(fetched, secrets), credits=cost)
    body = fetched.body if not template.content else _content(template.content, document)
    if body is None:
        missing = f"the answer has nothing at {template.content}"
        return GatewayResponse(trouble=GatewayFailure.FAILED, message=missing, credits=cost)
    headers = _headers_of(_part(template.page_headers, fetched, document) if template.page_headers else None)
    if not template.page_headers and not template.content:
        headers = fetched.headers
    elif template.content.startswith("json:"):  # a text, whatever its bytes were
        headers = _as_utf8(headers)
    lines = [value for name, value in headers if name == "set-cookie"]
    if template.page_cookies:
        lines += _cookie_lines(_part(template.page_cookies, fetched, document))
    kept = tuple(field for field in headers if field[0] not in _OWN_HEADERS)
    return GatewayResponse(status=status, headers=kept, cookie_lines=tuple(lines), body=body, credits=cost)


def _page_status(template: GatewayTemplate, fetched: FetchResult, document: Any) -> int | GatewayFailure:
    """Return the status of the page, or the failure that the gateway's own status means."""
    if template.status:
        said = _number(_part(template.status, fetched, document))
        if said is not None and 100 <= said <= 599:
            return int(said)
    trouble = _trouble_of(template, fetched)
    if trouble is not None:
        return trouble
    if 300 <= fetched.status < 400 and (template.status or template.content):
        return GatewayFailure.FAILED  # it redirects the call; where it leads is not the page's
    is_of_page = not template.content  # the page is the answer
    if is_of_page or 200 <= fetched.status < 300:
        return fetched.status
    return GatewayFailure.FAILED if fetched.status >= 500 else GatewayFailure.PAGE


def _trouble_of(template: GatewayTemplate, fetched: FetchResult) -> GatewayFailure | None:
    """Return the meaning of a status, by the most specific line of the template or of the defaults."""
    errors: Mapping[str, str] = {**ERRORS, **template.errors}
    code, text = str(fetched.status), ""
    for words, trouble in errors.items():
        number, _, phrase = words.partition(" ")
        if phrase and number == code:
            text = text or fetched.body[:4096].decode("utf-8", "replace").lower()
            if phrase.lower() in text:
                return GatewayFailure(trouble)
    found = errors.get(code) or errors.get(f"{code[0]}xx")
    return GatewayFailure(found) if found else None


def _read_json(template: GatewayTemplate, fetched: FetchResult) -> Any:
    """Parse the answer as JSON, if the template needs it."""
    parts = (template.status, template.content, template.page_headers, template.page_cookies, template.cost)
    if not any(part.startswith(("json:", "base64:")) for part in parts):
        return None
    try:
        return json.loads(fetched.body)
    except (ValueError, RecursionError):
        return None


def _part(place: str, fetched: FetchResult, document: Any) -> Any:
    """Return the part at a place of an answer, or ``None``."""
    kind, _, path = place.partition(":")
    if kind == "header":
        return fetched.header(path.lower()) or None
    return _find(document, path)


def _find(document: Any, path: str) -> Any:
    """Return the value at a path of JSON, or ``None``."""
    for key in path.split("."):
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and key.isdecimal() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document


def _content(place: str, document: Any) -> bytes | None:
    """Return the page; ``None`` if it is missing."""
    kind, _, path = place.partition(":")
    value = _find(document, path)
    if not isinstance(value, str):
        return None
    if kind != "base64":
        return value.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(value)
    except (binascii.Error, ValueError):
        return None


def _headers_of(value: Any) -> Headers:
    """Headers from a table, or from a list of names and values; names in lower case."""
    if isinstance(value, dict):
        value = [{"name": name, "value": text} for name, text in value.items()]
    if not isinstance(value, list):
        return ()
    fields = [(field.get("name"), field.get("value")) for field in value if isinstance(field, dict)]
    return tuple(
        (name.lower(), text) for name, text in fields if isinstance(name, str) and isinstance(text, str)
    )


def _as_utf8(headers: Headers) -> Headers:
    """Headers of a page that came as text: its bytes are UTF-8 here."""
    kept = tuple(field for field in headers if field[0] != "content-type")
    return (*kept, ("content-type", "text/html; charset=utf-8"))


def _cookie_lines(value: Any) -> list[str]:
    """Cookies that are listed as JSON, as lines of Set-Cookie."""
    lines = []
    for cookie in value if isinstance(value, list) else ():
        if not isinstance(cookie, dict) or not isinstance(cookie.get("name"), str):
            continue
        line = f"{cookie['name']}={cookie.get('value', '')}"
        for attribute in ("domain", "path"):
            if isinstance(cookie.get(attribute), str):
                line += f"; {attribute}={cookie[attribute]}"
        lines.append(line + ("; secure" if cookie.get("secure") is True else ""))
    return lines


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _credits(value: Any) -> float | None:
    number = _number(value)
    return number if number is not None and 0 <= number < float("inf") else None


def strike_out(text: str, secrets: Sequence[str]) -> str:
    """Return the text without the secrets in it."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _message_of(fetched: FetchResult, secrets: Sequence[str]) -> str:
    """Return the gateway's message on one line: JSON's usual keys for it, else the start of the body."""
    text = fetched.body.decode("utf-8", "replace")
    try:
        document = json.loads(fetched.body)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        words = [document.get(key) for key in ("detail", "message", "error", "title")]
        text = next((word for word in words if isinstance(word, str) and word), text)
    text = strike_out(text, secrets)  # whole, so that no part of one is left
    return _SPACE.sub(" ", text[:4096]).strip()[:MAX_MESSAGE]
