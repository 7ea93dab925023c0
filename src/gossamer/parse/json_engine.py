"""JSON behind selectors: values are taken as they are, and queries of HTML and XML find nothing in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


class JsonEngine:
    """Port ``SelectorEngine`` over JSON values; ``Selector.jmespath`` selects in them."""

    type = "json"

    def parse_document(self, text: str) -> tuple[object, tuple[str, ...]]:
        """Return the value; ``None`` for text that is not JSON, or is nested too deeply."""
        try:
            return json.loads(text.removeprefix("\ufeff")), ()
        except (ValueError, RecursionError):
            return None, ()

    def select_css(self, root: object, query: str) -> Sequence[object]:
        """Nothing."""
        return ()

    def select_xpath(
        self, root: object, query: str, namespaces: Mapping[str, str] | None, variables: Mapping[str, Any]
    ) -> object:
        """Nothing."""
        return []

    def markup_of(self, root: object) -> str | None:
        """Return ``None``: a value has no markup."""
        return None

    def attributes_of(self, root: object) -> dict[str, str]:
        """Return nothing: a value has no attributes."""
        return {}

    def remove_node(self, root: object) -> None:
        """Values stay."""

    def with_namespace(self, prefix: str, uri: str) -> JsonEngine:
        """Return the same: names in JSON have no namespaces."""
        return self

    def remove_namespaces(self, root: object) -> None:
        """There are none to remove."""


JSON = JsonEngine()
