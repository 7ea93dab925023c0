"""A program in a terminal of its own: its screen, and keys for it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE_S = 30.0
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][0-9A-B]")
HOME = "\x1b[H"
"""The beginning of each picture of a program that draws in place."""


class PseudoTerminal:
    """A program that believes to be looked at. A context manager: it is ended when the block is left."""

    def __init__(
        self, line: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int = 80, rows: int = 24
    ) -> None:
        self._master, slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        self._slave = slave  # kept open, so that its modes can be read when the program has ended
        self.process = subprocess.Popen(
            list(line), cwd=cwd, env={**env, "TERM": "xterm"}, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True,
        )  # fmt: skip
        self.output = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if error is not None:
            error.add_note("\n".join(self.screen()))
        os.close(self._master)
        os.close(self._slave)

    @property
    def modes(self) -> list[object]:
        """How the terminal is set now."""
        return termios.tcgetattr(self._slave)

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._master, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if hasattr(self, "process"):
            self.process.send_signal(signal.SIGWINCH)

    def screen(self) -> list[str]:
        """The latest whole picture."""
        pictures = self.output.split(HOME)
        return [_CODES.sub("", line).rstrip() for line in pictures[-1].replace("\r", "").split("\n")]

    def wait_for(self, is_there: Callable[[list[str]], object]) -> list[str]:
        """Read until the screen is as it should be; the screen."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_there(self.screen()):
            assert time.monotonic() < deadline, "the screen does not become so"
            self._read(0.1)
        return self.screen()

    def wait(self) -> int:
        """Read to the end of the program; its exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            self._read(0.05)
        self._read(0.0)
        return self.process.returncode

    def _read(self, wait_s: float) -> None:
        while select.select([self._master], [], [], wait_s)[0]:
            self.output += os.read(self._master, 65536).decode("utf-8", "replace")
            wait_s = 0.0
