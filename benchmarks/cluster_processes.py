"""Processes of the cluster's benchmark: run beside a block, idle before the clock starts, their CPU counted.

On any exit the processes and their descendants are stopped.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 15.0


class FleetError(Exception):
    """A fleet failed; its run does not count, and the other fleets continue."""


@contextlib.contextmanager
def running(command: Sequence[str], output: Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command beside the block, in its own session; its output goes to ``output``."""
    with output.open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **options
        )
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process by SIGTERM, which suffices for all of them when no crawl runs; otherwise kill it."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # and its descendants
    process.wait(PATIENCE_S)


def cpu_s(pids: Sequence[int]) -> float:
    """Return user and system seconds of these processes and their descendants, including ended ones."""
    ticks: dict[int, int] = {}
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended; then its parent counts it
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                # See proc(5): fields from the state on, which is field 3: ppid is 4; utime to cstime are 14
                # to 17.
                ticks[int(folder.name)] = sum(map(int, fields[11:15]))
                below.setdefault(int(fields[1]), []).append(int(folder.name))
    todo, total = list(pids), 0
    while todo:
        pid = todo.pop()
        total += ticks.get(pid, 0)
        todo += below.get(pid, ())
    return total / TICKS_PER_S


def wait_until_idle(processes: Sequence[subprocess.Popen[bytes]], *, seconds: float = 30.0) -> None:
    """Wait until they have used less than a twentieth of a core for a second: started and idle."""
    limit = time.monotonic() + seconds
    pids = [process.pid for process in processes]
    used = cpu_s(pids)
    while True:
        time.sleep(1.0)
        for process in processes:
            if process.poll() is not None:
                raise FleetError(f"{' '.join(process.args)} ended with {process.returncode}")
        now = cpu_s(pids)
        if now - used < 0.05 and now > 0.2:  # less than that takes no Python program to start
            return
        if time.monotonic() > limit:
            raise FleetError(f"the workers did not come to rest within {seconds:.0f} s")
        used = now
