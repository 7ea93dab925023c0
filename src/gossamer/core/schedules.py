"""Crawls that begin by themselves at set times, and their runs."""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.record import Record, Time

SCHEDULER_LOCK = "scheduler"
"""The lock that a data directory's scheduler holds."""


class OverlapRule(StrEnum):
    """The rule for a run that is due while an earlier one of its schedule still runs."""

    SKIP = "skip"  # it is left out
    QUEUE = "queue"  # it waits for the end of the earlier one; a second one that would wait is left out


class CatchUpRule(StrEnum):
    """The rule for due times that passed while no scheduler was running."""

    ONE = "one"  # the latest of them is made up, once
    NONE = "none"  # they are noted as missed


class RunOutcome(StrEnum):
    """How a run of a schedule ended."""

    FINISHED = "finished"  # its crawl did all that it was to do, or all that a limit let it do
    STOPPED = "stopped"  # its crawl was cancelled or stopped, or a budget was spent
    FAILED = "failed"  # its crawl could not be started, or ended with an error
    SKIPPED = "skipped"  # an earlier crawl was not over
    MISSED = "missed"  # no scheduler was running


class Schedule(Record, frozen=True, kw_only=True):
    """The times, target and settings of a recurring crawl. Holds no secrets."""

    name: str  # unique in its store
    cron: str  # five fields: minute, hour, day of month, month, day of week
    zone: str = "UTC"  # whose clocks the fields mean: a name of the IANA database
    target: str  # a URL, a spider's name, ``FILE.py:Class``
    arguments: dict[str, str] = {}  # of the spider
    options: tuple[tuple[str, str], ...] = ()  # settings of the crawl: full name, and text as after ``-s``
    folder: str = ""  # in which the crawl begins, on one machine
    place: str = ""  # whose crawls they are: ``fleet NAME``, or what tells a data directory from others
    job_name: str = ""  # the name that its jobs have
    job_target: str = ""  # what its jobs say they crawl, by which one machine locks
    overlap: OverlapRule = OverlapRule.SKIP
    catch_up: CatchUpRule = CatchUpRule.ONE
    jitter_s: float = 0.0  # a run begins up to so much later than it is due
    is_on: bool = True
    created_at: Time = 0.0
    since: Time = 0.0  # due times up to this one are settled


class ScheduledRun(Record, frozen=True, kw_only=True):
    """One run of a schedule. It is open until it has an outcome."""

    schedule: str  # the schedule's name
    due_at: Time  # without jitter; of one that a person asked for, when that was
    key: str  # tells its job from all others: a job is made with it, once
    is_manual: bool = False  # a person asked for it
    passed: int = 0  # due times before it that passed without a run of their own
    claimed_at: Time = 0.0
    started_at: Time | None = None  # when its crawl was started the last time
    starts: int = 0  # how often it was started since it was last stopped in good order, or began
    job: str = ""  # the id of its job, once that is known
    ended_at: Time | None = None
    outcome: RunOutcome | None = None
    detail: str = ""  # why, in words, where the outcome does not say it all; of an open run: why it waits

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.outcome is None

    @property
    def key_bytes(self) -> bytes:
        """The key as a job has it."""
        return bytes.fromhex(self.key)
