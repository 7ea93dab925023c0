"""Requests and items that a spider makes and does not give away: a `yield` is missing, or the wrong one.

Read from the source when a crawl begins, since such a spider fails nowhere: it finds nothing, in silence.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import PurePath
from textwrap import dedent

from pydantic import BaseModel

from gossamer.core.notes import CallbackSource
from gossamer.core.requests import Request
from gossamer.spiders.spider import Spider

MOST = 3
"""Places that are named."""
_ONE, _MANY = frozenset({"follow"}), frozenset({"follow_all"})
_SELECTING = frozenset({"css", "xpath", "jmespath"})
_RESPONSES = frozenset({"response", "resp", "res", "page"})
"""Usual names of the first parameter of a callback."""


def find_unused_results(spider_class: type[Spider]) -> list[str]:
    """A sentence on each of the first such places in a spider's source, as far as it is there."""
    if spider_class.__module__.partition(".")[0] == "gossamer":
        return []
    if (module := sys.modules.get(spider_class.__module__)) is None:  # its code was run without a file
        return []
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return []
    found = _SourceReader(spider_class, vars(module))
    file = PurePath(inspect.getsourcefile(module) or "").name
    said = [f"{file}, line {line}, in {name}(): {told}" for line, name, told in found.read_functions(tree)]
    return said[:MOST]


class _SourceReader:
    """Resolves the names in a spider's file."""

    def __init__(self, spider_class: type[Spider], names: dict[str, object]) -> None:
        self._class = spider_class
        self._names = names

    def read_functions(self, tree: ast.Module) -> Iterator[tuple[int, str, str]]:
        """Line, function and sentence of each place."""
        for owner in ast.walk(tree):
            if not isinstance(owner, ast.ClassDef) or owner.name != self._class.__name__:
                continue
            for function in owner.body:
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                    for node in ast.walk(function):
                        if told := self._judge(node):
                            yield getattr(node, "lineno", 0), function.name, told

    def _judge(self, node: ast.AST) -> str:
        match node:
            case ast.Expr(value=ast.Call() as call):
                kind = self._kind_of(call)
                word = {"one": "yield", "many": "yield from"}.get(kind, "")
                return (
                    f"what `{_short(call)}` makes is not used; write `{word} {_short(call)}`" if word else ""
                )
            case ast.For(body=[*before, ast.Return(value=ast.Call() as call)]):
                if self._kind_of(call) != "one" or _looks_for_one(before):
                    return ""
                return f"`return` ends the loop with its first {_short(call)}; write `yield {_short(call)}`"
            case ast.Yield(value=ast.Call() as call) if self._kind_of(call) == "many":
                return f"`yield {_short(call)}` gives a generator; write `yield from {_short(call)}`"
            case ast.YieldFrom(value=ast.Call() as call) if self._kind_of(call) == "one":
                return f"`yield from {_short(call)}` takes one thing apart; write `yield {_short(call)}`"
        return ""

    def _kind_of(self, call: ast.Call) -> str:
        """``one`` request or item, ``many`` of them, or something else: empty."""
        match call.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                method = inspect.unwrap(getattr(self._class, name, None) or str)
                return "many" if inspect.isgeneratorfunction(method) else ""
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in _RESPONSES:
                return "one" if attribute in _ONE else "many" if attribute in _MANY else ""
            case ast.Name(id=name):
                made = self._names.get(name)
                if isinstance(made, type) and (issubclass(made, Request | BaseModel) or is_dataclass(made)):
                    return "one"
        return ""


def _looks_for_one(before: list[ast.stmt]) -> bool:
    """Whether a loop passes some over, so that its ``return`` gives the first that fits."""
    return any(isinstance(node, ast.Continue) for statement in before for node in ast.walk(statement))


def _short(call: ast.Call) -> str:
    """A call without its arguments."""
    return f"{ast.unparse(call.func)}({'...' if call.args or call.keywords else ''})"


def read_callback(spider: Spider, name: str) -> CallbackSource:
    """The source of a callback, as far as it is there."""
    method = inspect.unwrap(getattr(spider, name, None) or str)
    try:
        tree = ast.parse(dedent(inspect.getsource(method)))
    except (OSError, TypeError, SyntaxError):
        return CallbackSource()
    nodes = [*ast.walk(tree)]
    has_yield = any(
        isinstance(node, ast.Yield | ast.YieldFrom)
        or (isinstance(node, ast.Return) and node.value is not None)
        for node in nodes
    )
    found = (text for node in nodes if isinstance(node, ast.Call) for text in _selectors_of(node))
    return CallbackSource(lacks_yield=not has_yield, selectors=tuple(dict.fromkeys(found)))


def _selectors_of(call: ast.Call) -> Iterator[str]:
    """The selectors that a call names, in the order in which they stand."""
    named = [word.value for word in call.keywords if word.arg in _SELECTING]
    if isinstance(call.func, ast.Attribute) and call.func.attr in _SELECTING:
        named += call.args[:1]
    for value in named:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value
