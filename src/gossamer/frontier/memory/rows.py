"""The memory frontier's records of a request and of a host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify

from gossamer.core.hosts import FrontierRules, HostState
from gossamer.core.jobs import DeadLetter, DeadLetterFilter, KnownRequest
from gossamer.core.lifecycle import RequestState
from gossamer.core.position import QueuePosition
from gossamer.core.requests import Entry, Lease, band_of
from gossamer.frontier.paced_hosts import PacedHost, PaceTable
from gossamer.policy import politeness
from gossamer.policy.page_failures import asks_known, blames_pages


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

    def matches(self, which: DeadLetterFilter) -> bool:
        """Whether a filter of dead letters chooses it, its ids aside."""
        return (
            (which.reason is None or self.reason == which.reason)
            and (which.host is None or self.entry.host == which.host)
            and (which.older_than is None or self.died_at < which.older_than)
            and which.text.lower() in self.entry.request.url.lower()
        )

    def describe_request(self) -> KnownRequest:
        """Return the facts about the request."""
        return KnownRequest(
            state=self.state,
            entry=self.entry,
            due_at=self.entry.due_at,
            attempts=self.attempts,
            reason=self.reason,
            host=self.host.report,
            place=self.find_place(),
        )

    def find_place(self) -> QueuePosition:
        """Return the request's place, as far as its state has one."""
        if self.state is RequestState.LEASED and self.lease is not None:
            return QueuePosition(granted_at=self.lease.granted_at, deadline=self.lease.deadline)
        if self.state is RequestState.DEAD:
            return QueuePosition(died_at=self.died_at, number=self.id)
        if self.state is RequestState.PENDING:
            request = self.entry.request
            queue = self.host.queues.get(request.lane, [])
            return QueuePosition(ahead=sum(row[:2] < (request.rank, self.id) for row in queue))
        return QueuePosition()

    def lease_order(self) -> tuple[float, int]:
        """Return where its lease stands among others: by deadline."""
        assert self.lease is not None
        return self.lease.deadline, self.lease.token

    def make_lease(self, token: int, rules: FrontierRules, now: float, ttl_s: float) -> Lease:
        """Return the lease of it that is granted now."""
        host = self.host.state
        return Lease(
            entry=self.entry,
            token=token,
            granted_at=now,
            start_by=politeness.start_by(host, rules, now),
            deadline=now + ttl_s,
            attempt=self.attempts + 1,
            failures=self.failures,
            throttled=self.throttled,
            expiries=self.expiries,
            host_down=politeness.is_down(host, rules),
            host_answered=host.answered_at > 0,
            host_pause_s=politeness.next_pause_s(host, rules),
            is_probe=host.troubled_since > 0,
            host_silent=politeness.is_silent(host),
            is_suspect=politeness.is_suspect(host),
            blames_pages=blames_pages(host),
            host_unheard=host.pages == 0,
            asks_known=asks_known(host, self.attempts),
        )


class MemoryHost(PacedHost):
    """One host: its politeness, and its pending requests by lane."""

    __slots__ = ("id", "lane", "queues", "turns")

    def __init__(self, number: int, name: str, paces: PaceTable) -> None:
        super().__init__(name, HostState(), paces)
        self.id = number
        self.queues: dict[str, list[tuple[int, int, RequestRow]]] = {}  # heaps of (rank, id, item)
        self.turns: dict[str, tuple[int, float]] = {}  # by lane: where it stands in the heaps of turns
        self.lane = ""  # the lane that is being served

    @property
    def pending(self) -> int:
        """Its requests that wait for a turn."""
        return sum(map(len, self.queues.values()))

    def take_out(self, letters: Iterable[DeadLetter]) -> dict[int, RequestRow]:
        """The requests of letters, out of their queues, that have waited untouched since they were revived.

        By their ids. Each queue is gone through once, however many there are.
        """
        wanted, taken = {letter.id for letter in letters}, dict[int, RequestRow]()
        for queue in self.queues.values():
            found = {number: row for _, number, row in queue if number in wanted and not row.attempts}
            if found:
                queue[:] = [row for row in queue if row[1] not in found]
                heapify(queue)
                taken |= found
        return taken

    def reorder_lane(self, lane: str, changed: Mapping[int, int]) -> None:
        """Put the queue of a lane in order again: some requests in it have other ranks, by their ids."""
        queue = self.queues[lane]
        queue[:] = [(changed[row[1]], *row[1:]) if row[1] in changed else row for row in queue]
        heapify(queue)

    def next_band(self) -> int | None:
        """Return the band of its next request in the lane that is being served."""
        queue = self.queues.get(self.lane)
        return band_of(queue[0][0]) if queue else None

    def begin_waiting(self, at: float) -> None:
        """A request begins to wait at this time, if it is the only one."""
        if not self.pending:
            self.state = politeness.begin_waiting(self.state, at)
