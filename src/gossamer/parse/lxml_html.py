"""Selecting in HTML as parsel does: in the tree that libxml2 builds, by its XPath.

libxml2 ends a page where elements are nested too deeply, and takes hours for an element with very many
attributes. So a page that it would not read to its end is first brought into the form of the HTML standard's
tree, which is never so deep: no text and no link is lost. Attributes beyond a number are left out, and said.
"""

from __future__ import annotations

from collections.abc import Sequence

import turbohtml
from lxml import etree
from lxml.html import HTMLParser
from turbohtml import Document, Element, XPath

from gossamer.parse.queries import css_arms
from gossamer.parse.xml import XmlEngine

_SMALL = 16 * 1024  # characters that hold too few attributes to cost time
MAX_ATTRIBUTES = 1000
"""Attributes of one element; libxml2 compares each of them with all others."""
_LADEN = XPath(f"//*[count(@*) > {MAX_ATTRIBUTES}]")


class LxmlHtmlEngine(XmlEngine):
    """Port ``SelectorEngine`` over lxml's trees of HTML."""

    type = "html"

    def parse_document(self, text: str) -> tuple[object, tuple[str, ...]]:
        """Return the ``<html>`` element, and the parts that were cut: ``attributes``."""
        cuts: tuple[str, ...] = ()
        if len(text) > _SMALL:
            document = turbohtml.parse(text, positions=False)
            if _unburden(document):
                text, cuts = document.html, ("attributes",)
        root, is_whole = _parse_html(text)
        if not is_whole:
            root, _ = _parse_html(turbohtml.parse(text, positions=False).html)
        return (etree.Element("html") if root is None else root), cuts

    def select_css(self, root: object, query: str) -> Sequence[object]:
        """Nodes and strings in document order."""
        found = self.select_xpath(root, " | ".join(css_arms(query)), None, {})
        assert isinstance(found, list)  # every part of a CSS query is a path
        return found

    def markup_of(self, root: object) -> str | None:
        """Return the HTML of a node."""
        if not isinstance(root, etree._Element):
            return None
        return etree.tostring(root, method="html", encoding="unicode", with_tail=False)


def _parse_html(text: str) -> tuple[etree._Element | None, bool]:
    """Return the root element, if there is any, and whether libxml2 read on to the end."""
    source = text.strip().replace("\x00", "").encode("utf-8", "replace") or b"<html/>"
    parser = HTMLParser(recover=True, encoding="utf-8", huge_tree=True)
    root: etree._Element | None = etree.fromstring(source, parser)
    refused = etree.ErrorTypes.ERR_RESOURCE_LIMIT
    return root, all(entry.type != refused for entry in parser.error_log)


def _unburden(document: Document) -> bool:
    """Whether there were elements with too many attributes, which have fewer now."""
    root = document.root
    laden = [] if root is None else _LADEN(root)
    assert isinstance(laden, list)  # the expression is a path
    for element in laden:
        assert isinstance(element, Element)
        for name in list(element.attrs)[MAX_ATTRIBUTES:]:
            del element.attrs[name]
    return bool(laden)


LXML_HTML = LxmlHtmlEngine()
