"""The request that a person types: method, headers and body beside the URL."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from gossamer.core.errors import UsageError
from gossamer.core.form_encoding import FORM_TYPE
from gossamer.core.record import Record
from gossamer.core.request_options import JSON_TYPE
from gossamer.core.requests import Request

_METHOD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class TypedRequest(Record, frozen=True, kw_only=True):
    """The parts of a request besides its URL. They may hold secrets."""

    method: str = "GET"
    headers: dict[str, str] = {}
    body: bytes = b""

    def __repr__(self) -> str:
        return f"<TypedRequest {self.method}>"

    def make_request(self, url: str, **more: Any) -> Request:
        """Return the request for a URL. Raises ``UsageError`` for an invalid request."""
        return Request(url, method=self.method, headers=dict(self.headers), body=self.body, **more)


PLAIN = TypedRequest()
"""A URL, and nothing besides."""


def read_request_options(
    method: str | None, headers: Sequence[str] = (), data: str | None = None, form: Sequence[str] = ()
) -> TypedRequest:
    """Parse options: ``NAME: VALUE`` headers, a body or ``@FILE``, or fields ``NAME=VALUE`` of a form.

    With a body the method defaults to POST. A JSON body is sent as JSON, any other as a form, unless a header
    gives its type. Raises ``UsageError``.
    """
    if method is not None and not _METHOD.fullmatch(method):
        raise UsageError(f"--method {method!r} is not a method; write GET, POST, PUT ...")
    given = dict(_read_header(text) for text in headers)
    if data is not None and form:
        raise UsageError("--data and --form both give the body; choose one")
    fields = [_read_field(text) for text in form]
    if fields:
        sent = Request("http://localhost/", form=fields, headers=given)
        return TypedRequest(method=method or "POST", headers=dict(sent.headers), body=sent.body)
    if data is None:
        return TypedRequest(method=method or "GET", headers=given)
    body = _read_body(data)
    if all(name.lower() != "content-type" for name in given):
        given["Content-Type"] = JSON_TYPE if _is_json(body) else FORM_TYPE
    return TypedRequest(method=method or "POST", headers=given, body=body)


def _read_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"--header {name!r} is not of the form 'NAME: VALUE'")
    return name.strip(), value.strip()


def _read_field(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--form {name!r} is not of the form NAME=VALUE")
    return name, value


def _read_body(data: str) -> bytes:
    """Return the text itself, or the contents of the named file; ``@-`` is stdin."""
    if not data.startswith("@"):
        return data.encode("utf-8", "surrogateescape")
    if data == "@-":
        return sys.stdin.buffer.read()
    try:
        return Path(data[1:]).expanduser().read_bytes()
    except OSError as error:
        raise UsageError(f"--data {data}: the file cannot be read: {error.strerror}") from None


def _is_json(body: bytes) -> bool:
    if not body.lstrip().startswith((b"{", b"[")):
        return False
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
