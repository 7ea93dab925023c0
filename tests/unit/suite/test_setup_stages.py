"""``make demo`` installs the core alone, and the core alone does not count as ready for the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CORE, ALL = "scripts/setup.sh .venv", "scripts/setup.sh .venv '[dev,docs]'"


@pytest.mark.parametrize(
    ("marks", "target", "installs"),
    [
        ((), "demo", [CORE]),
        ((".core",), "demo", []),
        ((".core",), "test-fast", [ALL]),
        ((".core", ".ready"), "demo", []),
        ((".core", ".ready"), "test-fast", []),
    ],
)
def test_a_target_installs_what_it_needs(marks, target, installs, tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (
        "pyproject.toml",
        "constraints.txt",
        "scripts/setup.sh",
        *(f".venv/{mark}" for mark in marks),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for mark in marks:
        os.utime(tmp_path / ".venv" / mark, (2e9, 2e9))
    shown = subprocess.run(["make", "-n", target], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [line for line in shown.stdout.splitlines() if "setup.sh" in line] == installs
