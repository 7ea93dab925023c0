"""Where the real inputs of the tests are: ``corpus("pages")`` is a folder beside the project.

They belong to others and are only read. Without them a test is skipped, but in continuous integration
it fails: a check that silently does not run protects nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1].parent / "shared" / "corpora"


def corpus(name: str) -> Path:
    """The path of one corpus (a folder or a file below it)."""
    path = ROOT / name
    if not path.exists():
        reason = f"the corpus {name!r} is not at {path}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason, allow_module_level=True)
    return path
