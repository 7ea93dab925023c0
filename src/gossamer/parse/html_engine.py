"""Selecting in HTML: the tree and the query engines are native."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import turbohtml
from turbohtml import Document, Element, Node

from gossamer.parse.queries import compile_css, compile_xpath, expand_xpath

_WITH_ELEMENTS = (Document, Element)


class HtmlEngine:
    """Port ``SelectorEngine`` over turbohtml. A document is also a root; paths start at its ``<html>``."""

    type = "html"

    def parse_document(self, text: str) -> tuple[object, tuple[str, ...]]:
        """Return the document; nothing is cut."""
        return turbohtml.parse(text, positions=False), ()

    def select_css(self, root: object, query: str) -> Sequence[object]:
        """Nodes and strings in document order."""
        compiled = compile_css(query)
        return compiled(root) if isinstance(root, _WITH_ELEMENTS) else ()

    def select_xpath(
        self, root: object, query: str, namespaces: Mapping[str, str] | None, variables: Mapping[str, Any]
    ) -> object:
        """Return a list of nodes and strings, or one value."""
        root = root.root if isinstance(root, Document) else root
        if not isinstance(root, Node):
            compile_xpath(query)
            return []
        if namespaces:
            return root.xpath(expand_xpath(query), namespaces=dict(namespaces), **variables)
        return compile_xpath(query)(root, **variables)

    def markup_of(self, root: object) -> str | None:
        """Return the HTML of a node."""
        if isinstance(root, Document):
            return root.root.html if root.root is not None else ""
        return root.html if isinstance(root, Node) else None

    def attributes_of(self, root: object) -> dict[str, str]:
        """Return the attributes of an element."""
        element = root.root if isinstance(root, Document) else root
        if not isinstance(element, Element):
            return {}
        return {name: element.attr(name) or "" for name in element.attrs}

    def remove_node(self, root: object) -> None:
        """Take an element out of its page."""
        if isinstance(root, Element):
            root.extract()

    def with_namespace(self, prefix: str, uri: str) -> HtmlEngine:
        """Return the same: names in HTML have no namespaces that a query could tell apart."""
        return self

    def remove_namespaces(self, root: object) -> None:
        """There are none to remove."""


HTML = HtmlEngine()
