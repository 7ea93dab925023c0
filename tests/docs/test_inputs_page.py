"""Each kind of input that the reference promises to read has tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/inputs.md").read_text()
ROWS = re.findall(r"^\| (?!Kind)([^|-][^|]*) \|.*\| ([^|]*) \|$", PAGE, re.MULTILINE)


def test_every_row_names_tests_that_exist() -> None:
    assert len(ROWS) >= 30
    named = {kind: re.findall(r"`(tests/[^`]+)`", tests) for kind, tests in ROWS}
    assert not [kind for kind, paths in named.items() if not paths]
    assert not {path for paths in named.values() for path in paths if not (ROOT / path).exists()}
