"""What answers the queries of selectors: engines for HTML, XML and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class SelectorEngine(Protocol):
    """Answers the questions of selectors; immutable, and shared by all selectors of a document.

    A root is a node of the engine's own tree, or the string, number or truth that an expression gave.
    """

    type: str
    """``html``, ``xml`` or ``json``."""

    def parse_document(self, text: str) -> tuple[object, tuple[str, ...]]:
        """The root of a document, and what was cut out of it (``depth``, ``rest``, ...). Nothing raises."""
        ...

    def select_css(self, root: object, query: str) -> Sequence[object]:
        """Nodes and strings in document order. Raises ``ValueError`` for a query that is wrong."""
        ...

    def select_xpath(
        self, root: object, query: str, namespaces: Mapping[str, str] | None, variables: Mapping[str, Any]
    ) -> object:
        """A list of nodes and strings, or one value. Raises ``ValueError`` or ``TypeError``."""
        ...

    def markup_of(self, root: object) -> str | None:
        """The markup of a node; ``None`` for what is none."""
        ...

    def attributes_of(self, root: object) -> dict[str, str]:
        """The attributes of an element; empty for everything else."""
        ...

    def remove_node(self, root: object) -> None:
        """Take an element out of its document; what follows it stays."""
        ...

    def with_namespace(self, prefix: str, uri: str) -> SelectorEngine:
        """An engine that knows a prefix."""
        ...

    def remove_namespaces(self, root: object) -> None:
        """Leave the bare names of elements and attributes in the tree."""
        ...
