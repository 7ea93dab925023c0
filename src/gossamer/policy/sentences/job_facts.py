"""The facts about a job, and the one situation that its first sentence is about. Pure.

Every display of a job (log, ``status``, ``top``, dashboard, API) takes its sentences from these facts. The
situations are looked for in the order of their table: the first that holds is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from gossamer.core.jobs import DueCounts
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.record import Record
from gossamer.policy.goals import ListingGoal
from gossamer.policy.pace_limit import DelayReason, PaceLimit
from gossamer.policy.time_left import TimeEstimate
from gossamer.policy.troubles import Trouble, TroubleKind

YOUNG_S = 5.0
"""Seconds for which a job counts as just begun, without a known pace."""
SOON_S = 5.0
"""Seconds within which a host's turn comes; requests that wait longer have times of their own."""
LED_LATELY_S = 60.0
"""A supervisor that led so lately may lead again, or another one in its place."""


class SlowHost(Record, frozen=True, kw_only=True):
    """The host that decides when a job is done."""

    host: str
    pending: int
    delay_s: float
    why: DelayReason
    empties_s: float
    others_s: float | None = None  # when all other hosts are finished; None: none, or unknown


class ObservedJobFacts(Record, frozen=True, kw_only=True):
    """Facts for the sentences about a job, all of one moment. Rates are per second."""

    id: str
    state: JobState
    now: float
    created_at: float
    end_reason: FinishReason | None = None  # of the last run; None: there is none, or it runs
    end_error: str = ""
    unreadable: str = ""  # why its requests cannot be read: the queue is then unknown
    unwritable: str = ""  # why the place of its requests takes no changes
    away: str = ""  # a service that it needs and that does not answer, by its name
    is_fleet: bool = False
    is_at_work: bool = True  # a process works on it, or could
    has_supervisor: bool = True
    led_s_ago: float | None = None  # since a supervisor led; None: that is not known
    has_roster: bool = True  # of its fleet: else its workers are not known
    has_workers: bool = True  # that take a lane of the job
    silent_workers: int = 0  # of those that take a lane of it, if none is there
    paused_workers: int = 0
    refusing: int = 0  # workers that take a lane of it and cannot do it, if none can
    refusal: str = ""  # why they cannot
    unserved: tuple[DueCounts, ...] = ()  # requests ready to start on lanes without workers
    is_forgotten: bool = False  # it is over, and its requests are no longer kept
    limit: PaceLimit | None = None
    attempts: int = 0
    answered: int = 0  # requests that were answered and handled without a fault
    pages: int = 0
    items: int = 0
    dropped: Mapping[str, int] = {}  # items that were not taken, by the reason
    waiting: int = 0
    dead: int = 0
    max_pages: int | None = None
    pages_per_s: float | None = None
    allowed_per_s: float | None = None
    left: TimeEstimate = TimeEstimate()  # how long it still takes
    hosts: int = 0  # for which requests wait
    held: Mapping[DelayReason, int] = {}  # hosts that are not asked for now, by the reason
    held_until: float | None = None  # when the first of these may be asked again
    slowed: int = 0  # hosts that refused faster requests
    closed: str = ""  # the first host that is closed by its robots.txt, and until when
    has_lost_proxies: bool = False  # none of the proxies is usable; the job may run without them
    troubled: str = ""  # the host that has answered nothing well for longest, since when
    next_at: float | None = None  # when the next request may start
    due: int = 0  # requests that may start now
    more_workers: int = 0  # that would have something to do
    slots: int = 0  # of the workers that take a lane of it
    store: str = "the store"  # by its name
    store_lag_s: float = 0.0
    slowest: SlowHost | None = None
    goals: tuple[ListingGoal, ...] = ()  # how many of something the site announces, and how many there are
    needs: tuple[Trouble, ...] = ()  # problems that need a person, the worst first

    @property
    def held_hosts(self) -> int:
        """Hosts that are not asked for now."""
        return sum(self.held.values())


