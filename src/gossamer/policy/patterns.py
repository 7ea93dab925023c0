"""Regular expressions that are searched in URLs, in a time that grows with the URL and no faster.

Links are written by strangers, and the engine of the standard library may take years for one of them where
an expression repeats what repeats. So an expression runs in the engine of Rust, which never goes back,
wherever it means the same there; one that looks around, refers back or is written in a way that both read
differently runs in the standard library's. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

from gossamer.core.errors import UsageError

_COUNT = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
_VERBOSE = re.compile(r"\(\?[a-z]*x")
_SETS = ("&&", "--", "~~")
"""Operators on sets of characters in Rust, and characters in Python."""


class UrlPattern:
    """A regular expression as the settings ``include`` and ``exclude`` have it.

    Raises ``UsageError`` for text that is none.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        try:
            compiled = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(f"{pattern[:200]!r} is not a regular expression: {error}") from error
        linear = _search_in_rust(pattern)
        self.is_linear = linear is not None
        """Whether a search takes a time that grows with the URL and no faster."""
        self.search: Callable[[str], object] = linear or compiled.search
        """Whether the expression matches a URL."""


@lru_cache(maxsize=1000)
def compile_pattern(pattern: str) -> UrlPattern:
    """The expression, compiled once. Raises ``UsageError``."""
    return UrlPattern(pattern)


def _search_in_rust(pattern: str) -> Callable[[str], bool] | None:
    """``None`` where the engine of Rust does not take the expression, or may read it in another way."""
    if _is_ambiguous(pattern):
        return None
    try:
        schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
        return SchemaValidator(schema).isinstance_python
    except SchemaError:
        return None


def _is_ambiguous(pattern: str) -> bool:
    """Whether both engines would take the expression, and not mean the same by it.

    They differ in ``a++`` (never gives back, or repeats twice), ``[[a]b]`` and ``[a&&b]`` (sets within sets),
    in ``a{ 2}``, in a word's beginning (a backslash and ``<``) and in where blanks do not count.
    """
    at, is_set, last = 0, False, ""
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            if pattern[at + 1 : at + 2] in ("<", ">"):
                return True
            at, last = at + 2, ""
            continue
        if is_set:
            if char == "[" or pattern[at : at + 2] in _SETS:
                return True
            is_set = char != "]" or last == "["
        elif char == "[":
            is_set = True
            at += pattern[at + 1 : at + 2] == "^"
        elif (char == "{" and not _COUNT.match(pattern, at)) or (
            char == "+" and last in ("*", "+", "?", "}")
        ):
            return True
        at, last = at + 1, char
    return bool(_VERBOSE.search(pattern))
