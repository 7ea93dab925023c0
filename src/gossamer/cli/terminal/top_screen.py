"""The screen of ``gossamer top``: refreshed every second, with keys, and fitted to the window."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator

from msgspec.structs import replace
from rich.console import Console, RenderableType
from rich.live import Live

from gossamer.cli.errors import SIGNALS
from gossamer.cli.terminal.keys import KeyReader
from gossamer.cli.terminal.tables import make_console
from gossamer.cli.terminal.top_layout import ScreenState, render_top
from gossamer.core.errors import OperatorError
from gossamer.queries.top import TopView
from gossamer.runtime.cancelling import end_tasks

LOOK_S = 1.0
"""Seconds between refreshes."""
Look = Callable[[str], Awaitable[TopView]]
"""Reads the state of all jobs, and the details of the job with that id."""


class TopScreen:
    """The screen of ``gossamer top``."""

    def __init__(self, look: Look, first: TopView) -> None:
        self._look = look
        self._view = first
        self._chosen = first.chosen.job if first.chosen else ""
        self._state = ScreenState()
        self._is_over = False
        self._redraw = asyncio.Event()
        self._hurry = asyncio.Event()  # refresh now, not when the second is over

    async def run(self) -> None:
        """Refresh and draw until the user quits. A failed refresh is shown above the latest good display."""
        console = make_console(sys.stdout)
        keys = KeyReader(self.press_key)
        with (
            keys,
            Live(console=console, screen=True, auto_refresh=False) as live,
            self._signals(keys, console),
        ):
            looking = asyncio.create_task(self._keep_looking())
            try:
                while not self._is_over:
                    self._redraw.clear()
                    live.update(self._render(*console.size), refresh=True)
                    await self._redraw.wait()
            finally:
                await end_tasks(looking)

    def _render(self, width: int, height: int) -> RenderableType:
        state = replace(self._state, width=width, height=height)
        return render_top(self._view, state, chosen=self._chosen)

    def press_key(self, key: str) -> None:
        """Handle a key."""
        if key == "q":
            self._is_over = True
        elif key == "p":
            self._state = replace(self._state, is_held=not self._state.is_held)
        elif key in ("j", "down", "k", "up"):
            self._choose(1 if key in ("j", "down") else -1)
        self._redraw.set()

    def _choose(self, step: int) -> None:
        """Choose another job and refresh at once."""
        ids = [row.job for row in self._view.jobs]
        if ids:
            place = ids.index(self._chosen) if self._chosen in ids else 0
            self._chosen = ids[min(max(place + step, 0), len(ids) - 1)]
            self._hurry.set()

    async def _keep_looking(self) -> None:
        """Refresh until the end, also where a driver takes the cancellation for its own time-out."""
        while not self._is_over:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._hurry.wait()
            is_asked = self._hurry.is_set()
            self._hurry.clear()
            if is_asked or not self._state.is_held:
                await self._look_once()

    async def _look_once(self) -> None:
        try:
            self._view = await self._look(self._chosen)
            self._state = replace(self._state, trouble="")
        except OperatorError as error:
            self._state = replace(self._state, trouble=f"out of date: {error}")
        self._redraw.set()

    @contextlib.contextmanager
    def _signals(self, keys: KeyReader, console: Console) -> Iterator[None]:
        """Handle a change of the window, a stop by the shell, and the end."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.press_key, "q")
        loop.add_signal_handler(signal.SIGWINCH, self._redraw.set)
        loop.add_signal_handler(signal.SIGTSTP, self._stop_for_a_while, keys, console)
        try:
            yield
        finally:
            for number in (*SIGNALS, signal.SIGWINCH, signal.SIGTSTP):
                loop.remove_signal_handler(number)

    def _stop_for_a_while(self, keys: KeyReader, console: Console) -> None:
        """Handle Ctrl-Z: leave the terminal to the shell until it resumes this process."""
        keys.end()
        console.set_alt_screen(False)
        console.show_cursor(True)
        os.kill(os.getpid(), signal.SIGSTOP)
        keys.begin()
        console.set_alt_screen(True)
        console.show_cursor(False)
        self._redraw.set()
