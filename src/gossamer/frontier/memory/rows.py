"""What the memory frontier keeps of a request and of a host."""

from __future__ import annotations

from gossamer.core.hosts import HostState
from gossamer.core.lifecycle import RequestState
from gossamer.core.requests import Entry, Lease


class RequestRow:
    """One request that is not done."""

    __slots__ = (
        "attempts", "died_at", "entry", "expiries", "failures", "host", "id", "lease", "reason",
        "state", "throttled",
    )  # fmt: skip

    def __init__(self, number: int, entry: Entry, host: MemoryHost, state: RequestState) -> None:
        self.id = number  # its place in the queue, kept for life
        self.entry = entry
        self.host = host
        self.state = state
        self.lease: Lease | None = None
        self.reason = ""
        self.died_at = 0.0
        self.reset_counts()

    def reset_counts(self) -> None:
        """Start counting its attempts anew."""
        self.attempts = self.failures = self.throttled = self.expiries = 0


class MemoryHost:
    """One host: its politeness, and its pending requests by lane."""

    __slots__ = ("id", "lane", "name", "queues", "state", "turns")

    def __init__(self, number: int, name: str) -> None:
        self.id = number
        self.name = name
        self.state = HostState()
        self.queues: dict[str, list[tuple[int, int, RequestRow]]] = {}  # heaps of (band, id, item)
        self.turns: dict[str, tuple[int, float]] = {}  # by lane: where it stands in the heaps of turns
        self.lane = ""  # the lane that is being served

    def next_band(self) -> int | None:
        """The band of its next request in the lane that is being served."""
        queue = self.queues.get(self.lane)
        return queue[0][0] if queue else None
