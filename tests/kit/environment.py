"""The environment of the tests and of every process that they start: the same on every machine.

Variables of a shell or a build machine (``PYTHONUNBUFFERED``, proxies, ``NO_COLOR``, settings of Gossamer's
own) change the behaviour of programs: a test that passes only with them proves nothing elsewhere.
"""

from __future__ import annotations

import os
import random

SEED_VARIABLE = "GOSSAMER_TEST_SEED"
"""By which pairs of features are drawn."""
NEEDED = frozenset({"PATH", "HOME", "TMPDIR"})
"""The variables that every program needs."""
FOR_TESTS = ("CI", "TEST_", "PYTEST_", "COV_", "COVERAGE_")
"""The beginnings of the names of variables for fixtures, pytest and coverage."""


def environment(**more: str) -> dict[str, str]:
    """Return the environment for a program of a test: the needs of every program, and the test's own
    variables.
    """
    return {name: value for name, value in os.environ.items() if name in NEEDED} | more


def keep_plain() -> None:
    """Remove the variables that the tests do not need from this process's own environment, for good."""
    for name in list(os.environ):
        if name not in NEEDED and not name.startswith(FOR_TESTS):
            del os.environ[name]


def draw_seed() -> str:
    """The seed of this run, and of the processes of pytest-xdist, which have its environment."""
    return os.environ.setdefault(SEED_VARIABLE, str(random.SystemRandom().randrange(1, 1_000_000)))
