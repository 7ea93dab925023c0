"""The values of expressions in a spider's source, as far as they are known without running it."""

from __future__ import annotations

import ast
import re
from typing import Any

UNKNOWN = "1"  # stands for what only a run would tell


class Constants:
    """The names that are assigned constants anywhere in a file."""

    def __init__(self, tree: ast.AST) -> None:
        self._values: dict[str, Any] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
                value = self.value_of(node.value) if name else None
                if value is not None:
                    self._values.setdefault(name, value)

    def text_of(self, node: ast.AST | None) -> str | None:
        """A string, with :data:`UNKNOWN` for its unknown parts; ``None``: it is none."""
        value = self.value_of(node)
        return value if isinstance(value, str) else None

    def texts_of(self, node: ast.AST | None) -> list[str]:
        """A string, or those of a list."""
        value = self.value_of(node)
        if isinstance(value, str):
            return [value]
        return [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple | set) else []

    def value_of(self, node: ast.AST | None) -> Any:
        """Return the value, or ``None`` if it is unknown."""
        match node:
            case ast.Constant(value=value):
                return value.decode("latin-1") if isinstance(value, bytes) else value
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return self._values.get(name)
            case ast.JoinedStr(values=values):
                return "".join(
                    str(part.value) if isinstance(part, ast.Constant) else self._worth(part)
                    for part in values
                )
            case ast.FormattedValue(value=value):
                return self._worth(value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._sum(self.value_of(left), self.value_of(right))
            case ast.BinOp(left=left, op=ast.Mod()):
                text = self.value_of(left)
                return re.sub(r"%\(?\w*\)?[sdir]", UNKNOWN, text) if isinstance(text, str) else None
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return [self.value_of(part) for part in parts]
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return {str(self.value_of(key)): self.value_of(value) for key, value in pairs}
            case ast.Subscript(value=value, slice=place):
                return self._at(self.value_of(value), self.value_of(place))
            case ast.Call(func=ast.Attribute(value=value, attr="format")):
                text = self.value_of(value)
                return re.sub(r"\{[^{}]*\}", UNKNOWN, text) if isinstance(text, str) else None
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile"), args=[first, *_]):
                return self.value_of(first)
            case ast.Call(args=[first]):
                return (
                    self.value_of(first) if isinstance(first, ast.Constant | ast.List | ast.Tuple) else None
                )
        return None

    def _worth(self, node: ast.AST) -> str:
        value = self.value_of(node.value if isinstance(node, ast.FormattedValue) else node)
        return value if isinstance(value, str) else UNKNOWN

    @staticmethod
    def _sum(left: Any, right: Any) -> Any:
        if isinstance(left, list) and isinstance(right, list):
            return left + right
        if isinstance(left, str) or isinstance(right, str):
            return (
                f"{left if isinstance(left, str) else UNKNOWN}{right if isinstance(right, str) else UNKNOWN}"
            )
        return None

    @staticmethod
    def _at(value: Any, place: Any) -> Any:
        try:
            return value[place] if value is not None else None
        except (KeyError, IndexError, TypeError):
            return None