class JobSituation(StrEnum):
    """The subject of the first sentence about a job."""

    PAUSED = "paused"  # a person paused it
    CANCELLED = "cancelled"  # a person gave it up
    NO_PAGE = "no_page"  # it is finished, and no request was answered well
    ALL_DROPPED = "all_dropped"  # it is finished, and every item was dropped
    LOSSES = "losses"  # it is finished, and some requests were given up
    FINISHED = "finished"  # nothing is left to fetch, and nothing was given up
    UNREADABLE = "unreadable"  # the place of its requests cannot be read
    BUDGET_SPENT = "budget_spent"  # a budget is spent, of pages, items, errors, money or bytes
    TIME_SPENT = "time_spent"  # its budget of time is spent
    ONLY_SKIPPED = "only_skipped"  # it ended, and all that waits is of hosts that a person skips
    ENDED_BY_SPIDER = "ended_by_spider"  # its spider stopped it
    FAILED = "failed"  # it ended with an error
    START_FAILED = "start_failed"  # its start failed before it had a request
    INTERRUPTED = "interrupted"  # its process ended without recording a reason
    STOPPED = "stopped"  # stopped by a person
    UNWRITABLE = "unwritable"  # its place takes no changes: read-only, out of memory, or a full disk
    AWAY = "away"  # a service that it needs does not answer
    JUST_BEGUN = "just_begun"  # it is a few seconds old
    NO_PROCESS = "no_process"  # no process crawls it
    LEADER_CHANGES = "leader_changes"  # no supervisor leads at this moment; one did less than a minute ago
    NO_SUPERVISOR = "no_supervisor"  # no supervisor leads the fleet
    NO_WORKER = "no_worker"  # no worker takes a lane of it
    REFUSED = "refused"  # workers are there, and none of them can do it
    NO_LANE = "no_lane"  # the ready requests are on a lane without workers
    SKIPPED = "skipped"  # a person skips all hosts for which requests wait
    CLOSED = "closed"  # a robots.txt cannot be fetched, and no other host may be asked
    ASKED_FOR_TIME = "asked_for_time"  # all of its hosts asked for time (Retry-After)
    REFUSES = "refuses"  # all of its hosts refuse requests, and are asked again after pauses that grow
    SILENT = "silent"  # none of its hosts answers
    ON_HOLD = "on_hold"  # a person put all of its hosts on hold
    LEFT_ALONE = "left_alone"  # no host may be asked for now, for different reasons
    STALLED = "stalled"  # work is due, and nothing was tried for a long time
    NOT_BEGUN = "not_begun"  # no request has been tried yet
    STORE_SLOW = "store_slow"  # results are stored more slowly than they come
    SLOTS_BUSY = "slots_busy"  # hosts allow more than the slots of the fleet's workers can do
    CONCURRENCY = "concurrency"  # hosts allow more than the crawl may have in flight
    NOT_DUE = "not_due"  # waiting requests have later times, such as that of a retry
    THROTTLED = "throttled"  # all of its hosts refused faster requests
    POLITENESS = "politeness"  # its hosts allow no more
    UNDER_WAY = "under_way"  # nothing that is known holds it up


Rule = Callable[[ObservedJobFacts], bool]
BUDGETS = (FinishReason.MAX_PAGES, FinishReason.BUDGET, FinishReason.MAX_ITEMS, FinishReason.MAX_ERRORS)
"""Ends by budgets other than that of time."""


def _is_over(f: ObservedJobFacts) -> bool:
    return f.state is JobState.FINISHED


def _ended_by(*reasons: FinishReason) -> Rule:
    """A run ended for one of these reasons, with work left."""
    return lambda f: f.end_reason in reasons and not f.is_at_work


def _is_left_alone(f: ObservedJobFacts) -> bool:
    """No host may be asked; one may have been let go since that was found."""
    return f.limit is PaceLimit.HELD and f.held_hosts > 0


def _held_by(why: DelayReason) -> Rule:
    """All hosts are left alone for the same reason."""
    return lambda f: _is_left_alone(f) and f.held.get(why, 0) == f.held_hosts


def has_led_lately(led_s_ago: float | None) -> bool:
    """Whether a supervisor led a moment ago; ``None``: it is not known when one did."""
    return led_s_ago is not None and led_s_ago < LED_LATELY_S


def _is_elsewhere(f: ObservedJobFacts) -> bool:
    """Something may start now on a lane that workers take."""
    return f.due > sum(one.requests for one in f.unserved)


def _is_later(f: ObservedJobFacts) -> bool:
    return f.waiting > 0 and f.next_at is not None and f.next_at > f.now + SOON_S


