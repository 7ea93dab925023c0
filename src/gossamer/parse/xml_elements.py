"""Elements of one name out of XML of any length, one after the other: each is let go before the next.

Within the same limits as a document that is parsed as a whole (:mod:`gossamer.parse.xml`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import TextIO

from lxml import etree

from gossamer.parse.feed_text import SLICE
from gossamer.parse.selectors import Selector
from gossamer.parse.xml import BLANKS, PARSER_OPTIONS, XML, find_cuts, find_error
from gossamer.parse.xml_mending import XmlSlipFilter


class XmlElementReader:
    """The elements called ``name``, as documents of their own; within one another, the inner one goes first.

    ``prefix:name`` is an element of that namespace: of the one in ``namespaces``, else as the document has
    it. A bare name is one that is written so, in a default namespace or without one. Afterwards ``cuts``
    says what libxml2 refused to read (``depth``, ``entities``, ``rest``), and ``malformed`` where the
    document is not well-formed; it is then read as far as it makes sense.
    """

    def __init__(self, text: TextIO, name: str, namespaces: Mapping[str, str] | None = None) -> None:
        self._text = text
        self._prefix, _, self._name = name.rpartition(":")
        self._engine = XML
        for prefix, uri in (namespaces or {}).items():
            self._engine = self._engine.with_namespace(prefix, uri)
        self._uri = (namespaces or {}).get(self._prefix)
        self.cuts: tuple[str, ...] = ()
        self.malformed = ""
        self._slips = XmlSlipFilter()

    def read_elements(self) -> Iterator[Selector]:
        """Yield each element, as its end is seen."""
        parser = etree.XMLPullParser(("end",), tag=f"{{*}}{self._name}", **PARSER_OPTIONS)
        started = False
        for source in self._mended_slices():
            started = True
            parser.feed(source)
            yield from self._take_elements(parser)
        try:
            root = parser.close() if started else None
        except etree.XMLSyntaxError:  # the document has no elements
            root = None
        yield from self._take_elements(parser)
        self._look_at_log(parser, root)

    def _mended_slices(self) -> Iterator[bytes]:
        """Yield the document without the blanks before it."""
        started = is_over = False
        while not is_over:
            slice_ = self._text.read(SLICE)
            is_over = not slice_
            text = self._slips.mend(slice_ if started else slice_.lstrip(BLANKS), is_last=is_over)
            if text:
                started = True
                yield text.encode("utf-8", "replace")

    def _take_elements(self, parser: etree.XMLPullParser) -> Iterator[Selector]:
        for _, element in parser.read_events():
            assert isinstance(element, etree._Element)  # the iterator was asked for elements only
            if self._is_meant(element):
                own = deepcopy(element)
                own.tail = None
                yield Selector(own, engine=self._engine)
            self._let_go(element)

    def _is_meant(self, element: etree._Element) -> bool:
        if self._uri is not None:
            return etree.QName(element).namespace == self._uri
        return (element.prefix or "") == self._prefix

    def _let_go(self, element: etree._Element) -> None:
        """Empty an element, and remove its earlier siblings, unless they belong to a later element."""
        element.clear()
        parent = element.getparent()
        if parent is None or next(element.iterancestors(f"{{*}}{self._name}"), None) is not None:
            return
        while element.getprevious() is not None:
            del parent[0]

    def _look_at_log(self, parser: etree.XMLPullParser, root: etree._Element | None) -> None:
        lost = self._slips.has_lost_entities
        self.cuts = find_cuts(parser.feed_error_log, root, has_lost_entities=lost)
        self.malformed = "" if self.cuts else find_error(parser.feed_error_log)
