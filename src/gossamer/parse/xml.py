"""Parses XML by libxml2 within its limits: nothing is expanded, loaded or validated.

A declared entity stays a reference, DTDs are ignored, and nothing is requested. Elements nested deeper than
256 and texts of more than 10 MB are cut (libxml2 would be open to attacks beyond), and the document reports
the cut. Errors such as a bare ``&`` are fixed first (:mod:`gossamer.parse.xml_mending`); other broken
documents are read as far as possible, and reported as malformed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from lxml import etree

from gossamer.parse.links import PageLinks, join_links
from gossamer.parse.queries import expand_xpath
from gossamer.parse.xml_mending import mend_xml
from gossamer.parse.xml_queries import css_to_xml_xpath
from gossamer.policy.urls import QueryEncoder, UrlJoiner
from gossamer.ports.page_examiner import MALFORMED

_MAX_DEPTH = 256
_REFUSALS = (
    ("Excessive depth", "depth"),
    ("entity amplification", "entities"),
    ("entity reference loop", "entities"),
    ("too long", "rest"),
    ("too big", "rest"),
    ("huge text", "rest"),
)
"""Messages of libxml2 (2.12 to 2.15) for documents beyond its limits, and the missing part."""
PARSER_OPTIONS: Mapping[str, Any] = {
    "recover": True, "encoding": "utf-8", "resolve_entities": False, "no_network": True, "load_dtd": False,
    "attribute_defaults": False, "dtd_validation": False, "huge_tree": False,
}  # fmt: skip
"""Nothing is expanded, loaded or validated. Were ``collect_ids`` off, libxml2 would load a document's DTD."""
_LOGGED = 100  # errors that libxml2's log keeps
BLANKS = "\ufeff\x00 \t\r\n"
"""Characters before a document that do not count."""
_HARMLESS = frozenset({"ERR_HYPHEN_IN_COMMENT"})
"""Errors that cost a document nothing."""
_EXSLT = (("re", "http://exslt.org/regular-expressions"), ("set", "http://exslt.org/sets"))


def parse_xml(text: str) -> tuple[etree._Element, tuple[str, ...]]:
    """Return the root element, and the parts that were cut: ``depth``, ``entities``, ``rest``. Never raises.

    ``malformed`` stands alone: nothing was cut, but parts may be missing, or in the wrong place. A document
    without elements becomes an empty ``html`` element, as in parsel.
    """
    text = text.lstrip(BLANKS)
    root, log = _parse_text(text)
    has_lost_entities = False
    if log or "<!ENTITY" in text:  # most documents need no mending
        text, has_lost_entities = mend_xml(text)
        root, log = _parse_text(text)
    cuts = find_cuts(log, root, has_lost_entities=has_lost_entities)
    if not cuts and find_error(log):
        cuts = (MALFORMED,)
    return (etree.Element("html") if root is None else root), cuts


def _parse_text(text: str) -> tuple[etree._Element | None, list[etree._LogEntry]]:
    parser = etree.XMLParser(**PARSER_OPTIONS)
    source = text.encode("utf-8", "replace")
    try:
        root = etree.fromstring(source, parser) if source else None
    except etree.XMLSyntaxError:  # not even recover makes something of it
        root = None
    return root, list(parser.error_log)


def find_error(entries: Iterable[etree._LogEntry]) -> str:
    """Return the first place where a document is not well-formed, and why; ``""``: it is."""
    broken = (entry for entry in entries if entry.level == etree.ErrorLevels.FATAL)
    harmful = (entry for entry in broken if entry.type_name not in _HARMLESS)
    return next((f"line {entry.line}: {entry.message}" for entry in harmful), "")


def find_cuts(
    entries: Iterable[etree._LogEntry], root: etree._Element | None, *, has_lost_entities: bool
) -> tuple[str, ...]:
    """Return the parts that libxml2 did not read; if its log is full, the tree shows them."""
    log = list(entries)
    found = {cut for entry in log for words, cut in _REFUSALS if words in entry.message}
    if has_lost_entities:
        found.add("entities")
    if root is not None and len(log) >= _LOGGED and root.xpath(f"boolean({'/*' * _MAX_DEPTH})"):
        found.add("depth")
    return tuple(sorted(found))


