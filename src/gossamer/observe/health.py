"""The health of this process, for its own port and for systemd. For any thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from gossamer.core.health import PartHealth
from gossamer.policy.health import HELD_UP_S, describe_failures

PartReader = Callable[[], Iterable[PartHealth]]
"""Returns the state of some parts; called in any thread, and does not wait."""


class ProcessHealth:
    """The state of each part of a process, judged on request."""

    def __init__(self) -> None:
        self._life: list[PartReader] = []
        self._work: list[PartReader] = []

    def __repr__(self) -> str:
        return f"<ProcessHealth: {'; '.join(self.find_failures()) or 'well'}>"

    def watch_life(self, read: PartReader) -> None:
        """Watch parts whose failure requires a restart of the process."""
        self._life.append(read)

    def watch_work(self, read: PartReader) -> None:
        """Watch parts whose failure keeps the process from its work."""
        self._work.append(read)

    def watch_loop(self, held_up_s: Callable[[], float]) -> None:
        """Watch the event loop, by the time for which it is blocked."""

        def read() -> Iterable[PartHealth]:
            seen_at = time.monotonic() - held_up_s()
            return (PartHealth(failure="the event loop has not run", seen_at=seen_at, within_s=HELD_UP_S),)

        self.watch_life(read)

    def find_failures(self, *, is_work_asked: bool = False, is_detailed: bool = True) -> list[str]:
        """A line for each part that fails; those of the work too where ``is_work_asked``.

        Details may name servers: they are for those who look after this process.
        """
        readers = [*self._life, *(self._work if is_work_asked else ())]
        parts = [part if is_detailed else replace(part, detail="") for read in readers for part in read()]
        return describe_failures(parts, time.monotonic(), time.time())
