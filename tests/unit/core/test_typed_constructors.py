"""Constructors for type checkers have the fields of their records, in order and with their defaults."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import msgspec
import pytest

from gossamer.core.browsing import STEP_S, Browsing
from gossamer.core.requests import Request


def read_constructor(kind: type) -> ast.arguments:
    """Return the parameters of the ``__init__`` in a class, which exists for type checkers alone."""
    tree = ast.parse(inspect.getsource(kind))
    (found,) = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    return found.args


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    """Return the default of a field; ``NODEFAULT`` without one."""
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


@pytest.mark.parametrize("kind", [Request, Browsing])
def test_a_constructor_has_the_fields_of_its_record(kind: type[msgspec.Struct]) -> None:
    fields = msgspec.structs.fields(kind)
    arguments = read_constructor(kind)
    names = [argument.arg for argument in (*arguments.args[1:], *arguments.kwonlyargs)]
    assert names == [field.name for field in fields]
    written = [node for node in (*arguments.defaults, *arguments.kw_defaults) if node is not None]
    defaults = [eval(ast.unparse(node), {"STEP_S": STEP_S}) for node in written]
    assert defaults == [default_of(field) for field in fields if not field.required]
