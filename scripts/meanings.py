"""Meanings of the members of classes, read from the source, and tables of them.

The meaning of a member is the comment at the end of its line, so each meaning has one place. A member without
a meaning raises :class:`Undocumented`.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Iterable, Sequence
from html import escape

CODE_WITH_BAR = re.compile(r"`([^`|]*\|[^`]*)`")
ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?([\w()]+)`")


class Undocumented(Exception):
    """A name in the code lacks a meaning in words."""


def prose(text: str) -> str:
    """Convert a docstring or comment to Markdown: no roles, code in single backticks."""
    return ROLE.sub(r"`\1`", text).replace("``", "`").strip()


def sentence(text: str) -> str:
    """Return a docstring or comment as a table's sentence, with a capital and a full stop."""
    text = prose(" ".join(text.split()))
    is_name = "." in text.partition(" ")[0]  # robots.txt
    return (text if is_name else text[:1].upper() + text[1:]) + ("" if text.endswith((".", "?")) else ".")


def docstring(thing: type) -> str:
    """Return the docstring of a class as Markdown."""
    text = vars(thing).get("__doc__")
    if not text:
        raise Undocumented(f"{thing.__module__}.{thing.__qualname__} has no docstring")
    return prose(inspect.cleandoc(text))


def meanings(thing: type) -> dict[str, str]:
    """Return the meanings of the members that a class defines itself, in their order."""
    source = textwrap.dedent(inspect.getsource(thing))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    [body] = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for line in body.body:
        target = line.target if isinstance(line, ast.AnnAssign) else None
        target = line.targets[0] if isinstance(line, ast.Assign) else target
        if not isinstance(target, ast.Name) or target.id.startswith("_"):
            continue
        text = comments.get(line.end_lineno or 0, "").lstrip("# ").strip()
        if not text:
            raise Undocumented(
                f"{thing.__module__}.{thing.__qualname__}.{target.id} has no meaning: "
                "write it as a comment at the end of its line"
            )
        found[target.id] = sentence(text)
    return found


def inherited(thing: type, upto: type) -> dict[str, str]:
    """Return the meanings of a class and of its bases below ``upto``, those of the bases first."""
    found: dict[str, str] = {}
    for base in reversed(thing.__mro__):
        if issubclass(base, upto) and base is not upto:
            found |= meanings(base)
    return found


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_as_cell, line)) + " |" for line in lines)


def _as_cell(text: str) -> str:
    """Escape the bars of a cell; code gets an entity, since some Markdown readers show the backslash."""
    text = CODE_WITH_BAR.sub(lambda found: f"<code>{escape(found[1]).replace('|', '&#124;')}</code>", text)
    return text.replace("|", "\\|")


def code(text: object) -> str:
    """Return text as code."""
    return f"`{text}`" if str(text) else ""
