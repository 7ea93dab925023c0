"""A host of one job that shares its pace with all jobs of a place: common to memory and SQLite.

Guarantee: a host is read with the latest knowledge of all jobs. A job's changes become visible to the others
when it publishes them (:meth:`PacedHost.publish`); a frontier does so in the transaction that stores them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from gossamer.core.hosts import FREE, FrontierRules, HostState, SharedPace
from gossamer.policy import host_sharing, politeness
from gossamer.policy.domains import adopt_domain

NOTHING_KNOWN = SharedPace()
Paces = dict[str, SharedPace] | None
"""The paces of the hosts of a place, by name: one dict for all its jobs; ``None``: nothing is shared."""


class PaceTable:
    """The paces of the hosts of a place as one job sees them: by its rules and its time."""

    def __init__(self, job: str, paces: Paces, rules: FrontierRules, now: Callable[[], float]) -> None:
        self.job = job
        self.paces = paces
        self.rules = rules
        self.now = now
        self.has_others = True  # jobs that may ask the same hosts; without any, nothing is published


class PacedHost:
    """One host of one job."""

    __slots__ = ("_paces", "_state", "claim", "is_alone", "is_changed", "name", "pace", "turn_at")

    def __init__(self, name: str, state: HostState, paces: PaceTable) -> None:
        is_free = FREE in name
        self.name = name
        self._state = replace(state, is_free=True) if is_free else adopt_domain(state, name, paces.rules)
        self._paces = None if is_free or paces.paces is None else paces  # None: not shared
        self.pace = NOTHING_KNOWN
        self.claim = host_sharing.claim_of(NOTHING_KNOWN, paces.job)
        self.turn_at = 0.0  # when the turn began that was taken and is not published yet
        self.is_changed = False
        self.is_alone = False  # as far as is known from ``pace``

    @property
    def state(self) -> HostState:
        """The host as the job sees it now."""
        paces = self._paces
        if self.is_changed or paces is None or paces.paces is None:
            return self._state
        pace = paces.paces.get(self.name)
        if pace is not None and not (self.is_alone and pace is self.pace):
            self._join_pace(pace, paces)
        return self._state

    @state.setter
    def state(self, state: HostState) -> None:
        self._state = state
        self.is_changed = True

    def _join_pace(self, pace: SharedPace, paces: PaceTable) -> None:
        self.pace, self.claim = pace, host_sharing.claim_of(pace, paces.job)
        self.is_alone = host_sharing.is_alone(pace, paces.job)
        if not self.is_alone:
            self._state = host_sharing.join_host(self._state, pace, paces.job, paces.rules, paces.now())
        elif self._state.taken:
            self._state = replace(self._state, taken=0)

    @property
    def report(self) -> HostState:
        """The host's state for people, with the current requests of other jobs."""
        paces = self._paces
        if paces is None or paces.paces is None or (pace := paces.paces.get(self.name)) is None:
            return self._state
        return host_sharing.merge_pace(self._state, pace, paces.now())

    def adopt_rules(self, rules: FrontierRules) -> None:
        """Other rules are in force: they may say something else of its domain."""
        self.state = adopt_domain(self.state, self.name, rules)

    def take_turn(self, rules: FrontierRules, now: float, deadline: float, jitter: float) -> None:
        """A request is handed out now, under a lease until ``deadline``; ``jitter`` is for a drawn delay."""
        before = self.state
        self.state = politeness.grant_lease(before, rules, now, jitter)
        if self._paces is not None and (self._paces.has_others or self.pace is not NOTHING_KNOWN):
            self.turn_at = self._state.next_at - politeness.draw_delay(before, rules, jitter)
            until = max(self.claim.until, deadline)
            self.claim = replace(self.claim, until=until, started_at=now, waits_until=0.0)

    def miss_turn(self, rules: FrontierRules, now: float) -> None:
        """Its turn has come for the job, and another one has taken it."""
        self.state = host_sharing.wait_for_turn(self.state, rules, now)
        self.claim = replace(self.claim, waits_until=host_sharing.left_until(self._state, rules))

    def keep_lease(self, deadline: float) -> None:
        """A lease of it is valid until ``deadline``."""
        self.state = self.state
        self.claim = replace(self.claim, until=max(self.claim.until, deadline))

    def publish(self) -> SharedPace | None:
        """Return the new common knowledge of the host; ``None`` if it is not shared or has not changed."""
        is_changed, self.is_changed = self.is_changed, False
        paces = self._paces
        if not is_changed or paces is None or paces.paces is None:
            return None
        if not (paces.has_others or self.name in paces.paces):
            return None
        self.claim = replace(
            self.claim, in_flight=self._state.in_flight, slots=politeness.slots_of(self._state, paces.rules)
        )
        self.pace = host_sharing.split_host(self._state, self.pace, self.claim, self.turn_at, paces.now())
        paces.paces[self.name], self.turn_at = self.pace, 0.0
        self.is_alone = host_sharing.is_alone(self.pace, paces.job) and not self._state.taken
        return self.pace
