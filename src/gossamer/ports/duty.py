"""What the supervisor that leads a fleet sees to beside the jobs."""

from __future__ import annotations

from typing import Protocol


class Duty(Protocol):
    """Something that one process of a fleet does now and then, such as dropping what is too old.

    Guarantee: only the supervisor that leads runs it, one run at a time. It may be cut off at any point, and
    another supervisor may run it again sooner than ``every_s``: running it twice must be harmless.
    """

    @property
    def name(self) -> str:
        """What it is called in the log."""
        ...

    @property
    def every_s(self) -> float:
        """The seconds from the end of one run to the beginning of the next."""
        ...

    async def run(self, now: float) -> None:
        """Do it once; ``now`` is the time that the fleet's jobs are kept by.

        May raise anything: it is logged, and the duty is run again soon.
        """
        ...
