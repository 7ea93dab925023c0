"""The records of a fleet's workers and shifts, as ``status`` shows them.

A *worker* is a process that takes shifts; a *shift* is a bounded period of work of one worker on one lane
of one job; *seeding* a job is a shift of the lane ``seed``. All of it may be lost without harm: workers
register again by their next beat, and the supervisor asks for shifts anew.

Times are the roster's own (one clock for all machines): compare them with ``RosterView.at``, not with a
local clock.
"""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.record import Record

SEED_LANE = "seed"
"""The lane of the shifts that add a job's first requests."""

PAGE_LANE = "http"
"""The lane of requests that ask for no other."""

BROWSER_LANE = "browser"
"""The lane of requests that need a browser, on fleets that have it."""


EXTRACT_LANE = "extract"
"""The lane of pages that are fetched and archived, and whose callback has not been run."""


class WorkerState(StrEnum):
    """The readiness of a worker for shifts."""

    WORKING = "working"
    DRAINING = "draining"  # it finishes its leases and leaves
    PAUSED = "paused"  # it takes no shifts until it is resumed


SILENT_S = 10.0
"""A worker without a beat for so long is not there."""


class WorkerInfo(Record, frozen=True, kw_only=True):
    """A worker process, as it describes itself with every beat."""

    id: str  # ``host:pid:random``
    slots: int  # shifts that it works on at the same time
    lanes: tuple[str, ...]  # the kinds of shifts that it takes; ``seed`` must be among them to seed jobs
    host: str = ""  # the machine's name
    pid: int = 0
    version: str = ""  # of Gossamer
    state: WorkerState = WorkerState.WORKING
    started_at: float = 0.0
    beat_at: float = 0.0  # its latest beat; set by the roster
    memory_bytes: int = 0  # of its process, by its latest beat; 0: not known
    ahead_s: float | None = None  # its machine's clock is so far ahead of the roster's (negative: behind)

    def is_silent(self, at: float) -> bool:
        """Whether its beats stay away, by the roster's clock."""
        return self.beat_at + SILENT_S <= at


class ShiftState(StrEnum):
    """Where a shift stands."""

    ASKED = "asked"  # published; no worker has begun it
    WORKING = "working"
    LOST = "lost"  # its worker is gone, and its leases are not returned yet


class EndReason(StrEnum):
    """Why a shift ended, or shall end."""

    IDLE = "idle"  # nothing was due any more
    TIME = "time"  # it was as long as a shift may be
    SEEDED = "seeded"  # a shift of the lane ``seed`` is through
    YIELD = "yield"  # another job has no slot
    STOPPED = "stopped"  # its job does not run (paused, cancelled, over)
    DRAINED = "drained"  # its worker drains or is paused
    REFUSED = "refused"  # this worker cannot do this job (another version of the spider, cannot import it)
    FAILED = "failed"  # storage trouble or an error
    LOST = "lost"  # it was declared dead: its beats stayed away, or its worker is gone


class Shift(Record, frozen=True, kw_only=True):
    """One shift. The worker's beats update ``pages`` and ``in_flight``."""

    id: str  # also the owner of its leases in the frontier
    job: str
    lane: str
    tag: str = ""  # of the job: its id is that of another one in another store
    state: ShiftState = ShiftState.ASKED
    asked_at: float = 0.0
    expires_at: float = 0.0  # discarded if it has not begun by then
    worker: str = ""  # the id of the worker that began it
    began_at: float = 0.0
    beat_at: float = 0.0  # set by the roster
    pages: int = 0  # results that were recorded
    in_flight: int = 0  # leases in its hands
    recalled: EndReason | None = (
        None  # it shall stop for this reason; its worker hears of it with its next beat
    )


class ShiftResult(Record, frozen=True, kw_only=True):
    """How a shift ended."""

    id: str  # of the shift
    job: str
    lane: str
    why: EndReason
    detail: str = ""  # for people: what went wrong, the way out; never a secret
    pages: int = 0
    visits: int = 0  # that it made, whatever became of them
    worker: str = ""
    at: float = 0.0  # set by the roster
    clean: bool = True  # False: it may hold leases still, which the supervisor takes back


class LaneHealth(Record, frozen=True, kw_only=True):
    """The record of a job's recent shifts on one lane."""

    job: str
    lane: str
    failures: int = 0  # shifts in a row that failed, or were lost before their first page
    empties: int = 0  # shifts in a row that found nothing to do
    at: float = 0.0  # when the last of them ended; 0: never
    why: EndReason | None = None  # how the last shift ended
    detail: str = ""  # the last trouble, until a shift does well
    refused_by: tuple[str, ...] = ()  # the workers of the roster that cannot do it


class JobSample(Record, frozen=True, kw_only=True):
    """A job at one time, for rates and for the time it still needs."""

    at: float
    pages: int = 0  # of the job, so far
    waiting: int = 0  # requests that still have to be done
    settled: int = 0  # requests that are done, dead letters among them
    is_seeded: bool = False  # its start had given all of its requests
    attempts: int = 0
    items: int = 0  # found, those that the job had already among them
    dead: int = 0  # dead letters that there are
    answers: int = 0
    latency_sum_s: float = 0.0  # of all answers, until their bodies had arrived
    listed: int = 0  # things that the site announces; 0: it announces none
    listed_done: int = 0  # how many of them there are
    trouble: str = ""  # for people: why it cannot be read, or why no worker has it


class FleetStore(Record, frozen=True, kw_only=True):
    """The store that a fleet works with."""

    id: str  # as ``JobStore.read_identity`` gives it
    place: str  # for people, without secrets


class RosterView(Record, frozen=True, kw_only=True):
    """Everything at one time, as ``Roster.read_roster`` shows it."""

    at: float  # the roster's time
    leader: str = ""  # the supervisor that leads; empty: none
    store: FleetStore | None = None  # None: no process has named one yet
    workers: tuple[WorkerInfo, ...] = ()  # those of the last minutes, the dead included: see ``beat_at``
    shifts: tuple[Shift, ...] = ()
    standings: tuple[LaneHealth, ...] = ()
    ends: tuple[ShiftResult, ...] = ()  # the latest, newest first
    samples: dict[str, tuple[JobSample, ...]] = {}  # by job, oldest first
