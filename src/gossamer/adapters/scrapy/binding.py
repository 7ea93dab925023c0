"""Detect callbacks that bind a spider to one process, since others could not find them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from scrapy import Spider

_FIELDS = ("callback", "errback")


def find_binding(spider_class: type[Spider]) -> str:
    """Return the first lambda or inner function used as a callback, and its line; ``""`` without one."""
    module = inspect.getmodule(spider_class)
    try:
        source = inspect.getsource(spider_class if module is None else module)
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        return ""
    return next(_find_in(tree, frozenset()), "")


def _find_in(node: ast.AST, inner: frozenset[str]) -> Iterator[str]:
    """Find it in one function; ``inner`` names the functions defined in the functions around."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        functions = (one for one in ast.walk(node) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
        inner = inner | {one.name for one in functions if one is not node}
    if isinstance(node, ast.Call):
        named = [(word.arg, word.value) for word in node.keywords if word.arg in _FIELDS]
        placed = [("callback", one) for one in node.args[1:2] if _is_request(node.func)]
        for field, value in (*named, *placed):
            if isinstance(value, ast.Lambda):
                yield f"the {field} of a request in line {value.lineno} is a lambda"
            elif isinstance(value, ast.Name) and value.id in inner:
                yield f"the {field} of a request in line {value.lineno} is the inner function {value.id}()"
    for child in ast.iter_child_nodes(node):
        yield from _find_in(child, inner)


def _is_request(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name.endswith("Request") or name in ("follow", "follow_all")
