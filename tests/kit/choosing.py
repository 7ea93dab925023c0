"""Which cases of a test `make test` runs; the rest is for the targets that take longer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some_of(cases: Iterable[str], *core: str) -> list[Any]:
    """The names of cases, all but ``core`` marked ``thorough``."""
    return [case if case in core else pytest.param(case, marks=pytest.mark.thorough) for case in cases]
