"""CSS and XPath queries, compiled once per query string.

The CSS dialect is parsel's: the standard's selectors with ``::text`` and ``::attr(name)``, and cssselect's
``:contains("x")`` and ``[a!=b]``. A query on a whole document is answered by the native CSS engine and its
index; one that starts at an element goes through XPath where the two would differ: parsel lets the
element itself match, and no part of a selector may match outside of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from turbohtml import Document, Element, XPath
from turbohtml.convert import css_to_xpath

from gossamer.core.lazy import lazy_pattern

_PSEUDO = lazy_pattern(r"::(?:text|attr\(\s*(?P<name>[^()\s]+)\s*\))\s*$", re.IGNORECASE)
STRING = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
# Selectors of cssselect that the standard lacks or defines otherwise (``:empty`` with blanks).
_NOT_STANDARD = lazy_pattern(rf":(?:contains\(\s*({STRING}|[\w-]+)\s*\)|empty\b)")
_EMPTY_TEST = "(not(*) and not(string-length()))"
_COMBINING = " \t\r\n\f>+~"
_NOT_EQUAL = lazy_pattern(rf"\[\s*([\w-]+)\s*!=\s*({STRING}|[\w-]+)\s*\]")
_HAS_CLASS = lazy_pattern(rf"has-class\(\s*({STRING}(?:\s*,\s*{STRING})*)\s*\)")
_TEXT = XPath("text()")


# --------------------------------------------------------------------------- XPath


@lru_cache(maxsize=1024)
def compile_xpath(query: str) -> XPath:
    """Return a compiled expression; raises ``ValueError`` for one that is none.

    Besides XPath 1.0: ``re:test``, ``re:replace``, ``set:*`` of EXSLT and parsel's ``has-class``.
    """
    return XPath(expand_xpath(query))


def expand_xpath(query: str) -> str:
    """``has-class("a", "b")`` written out in plain XPath."""
    return _HAS_CLASS.sub(_class_tests, query) if "has-class(" in query else query


def _class_tests(match: re.Match[str]) -> str:
    quoted = re.findall(STRING, match[1])
    tests = (
        f"contains(concat(' ', normalize-space(@class), ' '), concat(' ', {name}, ' '))" for name in quoted
    )
    return f"(@class and {' and '.join(tests)})"


def _quote_literal(text: str) -> str:
    """Return a string as XPath writes it, which knows no escapes."""
    if '"' not in text:
        return f'"{text}"'
    if "'" not in text:
        return f"'{text}'"
    return "concat(" + ", '\"', ".join(f'"{part}"' for part in text.split('"')) + ")"


# --------------------------------------------------------------------------- CSS


class CssSubQuery(NamedTuple):
    """One of the comma-separated parts of a CSS query."""

    selector: str
    compound: bool  # no combinator: whether it matches depends on nothing but the element
    native: bool  # the native CSS engine understands it
    result: str | None  # ``None``: elements; ``""``: their text nodes; else the attribute of that name
    xpath: str


class CssQuery:
    """A compiled CSS query. Raises ``ValueError`` for one that is none."""

    def __init__(self, query: str) -> None:
        arms = [_compile_part(text, compound=compound) for text, compound in _split_query(query)]
        self._arms = arms
        self._selector = ", ".join(arm.selector for arm in arms)
        self._result = arms[0].result
        self._native = all(arm.native and arm.result == self._result for arm in arms) and (
            len(arms) == 1 or self._result is None
        )
        self._compound = all(arm.compound for arm in arms)
        self._xpath = XPath(" | ".join(arm.xpath for arm in arms))

    def __call__(self, context: Document | Element) -> Sequence[object]:
        """Elements or strings, in document order."""
        start = context if isinstance(context, Element) else context.root
        if start is None:
            return []
        if not self._native or (start is context and not self._compound):
            found: Sequence[object] = self._run_xpath(start)
            return found
        elements = context.select(self._selector)
        if start is context and start.matches(self._selector):
            elements.insert(0, start)
        if self._result is None:
            return elements
        if self._result:
            name = self._result
            return [value for element in elements if (value := element.attr(name)) is not None]
        return self._select_texts(start, elements)

    def _run_xpath(self, start: Element) -> Sequence[object]:
        found = self._xpath(start)
        assert isinstance(found, list)  # every arm is a path
        return found

    def _select_texts(self, start: Element, elements: list[Element]) -> Sequence[object]:
        """Return the text nodes of the elements, which interleave where elements lie within one another."""
        if any(element.select_one("*") is not None for element in elements[:-1]):
            return self._run_xpath(start)
        return [text for element in elements for text in _text_nodes(element)]


def _text_nodes(element: Element) -> Sequence[object]:
    found = _TEXT(element)
    assert isinstance(found, list)  # ``text()`` is a path
    return found


@lru_cache(maxsize=1024)
def compile_css(query: str) -> CssQuery:
    """Return a compiled CSS query; raises ``ValueError`` for one that is none."""
    return CssQuery(query)


def _compile_part(text: str, *, compound: bool) -> CssSubQuery:
    pseudo = _PSEUDO.search(text)
    result = None if pseudo is None else (pseudo["name"] or "")
    selector = text[: pseudo.start()] if pseudo else text
    if pseudo and (not selector.strip() or selector[-1] in _COMBINING):
        selector, compound = selector + "*", compound and not selector.strip()
    selector = _NOT_EQUAL.sub(r":not([\1=\2])", selector.strip())
    conditions: list[str] = []

    def mark(match: re.Match[str]) -> str:
        conditions.append(
            f"contains(., {_quote_literal(_unquote_string(match[1]))})" if match[1] else _EMPTY_TEST
        )
        return f"[gossamer-{len(conditions)}-]"

    xpath = css_to_xpath(_NOT_STANDARD.sub(mark, selector))
    for number, condition in enumerate(conditions, 1):
        xpath = xpath.replace(f"@gossamer-{number}-", condition)
    native = not conditions
    if result is not None:
        if xpath.endswith("/descendant::*"):  # parsel takes ``p *::text`` to include the texts of ``p``
            xpath, native = xpath.removesuffix("descendant::*") + "descendant-or-self::*", False
        xpath += f"/@{result}" if result else "/text()"
    return CssSubQuery(selector, compound, native, result, xpath)


def css_arms(query: str) -> list[str]:
    """Return the XPath expressions of the comma-separated parts of a CSS query."""
    return [_compile_part(text, compound=compound).xpath for text, compound in _split_query(query)]


def _unquote_string(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text


_TOKENS = lazy_pattern(rf"\\.|{STRING}|[(\[]|[)\]]|,|[ \t\r\n\f]*[>+~][ \t\r\n\f]*|[ \t\r\n\f]+|.", re.DOTALL)


def _split_query(query: str) -> list[tuple[str, bool]]:
    """Return the comma-separated parts of a query, each with whether it is free of combinators."""
    parts: list[tuple[str, bool]] = []
    text, compound, depth = "", True, 0
    for match in _TOKENS.finditer(query.strip()):
        piece = match[0]
        if piece in "([":
            depth += 1
        elif piece in ")]":
            depth -= 1
        elif depth == 0 and piece == ",":
            parts.append((text.strip(), compound))
            text, compound = "", True
            continue
        elif depth == 0 and text and (piece[0] in " \t\r\n\f>+~"):
            compound = False
        text += piece
    parts.append((text.strip(), compound))
    return parts
