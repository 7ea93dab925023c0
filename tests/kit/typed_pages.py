"""Writes the Python blocks of the documentation as modules that a type checker can read.

Guides leave the types of callbacks out. Here each parameter gets the type that Gossamer passes, by its name,
and everything else ``Any``: the rest is checked as the reader writes it. The blocks of a page become one
package, in which they import each other. A block with ``await`` at its top level becomes a coroutine,
and a part of a spider becomes a class.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from kit.page_runner import Block, blocks, replace_method

TYPES = {
    "failure": "Failure",
    "login": "Login",
    "node": "Selector",
    "request": "Request",
    "response": "Response",
    "row": "dict[str, str]",
    "spider": "Spider",
}
"""The types that Gossamer passes to the functions of a user, by the names of their parameters."""
HEAD = """\
from __future__ import annotations
from collections.abc import AsyncIterator, Iterator
from typing import Any
from gossamer import Failure, Login, Request, Response, Selector, Spider
"""
UNCHECKED = ("it shows the shape only", "it is a part of a spider")
"""Why a block is not run, if it names things that it does not define."""


def write_page(page: Path, folder: Path) -> None:
    """Write the Python blocks of a page as a package."""
    files: dict[str, tuple[str, str]] = {}
    for number, block in enumerate(blocks(page.read_text())):
        if block.kind != "python" or block.marks.get("not run") in UNCHECKED:
            continue
        module, text = f"block_{number}", block.text
        if replaced := block.marks.get("replace"):
            file, method = replaced.split(", ")
            text = replace_method(files[file.removesuffix(".py")][1], method, text)
        if file := block.marks.get("file", replaced or "").partition(",")[0].removesuffix(".py"):
            files[file] = (module, text)
        typed = as_module(Block(block.kind, text))
        for file, (other, _) in files.items():
            typed = re.sub(
                rf"^(\s*)from {file} import",
                rf"\1from {folder.name}.{other} import",
                typed,
                flags=re.MULTILINE,
            )
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        (folder / f"{module}.py").write_text(typed)


def as_module(block: Block) -> str:
    """A block as a module with the types that its author left out."""
    text = block.text
    if text.startswith(" "):
        text = f"class Part(Spider):\n{text}"
    try:
        typed = with_types(text)
    except SyntaxError:  # ``await`` or ``yield`` outside of a function
        typed = with_types(f"async def do_it():\n{textwrap.indent(text, '    ')}")
    return HEAD + typed.replace(HEAD.partition("\n")[0], "")


def with_types(text: str) -> str:
    """The same code, with a type for each parameter and result that has none."""
    compile(text, "page", "exec")
    data = text.encode()
    starts = [0, *(found.end() for found in re.finditer(rb"\n", data))]
    kinds = {} if "import scrapy" in text else TYPES
    places = {
        place: words
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for place, words in _missing_types(node, data, starts, kinds)
    }
    for place in sorted(places, reverse=True):
        data = data[:place] + places[place].encode() + data[place:]
    return data.decode()


def _missing_types(
    node: ast.FunctionDef | ast.AsyncFunctionDef, data: bytes, starts: list[int], kinds: dict[str, str]
) -> Iterator[tuple[int, str]]:
    """The places of a function where a type is missing, each with the text that is to stand there."""

    def end_of(part: ast.expr | ast.arg) -> int:
        return starts[(part.end_lineno or 0) - 1] + (part.end_col_offset or 0)

    given = node.args
    several = [argument for argument in (given.vararg, given.kwarg) if argument]
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, *several]
    for argument in arguments:
        if argument.annotation is None and argument.arg != "self":
            yield end_of(argument), f": {kinds.get(argument.arg, 'Any')}"
    if node.returns is None:
        values = [value for value in (*given.defaults, *given.kw_defaults) if value]
        last = max(map(end_of, (*arguments, *values)), default=starts[node.lineno - 1])
        found = re.compile(rb"\)\s*:").search(data, last)
        assert found is not None, node.name
        yield found.start() + 1, f" -> {_result_of(node)}"


def _result_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if node.name == "__init__":
        return "None"
    nested = {
        part
        for inner in ast.walk(node)
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and inner is not node
        for part in ast.walk(inner)
    }
    if any(isinstance(part, ast.Yield | ast.YieldFrom) and part not in nested for part in ast.walk(node)):
        return "AsyncIterator[Any]" if isinstance(node, ast.AsyncFunctionDef) else "Iterator[Any]"
    return "Any"
