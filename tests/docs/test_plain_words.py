"""The project's texts keep to plain English, as far as a count of idioms can tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from kit.scripts import script_module

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The script that counts."""
    with script_module("plain_words") as module:
        yield module


@pytest.mark.parametrize("kind", ["pages", "docstrings", "help and messages", "comments"])
def test_texts_keep_within_the_limits_of_each_idiom(script: ModuleType, kind: str) -> None:
    prose = script.texts()[kind]
    total = script.words_in(prose)
    over = [
        f"{idiom.name}: {10_000 * len(places) / total:.1f} per 10,000 words, at most {idiom.limit:g}\n"
        + "\n".join(f"    {place.path.relative_to(ROOT)}: {place.words}" for place in places[:20])
        for idiom in script.IDIOMS
        if 10_000 * len(places := list(script.hits(prose, idiom))) / total > idiom.limit
    ]
    assert not over, "\n".join(over)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("It fetches what is new.", "what is, what a ..."),
        ("A page that is no page.", "is no X"),
        ("# What holds\n", "begins with What, Who or Of"),
        ("Done. Of a sitemap only a part is read.", "begins with What, Who or Of"),
        ("The target is told once.", "is told, is had, is said"),
        ("The crawl goes on.", "goes on"),
        ("Nobody asks for it.", "nobody, somebody, whoever"),
        ("It waits so long as the host holds.", "so many, so long as"),
        ("The page, too, is kept, too.", "..., too"),
    ],
)
def test_each_idiom_is_found(script: ModuleType, text: str, name: str) -> None:
    found = {idiom.name for idiom in script.IDIOMS if list(script.hits({Path("page.md"): text}, idiom))}
    assert name in found


@pytest.mark.parametrize("text", ["What does a setting do?", "It is no longer there.", "Code: `what is`"])
def test_questions_and_code_are_left_alone(script: ModuleType, text: str) -> None:
    prose = script.prose_of_page(text)
    assert not [
        idiom.name for idiom in script.IDIOMS[1:] if list(script.hits({Path("page.md"): prose}, idiom))
    ]


def test_a_docstring_promises_a_value_only_where_the_function_gives_one() -> None:
    """The first word of a docstring is easily wrong after a rewrite: "Return" in a function that prints."""
    wrong = [
        f"{path.relative_to(ROOT)}:{function.lineno}: {first}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and (first := (ast.get_docstring(function) or "").partition(" ")[0]) in ("Return", "Yield")
        and not _is_without_body(function)
        and not any(_gives_value(node) for node in _nodes_of(function))
    ]
    assert not wrong, "\n".join(wrong)


def _is_without_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is for others to write: ``...`` or ``raise NotImplementedError``."""
    last = function.body[-1]
    return isinstance(last, ast.Raise) or (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    )


def _gives_value(node: ast.AST) -> bool:
    return isinstance(node, ast.Yield | ast.YieldFrom) or (isinstance(node, ast.Return) and bool(node.value))


def _nodes_of(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of the functions in it."""
    for node in ast.iter_child_nodes(function):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _nodes_of(node)


def test_docstrings_messages_and_comments_are_kept_apart(script: ModuleType) -> None:
    source = '"""A module."""\n# A comment.\nx = "a sentence of some words"\ny = "short"\n'
    assert script.prose_of_module(source) == ["A module.", "a sentence of some words", "A comment."]
