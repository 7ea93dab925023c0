"""Forms as they are sent, in each of the three encodings that HTML has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import quote_plus

FORM_TYPE = "application/x-www-form-urlencoded"
MULTIPART_TYPE = "multipart/form-data"
PLAIN_TYPE = "text/plain"


class FormFile(NamedTuple):
    """A file to send with a form; a value in ``Response.form(data)``."""

    name: str = ""  # file name
    content: bytes = b""  # the content
    type: str = "application/octet-stream"  # media type


FormValue = str | FormFile


def encode_form(fields: Sequence[tuple[str, FormValue]], enctype: str, encoding: str) -> tuple[bytes, str]:
    """The body of a form, and its Content-Type. In all but ``multipart/form-data`` a file is its name."""
    if enctype == MULTIPART_TYPE:
        return _encode_multipart(fields, encoding)
    named = [(name, value if isinstance(value, str) else value.name) for name, value in fields]
    if enctype == PLAIN_TYPE:
        text = "".join(f"{_as_lines(name)}={_as_lines(value)}\r\n" for name, value in named)
        return text.encode(encoding, "xmlcharrefreplace"), PLAIN_TYPE
    return encode_fields(named, encoding).encode("ascii"), FORM_TYPE


def encode_fields(fields: Iterable[tuple[str, str]], encoding: str = "utf-8") -> str:
    """Encode names and values; characters outside the charset become references, as in HTML."""
    return "&".join(f"{_encode(name, encoding)}={_encode(value, encoding)}" for name, value in fields)


def _encode_multipart(fields: Sequence[tuple[str, FormValue]], encoding: str) -> tuple[bytes, str]:
    """The boundary follows from the fields: equal forms are equal requests."""
    parts = [_part_of(name, value, encoding) for name, value in fields]
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    boundary = f"----GossamerForm{digest.hexdigest()}"
    mark = f"--{boundary}\r\n".encode()
    body = b"".join(mark + part + b"\r\n" for part in parts) + f"--{boundary}--\r\n".encode()
    return body, f"{MULTIPART_TYPE}; boundary={boundary}"


def _part_of(name: str, value: FormValue, encoding: str) -> bytes:
    head = f'Content-Disposition: form-data; name="{_escape_name(_as_lines(name))}"'
    if isinstance(value, str):
        return f"{head}\r\n\r\n{_as_lines(value)}".encode(encoding, "xmlcharrefreplace")
    kind = value.type.replace("\r", "").replace("\n", "")
    head = f'{head}; filename="{_escape_name(value.name)}"\r\nContent-Type: {kind}\r\n\r\n'
    return head.encode(encoding, "xmlcharrefreplace") + value.content


def _escape_name(name: str) -> str:
    return name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def _encode(text: str, encoding: str) -> str:
    return quote_plus(_as_lines(text).encode(encoding, "xmlcharrefreplace"), safe="*")


def _as_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
