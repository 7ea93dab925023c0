"""Background tasks of the supervisor that leads a fleet."""

from __future__ import annotations

from typing import Protocol


class Duty(Protocol):
    """A periodic task for one process of a fleet, such as deleting old records.

    Guarantee: only the leading supervisor runs it, one run at a time. A run may be interrupted at any point,
    and another supervisor may repeat it sooner than ``every_s``, so repeating it must be harmless.
    """

    @property
    def name(self) -> str:
        """The name in the log."""
        ...

    @property
    def every_s(self) -> float:
        """Seconds from the end of one run to the beginning of the next."""
        ...

    async def run(self, now: float) -> None:
        """Run once; ``now`` is the time by the clock of the fleet's jobs.

        Any exception is logged, and the duty runs again soon.
        """
        ...
