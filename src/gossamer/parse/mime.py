"""What a body is to be read as: HTML, XML, or neither.

The Content-Type decides. Where it is missing or says nothing, the first bytes do; and what begins with an XML
declaration and has a root that HTML does not know is XML, whatever its header says: many feeds are sent as
``text/html`` or ``text/plain``. XHTML is read as HTML.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_UNSURE_TYPES = frozenset({"", "application/octet-stream", "application/x-unknown", "unknown/unknown", "*/*"})
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


@cache
def _markup() -> re.Pattern[bytes]:
    """Compiled where it is needed: most pages say what they are."""
    return re.compile(_MARKUP, re.IGNORECASE | re.DOTALL)


def is_html(content_type: str, body: bytes) -> bool:
    """Whether a body is to be read as HTML."""
    mime = _mime_type(content_type)
    if mime in _HTML_TYPES:
        return not (mime == "text/html" and _is_declared_xml(body))
    if _is_xml_type(mime):
        return _is_xhtml(body)
    return mime in _UNSURE_TYPES and _begins_as_html(body)


def is_xml(content_type: str, body: bytes) -> bool:
    """Whether a body is to be read as XML."""
    mime = _mime_type(content_type)
    if _is_xml_type(mime):
        return mime not in _HTML_TYPES and not _is_xhtml(body)
    return mime in _DECLARED_TYPES and _is_declared_xml(body)


@lru_cache(maxsize=256)
def _mime_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


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
