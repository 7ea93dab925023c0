"""Exit codes: how every process of Gossamer ends."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class ExitCode(IntEnum):
    """Exit codes of every command."""

    OK = 0  # finished
    DEAD_LETTERS = 1  # most requests failed, all items dropped; ``--strict``: dead letters, links left out
    USAGE = 2  # wrong use: an option, a name, a setting, a spider that cannot be imported or started
    STOPPED = 3  # stopped early: by a signal, or because the job was paused, cancelled or over budget
    MISSING = 4  # a service, a package or the storage is missing or fails
    BUG = 70  # a bug in Gossamer; the traceback is shown (``EX_SOFTWARE`` of sysexits.h)
    NO_READER = 141  # the output's reader has gone (a shell's code for SIGPIPE)


class ExitFacts(NamedTuple):
    """Facts that decide the exit code of a crawl. Counts cover all runs of the job."""

    is_early: bool = False  # stopped, failed, or over one of `budgets`; not over `max_pages` or `max_time`
    pages: int = 0  # responses that were parsed
    successes: int = 0  # requests that were answered and handled without a fault, pages or not
    failures: int = 0  # attempts without success, and start URLs that were not accepted
    dead: int = 0  # dead letters
    items: int = 0  # stored
    dropped_items: int = 0  # not stored: they lack what their type or a stage of the pipeline asks for
    lost: int = 0  # those of hosts that had answered, and did not come back in time
    left_out: int = 0  # links that were not followed since their patterns count as traps
    failed_steps: int = 0  # dead letters of a pipeline's steps that failed
    failed_hooks: int = 0  # code of the spider that failed at the end: ``closed()``, ``close_spider()``


def exit_of(ending: ExitFacts, *, strict: bool = False) -> ExitCode:
    """How a crawl's process is to end. Pure.

    A crawl from which nothing came because everything failed has failed, and so has one with more dead
    letters than successes, one whose every item was dropped, one that lost a host half-way, and one in which
    a step of a pipeline failed; one that had nothing to do has not.
    """
    if ending.is_early:
        return ExitCode.STOPPED
    has_nothing = (ending.pages == 0 and ending.dead > 0) or (ending.successes == 0 and ending.failures > 0)
    has_lost = ending.lost or ending.failed_steps or ending.failed_hooks
    has_failed = has_nothing or ending.dead > ending.successes or has_lost
    has_dropped_all = ending.dropped_items > 0 and not ending.items
    if has_failed or has_dropped_all or (strict and (ending.dead or ending.left_out)):
        return ExitCode.DEAD_LETTERS
    return ExitCode.OK
