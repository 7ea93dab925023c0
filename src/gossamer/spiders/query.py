"""Where something is in a response, in one text: CSS, XPath or a path into JSON, by how it begins."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gossamer.parse.json_path import find_values, parse_path
from gossamer.parse.selectors import Selector

_XPATH_STARTS = ("/", "./", "../", "(", "@")


class PageQuery:
    """A path into JSON if the text begins with ``$``, XPath if it does with ``/``, ``./`` or ``(``, else CSS.

    Raises ``ValueError`` for a text that is none of them.
    """

    __slots__ = ("kind", "text")

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        if not self.text:
            raise ValueError("a selector is empty")
        if self.text.startswith("$"):
            self.kind = "json"
            parse_path(self.text)
            return
        self.kind = "xpath" if self.text.startswith(_XPATH_STARTS) else "css"
        self._select(_EMPTY)

    def __repr__(self) -> str:
        return f"<PageQuery {self.text!r}>"

    def find_in(self, source: Any) -> list[Any]:
        """Return the results in a response, a selector or a JSON value: selectors, or JSON values.

        Raises ``ValueError`` for a path into JSON where there is none.
        """
        if self.kind == "json":
            return find_values(self.document_of(source), self.text)
        return [*self._select(source)]

    @staticmethod
    def document_of(source: Any) -> Any:
        """Return the value of ``$``: the JSON of a response, the JSON-LD of an HTML page, or a JSON value.

        Raises ``ValueError`` for a response that has neither.
        """
        if not hasattr(source, "json_ld"):
            return source
        return source.json_ld() if source.is_html else source.json()

    def _select(self, source: Any) -> Any:
        return source.xpath(self.text) if self.kind == "xpath" else source.css(self.text)


_EMPTY = Selector(text="<html></html>")


@lru_cache(maxsize=1024)
def compile_query(text: str) -> PageQuery:
    """The query of a text, remembered. Raises ``ValueError``."""
    return PageQuery(text)


def text_of(found: Any) -> str:
    """A thing that was found, as text without white space around it."""
    if not isinstance(found, Selector):
        return str(found).strip() if isinstance(found, str | int | float) else ""
    if isinstance(found.root, str):
        return found.root.strip()
    return str(found.xpath("string()").get("")).strip()
