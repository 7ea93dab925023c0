"""The memory of this process."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from gossamer.runtime import memory
from gossamer.runtime.memory import resident_bytes


def test_it_is_what_the_system_says() -> None:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert most / 20 < resident_bytes() <= most * 1.1


def test_where_nobody_says_it_is_not_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "_STATM", tmp_path / "none")
    assert resident_bytes() == 0
