"""Alerts: problems that have lasted long enough to be reported, until they have been over for long enough.

Pure. A problem found at one check is a *reading*. A reading that stays bad begins an alert, and the alert
ends when its readings have stayed good. Between bad and good lies a band in which nothing changes, so a value
that wavers at a threshold is reported once. An alert whose subject could not be checked stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec.structs import replace

from gossamer.core.record import Record, Time
from gossamer.policy.troubles import Trouble, TroubleKind, make_trouble

MOST_ALERTS = 200
"""States that are kept of one job, or of one place: of more, the latest are not taken up."""

STILL_S = 30.0
"""Last part of ``stalled_s`` in which work must be due at every check before it is reported: a paused host's
work is due for moments only."""

AlertKey = tuple[TroubleKind, str, str]
"""The subject of an alert: its kind, the job, and further details."""


class AlertRules(Record, frozen=True, kw_only=True):
    """Limits at which problems are reported. A limit of 0 turns its rule off."""

    holds_s: float = 300.0  # a problem is reported when it has lasted this long
    clears_s: float = 60.0  # ... and is over when it has been gone for so long
    window_s: float = 900.0  # in which dead letters and failures are counted
    dead_letters: int = 20  # new ones in the window
    dead_share: float = 0.05  # ... if they are more than this share of the attempts
    host_failures: float = 0.5  # the share of attempts at one host that fail
    host_attempts: int = 50  # ... of at least this many
    no_items_pages: int = 100  # pages since the latest item
    stalled_s: float = 120.0  # without an attempt, although work is due
    no_success_s: float = 900.0  # a host that is asked answers nothing well
    growing: int = 10_000  # requests that wait, and a tenth more than an hour ago
    store_lag_s: float = 5.0
    budget_share: float = 0.9
    redis_memory_share: float = 0.85
    no_worker_s: float = 120.0
    no_supervisor_s: float = 60.0
    away_s: float = 30.0

    def holds_for(self, kind: TroubleKind) -> float:
        """The seconds that a trouble of this kind has to last."""
        own = _PATIENCE.get(kind)
        return own(self) if own else self.holds_s


_PATIENCE: Mapping[TroubleKind, Callable[[AlertRules], float]] = {
    TroubleKind.NO_WORKER: lambda rules: rules.no_worker_s,
    TroubleKind.NO_SUPERVISOR: lambda rules: rules.no_supervisor_s,
    TroubleKind.AWAY: lambda rules: rules.away_s,
    TroubleKind.STALLED: lambda rules: STILL_S,
    TroubleKind.NO_SUCCESS: lambda rules: 0.0,  # it has lasted for ``no_success_s`` already
    TroubleKind.IDLE_WORKER: lambda rules: rules.no_worker_s,
    TroubleKind.FAILED: lambda rules: 0.0,
    TroubleKind.TRAP: lambda rules: 0.0,
    TroubleKind.BUDGET: lambda rules: 0.0,
}


class ReadingState(StrEnum):
    """The state of a rule's subject."""

    BAD = "bad"
    UNSURE = "unsure"  # between bad and well: nothing changes
    WELL = "well"


class AlertReading(Record, frozen=True, kw_only=True):
    """The result of one check of one subject."""

    kind: TroubleKind
    who: str
    text: str  # the problem in one sentence
    job: str = ""  # "": the problem concerns no job
    state: ReadingState = ReadingState.BAD
    is_certain: bool = False  # reported at once

    @property
    def key(self) -> AlertKey:
        """The subject."""
        return self.kind, self.job, self.who


class AlertState(Record, frozen=True, kw_only=True):
    """An alert, or a problem that may become one."""

    kind: TroubleKind
    who: str
    text: str  # as of the latest bad reading
    job: str = ""
    bad_since: Time
    well_since: Time | None = None  # None: it is not well now
    began_at: Time | None = None  # when it was reported; None: not an alert yet
    is_certain: bool = False  # reported at once

    @property
    def key(self) -> AlertKey:
        """The subject."""
        return self.kind, self.job, self.who

    @property
    def is_active(self) -> bool:
        """Whether it is an alert."""
        return self.began_at is not None

    def as_trouble(self) -> Trouble:
        """The same for people."""
        return make_trouble(self.kind, self.who, self.text, since=self.bad_since, job=self.job, is_alert=True)


class AlertChanges(Record, frozen=True, kw_only=True):
    """Changes of alerts by one check."""

    states: tuple[AlertState, ...] = ()
    begun: tuple[AlertState, ...] = ()
    ended: tuple[AlertState, ...] = ()


def judge_readings(
    states: Sequence[AlertState],
    readings: Iterable[AlertReading],
    rules: AlertRules,
    now: float,
    *,
    unread: Iterable[TroubleKind] = (),
) -> AlertChanges:
    """Decide which alerts begin and end by a check.

    Readings cover everything that could be checked: a subject without one is good, except for the kinds
    ``unread``.
    """
    found = {reading.key: reading for reading in readings}
    blind = frozenset(unread)
    kept: list[AlertState] = []
    begun: list[AlertState] = []
    ended: list[AlertState] = []
    for state in states:
        reading = found.pop(state.key, None)
        if reading is None and state.kind in blind:
            kept.append(state)
            continue
        after = _note_reading(state, reading, now)
        if after.well_since is not None and (not after.is_active or now - after.well_since >= rules.clears_s):
            if after.is_active:
                ended.append(after)
            continue
        kept.append(after)
    room = max(MOST_ALERTS - len(kept), 0)
    kept += [_first_state(reading, now) for reading in found.values() if reading.state is ReadingState.BAD][
        :room
    ]
    for number, state in enumerate(kept):
        if state.is_active or state.well_since is not None or not _has_lasted(state, rules, now):
            continue
        kept[number] = replace(state, began_at=now)
        begun.append(kept[number])
    return AlertChanges(states=tuple(kept), begun=tuple(begun), ended=tuple(ended))


def _first_state(reading: AlertReading, now: float) -> AlertState:
    return AlertState(
        kind=reading.kind,
        who=reading.who,
        text=reading.text,
        job=reading.job,
        bad_since=now,
        is_certain=reading.is_certain,
    )


def _note_reading(state: AlertState, reading: AlertReading | None, now: float) -> AlertState:
    """The state after a look at its thing; without a reading it is well."""
    if reading is not None and reading.state is ReadingState.BAD:
        is_certain = state.is_certain or reading.is_certain
        return replace(state, text=reading.text, well_since=None, is_certain=is_certain)
    if reading is not None and reading.state is ReadingState.UNSURE:
        return state
    return replace(state, well_since=now if state.well_since is None else state.well_since)


def _has_lasted(state: AlertState, rules: AlertRules, now: float) -> bool:
    return state.is_certain or now - state.bad_since >= rules.holds_for(state.kind)
