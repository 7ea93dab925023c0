"""The page of changes names files that exist, and no change needs more than six."""

from __future__ import annotations

import re
from pathlib import Path

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
