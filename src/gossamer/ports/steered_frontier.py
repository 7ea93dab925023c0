"""Changing how a job is crawled while it runs."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.hosts import FrontierRules, HostOrder, HostState
from gossamer.core.jobs import HostReport


class SteeredFrontier(Protocol):
    """The rules of a job and the pace of its hosts, as a person changes them while it runs.

    What is changed decides every lease from then on, whoever asks for it; what was granted before stays
    granted. A delay that became another one counts from the host's latest start: no turn comes sooner than
    that, and none waits for the former delay.
    """

    async def read_rules(self) -> FrontierRules:
        """The rules in force."""
        ...

    async def change_rules(self, rules: FrontierRules, *, expected: FrontierRules) -> bool:
        """Put other rules in force. ``False``: those in force are not ``expected``, and nothing was changed.

        A call that was cut off can be given again, with what :meth:`read_rules` says by then. Raises
        ``UsageError`` for rules that cannot be kept here.
        """
        ...

    async def find_host(self, host: str) -> HostReport | None:
        """A host, by its politeness key; ``None``: the job has none of that name."""
        ...

    async def steer_host(self, host: str, order: HostOrder) -> HostState | None:
        """Carry out a person's order (:mod:`gossamer.policy.steering`); the host as it was before.

        ``None``: the job has no host of that name.
        """
        ...
