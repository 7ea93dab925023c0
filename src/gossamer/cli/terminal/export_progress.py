"""How far a long export is, on stderr: one line that changes on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Self

FIRST_S = 1.0
"""Shorter exports say nothing."""
EVERY_S = 0.2
EVERY_LINE_S = 10.0
LOOK_EVERY = 256
"""Items between two looks at the clock."""
CLEAR = "\r\x1b[K"


class ExportProgress:
    """Shows how many of ``total`` items were read; with ``on=False`` it shows nothing."""

    def __init__(self, total: int, *, on: bool) -> None:
        self._total = total
        self._is_terminal = sys.stderr.isatty()
        self._began = time.monotonic()
        self._due = self._began + FIRST_S
        self._is_shown = False
        self._on = on

    def __enter__(self) -> Self:
        return self

    def show(self, count: int) -> None:
        """Tell the number of items so far, if it is time to."""
        if count % LOOK_EVERY or not self._on:
            return
        now = time.monotonic()
        if now < self._due:
            return
        pace = count / (now - self._began)
        share = f" of {self._total:,} ({min(count / self._total, 1):.0%})" if self._total else ""
        line = f"{count:,} items{share}, {pace:,.0f}/s"
        sys.stderr.write(f"{CLEAR}{line}" if self._is_terminal else f"{line}\n")
        sys.stderr.flush()
        self._is_shown = self._is_terminal
        self._due = now + (EVERY_S if self._is_terminal else EVERY_LINE_S)

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            sys.stderr.write(CLEAR)
