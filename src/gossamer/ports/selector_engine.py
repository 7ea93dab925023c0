"""Engines that run the queries of selectors on HTML, XML and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class SelectorEngine(Protocol):
    """Runs the queries of selectors; immutable, and shared by all selectors of a document.

    A root is a node of the engine's own tree, or the string, number or boolean that an expression returned.
    """

    type: str
    """``html``, ``xml`` or ``json``."""

    def parse_document(self, text: str) -> tuple[object, tuple[str, ...]]:
        """Return the root of a document and the reasons for parts cut out (``depth``, ``rest``, ...). Never
        raises.
        """
        ...

    def select_css(self, root: object, query: str) -> Sequence[object]:
        """Return nodes and strings in document order. Raises ``ValueError`` for an invalid query."""
        ...

    def select_xpath(
        self, root: object, query: str, namespaces: Mapping[str, str] | None, variables: Mapping[str, Any]
    ) -> object:
        """Return a list of nodes and strings, or one value. Raises ``ValueError`` or ``TypeError``."""
        ...

    def markup_of(self, root: object) -> str | None:
        """Return the markup of a node, or ``None`` for other values."""
        ...

    def attributes_of(self, root: object) -> dict[str, str]:
        """Return the attributes of an element; empty for everything else."""
        ...

    def remove_node(self, root: object) -> None:
        """Remove an element from its document; the text after it stays."""
        ...

    def with_namespace(self, prefix: str, uri: str) -> SelectorEngine:
        """Return an engine that knows a prefix."""
        ...

    def remove_namespaces(self, root: object) -> None:
        """Strip the namespaces from elements and attributes in the tree."""
        ...
