"""A supervisor and some workers on one machine, kept going by one process."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gossamer.core.exits import ExitCode

SIGNALS = (signal.SIGTERM, signal.SIGINT)
EARLY_S = 5.0
"""A process that ends so soon after its start will hardly do better at once: its successor waits."""
LONGEST_S = 30.0
LOOK_S = 0.2
log = logging.getLogger("gossamer.fleet")


@dataclass
class ChildProcess:
    """One process that is kept going."""

    label: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    deaths: int = 0  # early ones in a row
    next_at: float = 0.0


def _end_with_parent() -> None:
    """A child drains when its parent is killed (Linux: ``prctl(PR_SET_PDEATHSIG)``)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))


class LocalFleet:
    """Keeps a supervisor and some workers running; a process that dies is started again.

    ``variables`` are added to their environment, which other users cannot read.
    """

    def __init__(
        self,
        commands: Sequence[tuple[str, list[str]]],
        *,
        drain_s: float,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._children = [ChildProcess(label, command) for label, command in commands]
        self._drain_s = drain_s
        self._environment = os.environ | (variables or {})
        self._told = 0

    def run(self) -> int:
        """Until told to end: the first signal drains, the second stops at once."""
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        try:
            while not self._told:
                for child in self._children:
                    self._keep_running(child)
                time.sleep(LOOK_S)
            return self._end_processes()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: object) -> None:
        self._told += 1

    def _keep_running(self, child: ChildProcess) -> None:
        now = time.monotonic()
        if child.process is not None and child.process.poll() is None:
            return
        if child.process is not None:
            code = child.process.returncode
            child.deaths = child.deaths + 1 if now - child.started_at < EARLY_S else 0
            child.next_at = now + (min(2.0 ** (child.deaths - 1), LONGEST_S) if child.deaths else 0.0)
            log.warning("%s ended (%s); another takes its place", child.label, code)
            child.process = None
        if now >= child.next_at:
            # A session of its own: Ctrl-C is for this process, which tells the others.
            child.process = subprocess.Popen(  # noqa: S603 - our own
                child.command,
                env=self._environment,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - this process has one thread
            )
            child.started_at = now
            log.info("%s is process %d", child.label, child.process.pid)

    def _end_processes(self) -> int:
        self._signal_processes(signal.SIGTERM)
        until = time.monotonic() + self._drain_s + 5.0
        log.info("ending: workers finish their requests in flight; another signal ends them at once")
        while self._live_processes() and self._told < 2 and time.monotonic() < until:
            time.sleep(LOOK_S / 4)
        if self._live_processes():
            self._signal_processes(signal.SIGTERM)
            until = time.monotonic() + 1.5
            while self._live_processes() and time.monotonic() < until:
                time.sleep(LOOK_S / 4)
            self._signal_processes(signal.SIGKILL)
            for process in self._live_processes():
                process.wait()
        return ExitCode.STOPPED if self._told > 1 else ExitCode.OK

    def _live_processes(self) -> list[subprocess.Popen[bytes]]:
        return [c.process for c in self._children if c.process is not None and c.process.poll() is None]

    def _signal_processes(self, number: signal.Signals) -> None:
        for process in self._live_processes():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)
