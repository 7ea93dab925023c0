"""Reads the part of XPath that spiders use: to make elements that match, not to find them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from parsel.csstranslator import HTMLTranslator

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"]*"|'[^']*')|(?P<number>\d+(?:\.\d+)?)|(?P<axis>[a-z-]+::)"""
    r"""|(?P<name>[A-Za-z_](?:[\w.-]|:(?!:))*)|(?P<sign>//|\.\.|<=|>=|!=|[/.@*()\[\],|=<>+$-]))"""
)


@dataclass
class Step:
    """One step: its axis from the last one, its name, and its conditions."""

    axis: str  # child, descendant, attribute, self, parent, following-sibling, ...
    test: str  # a tag, ``*``, ``text()``, ``node()``
    conditions: list[Expression] = field(default_factory=list)


@dataclass
class Path:
    """Steps from the document or from where one is."""

    absolute: bool
    steps: list[Step] = field(default_factory=list)


@dataclass
class Expression:
    """The contents of brackets: ``kind`` is path, text, number, call, or an operator."""

    kind: str
    value: object = None
    parts: list[Expression] = field(default_factory=list)


def read_selector(kind: str, text: str) -> list[Path]:
    """The paths of a selector; none where it says nothing that this module knows."""
    try:
        text = text.replace("///", "//")
        xpath = HTMLTranslator().css_to_xpath(text, prefix="descendant-or-self::") if kind == "css" else text
        expression = _Reader(xpath).read_whole()
    except (ValueError, SyntaxError, IndexError, AttributeError):
        return []
    return _paths_in(expression)


def _paths_in(expression: Expression) -> list[Path]:
    if expression.kind == "path":
        return [expression.value]  # type: ignore[list-item]
    return [path for part in expression.parts for path in _paths_in(part)]


def _name_in(condition: Expression) -> str:
    """The tag that a condition wants: ``name() = 'a'``, ``self::a``; ``""``: none."""
    match condition:
        case Expression("and", parts=parts):
            return next((name for part in parts if (name := _name_in(part))), "")
        case Expression(
            "=",
            parts=[Expression("call", value="name" | "local-name"), Expression("text", value=str() as name)],
        ):
            return name
        case Expression("path", value=Path(steps=[Step(axis="self", test=name)])):
            return name if name != "*" else ""
    return ""


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text.rstrip()):
            match = _TOKEN.match(text, place)
            if match is None:
                raise ValueError(text[place:])
            self._tokens.append((match.lastgroup or "", match.group(match.lastgroup or 0)))
            place = match.end()
        self._at = 0

    def read_whole(self) -> Expression:
        expression = self._read_binary(0)
        if self._at < len(self._tokens):
            raise ValueError(self._tokens[self._at])
        return expression

    def _peek(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._tokens[place][1] if place < len(self._tokens) else ""

    def _take(self, expected: str = "") -> str:
        kind, text = self._tokens[self._at]
        if expected and text != expected:
            raise ValueError(f"{text} instead of {expected}")
        self._at += 1
        return text[1:-1] if kind == "text" else text

    _OPERATORS = (
        ("or",),
        ("and",),
        ("=", "!="),
        ("<", ">", "<=", ">="),
        ("+", "-"),
        ("*", "div", "mod"),
        ("|",),
    )

    def _read_binary(self, level: int) -> Expression:
        if level == len(self._OPERATORS):
            return self._read_unary()
        left = self._read_binary(level + 1)
        while self._peek() in self._OPERATORS[level]:
            operator = self._take()
            left = Expression(operator, parts=[left, self._read_binary(level + 1)])
        return left

    def _read_unary(self) -> Expression:
        if self._at >= len(self._tokens):
            raise ValueError("nothing")
        kind, text = self._tokens[self._at]
        if text == "-":
            self._take()
            return self._read_unary()
        if kind == "text":
            return Expression("text", self._take())
        if kind == "number":
            return Expression("number", int(float(self._take())))
        if kind == "name" and self._peek(1) == "(" and text not in ("text", "node", "comment"):
            return self._read_call()
        if text == "(":
            self._take()
            inner = self._read_binary(0)
            self._take(")")
            return self._read_more(inner)
        return Expression("path", self._read_path())

    def _read_call(self) -> Expression:
        name = self._take()
        self._take("(")
        parts = []
        while self._peek() != ")":
            parts.append(self._read_binary(0))
            if self._peek() == ",":
                self._take()
        self._take(")")
        return Expression("call", name, parts)

    def _read_more(self, inner: Expression) -> Expression:
        """Read ``(path)[n]/more`` as if without the brackets, for the making of elements."""
        for path in _paths_in(inner):
            at = self._at
            while self._peek() == "[" and path.steps:
                self._read_condition(path.steps[-1])
            if self._peek() in ("/", "//"):
                path.steps += self._read_steps()
            if path is not _paths_in(inner)[-1]:
                self._at = at
        return inner

    def _read_path(self) -> Path:
        path = Path(absolute=self._peek() in ("/", "//"))
        if path.absolute:
            if self._peek() == "/" and self._at + 1 >= len(self._tokens):
                raise ValueError("the document alone")
            path.steps = self._read_steps()
        else:
            path.steps = [self._read_step("child"), *self._read_steps()]
        return path

    def _read_steps(self) -> list[Step]:
        steps = []
        while self._peek() in ("/", "//"):
            steps.append(self._read_step("descendant" if self._take() == "//" else "child"))
        return steps

    def _read_step(self, axis: str) -> Step:
        kind, text = self._tokens[self._at]
        if text in (".", ".."):
            self._take()
            step = Step("self" if text == "." else "parent", "*")
        else:
            if kind == "axis":
                named = self._take()[:-2]
                axis = {"descendant-or-self": "descendant"}.get(named, axis if named == "child" else named)
                kind, text = self._tokens[self._at]
            if text == "@":
                axis = "attribute"
                self._take()
                kind, text = self._tokens[self._at]
            if kind != "name" and text != "*":
                raise ValueError(text)
            test = self._take()
            if self._peek() == "(":
                self._take()
                self._take(")")
                test += "()"
            step = Step(axis, test)
        while self._peek() == "[":
            self._read_condition(step)
        if step.test == "*":
            step.test = next((name for one in step.conditions if (name := _name_in(one))), "*")
        return step

    def _read_condition(self, step: Step) -> None:
        self._take("[")
        step.conditions.append(self._read_binary(0))
        self._take("]")
