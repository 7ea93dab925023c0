"""Detects the encoding of a body.

The order is that of the HTML standard (section 13.2.3): a byte-order mark, the charset of the HTTP header, a
declaration in the first 1,024 bytes of the document, a later declaration. Without any of these it is UTF-8 if
the bytes are valid UTF-8, else the guess of a detector like those of browsers, else windows-1252. Labels and
decoders are those of the WHATWG Encoding standard, so UTF-7 is never used. Nothing here raises: invalid bytes
become U+FFFD.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module

import turbohtml

from gossamer.core.lazy import lazy_pattern
from gossamer.core.media_type import charset_label_of
from gossamer.policy.urls import hostname_of

_PRESCAN = 1024
_XML_ENCODING = lazy_pattern(rb"<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([A-Za-z0-9._:-]{1,40})[\"']")
_NOT_ASCII = lazy_pattern(rb"[\x80-\xff]|\x1b\$")
"""The first letter of another alphabet; ISO-2022-JP has escape sequences in their place."""
_GUESSED = 64 * 1024
"""Bytes at which the detector looks: some 20 ms."""
_ASCII, _NOT_ASCII_TEXT = lazy_pattern(r"[\x00-\x7f]+"), lazy_pattern(r"[^\x00-\x7f]")
_LETTERS_FOR_SLIP = 20
"""Letters of UTF-8 for each byte that is none."""
_CENTRAL_EUROPEAN = frozenset({"windows-1250", "ISO-8859-2", "windows-1257", "ISO-8859-4", "ISO-8859-13"})
"""Charsets with letters where windows-1252 has the signs of English pages."""
_TLD = lazy_pattern(r"xn--[a-z0-9-]+|[a-z]+")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "UTF-8"),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)


@lru_cache(maxsize=512)
def encoding_named(label: str) -> str | None:
    """Return the standard's name for a label (``UTF-8`` for ``utf8``); ``None`` for an unknown label."""
    try:
        return turbohtml.parse(b"", encoding=label.strip(" \t\n\f\r")).encoding
    except (LookupError, ValueError):
        return None


@lru_cache(maxsize=512)
def charset_of(content_type: str) -> str | None:
    """Return the encoding that a Content-Type header names; ``None`` when it names none that exists."""
    label = charset_label_of(content_type)
    return encoding_named(label) if label else None


def declared_encoding(body: bytes, content_type: str = "") -> str | None:
    """Return the encoding of the byte-order mark, the header or an XML declaration; ``None``: ask the
    document."""
    for mark, name in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return name
    by_header = charset_of(content_type) if content_type else None
    if by_header is not None or not body.startswith(b"<?xml"):
        return by_header
    found = _XML_ENCODING.match(body)
    by_xml = encoding_named(found[1].decode("ascii")) if found else None
    # The declaration was read as ASCII, so it cannot be in UTF-16 (HTML standard, "getting an XML encoding").
    return "UTF-8" if by_xml in ("UTF-16LE", "UTF-16BE") else by_xml


def encoding_of(body: bytes, content_type: str = "", guess_at: str | None = None) -> str:
    """Return the name of a body's encoding, as the WHATWG Encoding standard writes it.

    May parse the document once, if only a late ``<meta>`` can tell. An undeclared encoding is guessed for the
    URL ``guess_at`` (:func:`guess_encoding`), unless that is ``None``.
    """
    declared = declared_encoding(body, content_type)
    if declared is not None:
        return declared
    head = turbohtml.parse(body[:_PRESCAN])
    if head.encoding_confidence != "certain" and len(body) > _PRESCAN:
        head = turbohtml.parse(body)
    encoding = head.encoding or "windows-1252"
    is_guess = encoding == "windows-1252" and head.encoding_confidence != "certain"
    return encoding if guess_at is None or not is_guess else guess_encoding(body, guess_at)


def guess_encoding(body: bytes, url: str = "") -> str:
    """Guess the undeclared encoding of bytes that are not UTF-8, as browsers do.

    The characters decide, and the country in the host of ``url``, as in Firefox. UTF-8 with few errors is
    UTF-8, as in Chromium. ASCII is windows-1252.
    """
    start = _NOT_ASCII.search(body)
    if start is None:
        return "windows-1252"
    detect = import_module("turbohtml.detect")
    sample = body[max(0, start.start() - _PRESCAN) :][:_GUESSED]
    if len(sample) == _GUESSED:  # the last byte is then not a part of a longer character
        sample = sample[: sample.rfind(b"<") + 1] or sample
    if _is_nearly_utf8(sample):
        return "UTF-8"
    ending = hostname_of(url).rpartition(".")[2]
    tld = ending if _TLD.fullmatch(ending) else None
    found: str = detect.detect(sample, detect.Detection(tld=tld)).encoding or "windows-1252"
    has_country = tld is not None and (len(tld) == 2 or tld.startswith("xn--"))
    if found in _CENTRAL_EUROPEAN and not has_country and _has_signs_only(sample, found):
        return "windows-1252"
    return found


def _is_nearly_utf8(sample: bytes) -> bool:
    """Whether hardly any of its letters are broken: one was cut, or comes from another page."""
    text = sample.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return len(_ASCII.sub("", text)) > broken * _LETTERS_FOR_SLIP


def _has_signs_only(sample: bytes, found: str) -> bool:
    """Whether all differences from windows-1252 stand alone: the pound of a price is not a letter."""
    text, usual = decode_as(sample, found), decode_as(sample, "windows-1252")
    return all(
        not usual[at].isalpha()
        and not text[max(at - 1, 0) : at].isalpha()
        and not text[at + 1 : at + 2].isalpha()
        for at in (match.start() for match in _NOT_ASCII_TEXT.finditer(text))
        if text[at] != usual[at]
    )


@lru_cache(maxsize=64)
def query_encoder(encoding: str) -> Callable[[str], str] | None:
    """Return the encoder for queries of links on a page in this encoding; ``None``: they are UTF-8."""
    return None if encoding.startswith(("UTF-", "replacement")) else partial(_encode_query, encoding)


def _encode_query(encoding: str, query: str) -> str:
    codecs_of_html = import_module("gossamer.parse.charset_codecs")  # few pages have such links
    encoded: str = codecs_of_html.encode_query(query, encoding)
    return encoded


def decode_as(body: bytes, encoding: str) -> str:
    """Return the text of a body in a known encoding, without byte-order mark; never raises."""
    for mark, name in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            body, encoding = body[len(mark) :], name
            break
    if encoding == "UTF-8":
        return body.decode("utf-8", "replace")
    import_module("turbohtml.detect")  # registers these codecs; pages in UTF-8 do without
    return body.decode(f"whatwg-{encoding.lower()}", "replace")


def decode_body(body: bytes, content_type: str = "", guess_at: str | None = None) -> tuple[str, str]:
    """Return the text of a body and the name of its encoding."""
    encoding = encoding_of(body, content_type, guess_at)
    return decode_as(body, encoding), encoding
