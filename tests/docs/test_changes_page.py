"""The page of changes names files and attributes that exist, and no change needs more than six files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/changes.md"
ROW = re.compile(r"^\| `([^`]+)`( \(new\))? \| (.+) \|$", re.MULTILINE)
MOST_FILES = 6


def lists_of_files() -> dict[str, list[tuple[str, bool]]]:
    """Of each change the files, and whether each is new."""
    _, *parts = PAGE.read_text().split("\n## ")
    return {
        part.partition("\n")[0]: [(path, bool(new)) for path, new, _ in ROW.findall(part)] for part in parts
    }


def test_twelve_changes_need_six_files_at_most() -> None:
    changes = lists_of_files()
    assert len(changes) == 12
    assert {title: len(files) for title, files in changes.items() if not 0 < len(files) <= MOST_FILES} == {}


def test_files_that_are_not_new_exist_and_those_that_are_do_not() -> None:
    for title, files in lists_of_files().items():
        for path, is_new in files:
            assert (ROOT / path).exists() is not is_new, f"{title}: {path}"


def test_files_in_sentences_exist() -> None:
    sentences = "\n".join(line for line in PAGE.read_text().splitlines() if "(new)" not in line)
    for path in re.findall(r"`((?:[a-z0-9_]+/)+[a-z0-9_]+\.(?:py|lua|sql))`", sentences):
        assert any((folder / path).exists() for folder in (ROOT, ROOT / "src/gossamer")), path


def attributes_of_classes() -> dict[str, set[str]]:
    """Of each class of the code the names that its body defines, and its bases' names, as far as ours."""
    nodes = [
        node
        for file in (ROOT / "src/gossamer").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    names: dict[str, set[str]] = {}
    for node in nodes:
        own = names.setdefault(node.name, set())
        for line in node.body:
            if isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef):
                own.add(line.name)
            elif isinstance(line, ast.AnnAssign):
                own.add(ast.unparse(line.target))
            elif isinstance(line, ast.Assign):
                own.update(map(ast.unparse, line.targets))
    bases = {node.name: [ast.unparse(base) for base in node.bases] for node in nodes}

    def with_bases(name: str) -> set[str]:
        return names.get(name, set()).union(*map(with_bases, bases.get(name, [])))

    return {name: with_bases(name) for name in names}


@pytest.mark.long
def test_attributes_of_classes_exist() -> None:
    found = re.findall(r"`([A-Z][A-Za-z]+)\.([a-z_]+)`", PAGE.read_text())
    assert found
    known = attributes_of_classes()
    assert [f"{name}.{attribute}" for name, attribute in found if attribute not in known.get(name, ())] == []