RULES: Mapping[JobSituation, Rule] = {
    JobSituation.PAUSED: lambda f: f.state is JobState.PAUSED,
    JobSituation.CANCELLED: lambda f: f.state is JobState.CANCELLED,
    JobSituation.NO_PAGE: lambda f: _is_over(f) and not f.pages and not f.answered,
    JobSituation.ALL_DROPPED: lambda f: _is_over(f) and bool(f.dropped) and not f.items,
    JobSituation.LOSSES: lambda f: _is_over(f) and f.dead > 0,
    JobSituation.FINISHED: _is_over,
    JobSituation.UNREADABLE: lambda f: bool(f.unreadable),
    JobSituation.BUDGET_SPENT: lambda f: (
        _ended_by(*BUDGETS)(f) or (f.end_reason is None and f.limit is PaceLimit.BUDGET)
    ),
    JobSituation.TIME_SPENT: _ended_by(FinishReason.MAX_TIME),
    JobSituation.ONLY_SKIPPED: _ended_by(FinishReason.SKIPPED),
    JobSituation.ENDED_BY_SPIDER: _ended_by(FinishReason.STOPPED),
    JobSituation.FAILED: _ended_by(FinishReason.ERROR),
    JobSituation.START_FAILED: _ended_by(FinishReason.NOT_BEGUN),
    JobSituation.INTERRUPTED: _ended_by(FinishReason.INTERRUPTED),
    JobSituation.STOPPED: _ended_by(*FinishReason),
    JobSituation.UNWRITABLE: lambda f: bool(f.unwritable),
    JobSituation.AWAY: lambda f: bool(f.away),
    JobSituation.JUST_BEGUN: lambda f: f.now - f.created_at < YOUNG_S,
    JobSituation.NO_PROCESS: lambda f: not f.is_fleet and not f.is_at_work,
    JobSituation.LEADER_CHANGES: lambda f: (
        f.is_fleet and not f.has_supervisor and has_led_lately(f.led_s_ago)
    ),
    JobSituation.NO_SUPERVISOR: lambda f: f.is_fleet and not f.has_supervisor,
    JobSituation.NO_WORKER: lambda f: f.is_fleet and not f.has_workers,
    JobSituation.REFUSED: lambda f: f.is_fleet and f.refusing > 0,
    JobSituation.NO_LANE: lambda f: f.is_fleet and bool(f.unserved) and not _is_elsewhere(f),
    JobSituation.SKIPPED: _held_by(DelayReason.SKIPPED),
    JobSituation.CLOSED: lambda f: _is_left_alone(f) and bool(f.closed),
    JobSituation.ASKED_FOR_TIME: _held_by(DelayReason.RETRY_AFTER),
    JobSituation.REFUSES: _held_by(DelayReason.BACKOFF),
    JobSituation.SILENT: _held_by(DelayReason.DOWN),
    JobSituation.ON_HOLD: _held_by(DelayReason.HOLD),
    JobSituation.LEFT_ALONE: _is_left_alone,
    JobSituation.STALLED: lambda f: any(one.kind is TroubleKind.STALLED for one in f.needs),
    JobSituation.NOT_BEGUN: lambda f: not f.attempts,
    JobSituation.STORE_SLOW: lambda f: f.limit is PaceLimit.STORE,
    JobSituation.SLOTS_BUSY: lambda f: f.is_fleet and f.limit is PaceLimit.WORKERS,
    JobSituation.CONCURRENCY: lambda f: f.limit is PaceLimit.WORKERS,
    JobSituation.NOT_DUE: lambda f: f.limit is PaceLimit.NOTHING_DUE and _is_later(f),
    JobSituation.THROTTLED: lambda f: f.limit is PaceLimit.POLITENESS and 0 < f.hosts <= f.slowed,
    JobSituation.POLITENESS: lambda f: f.limit is PaceLimit.POLITENESS,
    JobSituation.UNDER_WAY: lambda f: True,
}
"""From what facts each situation follows, if none before it does."""


def find_situation(facts: ObservedJobFacts) -> JobSituation:
    """The situation of a job: the first that holds, in the order of their table."""
    return next(situation for situation, holds in RULES.items() if holds(facts))


REFUTED: Mapping[TroubleKind, Rule] = {
    TroubleKind.NO_SUPERVISOR: lambda f: not f.is_fleet or f.has_supervisor,
    TroubleKind.NO_WORKER: lambda f: (
        not f.is_fleet or (f.has_roster and f.has_workers and not f.unserved and not f.refusing)
    ),
    TroubleKind.UNREADABLE: lambda f: not f.unreadable,
    TroubleKind.FAILED: lambda f: f.end_reason is not FinishReason.ERROR,
    TroubleKind.DEAD_LETTERS: lambda f: not f.dead,
    TroubleKind.STALLED: lambda f: f.state is not JobState.RUNNING,
}
"""From what facts follows that a trouble is over, though its alert lasts for a moment longer."""


def drop_refuted(facts: ObservedJobFacts, troubles: Iterable[Trouble]) -> list[Trouble]:
    """The troubles that the facts of this moment do not contradict."""
    return [one for one in troubles if one.kind not in REFUTED or not REFUTED[one.kind](facts)]


MOVING = frozenset(
    {
        JobSituation.JUST_BEGUN,
        JobSituation.NOT_BEGUN,
        JobSituation.CONCURRENCY,
        JobSituation.SLOTS_BUSY,
        JobSituation.THROTTLED,
        JobSituation.POLITENESS,
        JobSituation.UNDER_WAY,
    }
)
"""Situations in which a job takes care of itself."""


FORESEEN = MOVING | {JobSituation.STORE_SLOW}
"""Situations in which a time left may be shown: it assumes that the job continues at its pace."""


def is_end_foreseen(facts: ObservedJobFacts) -> bool:
    """Whether a time left may be shown for a job."""
    return find_situation(facts) in FORESEEN


HOLDING_UP = frozenset({TroubleKind.HELD, TroubleKind.HOST_FAILS})
"""Troubles that need no person, and that keep a job from something that it asks for."""


def is_held_up(facts: ObservedJobFacts, troubles: Iterable[Trouble] = ()) -> bool:
    """Whether a job that runs lacks something that it asks for, where it has these troubles."""
    gets_nothing = facts.has_lost_proxies or bool(facts.troubled)
    lacks = gets_nothing or any(one.kind in HOLDING_UP for one in troubles)
    return lacks or find_situation(facts) not in MOVING
