"""Optional test inputs from elsewhere: ``corpus("pages")`` is a folder outside the project.

They lie in ``../shared/corpora`` beside the checkout or in the folder that ``GOSSAMER_CORPORA`` names. They
are only read and only add cases: every guarantee also has a test with inputs of our own. A test that reads
them is marked with ``from_corpus("pages", cases=60)``. Without corpora it is skipped, and the run's last line
says so; if they are present, any missing file is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

GIVEN = os.environ.get("GOSSAMER_CORPORA", "")
ROOT = Path(GIVEN or Path(__file__).resolve().parents[3] / "shared" / "corpora")
LEFT_OUT = pytest.StashKey[int]()
"""How many cases were left out of this run."""


def from_corpus(name: str, *, cases: int = 1) -> pytest.MarkDecorator:
    """Mark a test that reads a corpus, and the number of cases that it takes from there."""
    return pytest.mark.corpus(name, cases=cases)


def corpus(name: str) -> Path:
    """The path of one corpus (a folder or a file below it)."""
    path = ROOT / name
    if not path.exists():
        pytest.fail(f"the corpus {name!r} is not at {path}; is this test marked with from_corpus?")
    return path


def check_root() -> None:
    """Refuse a configured folder that does not exist."""
    if GIVEN and not ROOT.is_dir():
        raise pytest.UsageError(f"GOSSAMER_CORPORA={GIVEN}: the folder does not exist")


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take the tests that read corpora from the run when there are none, and count their cases."""
    config.stash[LEFT_OUT] = 0
    marked = [(item, mark) for item in items if (mark := item.get_closest_marker("corpus"))]
    if ROOT.is_dir():
        if missing := sorted({mark.args[0] for _, mark in marked if not (ROOT / mark.args[0]).exists()}):
            raise pytest.UsageError(f"not in {ROOT}, though tests need it: {', '.join(missing)}")
        return
    config.stash[LEFT_OUT] = sum(mark.kwargs["cases"] for _, mark in marked)
    left_out = {item for item, _ in marked}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))


def closing_line(counts: Iterable[int]) -> str:
    """Return the run's last line for ``counts``, the skipped cases as each process counted them."""
    count = max(counts, default=0)
    if not count:
        return ""
    return (
        f"{count:,} extra cases were not there: they need the corpora, in {ROOT} "
        "or in the folder that GOSSAMER_CORPORA=DIR names (see CONTRIBUTING.md)"
    )
