"""Keys as they are pressed, without Enter. The terminal is always restored."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable
from typing import Any, Self

NAMES = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
}
"""The bytes that terminals send for keys without a character."""
MOST_BYTES = 1024


class KeyReader:
    """Calls ``press`` with the name of each key while it is entered, in the loop's thread.

    Does nothing when stdin is not a terminal.
    """

    def __init__(self, press: Callable[[str], None]) -> None:
        self._press = press
        self._fd = sys.stdin.fileno() if sys.stdin.isatty() else None
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        self.begin()
        if self._fd is not None:
            asyncio.get_running_loop().add_reader(self._fd, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            asyncio.get_running_loop().remove_reader(self._fd)
        self.end()

    def begin(self) -> None:
        """Read keys one by one from now on."""
        if self._fd is not None:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)

    def end(self) -> None:
        """Restore the terminal."""
        if self._fd is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def _read(self) -> None:
        assert self._fd is not None, "there is a reader only of a terminal"
        try:
            pressed = os.read(self._fd, MOST_BYTES)
        except OSError:
            pressed = b""
        if not pressed:  # the terminal is gone
            asyncio.get_running_loop().remove_reader(self._fd)
            self._press("q")
        for name in split_keys(pressed):
            self._press(name)


def split_keys(pressed: bytes) -> list[str]:
    """Return the keys in the bytes of a terminal; keys without a name here are skipped."""
    found: list[str] = []
    while pressed:
        if pressed.startswith((b"\x1b[", b"\x1bO")):
            end = (
                next((n for n in range(2, len(pressed)) if 0x40 <= pressed[n] <= 0x7E), len(pressed) - 1) + 1
            )
            found += [NAMES[pressed[:end]]] if pressed[:end] in NAMES else []
        else:
            end = 1
            found += [chr(pressed[0])] if 0x20 <= pressed[0] < 0x7F else []
        pressed = pressed[end:]
    return found
