"""Changes to the rules of a running job."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.hosts import FrontierRules, HostOrder, HostState
from gossamer.core.jobs import HostReport


class SteeredFrontier(Protocol):
    """The rules of a job and the pace of its hosts, which an operator may change while the job runs.

    Guarantee: every later lease follows a change; granted leases stay valid. A new delay counts from the
    host's latest start: no request starts earlier, and none waits for the former delay.
    """

    async def read_rules(self) -> FrontierRules:
        """The rules in force."""
        ...

    async def change_rules(self, rules: FrontierRules, *, expected: FrontierRules) -> bool:
        """Replace the rules. Return ``False``, and change nothing, if the present rules are not ``expected``.

        An interrupted call can be repeated with the result of :meth:`read_rules`. Raises ``UsageError`` for
        rules that this frontier does not support.
        """
        ...

    async def find_host(self, host: str) -> HostReport | None:
        """Return a host by its politeness key, or ``None`` if the job does not have it."""
        ...

    async def steer_host(self, host: str, order: HostOrder) -> HostState | None:
        """Carry out an operator's order (:mod:`gossamer.policy.steering`); return the host's former state.

        Return ``None`` if the job does not have the host.
        """
        ...
