"""The measures of the code keep to their limits, the page shows them, and the glossary has every noun."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kit.scripts import script_module

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The measuring script, as a module."""
    with script_module("measure_house") as module:
        yield module


@pytest.fixture(scope="module")
def house(script: ModuleType) -> Any:
    """The package, parsed once for all tests."""
    return script.House()


@pytest.fixture(scope="module")
def measures(script: ModuleType, house: Any) -> Any:
    return script.measure_house(house)


def test_every_measure_is_within_its_limit(measures: Any) -> None:
    beyond = [measure for measure in measures if measure.value > measure.limit]
    assert not beyond, "\n".join(f"{measure.row()} {measure.example}" for measure in beyond)


def test_the_page_shows_the_measures_with_their_limits(script: ModuleType, measures: Any) -> None:
    """The figures on the page are those of the last ``--write``; names, order and limits must be right."""
    shown = script.PAGE.read_text().split(script.BEGIN)[1].split(script.END)[0]
    rows = re.findall(r"^\| ([\w ]+) \| ([\d.]+)([^|]*) \| at most ([\d.]+)", shown, re.MULTILINE)
    assert [(name, unit, float(limit)) for name, _, unit, limit in rows] == [
        (measure.name, measure.unit, measure.limit) for measure in measures
    ], "run `python scripts/measure_house.py --write`"
    assert all(float(value) <= float(limit) for _, value, _, limit in rows)


def make_house(script: ModuleType, folder: Path, **files: str) -> object:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return script.House(folder)


def test_a_circle_is_found_whether_its_imports_are_lazy_or_for_types_only(
    script: ModuleType, tmp_path: Path
) -> None:
    house = make_house(
        script,
        tmp_path,
        one="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gossamer.two import Two\n",
        two="class Two:\n    def use(self):\n        from gossamer import one\n",
        three="import gossamer.one\n",
    )
    (circle,) = house.circles()
    assert set(circle) == {"gossamer.one", "gossamer.two"}
    assert house.lazy_imports() == ["two.py:3"]


def test_names_and_sizes_are_counted(script: ModuleType, tmp_path: Path) -> None:
    house = make_house(
        script,
        tmp_path,
        one="class PageLinks:\n    def __init__(self): ...\n    def count_links(self):\n        return 0\n",
        two="class SomeLinks: ...\nclass PageLinks: ...\nasync def fetch(): ...\n",
    )
    assert dict(house.head_nouns()) == {"Links": 3}
    assert house.function_names() == ["count_links", "fetch"]
    assert house.file_sizes() == {"one.py": 4, "two.py": 3}
    assert house.function_sizes()["one.py:count_links"] == 2
    named = {measure.name: measure.value for measure in script.measure_house(house)}
    assert named["class names defined twice"] == 1
    assert named["head nouns per class"] == 0.33
    assert named["function names of one word"] == 50


def test_the_table_replaces_what_is_between_the_markers(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script.BEGIN}\nold\n{script.END}\nafter\n")
    monkeypatch.setattr(script, "PAGE", page)
    script.write_page("new")
    assert page.read_text() == f"before\n{script.BEGIN}\nnew\n{script.END}\nafter\n"


def test_the_glossary_has_every_noun_of_the_code_and_no_other(script: ModuleType, house: Any) -> None:
    listed = GLOSSARY.read_text().split("<!-- nouns -->")[1].split("<!-- /nouns -->")[0]
    nouns = re.findall(r"^- \*\*(\w+)\*\*: \S.*\.$", listed, re.MULTILINE)
    assert nouns == sorted(set(nouns)), "each once, in order"
    used = house.class_names
    missing = {name for name in used if name[0].isupper() and script.head_noun(name) not in nouns}
    assert not missing, f"{sorted(missing)}: choose a noun of docs/reference/glossary.md, or add one there"
    assert not set(nouns) - {script.head_noun(name) for name in used}, "no class is named so any more"
