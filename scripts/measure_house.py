"""Measure how readable the code is: `python scripts/measure_house.py`, or `make measure`.

Names, circles of imports, imports inside functions, and sizes, each with the limit that a test holds
(`tests/docs/test_house.py`). With `--write` the table also goes into `docs/explanation/architecture.md`.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gossamer"
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
BEGIN, END = "<!-- measures -->", "<!-- /measures -->"

LAZY_PLACES = ("__init__.py", "cli/app.py", "wiring/schemes.py")
"""The files that may import inside functions, so that a command starts fast: the package's own names, the
module of the command that was asked for, and the back end that a URL names."""

MEASURED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)
"""The kinds of nodes that a measure looks at."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")


@dataclass(frozen=True)
class Measure:
    """One measured figure, its limit and where the figure comes from."""

    name: str
    value: float
    limit: float
    unit: str = ""
    example: str = ""

    @property
    def holds(self) -> bool:
        """Whether the figure is within its limit."""
        return self.value <= self.limit

    def row(self) -> str:
        """The figure as a row of the page's table."""
        return f"| {self.name} | {self.value:g}{self.unit} | at most {self.limit:g}{self.unit} |"


class House:
    """The source files of the package, parsed once."""

    def __init__(self, source: Path = SOURCE) -> None:
        self.source = source
        self.texts = {path.relative_to(source): path.read_text() for path in sorted(source.rglob("*.py"))}
        self._nodes: dict[type[ast.AST], list[tuple[Path, ast.AST]]] = defaultdict(list)
        for path, text in self.texts.items():
            for node in ast.walk(ast.parse(text)):  # once for all measures: it takes longer than to parse
                if isinstance(node, MEASURED):
                    self._nodes[type(node)].append((path, node))

    def find_nodes(self, *kinds: type[ast.AST]) -> Iterator[tuple[Path, ast.AST]]:
        """All nodes of some of the kinds that are measured, with their files."""
        return itertools.chain.from_iterable(self._nodes[kind] for kind in kinds)

    @cached_property
    def class_names(self) -> Mapping[str, list[Path]]:
        """The files in which each class name is defined."""
        found = defaultdict(list)
        for path, node in self.find_nodes(ast.ClassDef):
            found[node.name].append(path)
        return found

    def head_nouns(self) -> Counter[str]:
        """How many classes each noun is the head of: the last word of their names."""
        return Counter(head_noun(name) for name, paths in self.class_names.items() for _ in paths)

    def function_names(self) -> list[str]:
        """The name of every function and method, those of Python's own protocols left out."""
        found = self.find_nodes(ast.FunctionDef, ast.AsyncFunctionDef)
        return [node.name.strip("_") for _, node in found if not node.name.startswith("__")]

    def lazy_imports(self) -> list[str]:
        """Where a function imports something, except in the places that are lazy on purpose."""
        found = {
            f"{path}:{inner.lineno}"
            for path, node in self.find_nodes(ast.FunctionDef, ast.AsyncFunctionDef)
            for inner in ast.walk(node)
            if path.as_posix() not in LAZY_PLACES and isinstance(inner, ast.Import | ast.ImportFrom)
        }
        return sorted(found)

    def file_sizes(self) -> dict[str, int]:
        """Lines of each file."""
        return {str(path): text.count("\n") for path, text in self.texts.items()}

    def function_sizes(self) -> dict[str, int]:
        """Lines of each function, by its file and name."""
        found = self.find_nodes(ast.FunctionDef, ast.AsyncFunctionDef)
        return {f"{path}:{node.name}": node.end_lineno - node.lineno + 1 for path, node in found}

    def circles(self) -> list[list[str]]:
        """Circles of files that import each other, lazy and type-only imports included."""
        imports, found = self._file_imports(), []
        while True:
            try:
                TopologicalSorter(imports).prepare()
            except CycleError as error:
                circle = error.args[1]
                found.append(circle)
                imports[circle[1]].discard(circle[0])  # look for the next one
            else:
                return found

    def _file_imports(self) -> dict[str, set[str]]:
        modules = {module_of(path): path for path in self.texts}
        imports: dict[str, set[str]] = {module: set() for module in modules}
        for path, node in self.find_nodes(ast.Import, ast.ImportFrom):
            here = module_of(path)
            imports[here] |= {name for name in imported_names(node, modules) if name != here}
        return imports


def head_noun(name: str) -> str:
    """The last word of a class name."""
    return _WORD.findall(name)[-1]


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = ["gossamer", *path.with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(node: ast.Import | ast.ImportFrom, modules: Mapping[str, Path]) -> Iterator[str]:
    """The files of the package that an import statement names."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            names = [alias.name]
        else:
            names = [f"{node.module}.{alias.name}", f"{node.module}"]
        yield from [name for name in names if name in modules][:1]


def measure_house(house: House) -> list[Measure]:
    """All measures, in the order of the page."""
    heads, functions = house.head_nouns(), house.function_names()
    one_word = [name for name in functions if "_" not in name]
    doubled = [name for name, paths in house.class_names.items() if len(set(paths)) > 1]
    lazy, circles = house.lazy_imports(), house.circles()
    long_file = max(house.file_sizes().items(), key=lambda item: item[1])
    long_function = max(house.function_sizes().items(), key=lambda item: item[1])
    share = round(100 * len(one_word) / len(functions))
    return [
        Measure("head nouns per class", round(len(heads) / heads.total(), 2), 0.45),
        Measure("function names of one word", share, 35, " %"),
        Measure("class names defined twice", len(doubled), 3, example=", ".join(doubled)),
        Measure("circles of files", len(circles), 0, example=" and ".join(map(" -> ".join, circles))),
        Measure("imports inside functions", len(lazy), 20, example=", ".join(lazy[:3])),
        Measure("longest file", long_file[1], 450, " lines", long_file[0]),
        Measure("longest function", long_function[1], 45, " lines", long_function[0]),
    ]


def measures_table(measures: list[Measure]) -> str:
    """The measures as the page shows them."""
    return "\n".join(["| measure | now | limit |", "|---|---|---|", *(measure.row() for measure in measures)])


def write_page(table: str) -> None:
    """Put the table between the markers of the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}")


def main() -> None:
    """Print the measures; write them when asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="also put the table into the page")
    arguments = parser.parse_args()
    measures = measure_house(House())
    for measure in measures:
        mark = " " if measure.holds else "!"
        print(
            f"{mark} {measure.name:28}{measure.value:g}{measure.unit} of {measure.limit:g}  {measure.example}"
        )
    if arguments.write:
        write_page(measures_table(measures))


if __name__ == "__main__":
    main()
