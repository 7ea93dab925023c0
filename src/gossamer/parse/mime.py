"""Decides how to read a body: as HTML, as XML, or neither.

The Content-Type decides. If it is missing, empty or not a media type (``html``, ``text/html charset=utf-8``),
the first bytes decide by the WHATWG MIME Sniffing standard. A body with an XML declaration and a root unknown
to HTML is XML, whatever its header says: many feeds are sent as ``text/html`` or ``text/plain``. XHTML is
read as HTML.
"""

from __future__ import annotations

import re
from functools import cache

from gossamer.core.media_type import essence_of

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_UNKNOWN_TYPES = frozenset({"", "application/unknown", "unknown/unknown", "*/*"})
_UNSURE_TYPES = _UNKNOWN_TYPES | {"application/octet-stream", "application/x-unknown"}
_DECLARED_TYPES = _UNSURE_TYPES | {"text/html", "text/plain"}
"""Types of which an XML declaration knows better."""
_HEAD = 4096
_MARKUP = (
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*(?:<\?xml[^>]{0,200}>[\t\n\f\r ]*)?(?:<!--.{0,400}?-->[\t\n\f\r ]*)?"
    rb"<(?:!doctype html|(?:html|head|body|title|meta|script|iframe|h1|div|font|table|a|style|b|br|p)"
    rb"[ \t\n\f\r/>])"
)
"""The signatures of the WHATWG MIME Sniffing standard."""
_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\r ]*<\?xml[\t\n\r ]")
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[\t\n\r ]|<\?(?>.*?\?>)|<!--(?>.*?-->))*+"
    rb"<(!doctype[\t\n\r ]+)?([a-z_][^\t\n\r />\[]*)",
    re.IGNORECASE | re.DOTALL,
)
"""Nothing before the root is read twice: else a few dozen comments would take years."""


_TEXT_TYPES = frozenset({"text/plain", "text/markdown"})
_HTML_WITH_MORE = re.compile(r"\s*(?:text/html|application/xhtml\+xml)[\s(]", re.IGNORECASE)
"""No media type by the standard; browsers read as far as they can: ``text/html charset=utf-8``."""
_COMMENT = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*<!--")
_BINARY = re.compile(rb"%PDF-|.{0,1444}?[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]", re.DOTALL)
"""How a body begins that is not text."""
_WIDE_MARKS = (b"\xfe\xff", b"\xff\xfe")
"""Byte-order marks of UTF-16, whose text also contains such bytes."""


@cache
def _markup() -> re.Pattern[bytes]:
    """Compile the pattern on first use: most pages declare their type."""
    return re.compile(_MARKUP, re.IGNORECASE | re.DOTALL)


def is_html(content_type: str, body: bytes) -> bool:
    """Whether a body is to be read as HTML."""
    mime = essence_of(content_type)
    if mime in _HTML_TYPES:
        return not (mime == "text/html" and _is_declared_xml(body))
    if _is_xml_type(mime):
        return _is_xhtml(body)
    if mime or not _HTML_WITH_MORE.match(content_type):
        return mime in _UNSURE_TYPES and _is_sniffed(body)
    return not _is_declared_xml(body)


def is_xml(content_type: str, body: bytes) -> bool:
    """Whether a body is to be read as XML."""
    mime = essence_of(content_type)
    if _is_xml_type(mime):
        return mime not in _HTML_TYPES and not _is_xhtml(body)
    return mime in _DECLARED_TYPES and _is_declared_xml(body)


def is_text(content_type: str, body: bytes) -> bool:
    """Whether a body is plain text: by its header or, without a valid one, by its first bytes."""
    mime = essence_of(content_type)
    if mime not in _UNKNOWN_TYPES:
        return mime in _TEXT_TYPES
    is_binary = not body.startswith(_WIDE_MARKS) and _BINARY.match(body) is not None
    return bool(body) and not (is_binary or _is_sniffed(body) or _is_declared_xml(body))


def is_media(content_type: str) -> bool:
    """Whether a body is a picture, a sound, a film or a font: nothing that is read as a page."""
    return content_type.lower().lstrip().startswith(("image/", "audio/", "video/", "font/"))


def _is_sniffed(body: bytes) -> bool:
    return _begins_as_html(body) or _COMMENT.match(body) is not None


def _begins_as_html(body: bytes) -> bool:
    return _markup().match(body) is not None


def _is_xml_type(mime: str) -> bool:
    return mime.endswith(("/xml", "+xml"))


def _is_xhtml(body: bytes) -> bool:
    root = _ROOT.match(body[:_HEAD])
    return root is not None and root[2].lower() == b"html"


def _is_declared_xml(body: bytes) -> bool:
    """Whether it says that it is XML, and its root is nothing that HTML has."""
    head = body[:_HEAD]
    return (
        _DECLARATION.match(head) is not None
        and not _begins_as_html(head)
        and _ROOT.match(head) is not None
        and not _is_xhtml(body)
    )