@lru_cache(maxsize=1024)
def _compile_xpath(query: str, namespaces: tuple[tuple[str, str], ...]) -> etree.XPath:
    return etree.XPath(expand_xpath(query), namespaces=dict(namespaces), smart_strings=False)


class XmlEngine:
    """Port ``SelectorEngine`` over lxml; the roots are its elements."""

    type = "xml"

    def __init__(self, namespaces: tuple[tuple[str, str], ...] = _EXSLT) -> None:
        self._namespaces = namespaces

    def parse_document(self, text: str) -> tuple[object, tuple[str, ...]]:
        """Return the root element, and the parts that were cut."""
        return parse_xml(text)

    def select_css(self, root: object, query: str) -> Sequence[object]:
        """Nodes and strings in document order."""
        found = self.select_xpath(root, css_to_xml_xpath(query), None, {})
        assert isinstance(found, list)  # every part of a CSS query is a path
        return found

    def select_xpath(
        self, root: object, query: str, namespaces: Mapping[str, str] | None, variables: Mapping[str, Any]
    ) -> object:
        """Return a list of nodes and strings, or one value."""
        known = self._namespaces
        if namespaces:
            known = tuple({**dict(known), **namespaces}.items())
        try:
            compiled = _compile_xpath(query, known)
            return compiled(root, **variables) if isinstance(root, etree._Element) else []
        except etree.XPathError as error:
            reason = str(error) or "it cannot be evaluated"
            if reason == "Undefined namespace prefix":
                reason += "; make it known by register_namespace(prefix, uri), or pass namespaces="
            raise ValueError(reason) from None

    def markup_of(self, root: object) -> str | None:
        """Return the XML of a node."""
        if not isinstance(root, etree._Element):
            return None
        return etree.tostring(root, method="xml", encoding="unicode", with_tail=False)

    def attributes_of(self, root: object) -> dict[str, str]:
        """Return the attributes of an element; those in a namespace as ``{uri}name``."""
        if not isinstance(root, etree._Element):
            return {}
        return {str(name): str(value) for name, value in root.attrib.items()}

    def remove_node(self, root: object) -> None:
        """Remove an element from its document; the text after it stays."""
        if not isinstance(root, etree._Element) or (parent := root.getparent()) is None:
            return
        before = root.getprevious()
        if root.tail and before is not None:
            before.tail = (before.tail or "") + root.tail
        elif root.tail:
            parent.text = (parent.text or "") + root.tail
        parent.remove(root)

    def with_namespace(self, prefix: str, uri: str) -> XmlEngine:
        """Return an engine that knows a prefix."""
        return type(self)(tuple({**dict(self._namespaces), prefix: uri}.items()))

    def remove_namespaces(self, root: object) -> None:
        """Leave the bare names of elements and attributes in the tree."""
        if not isinstance(root, etree._Element):
            return
        for element in root.iter("*"):
            element.tag = _strip_namespace(str(element.tag))
            for name in [name for name in element.attrib if str(name).startswith("{")]:
                element.attrib[_strip_namespace(str(name))] = element.attrib.pop(name)
        etree.cleanup_namespaces(root)


XML = XmlEngine()

_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_LINKING = ("{*}link", "{http://www.w3.org/1999/xhtml}a")
_PAGES = ("", "alternate", "related", "next", "prev", "previous", "first", "last")
"""Relations of Atom's links that lead to pages; others lead to the feed itself, to hubs, to pictures."""


def feed_links(
    root: etree._Element, url: str, limit: int, encode_query: QueryEncoder | None = None
) -> PageLinks:
    """Return the links of a feed: the texts of RSS's ``link`` elements, ``href`` of Atom's and XHTML's."""
    hrefs = []
    for element in root.iter(*_LINKING):
        href, relation = element.get("href"), element.get("rel") or ""
        if href is None:
            hrefs.append((element.text or "").strip())
        elif _strip_namespace(str(element.tag)) == "a" or relation in _PAGES:
            hrefs.append(href)
    own = UrlJoiner(url, encode_query)
    base = own[root.get(_BASE) or ""] or url
    urls, _, dropped = join_links([href for href in hrefs if href], UrlJoiner(base, encode_query), limit)
    return PageLinks(urls, frozenset(), dropped)


def _strip_namespace(name: str) -> str:
    return name.rpartition("}")[2]
