"""When proxies that may not work are tried, while others work. Pure, and of one worker.

A proxy that accepts a connection and never answers costs a request the whole time for which it waits. Where
most proxies of a list are such, a host whose requests tried one after the other would get nothing else done.
"""

from __future__ import annotations

from collections import OrderedDict

from gossamer.policy.proxies import CANARY_S

SPARED_SHARE = 4.0
"""Pause of a host's trials after a failed one, as a multiple of that trial's length."""
MAX_HOSTS = 10_000
"""Maximum number of hosts remembered for failed trials."""


class TrialMemory:
    """The times during which a host's requests keep to proxies that work, as far as these are free.

    Nothing is paused before a trial has failed at the host. From then on it has one trial at a time, and a
    *pause* after each that fails: trials that take long are rare, those that fail at once are hardly put off.
    """

    def __init__(self) -> None:
        self._until: OrderedDict[str, float] = OrderedDict()  # by host

    def __repr__(self) -> str:
        return f"<TrialMemory at {len(self._until)} hosts>"

    def is_paused(self, host: str, now: float) -> bool:
        """Whether a host's next request goes through a proxy that works, if one is free."""
        return now < self._until.get(host, 0.0)

    def begin_trial(self, host: str, now: float) -> None:
        """A request goes through a proxy that may not work."""
        if host in self._until:
            self._until[host] = now + CANARY_S

    def end_trial(self, host: str, now: float, failed_since: float | None = None) -> None:
        """That request is over; ``failed_since``: when it began, if its proxy may have failed it."""
        if failed_since is None:
            if host in self._until:
                self._until[host] = now
            return
        self._until[host] = now + SPARED_SHARE * max(now - failed_since, 0.0)
        self._until.move_to_end(host)
        if len(self._until) > MAX_HOSTS:
            self._until.popitem(last=False)
