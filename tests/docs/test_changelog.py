"""The changelog keeps its form, and the notes of the next version have the names of its sections."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kit.environment import environment

ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
TOWNCRIER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
TOOL = [str(Path(sys.executable).parent / "towncrier"), "build", "--yes"]
SECTIONS = {kind["directory"]: kind["name"] for kind in TOWNCRIER["type"]}
NOTES = [path for path in (ROOT / "changes").iterdir() if path.name not in TOWNCRIER["ignore"]]


def find_problem(note: Path) -> str | None:
    """Return the reason why a note cannot enter the changelog."""
    match = re.fullmatch(r"[a-z0-9-]+\.(\w+)\.md", note.name)
    if not match or match[1] not in SECTIONS:
        return f"{note.name}: not SLUG.SECTION.md with one of {', '.join(SECTIONS)}"
    lines = note.read_text().strip().splitlines()
    if len(lines) != 1 or lines[0].startswith(("-", "*", "#")):
        return f"{note.name}: not one line of plain text"
    return None


def test_every_note_has_a_known_section_and_one_line() -> None:
    assert not [problem for note in NOTES if (problem := find_problem(note))]


@pytest.mark.parametrize(
    ("name", "text", "is_good"),
    [
        ("probe-url.fixed.md", "A host is probed.\n", True),
        ("probe-url.bugfix.md", "A host is probed.\n", False),
        ("Probe URL.fixed.md", "A host is probed.\n", False),
        ("probe-url.fixed.txt", "A host is probed.\n", False),
        ("probe-url.fixed.md", "", False),
        ("probe-url.fixed.md", "- A host is probed.\n", False),
        ("probe-url.fixed.md", "A host is probed.\nSo is another.\n", False),
    ],
)
def test_a_wrong_note_is_found(tmp_path: Path, name: str, text: str, is_good: bool) -> None:
    (tmp_path / name).write_text(text)
    assert (find_problem(tmp_path / name) is None) == is_good


def test_versions_are_dated_and_have_the_sections_in_their_order() -> None:
    unreleased, *versions = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]
    assert unreleased.startswith("[Unreleased]\n")
    assert TOWNCRIER["start_string"] in unreleased
    numbers = []
    for version in versions:
        heading = re.match(r"\[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d\d-\d\d\n", version)
        assert heading, version[:40]
        numbers.append(tuple(int(number) for number in heading.groups()))
        names = re.findall(r"^### (.+)$", version, re.MULTILINE)
        assert names == [name for name in SECTIONS.values() if name in names]
    assert numbers == sorted(numbers, reverse=True)
    assert (0, 1, 0) in numbers


def test_every_entry_is_one_line() -> None:
    _, *versions = re.split(r"^## \[\d", CHANGELOG, flags=re.MULTILINE)
    lines = [line for version in versions for line in version.splitlines()[1:] if line]
    assert not [line for line in lines if not line.startswith(("- ", "### "))]


def test_the_notes_become_the_next_version(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "changes").mkdir()
    shutil.copy(ROOT / "changes" / "template.md", tmp_path / "changes")
    (tmp_path / "changes" / "probe-url.fixed.md").write_text("A host is probed with `URL`.\n")
    (tmp_path / "changes" / "top.highlight.md").write_text("Hosts come back.\n")
    for words in (
        ["git", "init", "--quiet"],
        ["git", "add", "."],
        [*TOOL, "--version", "9.0.0", "--date", "2030-01-01"],
    ):
        subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, timeout=60, check=True)
    highlights = "### Highlights\n\n- Hosts come back.\n\n"
    written = f"## [9.0.0] - 2030-01-01\n\n{highlights}### Fixed\n\n- A host is probed with `URL`.\n\n"
    before, after = CHANGELOG.split(TOWNCRIER["start_string"])
    assert (
        tmp_path / "CHANGELOG.md"
    ).read_text() == f"{before}{TOWNCRIER['start_string']}\n{written}{after.lstrip()}"
    assert not list((tmp_path / "changes").glob("*.*.md"))
