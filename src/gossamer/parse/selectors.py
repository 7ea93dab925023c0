"""Selectors with parsel's interface: what spiders use to take a page apart.

A thin layer: an engine has the tree and answers the queries (:mod:`gossamer.ports.selector_engine`), a
:class:`Selector` is a node or a value with methods. Results agree with parsel's wherever the tree does; where
the HTML standard's tree differs from the one libxml2 builds (misnested tags, ``tbody``, line ends), this is
the standard's. XML is libxml2's in both.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from re import Pattern
from typing import Any, SupportsIndex, overload

from gossamer.core.errors import SelectorError
from gossamer.parse.html_engine import HTML
from gossamer.parse.json_engine import JSON
from gossamer.ports.selector_engine import SelectorEngine

_ONE_COLON = re.compile(r"(?<!:):(text|attr)\b")


class Selector:
    """One result of a query: an element, a text, an attribute value, a number or a JSON value.

    ``Selector(text="<html>...")`` parses HTML; ``type="xml"`` and ``type="json"`` parse XML and JSON.
    ``root`` is a node or a value that is already parsed. The methods agree with those of parsel.
    """

    __slots__ = ("_engine", "_query", "root")

    def __init__(
        self,
        root: object = None,
        query: str | None = None,
        engine: SelectorEngine = HTML,
        *,
        text: str | None = None,
        type: str = "html",  # noqa: A002 - parsel's name for it
    ) -> None:
        if text is not None or type != "html":
            engine = _engine_for(type)
            root = root if text is None else engine.parse_document(text)[0]
        self.root = root
        self._query = query
        self._engine = engine

    def __repr__(self) -> str:
        data = str(self.get())
        return f"<Selector query={self._query!r} data={data[:37] + '...' if len(data) > 40 else data!r}>"

    def __str__(self) -> str:
        return str(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    @property
    def type(self) -> str:
        """Type of the document, ``html``, ``xml`` or ``json``; ``text`` for a string of JSON."""
        return "text" if self._engine is JSON and isinstance(self.root, str) else self._engine.type

    def css(self, query: str) -> SelectorList:
        """Select by the CSS ``query``, in document order; ``::text`` and ``::attr(name)`` give values.

        XML elements are ``prefix|name``. A string of JSON is parsed as HTML. Raises :class:`SelectorError`
        for an invalid query.
        """
        engine, root = self._engine, self.root
        if engine is JSON:
            engine, root = HTML, self._html_in_value()
        try:
            found = engine.select_css(root, query)
        except (ValueError, RuntimeError) as error:
            reason = str(error).rpartition(": ")[2]
            slip = _ONE_COLON.search(query)
            hint = f"; is ::{slip[1]} meant?" if slip else "; is xpath() meant?" if "/" in query else ""
            raise SelectorError(f"invalid CSS selector {query!r}: {reason}{hint}") from None
        return SelectorList([Selector(result, query, engine) for result in found])

    def xpath(
        self, query: str, namespaces: Mapping[str, str] | None = None, **variables: Any
    ) -> SelectorList:
        """Select by the XPath 1.0 ``query``; relative paths start at this element.

        ``namespaces`` gives the namespaces by the prefixes in the query, and ``variables`` the values of
        ``$name``. Raises :class:`SelectorError` for an invalid query.
        """
        engine, root = self._engine, self.root
        if engine is JSON:
            engine, root = HTML, self._html_in_value()
        try:
            found = engine.select_xpath(root, query, namespaces, variables)
        except (ValueError, TypeError) as error:
            reason = str(error).removeprefix("xpath: ")
            raise SelectorError(f"invalid XPath expression {query!r}: {reason}") from None
        results = found if isinstance(found, list) else [found]
        return SelectorList([Selector(result, query, engine) for result in results])

    def jmespath(self, query: str, **options: Any) -> SelectorList:
        """Select by the JMESPath ``query`` in a JSON value, or in JSON that is the text of an element.

        A list gives its members; ``null``, and text that is not JSON, give nothing. ``options`` are passed to
        ``jmespath.search``. Raises :class:`SelectorError` for an invalid query.
        """
        search = import_module("jmespath").search  # most spiders never ask for it
        try:
            found = search(query, self._json_value(), **options)
        except (ValueError, RecursionError) as error:
            reason = " ".join(str(error).split()).removeprefix("Invalid jmespath expression: ")
            raise SelectorError(f"invalid JMESPath expression {query!r}: {reason}") from None
        results = found if isinstance(found, list) else [] if found is None else [found]
        return SelectorList([Selector(result, query, JSON) for result in results])

    def _json_value(self) -> object:
        """Return the value of JSON that this is, or that its text means."""
        root = self.root
        if self._engine is not JSON and not isinstance(root, str):
            root = self._engine.select_xpath(root, "string(text())", None, {})
        return JSON.parse_document(root)[0] if isinstance(root, str) else root

    def _html_in_value(self) -> object:
        if not isinstance(self.root, str):
            raise SelectorError("css() and xpath() select in HTML and XML; of JSON, jmespath() does")
        return HTML.parse_document(self.root)[0]

    def register_namespace(self, prefix: str, uri: str) -> None:
        """Bind ``prefix`` to the namespace ``uri`` for queries on this selector and on their results."""
        self._engine = self._engine.with_namespace(prefix, uri)

    def remove_namespaces(self) -> None:
        """Remove all namespaces from this part of an XML document."""
        self._engine.remove_namespaces(self.root)

    def get(self, default: str | None = None) -> Any:
        """Return the markup of an element, a JSON value as it is, or the text of any other result.

        ``default`` has no effect; :meth:`SelectorList.get` has it too.
        """
        root = self.root
        if isinstance(root, str) or self._engine is JSON:
            return root
        source = self._engine.markup_of(root)
        if source is not None:
            return source
        if isinstance(root, bool):
            return "1" if root else "0"
        return default or "" if root is None else str(root)

    def getall(self) -> list[Any]:
        """Return ``[get()]``."""
        return [self.get()]

    extract = get

    def re(self, regex: str | Pattern[str], replace_entities: bool = True) -> list[str]:
        """Return the matches of ``regex`` in ``get()``: the group ``extract``, all groups, or whole matches.

        Character references except ``&lt;`` and ``&amp;`` are replaced if ``replace_entities`` is set.
        """
        pattern = re.compile(regex) if isinstance(regex, str) else regex
        found = _find_matches(pattern, str(self.get()))
        return [_without_entities(text) for text in found] if replace_entities else found

    def re_first(self, regex: str | Pattern[str], default: Any = None, replace_entities: bool = True) -> Any:
        """Return the first match of ``regex`` as a string, or ``default``; see :meth:`re`.

        ``replace_entities`` is that of :meth:`re`. The type is ``Any``, as that of :meth:`get`.
        """
        return next(iter(self.re(regex, replace_entities)), default)

    @property
    def attrib(self) -> dict[str, str]:
        """Attributes of an element by name; empty for other results."""
        return self._engine.attributes_of(self.root)

    def drop(self) -> None:
        """Remove the element from its page."""
        self._engine.remove_node(self.root)


def _engine_for(kind: str) -> SelectorEngine:
    if kind in ("html", "json"):
        return HTML if kind == "html" else JSON
    if kind != "xml":
        raise ValueError(f"unknown type of selector {kind!r}; known are html, json and xml")
    from gossamer.parse.xml import XML  # lxml is loaded with the first document that is XML

    return XML


class SelectorList(list[Selector]):
    """A list of selectors in document order, whose methods apply to each of them."""

    @overload
    def __getitem__(self, index: SupportsIndex) -> Selector: ...
    @overload
    def __getitem__(self, index: slice) -> SelectorList: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Selector | SelectorList:
        found = super().__getitem__(index)
        return SelectorList(found) if isinstance(found, list) else found

    def css(self, query: str) -> SelectorList:
        """Select by the CSS ``query`` in every element."""
        return SelectorList([found for selector in self for found in selector.css(query)])

    def xpath(
        self, query: str, namespaces: Mapping[str, str] | None = None, **variables: Any
    ) -> SelectorList:
        """Select by the XPath ``query`` in every element, see :meth:`Selector.xpath`.

        ``namespaces`` and ``variables`` are those of that method.
        """
        return SelectorList(
            [found for selector in self for found in selector.xpath(query, namespaces, **variables)]
        )

    def jmespath(self, query: str, **options: Any) -> SelectorList:
        """Select by the JMESPath ``query`` in every element; ``options`` as in :meth:`Selector.jmespath`."""
        return SelectorList([found for selector in self for found in selector.jmespath(query, **options)])

    def get(self, default: Any = None) -> Any:
        """Return ``get()`` of the first result, or ``default`` if the list is empty."""
        return self[0].get() if self else default

    def getall(self) -> list[Any]:
        """Return ``get()`` of every result."""
        return [selector.get() for selector in self]

    extract = getall
    extract_first = get

    def re(self, regex: str | Pattern[str], replace_entities: bool = True) -> list[str]:
        """Return the matches of ``regex`` in every result; ``replace_entities`` as in :meth:`Selector.re`."""
        return [found for selector in self for found in selector.re(regex, replace_entities)]

    def re_first(self, regex: str | Pattern[str], default: Any = None, replace_entities: bool = True) -> Any:
        """Return the first match of ``regex`` in any result as a string, or ``default``.

        ``replace_entities`` is that of :meth:`Selector.re`. The type is ``Any``, as that of :meth:`get`.
        """
        for selector in self:
            for found in selector.re(regex, replace_entities):
                return found
        return default

    @property
    def attrib(self) -> dict[str, str]:
        """Attributes of the first result; empty if there is none."""
        return self[0].attrib if self else {}

    def drop(self) -> None:
        """Remove every element from its page."""
        for selector in self:
            selector.drop()


def _find_matches(pattern: Pattern[str], text: str) -> list[str]:
    if "extract" in pattern.groupindex:
        first = pattern.search(text)
        return [first["extract"]] if first is not None and first["extract"] is not None else []
    found: Iterable[Any] = pattern.findall(text)
    return [part for match in found for part in (match if isinstance(match, tuple) else (match,))]


_ENTITY = re.compile(r"&(?!lt;|amp;)(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def _without_entities(text: str) -> str:
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text
