"""Finds the place where a spider's source sets a field, for the message about a missing field.

It reads the source only when an item is dropped for it, and reports only certain results.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

LONGEST = 64
"""Characters of an expression; the reason that it is a part of is counted by its beginning."""
_SELECTING = frozenset({"css", "xpath", "jmespath", "get", "re_first", "re", "attrib"})


def explain_empty_field(spider: Any, callback: str, kind: str, field: str) -> str:
    """``nothing found by response.css(".sku::text").get()``; empty where the source does not say."""
    found = _find_value(inspect.getmodule(type(spider)), callback, kind, field)
    if not found:
        return ""
    names = {node.attr for node in ast.walk(ast.parse(found, mode="eval")) if isinstance(node, ast.Attribute)}
    shown = found if len(found) <= LONGEST else f"{found[: LONGEST - 1]}…"
    return f"nothing found by {shown}" if names & _SELECTING else ""


@cache
def _find_value(module: ModuleType | None, callback: str, kind: str, field: str) -> str:
    """The one expression that a callback, or else its whole file, gives this field of this type of item."""
    try:
        tree = ast.parse(inspect.getsource(module) if module is not None else "")
    except (OSError, TypeError, SyntaxError):
        return ""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    called = [function for function in functions if function.name == callback]
    for scope in (called, functions):
        found = {
            ast.unparse(_look_up(value, function))
            for function in scope
            for value in _values_of(function, kind, field)
        }
        if found:
            return found.pop() if len(found) == 1 else ""
    return ""


def _values_of(function: ast.AST, kind: str, field: str) -> Iterator[ast.expr]:
    """Yield the expressions that become the field: of a call, of a dict, or assigned."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name == kind:
                yield from (word.value for word in node.keywords if word.arg == field)
            case ast.Dict() if kind == "item":
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == field:
                        yield value
            case ast.Assign(targets=[ast.Attribute(attr=name)]) if name == field:
                yield node.value
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=name))]) if name == field:
                yield node.value


def _look_up(value: ast.expr, function: ast.AST) -> ast.expr:
    """Return the value of a local name that is assigned once."""
    if not isinstance(value, ast.Name):
        return value
    assigned = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == value.id for target in node.targets)
    ]
    return assigned[0] if len(assigned) == 1 else value
