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
    """One result of a query: an element, a text, an attribute's value, a number or a truth.

    ``Selector(text="<html>...")`` parses HTML, with ``type="xml"`` XML and with ``type="json"`` JSON;
    ``root`` takes a node or a value as it is. ``get()`` is the markup of an element, a value of JSON as it
    is, and the text of everything else.
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
        """``html``, ``xml`` or ``json``: how the document was read; ``text``: a string of JSON."""
        return "text" if self._engine is JSON and isinstance(self.root, str) else self._engine.type

    def css(self, query: str) -> SelectorList:
        """The results of a CSS query, in document order.

        ``::text`` and ``::attr(name)`` are understood, ``prefix|name`` in XML. Raises :class:`SelectorError`
        (a ``ValueError``) for a bad query. In a string of JSON they find what is HTML in it.
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
        """The results of an XPath 1.0 expression; ``$name`` takes its value from the keyword ``name``.

        Relative paths start at this element (at ``<html>`` for a page). Raises :class:`SelectorError` (a
        ``ValueError``) for a bad expression.
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
        """The results of a JMESPath expression on a value of JSON, or on JSON that is the text of an element.

        As parsel has it: a list gives its members, ``null`` nothing; text that is not JSON gives nothing,
        too. ``options`` go to ``jmespath.search``. Raises :class:`SelectorError` for a bad expression.
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
        """The value of JSON that this is, or that its text means."""
        root = self.root
        if self._engine is not JSON and not isinstance(root, str):
            root = self._engine.select_xpath(root, "string(text())", None, {})
        return JSON.parse_document(root)[0] if isinstance(root, str) else root

    def _html_in_value(self) -> object:
        if not isinstance(self.root, str):
            raise SelectorError("css() and xpath() select in HTML and XML; of JSON, jmespath() does")
        return HTML.parse_document(self.root)[0]

    def register_namespace(self, prefix: str, uri: str) -> None:
        """Let queries on this selector, and on what they give, name elements of XML by ``prefix``."""
        self._engine = self._engine.with_namespace(prefix, uri)

    def remove_namespaces(self) -> None:
        """Take all namespaces out of this part of an XML document, and leave the bare names."""
        self._engine.remove_namespaces(self.root)

    def get(self, default: str | None = None) -> Any:
        """The markup of an element, or the value as text; a value of JSON as it is.

        ``default`` is for symmetry with the list.
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
        """``[get()]``."""
        return [self.get()]

    extract = get

    def re(self, regex: str | Pattern[str], replace_entities: bool = True) -> list[str]:
        """What a regular expression finds in ``get()``.

        The group named ``extract`` if there is one, else all groups, else whole matches. Character
        references are resolved except ``&lt;`` and ``&amp;``, unless ``replace_entities`` is off.
        """
        pattern = re.compile(regex) if isinstance(regex, str) else regex
        found = _find_matches(pattern, str(self.get()))
        return [_without_entities(text) for text in found] if replace_entities else found

    def re_first(self, regex: str | Pattern[str], default: Any = None, replace_entities: bool = True) -> Any:
        """Return the first result of :meth:`re`, a string, or ``default``.

        Its type is ``Any``, as that of :meth:`get` is: an :class:`~gossamer.Item` checks the value.
        """
        return next(iter(self.re(regex, replace_entities)), default)

    @property
    def attrib(self) -> dict[str, str]:
        """The attributes of an element; empty for everything else."""
        return self._engine.attributes_of(self.root)

    def drop(self) -> None:
        """Take the element out of its page."""
        self._engine.remove_node(self.root)


def _engine_for(kind: str) -> SelectorEngine:
    if kind in ("html", "json"):
        return HTML if kind == "html" else JSON
    if kind != "xml":
        raise ValueError(f"unknown type of selector {kind!r}; known are html, json and xml")
    from gossamer.parse.xml import XML  # lxml is loaded with the first document that is XML

    return XML


class SelectorList(list[Selector]):
    """The results of a query, in document order; each method asks every one of them."""

    @overload
    def __getitem__(self, index: SupportsIndex) -> Selector: ...
    @overload
    def __getitem__(self, index: slice) -> SelectorList: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Selector | SelectorList:
        found = super().__getitem__(index)
        return SelectorList(found) if isinstance(found, list) else found

    def css(self, query: str) -> SelectorList:
        """The results of a CSS query on every element."""
        return SelectorList([found for selector in self for found in selector.css(query)])

    def xpath(
        self, query: str, namespaces: Mapping[str, str] | None = None, **variables: Any
    ) -> SelectorList:
        """The results of an XPath expression on every element."""
        return SelectorList(
            [found for selector in self for found in selector.xpath(query, namespaces, **variables)]
        )

    def jmespath(self, query: str, **options: Any) -> SelectorList:
        """The results of a JMESPath expression on every element; see :meth:`Selector.jmespath`."""
        return SelectorList([found for selector in self for found in selector.jmespath(query, **options)])

    def get(self, default: Any = None) -> Any:
        """``get()`` of the first result; ``default`` when there is none."""
        return self[0].get() if self else default

    def getall(self) -> list[Any]:
        """``get()`` of every result."""
        return [selector.get() for selector in self]

    extract = getall
    extract_first = get

    def re(self, regex: str | Pattern[str], replace_entities: bool = True) -> list[str]:
        """What a regular expression finds in every result; see :meth:`Selector.re`."""
        return [found for selector in self for found in selector.re(regex, replace_entities)]

    def re_first(self, regex: str | Pattern[str], default: Any = None, replace_entities: bool = True) -> Any:
        """The first of :meth:`re`, or ``default``."""
        for selector in self:
            for found in selector.re(regex, replace_entities):
                return found
        return default

    @property
    def attrib(self) -> dict[str, str]:
        """The attributes of the first result; empty when there is none."""
        return self[0].attrib if self else {}

    def drop(self) -> None:
        """Take every element out of its page."""
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
