"""News of alerts on their way to targets: who is told what, when it is tried, when it is given up. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from msgspec.structs import replace

from gossamer.core.alerts import AlertChange, AlertNotice
from gossamer.core.record import Record, Time
from gossamer.policy.alerts import AlertChanges, AlertState
from gossamer.policy.troubles import SEVERITIES, Severity, name_trouble, ways_out

FIRST_PAUSE_S = 5.0
"""After a delivery that failed; twice as long each time."""
LONGEST_PAUSE_S = 600.0
GIVEN_UP_S = 86_400.0
"""News so old are no longer delivered."""
MOST_WAITING = 200
"""News that wait at once: of more, the oldest are given up."""
MOST_TAKEN = 400
"""News of which is known that they were taken."""


class PendingNotice(Record, frozen=True, kw_only=True):
    """News that a target has not taken yet."""

    target: str
    notice: AlertNotice
    tries: int = 0
    next_at: Time = 0.0

    @property
    def key(self) -> str:
        """The same for the same news and the same target, whoever found them."""
        return f"{self.target} {self.notice.id}"


class NoticeMemory(Record, frozen=True, kw_only=True):
    """News that wait, and which were taken: nobody is told twice, not even after a restart."""

    waiting: tuple[PendingNotice, ...] = ()  # oldest first
    taken: tuple[str, ...] = ()  # keys, oldest first


def make_notices(
    changes: AlertChanges, targets: Mapping[str, Iterable[Severity]], place: str, now: float
) -> list[PendingNotice]:
    """The news of a look, for each target that wants to know of troubles of their severity."""
    news = [(AlertChange.BEGUN, state) for state in changes.begun]
    news += [(AlertChange.ENDED, state) for state in changes.ended]
    return [
        PendingNotice(target=target, notice=_describe_change(change, state, place, now))
        for change, state in news
        for target, wanted in targets.items()
        if SEVERITIES[state.kind] in wanted
    ]


def _describe_change(change: AlertChange, state: AlertState, place: str, now: float) -> AlertNotice:
    at_end = state.is_certain  # found of all items of a job, once it had ended
    ways = ways_out(state.kind, state.job, state.who, is_over=at_end, is_alert=at_end)
    return AlertNotice(
        id=f"{name_trouble(*state.key)}:{state.bad_since:.3f}:{change}",
        change=change,
        alert=state.kind.value,
        severity=SEVERITIES[state.kind].value,
        text=state.text,
        place=place,
        who=state.who,
        job=state.job,
        since=state.bad_since,
        at=now,
        ways=tuple(way.command for way in ways if way.command) if change is AlertChange.BEGUN else (),
    )


def add_notices(memory: NoticeMemory, new: Iterable[PendingNotice], now: float) -> NoticeMemory:
    """The memory with more that waits, and without what is too old or too much."""
    known = {*memory.taken, *(one.key for one in memory.waiting)}
    fresh = [one for one in new if one.key not in known]
    kept = [one for one in (*memory.waiting, *fresh) if one.notice.at > now - GIVEN_UP_S]
    return replace(memory, waiting=tuple(kept[-MOST_WAITING:]))


def next_notices(memory: NoticeMemory, now: float) -> list[PendingNotice]:
    """What is to be tried now: the oldest for each target, so that an end never overtakes its beginning."""
    first: dict[str, PendingNotice] = {}
    for one in memory.waiting:
        first.setdefault(one.target, one)
    return [one for one in first.values() if one.next_at <= now]


def settle_notice(memory: NoticeMemory, tried: PendingNotice, now: float, *, is_taken: bool) -> NoticeMemory:
    """The memory after one was tried: it was taken, or is tried again later."""
    if is_taken:
        waiting = tuple(one for one in memory.waiting if one.key != tried.key)
        return NoticeMemory(waiting=waiting, taken=(*memory.taken, tried.key)[-MOST_TAKEN:])
    pause_s = min(FIRST_PAUSE_S * 2.0 ** min(tried.tries, 30), LONGEST_PAUSE_S)
    later = replace(tried, tries=tried.tries + 1, next_at=now + pause_s)
    return replace(memory, waiting=tuple(later if one.key == tried.key else one for one in memory.waiting))


def drop_targets(memory: NoticeMemory, targets: Container[str]) -> NoticeMemory:
    """The memory without news for targets that are no longer among these."""
    return replace(memory, waiting=tuple(one for one in memory.waiting if one.target in targets))
