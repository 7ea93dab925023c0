"""Notifications of alerts: their targets, attempts and expiry. Pure."""

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
GIVEN_UP_S = 3 * 86_400.0
"""News so old are no longer delivered: a weekend is shorter."""
MOST_WAITING = 200
"""News that wait at once: of more, the oldest are given up."""
MOST_TAKEN = 400
"""News of which is known that they were taken."""
MOST_SETTLED = 50
"""News that are shown after they were sent or given up."""
TOO_OLD = "no delivery succeeded within 3 days"
TOO_MANY = f"more than {MOST_WAITING} notifications waited"
NO_TARGET = "the settings no longer name this target"


class PendingNotice(Record, frozen=True, kw_only=True):
    """News that a target has not taken yet."""

    target: str
    notice: AlertNotice
    tries: int = 0
    next_at: Time = 0.0
    error: str = ""  # of the latest try; never a secret

    @property
    def key(self) -> str:
        """The identity of a notification, equal in all processes that find it."""
        return f"{self.target} {self.notice.id}"


class SettledNotice(Record, frozen=True, kw_only=True):
    """News that a target took, or that were given up."""

    target: str
    notice: AlertNotice
    at: Time
    tries: int
    error: str = ""  # why it was given up; empty: the target took it


class NoticeMemory(Record, frozen=True, kw_only=True):
    """News that wait, and which were taken: no target is notified twice, not even after a restart."""

    waiting: tuple[PendingNotice, ...] = ()  # oldest first
    taken: tuple[str, ...] = ()  # keys, oldest first
    settled: tuple[SettledNotice, ...] = ()  # the latest, oldest first


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
    """Add notifications to the memory; give up those that are too old or too many."""
    known = {*memory.taken, *(one.key for one in memory.waiting)}
    fresh = [one for one in new if one.key not in known]
    young = [one for one in (*memory.waiting, *fresh) if one.notice.at > now - GIVEN_UP_S]
    memory = _give_up(memory, (one for one in memory.waiting if one not in young), TOO_OLD, now)
    memory = _give_up(memory, young[:-MOST_WAITING], TOO_MANY, now)
    return replace(memory, waiting=tuple(young[-MOST_WAITING:]))


def resume_notices(kept: NoticeMemory, ours: NoticeMemory, now: float) -> NoticeMemory:
    """Merge the stored memory with notifications added and tried before it could be read."""
    both = NoticeMemory(
        waiting=tuple(one for one in kept.waiting if one.key not in ours.taken),
        taken=(*kept.taken, *ours.taken)[-MOST_TAKEN:],
        settled=(*kept.settled, *ours.settled)[-MOST_SETTLED:],
    )
    return add_notices(both, ours.waiting, now)


def _give_up(memory: NoticeMemory, lost: Iterable[PendingNotice], why: str, now: float) -> NoticeMemory:
    settled = [_settle(one, now, f"{why}; the last error: {one.error}" if one.error else why) for one in lost]
    return replace(memory, settled=(*memory.settled, *settled)[-MOST_SETTLED:])


def _settle(one: PendingNotice, now: float, error: str = "") -> SettledNotice:
    return SettledNotice(target=one.target, notice=one.notice, at=now, tries=one.tries, error=error)


def next_notices(memory: NoticeMemory, now: float) -> list[PendingNotice]:
    """Return the notifications to try now: the oldest of each target, so ends follow their beginnings."""
    first: dict[str, PendingNotice] = {}
    for one in memory.waiting:
        first.setdefault(one.target, one)
    return [one for one in first.values() if one.next_at <= now]


def settle_notice(memory: NoticeMemory, tried: PendingNotice, now: float, *, error: str) -> NoticeMemory:
    """The memory after one was tried: it was taken, or is tried again later, since there was an ``error``."""
    tried = replace(tried, tries=tried.tries + 1, error=error)
    if not error:
        return NoticeMemory(
            waiting=tuple(one for one in memory.waiting if one.key != tried.key),
            taken=(*memory.taken, tried.key)[-MOST_TAKEN:],
            settled=(*memory.settled, _settle(tried, now))[-MOST_SETTLED:],
        )
    pause_s = min(FIRST_PAUSE_S * 2.0 ** min(tried.tries - 1, 30), LONGEST_PAUSE_S)
    later = replace(tried, next_at=now + pause_s)
    return replace(memory, waiting=tuple(later if one.key == tried.key else one for one in memory.waiting))


def drop_targets(memory: NoticeMemory, targets: Container[str], now: float) -> NoticeMemory:
    """The memory without news for targets that are no longer among these."""
    kept, lost = _split_notices(memory, targets)
    return replace(_give_up(memory, lost, NO_TARGET, now), waiting=kept)


def take_over(
    ours: NoticeMemory, theirs: NoticeMemory, targets: Container[str], now: float
) -> tuple[NoticeMemory, NoticeMemory]:
    """Both memories after news that a process left behind were taken over: those for one of our targets."""
    moved, rest = _split_notices(theirs, targets)
    return add_notices(ours, (replace(one, next_at=0.0) for one in moved), now), replace(theirs, waiting=rest)


def _split_notices(
    memory: NoticeMemory, targets: Container[str]
) -> tuple[tuple[PendingNotice, ...], tuple[PendingNotice, ...]]:
    """Split the waiting notifications into those for these targets and the rest."""
    mine = tuple(one for one in memory.waiting if one.target in targets)
    return mine, tuple(one for one in memory.waiting if one.target not in targets)
