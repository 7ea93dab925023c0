"""The frontier in memory: the readable reference, for tests and for crawls that need not survive.

Guarantee: it behaves as the SQL frontier, call by call (a test compares them). Every queue is a heap or a
dict, so the cost of a call depends on its result, not on the number of waiting requests. Stale heap entries
are left where they are and dropped when they surface.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from math import inf

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostSignal
from gossamer.core.jobs import AddResult, DeadLetter, DeadLetterFilter, DueCounts, FrontierStats, KnownRequest
from gossamer.core.lifecycle import (
    JobCommand,
    JobState,
    RequestState,
    RequestTransition,
    next_job_state,
    next_state,
)
from gossamer.core.requests import Entry, Grant, Lease
from gossamer.core.results import Outcome, Verdict
from gossamer.core.shifts import EXTRACT_LANE
from gossamer.frontier.memory.due import count_due
from gossamer.frontier.memory.letters import MemoryLetters
from gossamer.frontier.memory.rows import MemoryHost, RequestRow
from gossamer.frontier.paced_hosts import Paces
from gossamer.frontier.transitions import (
    EXPIRED,
    ROUND,
    best_wanted,
    in_turn,
    latest_known,
    leases_left,
    raised_request,
    recorded_as,
    request_after,
    state_after,
    state_after_expiry,
)
from gossamer.policy import politeness
from gossamer.policy.retry import due_after_expiry
from gossamer.policy.urls import again_twin_of
from gossamer.ports.clock import Clock

_OF_THE_HOST = (
    *("host_down", "host_answered", "host_silent", "is_probe"),
    *("is_suspect", "blames_pages", "host_unheard", "asks_known"),
)


class MemoryFrontier(MemoryLetters):
    """A ``Frontier`` and ``FrontierAdmin`` that lives and dies with its process.

    ``seed`` seeds the jitter of back-offs. Jobs with the same ``paces`` share the pace of their hosts.
    """

    def __init__(
        self, rules: FrontierRules, clock: Clock, *, paces: Paces = None, seed: int | None = None
    ) -> None:
        super().__init__(rules, clock, paces)
        self._random = random.Random(seed)  # noqa: S311 - spreads back-offs, guards nothing
        self._state = next_job_state(None, JobCommand.CREATE)
        self._known: dict[int, RequestRow | None] = {}  # by fingerprint; None: done
        self._delayed: dict[str, list[tuple[float, int, RequestRow]]] = defaultdict(list)
        self._leased: dict[int, RequestRow] = {}  # by token
        self._deadlines: list[tuple[float, int]] = []  # (deadline, token)
        self._dead: dict[int, RequestRow] = {}
        self._counts: dict[RequestState, int] = dict.fromkeys(RequestState, 0)
        self._next_id = 1
        self._next_token = 1
        self._pages = self._duplicates = self._too_deep = 0
        self._is_seeded = False

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {state}" for state, count in self._counts.items())
        return f"<MemoryFrontier {self._state}: {counts}>"

    # ----------------------------------------------------------------- the port

    async def add(self, entries: Sequence[Entry]) -> AddResult:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        return self._add_entries(entries, self._clock.now())

    async def lease(self, lane: str, limit: int, ttl_s: float) -> Grant:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        now = self._clock.now()
        expired = tuple(self._expire_lease(item, now) for item in self._overdue_items(now))
        self._promote_due(lane, now)
        leases = tuple(self._hand_out(lane, limit, now, ttl_s))
        next_at = _or_none(min(self._first_deadline(), self._next_in(lane)))
        return Grant(leases=leases, next_at=next_at, expired=expired)

    async def settle(self, outcomes: Sequence[Outcome]) -> list[bool]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        now = self._clock.now()
        for outcome in outcomes:
            state_after(outcome)  # refuses before anything has changed
        return [self._settle_outcome(outcome, now) for outcome in outcomes]

    async def extend(self, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        deadline = self._clock.now() + ttl_s
        held = [self._find_held(lease) for lease in leases]
        for item in held:
            if item is not None and item.lease is not None:
                item.lease = replace(item.lease, deadline=deadline)
                heappush(self._deadlines, (deadline, item.lease.token))
                self._schedule.keep_lease(item.host, deadline)
        return [item is not None for item in held]

    async def release(self, leases: Sequence[Lease], signals: Sequence[HostSignal]) -> None:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        now = self._clock.now()
        for lease, signal in zip(leases, signals, strict=True):
            item = self._end_lease(lease)
            if item is not None:
                self._apply_signal(item, signal, now, is_page=False, failed=None)
                self._move_item(item, next_state(item.state, RequestTransition.RELEASE))

    async def apply_change(self, change: JobCommand, rules: FrontierRules | None = None) -> tuple[Lease, ...]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        self._state = next_job_state(self._state, change)
        if rules is not None:
            self._apply_rules(rules)
        if change is not JobCommand.RECOVER:
            return ()
        now = self._clock.now()
        held = sorted(self._leased.values(), key=RequestRow.lease_order)
        return tuple(self._expire_lease(item, now) for item in held)

    async def read_stats(self) -> FrontierStats:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        return FrontierStats(
            state=self._state,
            pending=self._counts[RequestState.PENDING],
            delayed=self._counts[RequestState.DELAYED],
            leased=self._counts[RequestState.LEASED],
            done=self._counts[RequestState.DONE],
            dead=self._counts[RequestState.DEAD],
            pages=self._pages,
            duplicates=self._duplicates,
            too_deep=self._too_deep,
            hosts=len(self._schedule.hosts),
            deadline=_or_none(self._first_deadline()),
            next_by_lane={
                lane: at
                for lane in sorted({*self._schedule.lanes, *self._delayed})
                if (at := self._next_in(lane)) < inf
            },
            budget_spent=self._is_budget_spent(),
            seeded=self._is_seeded,
        )

    async def finish_seeding(self) -> None:
        """See :class:`~gossamer.ports.fleet_frontier.FleetFrontier`."""
        self._is_seeded = True

    async def redo_lost(self) -> int:
        """See :class:`~gossamer.ports.fleet_frontier.FleetFrontier`. Memory loses nothing but as a whole."""
        return 0

    # ----------------------------------------------------------------- for people and commands

    async def are_known(self, entries: Sequence[Entry]) -> list[bool]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return [entry.fingerprint in self._known for entry in entries]

    async def find_request(
        self, fingerprint: int, host: str, *, tried_at: float = 0.0
    ) -> KnownRequest | None:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return latest_known(self._find_known(again_twin_of(fingerprint)), self._find_known(fingerprint))

    def _find_known(self, recorded: int) -> KnownRequest | None:
        if recorded not in self._known:
            return None
        item = self._known[recorded]
        return KnownRequest(state=RequestState.DONE) if item is None else item.describe_request()

    async def raise_requests(self, entries: Sequence[Entry]) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        count, changed = 0, defaultdict[tuple[MemoryHost, str], dict[int, int]](dict)
        for recorded, entry in best_wanted(entries).items():
            item = self._known.get(recorded)
            if item is None or item.state not in (RequestState.PENDING, RequestState.DELAYED):
                continue
            request = raised_request(item.entry.request, entry.request)
            if request is None:
                continue
            count += 1
            item.entry = replace(item.entry, request=request)
            if item.state is RequestState.PENDING:
                changed[item.host, request.lane][item.id] = request.rank
        for (host, lane), ranks in changed.items():
            host.reorder_lane(lane, ranks)
            self._schedule.place_host(host, self._rules)
        return count

    async def count_due(self) -> list[DueCounts]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`. Here it looks at every host."""
        if self._state is not JobState.RUNNING:
            return []
        return count_due(self._schedule, self._delayed, self._rules, self._leases_left, self._clock.now())

    async def revive_letters(self, which: DeadLetterFilter) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        chosen, now = self._find_letters(which), self._clock.now()
        for item in chosen:
            item.reset_counts()
            item.reason, item.died_at = "", 0.0
            item.host.state = politeness.revive_host(item.host.state)
            item.host.begin_waiting(now)
            del self._dead[item.id]
            self._move_item(item, next_state(item.state, RequestTransition.REVIVE))
        if chosen:
            self._state = next_job_state(self._state, JobCommand.REOPEN)
        return len(chosen)

    async def drop_letters(self, which: DeadLetterFilter) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        chosen = self._find_letters(which)
        for item in chosen:
            del self._dead[item.id]
            self._move_item(item, next_state(item.state, RequestTransition.DROP))
        return len(chosen)

    async def bury_letters(self, letters: Sequence[DeadLetter], *, were_dropped: bool) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        count, waiting = 0, {} if were_dropped else self._take_out(letters)
        for letter in letters:
            fingerprint, host = recorded_as(letter.entry), self._schedule.open_host(letter.entry.host)
            item = waiting.get(letter.id)
            if were_dropped and fingerprint in self._known and self._known[fingerprint] is None:
                item = RequestRow(letter.id, letter.entry, host, RequestState.DONE)
                self._known[fingerprint] = item
            if item is None:
                continue
            item.attempts, item.reason, item.died_at = letter.attempts, letter.reason, letter.died_at
            self._move_item(item, next_state(item.state, RequestTransition.BURY))
            count += 1
        return count

    def _take_out(self, letters: Sequence[DeadLetter]) -> dict[int, RequestRow]:
        by_host: defaultdict[str, list[DeadLetter]] = defaultdict(list)
        for letter in letters:
            by_host[letter.entry.host].append(letter)
        hosts = [(self._schedule.open_host(name), ours) for name, ours in by_host.items()]
        return {number: row for host, ours in hosts for number, row in host.take_out(ours).items()}

    # ----------------------------------------------------------------- adding

    def _add_entries(self, entries: Iterable[Entry], now: float) -> AddResult:
        accepted = duplicates = too_deep = 0
        max_depth = self._rules.max_depth
        for entry in entries:
            if max_depth is not None and entry.request.depth > max_depth:
                too_deep += 1
            elif not entry.request.dont_filter and entry.fingerprint in self._known:
                duplicates += 1
            else:
                accepted += 1
                self._admit_entry(entry, now)
        self._duplicates += duplicates
        self._too_deep += too_deep
        return AddResult(accepted=accepted, duplicates=duplicates, too_deep=too_deep)

    def _admit_entry(self, entry: Entry, now: float) -> None:
        host = self._schedule.open_host(entry.host)
        state = next_state(
            None, RequestTransition.ADMIT_LATER if entry.due_at > now else RequestTransition.ADMIT
        )
        item = RequestRow(self._next_id, entry, host, state)
        self._next_id += 1
        self._known[recorded_as(entry)] = item
        self._counts[state] += 1
        if state is RequestState.PENDING:
            host.begin_waiting(now)
        self._insert_item(item)

    # ----------------------------------------------------------------- leasing

    def _hand_out(self, lane: str, limit: int, now: float, ttl_s: float) -> Iterator[Lease]:
        left = self._leases_left(lane)
        limit = limit if left is None else min(limit, left)
        if self._state is not JobState.RUNNING or limit <= 0:
            return
        ready = self._schedule.pop_ready_hosts(lane, limit, now)
        for host in in_turn(ready, self._rules, now):
            yield self._grant_lease(host, lane, now, ttl_s)
            limit -= 1
            if not limit:
                break
        for host in ready:
            self._schedule.place_host(host, self._rules)

    def _grant_lease(self, host: MemoryHost, lane: str, now: float, ttl_s: float) -> Lease:
        _, _, item = heappop(host.queues[lane])
        lease = item.make_lease(self._next_token, self._rules, now, ttl_s)
        self._next_token += 1
        jitter = self._random.random() if self._rules.random_delay else 0.5
        host.take_turn(self._rules, now, lease.deadline, jitter)
        item.lease = lease
        self._leased[lease.token] = item
        heappush(self._deadlines, (lease.deadline, lease.token))
        self._set_state(item, next_state(item.state, RequestTransition.LEASE))
        return lease

    def _promote_due(self, lane: str, now: float) -> None:
        queue = self._delayed[lane]
        for _ in range(ROUND):
            if not queue or queue[0][0] > now:
                break
            due_at, _, item = heappop(queue)
            item.host.begin_waiting(due_at)
            self._move_item(item, next_state(item.state, RequestTransition.COME_DUE))

    def _next_in(self, lane: str) -> float:
        """When the next request of a lane may be leased; infinity: none."""
        is_open = self._state is JobState.RUNNING and self._leases_left(lane) != 0
        return self._first_in(lane) if is_open else inf

    def _first_in(self, lane: str) -> float:
        return min(self._schedule.first_in(lane), *(row[0] for row in self._delayed[lane][:1]), inf)

    def _leases_left(self, lane: str) -> int | None:
        return leases_left(self._rules, self._pages, self._counts[RequestState.LEASED], lane)

    def _is_budget_spent(self) -> bool:
        most = self._rules.max_pages
        return most is not None and self._pages >= most and self._first_in(EXTRACT_LANE) == inf

    # ----------------------------------------------------------------- ending leases

    def _find_held(self, lease: Lease) -> RequestRow | None:
        item = self._leased.get(lease.token)
        return item if item is not None and item.entry.fingerprint == lease.entry.fingerprint else None

    def _end_lease(self, lease: Lease) -> RequestRow | None:
        item = self._find_held(lease)
        if item is not None:
            del self._leased[lease.token]
            item.lease = None
        return item

    def _settle_outcome(self, outcome: Outcome, now: float) -> bool:
        item = self._end_lease(outcome.lease)
        if item is None:
            return False
        failed = item.failures + item.throttled
        self._apply_signal(item, outcome.signal, now, is_page=outcome.is_page, failed=failed)
        item.attempts += 1
        self._pages += outcome.is_page
        if outcome.verdict is Verdict.RETRY:
            item.failures += outcome.charged
            item.throttled += not (outcome.charged or outcome.is_excused)
            item.entry = replace(item.entry, due_at=outcome.due_at)
        elif outcome.verdict is Verdict.REROUTED:
            item.entry = replace(item.entry, request=request_after(outcome))
        item.reason = outcome.reason
        item.died_at = now
        self._move_item(item, state_after(outcome))
        self._add_entries(outcome.outlinks, now)
        return True

    def _apply_signal(
        self, item: RequestRow, signal: HostSignal, now: float, *, is_page: bool, failed: int | None
    ) -> None:
        item.host.state = politeness.settle_lease(
            item.host.state,
            self._rules,
            signal,
            now=now,
            is_page=is_page,
            jitter=self._random.random(),
            mark=politeness.mark_of(item.entry.fingerprint, item.attempts),
            failed=failed,
        )

    def _overdue_items(self, now: float) -> Iterator[RequestRow]:
        """Leases past their deadline; each must have ended before the next is asked for."""
        for _ in range(ROUND):
            if self._first_deadline() > now:
                break
            yield self._leased[self._deadlines[0][1]]

    def _first_deadline(self) -> float:
        heap = self._deadlines
        while heap:
            deadline, token = heap[0]
            item = self._leased.get(token)
            if item is not None and item.lease is not None and item.lease.deadline == deadline:
                return deadline
            heappop(heap)
        return inf

    def _expire_lease(self, item: RequestRow, now: float) -> Lease:
        assert item.lease is not None
        lease = item.lease
        self._end_lease(lease)
        item.attempts += 1
        item.expiries += 1
        item.reason = EXPIRED
        due_at = due_after_expiry(lease.entry.fingerprint, item.expiries, self._rules, now)
        item.entry = replace(item.entry, due_at=due_at)
        item.died_at = now
        item.host.state = politeness.expire_lease(item.host.state)
        self._move_item(item, state_after_expiry(item.expiries, self._rules))
        return replace(lease, host_pause_s=0.0, **dict.fromkeys(_OF_THE_HOST, False))

    # ----------------------------------------------------------------- places

    def _set_state(self, item: RequestRow, state: RequestState) -> None:
        self._counts[item.state] -= 1
        self._counts[state] += 1
        item.state = state

    def _move_item(self, item: RequestRow, state: RequestState) -> None:
        self._set_state(item, state)
        self._insert_item(item)

    def _insert_item(self, item: RequestRow) -> None:
        """Put an item where its state says; its host's turn may have changed with it."""
        request = item.entry.request
        if item.state is RequestState.PENDING:
            heappush(item.host.queues.setdefault(request.lane, []), (request.rank, item.id, item))
        elif item.state is RequestState.DELAYED:
            heappush(self._delayed[request.lane], (item.entry.due_at, item.id, item))
        elif item.state is RequestState.DEAD:
            self._dead[item.id] = item
        elif item.state is RequestState.DONE and self._known[recorded := recorded_as(item.entry)] is item:
            self._known[recorded] = None
        self._schedule.place_host(item.host, self._rules)


def _or_none(at: float) -> float | None:
    return None if at == inf else at
