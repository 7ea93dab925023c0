"""The environment of the tests and of every process that they start: the same on every machine.

What a shell or a build machine sets (``PYTHONUNBUFFERED``, proxies, ``NO_COLOR``, settings of Gossamer's own)
changes what programs do: a test that passes only with it would prove nothing to anybody else.
"""

from __future__ import annotations

import os
import random

SEED_VARIABLE = "GOSSAMER_TEST_SEED"
"""By which pairs of features are drawn."""
NEEDED = frozenset({"PATH", "HOME", "TMPDIR"})
"""What programs find their way with."""
FOR_TESTS = ("CI", "TEST_", "PYTEST_", "COV_", "COVERAGE_")
"""What fixtures, pytest and coverage are told by, by the beginnings of the names."""


def environment(**more: str) -> dict[str, str]:
    """The environment for a program of a test: what every program needs, and what the test adds."""
    return {name: value for name, value in os.environ.items() if name in NEEDED} | more


def keep_plain() -> None:
    """Take from this process's own environment what the tests do not need, for good."""
    for name in list(os.environ):
        if name not in NEEDED and not name.startswith(FOR_TESTS):
            del os.environ[name]


def draw_seed() -> str:
    """The seed of this run, and of the processes of pytest-xdist, which have its environment."""
    return os.environ.setdefault(SEED_VARIABLE, str(random.SystemRandom().randrange(1, 1_000_000)))
