"""Log lines for programs: events and fields, which are stable."""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.record import Record


class LogEvent(StrEnum):
    """The event that a line reports."""

    MESSAGE = "message"  # any other message: of Gossamer, a spider, a library or Python
    JOB_STARTED = "job_started"  # a run of a job began
    JOB_FINISHED = "job_finished"  # a run of a job ended: `reason`
    SUMMARY = "summary"  # the totals of a crawl on this machine, at its end
    PROGRESS = "progress"  # how far a crawl of this machine is, every ten seconds
    TIME_LEFT = "time_left"  # how long a crawl of this machine still takes, at `debug`
    PAGE_DONE = "page_done"  # one attempt ended; those that went well are `debug`
    ITEM_DROPPED = "item_dropped"  # an item was not taken: each `reason` the first time
    HOST_SILENT = "host_silent"  # a host has stopped answering
    HOST_ANSWERS = "host_answers"  # it answers again
    LEASE_LOST = "lease_lost"  # a request was taken back from a worker that did not come back with it
    SHIFT_ENDED = "shift_ended"  # a worker of a fleet ended its shift: `reason`
    NOTICE = "notice"  # something that a person should know


class LogLine(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log. Fields that are unknown, empty or 0 are omitted."""

    at: str  # when it was written: ISO 8601 in UTC, to the millisecond
    level: str  # `debug`, `info`, `warning`, `error` or `critical`
    event: str  # one of the events below
    text: str  # the same for people, in one line
    process: str  # who wrote it: `host:pid`
    logger: str  # through which logger of Python
    job: str = ""  # the id of the job that was in hand
    lane: str = ""  # of the shift
    shift: str = ""  # the id of the shift, on a fleet
    worker: str = ""  # the worker that made the attempt, or that has the shift
    url: str = ""  # the page that was in hand, without user and password
    host: str = ""  # the host, with its port where it is not the usual one
    verdict: str = ""  # how the attempt ended
    status: int = 0  # the HTTP status
    reason: str = ""  # why: a fault, the reason of an end, of an item that was dropped
    attempt: int = 0  # the number of the attempt at this request, from 1
    rung: str = ""  # how it was fetched
    proxy: str = ""  # the name of the proxy
    elapsed_s: float = 0.0  # until the body had arrived; of a summary: how long the run took
    size_bytes: int = 0  # of the decoded body; of a summary: of all
    pages: int = 0  # pages, of a shift, a job or a crawl
    items: int = 0  # items of the page, or of the crawl
    requests: int = 0  # requests that the page led to
    attempts: int = 0  # of a summary: requests made
    retries: int = 0  # of a summary: requests made again
    dead: int = 0  # of a summary: dead letters
    detail: str = ""  # further lines: a traceback, mostly
