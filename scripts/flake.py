"""Runs `make test` again and again and prints which tests did not pass every time.

Every other run has a busy loop on every core beside it. Usage: flake.py RUNS [FOLDER]. Exits with 1 if a run
failed. The whole output of each run is kept in the folder (.cache/flake).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / ".cache" / "flake"
LONGEST_S = 45 * 60
"""A longer run is ended and counts as failed."""


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Start processes that keep one core each busy."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run_once(log: Path) -> int | None:
    """Return the exit code of one `make test`, or ``None`` if it had to be ended."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["make", "test"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def findings(text: str) -> tuple[str, list[str]]:
    """Return the number of passed tests and the names of the others, from pytest's output."""
    passed = re.findall(r"(\d+) passed", text)
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.MULTILINE)
    return (passed[-1] if passed else "?"), failed


def main(runs: int, logs: Path = LOGS) -> int:
    """Run, and print a line for each run."""
    logs.mkdir(parents=True, exist_ok=True)
    all_well = True
    print("run  beside      seconds  passed  failed", flush=True)
    for number in range(1, runs + 1):
        log, begin = logs / f"run-{number}.log", time.monotonic()
        is_busy = number % 2 == 0
        with busy_loops((os.cpu_count() or 1) if is_busy else 0):
            code = run_once(log)
        passed, failed = findings(log.read_text(errors="replace"))
        if code != 0 and not failed:
            failed = [f"no test: see {log}" if code is not None else f"ended after {LONGEST_S} s: see {log}"]
        all_well = all_well and code == 0
        beside = "busy loop" if is_busy else "-"
        seconds = time.monotonic() - begin
        print(f"{number:3}  {beside:10}  {seconds:7.0f}  {passed:>6}  {', '.join(failed) or '-'}", flush=True)
    return 0 if all_well else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *map(Path, sys.argv[2:3])))
