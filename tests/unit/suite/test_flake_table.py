"""`make flake`: which tests did not pass in some of many runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.environment import environment

SCRIPT = Path(__file__).parents[3] / "scripts" / "flake.py"
MAKE = """#!/bin/sh
echo run >>"{folder}/runs"
case $(wc -l <"{folder}/runs") in
  2) echo "FAILED tests/unit/test_x.py::test_y[a b] - assert 1 == 2"
     echo "1 failed, 2811 passed in 9.1s"; exit 2;;
  4) echo "make: *** no rule"; exit 2;;
  *) echo "2812 passed in 9.1s (0:00:09)";;
esac
"""


def table(folder, runs):
    """Exit code and lines of a series of runs in which `make` is a stand-in."""
    make = folder / "make"
    make.write_text(MAKE.format(folder=folder))
    make.chmod(0o755)
    done = subprocess.run(
        [sys.executable, SCRIPT, str(runs), folder / "logs"],
        env=environment(PATH=f"{folder}:{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, [line.split() for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_every_run_has_its_line_and_one_failure_is_a_failure(tmp_path):
    code, (header, *lines) = table(tmp_path, 4)
    assert code == 1
    assert header == ["run", "beside", "seconds", "passed", "failed"]
    assert [line[0] for line in lines] == ["1", "2", "3", "4"]
    assert lines[0][-2:] == lines[2][-2:] == ["2812", "-"]
    assert lines[1][1:3] == ["busy", "loop"]
    assert lines[1][-3:] == ["2811", "tests/unit/test_x.py::test_y[a", "b]"]
    assert lines[3][-4:] == ["no", "test:", "see", str(tmp_path / "logs" / "run-4.log")]
    assert "no rule" in (tmp_path / "logs" / "run-4.log").read_text()


@pytest.mark.slow
def test_no_failure_is_success(tmp_path):
    assert table(tmp_path, 1)[0] == 0
