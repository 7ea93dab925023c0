"""A crash at any SQL statement of a small crawl: the next run ends it as if nothing had happened.

The ordinary suite dies at the first statement of each kind (every fourth of those that make the schema: each
migration is a transaction) and at every thirty-first. With ``GOSSAMER_TEST_EVERY_CRASH=1`` it dies at all of
them (``make crash``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.environment import environment
from kit.hostile import crash_it

STRIDE, LONG_S = (1, 1_700) if os.environ.get("GOSSAMER_TEST_EVERY_CRASH") else (31, 170)
DIED = 86
OF_SCHEMA = ("--", "CREATE", "ALTER", "DROP")
"""How statements of migrations begin."""

pytestmark = pytest.mark.timeout(LONG_S + 100)


def crashes(folder: Path, points: list[int]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(Path(crash_it.__file__))],
        input=json.dumps({"folder": str(folder), "points": points}),
        capture_output=True,
        text=True,
        timeout=LONG_S,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def chosen(kinds: list[str]) -> list[int]:
    """The statements to die at."""
    first = {kind: n for n, kind in reversed(list(enumerate(kinds, 1)))}
    of_schema = sorted(n for kind, n in first.items() if kind.startswith(OF_SCHEMA))
    others = {n for kind, n in first.items() if not kind.startswith(OF_SCHEMA)}
    return sorted({*others, *of_schema[::4], *range(1, len(kinds) + 1, STRIDE)})


@pytest.mark.long
def test_every_crash_point_recovers_with_the_invariants_intact(tmp_path: Path) -> None:
    (undisturbed,) = crashes(tmp_path / "undisturbed", [])
    assert undisturbed["died"] == 0, undisturbed
    kinds, truth = undisturbed["kinds"], undisturbed["end"]
    assert len(truth["items"]) == 8
    assert (len(truth["pages"]), truth["dead"]) == (9, 1)
    assert len(kinds) > 100
    told = crashes(tmp_path / "crashed", chosen(kinds))
    died = [crash for crash in told if crash["died"] == DIED]
    assert len(died) > 0.9 * len(told)  # a run may have fewer statements than the counted one
    for crash in told:
        assert crash["died"] in (0, DIED), crash
        assert crash["ended"] == 0, crash
        for found in filter(None, (crash["crashed"], crash["end"])):
            where = (crash["point"], crash["kinds"], found)
            assert found["counters"] == found["recounts"], where
            assert found["totals"] == found["retold"], where
            assert (found["twice"], found["sound"]) == ([], True), where
        end = crash["end"]
        assert end["counters"][:3] == [0, 0, 0], crash
        assert {name: end[name] for name in ("items", "pages", "dead", "done")} == {
            name: truth[name] for name in ("items", "pages", "dead", "done")
        }, crash["point"]
