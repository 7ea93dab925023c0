"""Events as lines of a log: one event, one line.

Lines go through :mod:`logging` (the logger ``gossamer.crawl``), so that a program with an embedded crawl
chooses their destination (``observe/log_setup.py`` is for the commands). Successful pages are ``debug``, as
there are thousands of them; requests that were given up are a ``warning``.
"""

from __future__ import annotations

import logging
from typing import Any

from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault
from gossamer.core.events import (
    Event,
    JobFinishedEvent,
    JobStartedEvent,
    LeaseLostEvent,
    NoticeEvent,
    PageDoneEvent,
    TimeLeftEvent,
)
from gossamer.core.logs import LogEvent
from gossamer.core.results import Attempt, Verdict
from gossamer.core.text import format_count
from gossamer.observe.code_failures import CodeError, error_of
from gossamer.observe.log_setup import LEVELS
from gossamer.observe.silent_hosts import HostMonitor
from gossamer.observe.text import error_headline, one_line, printable_lines, shown_url
from gossamer.runtime.log_context import line_details

MAX_TRACEBACKS = 50
"""Maximum errors of spiders' code logged with a traceback; others have a headline only."""
FIRST_COUNT = 100
"""The page with the same error that is logged again, with the count; then each after ten times as many."""

_VERDICTS = {Verdict.DEAD: logging.WARNING, Verdict.EXPIRED: logging.INFO}


class LogSink:
    """Port ``Sink``: writes each event that is worth a line."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("gossamer.crawl")
        self._code_errors: dict[CodeError, int] = {}
        self._drops: set[str] = set()
        self._silent_hosts = HostMonitor()

    def emit(self, event: Event) -> None:
        """Log one event, if its level is asked for."""
        match event:
            case PageDoneEvent():
                self._log_attempt(event)
                self._log_drops(event)
                if remark := self._silent_hosts.describe_change(event):
                    level = logging.INFO if event.attempt.status else logging.WARNING
                    kind = LogEvent.HOST_ANSWERS if event.attempt.status else LogEvent.HOST_SILENT
                    self._log_line(level, kind, remark, job=event.job, host=event.host)
            case NoticeEvent():
                level = LEVELS.get(event.level, logging.INFO)
                self._log_line(level, LogEvent.NOTICE, one_line(event.text, 1000))
            case JobStartedEvent():
                self._log_line(logging.INFO, LogEvent.JOB_STARTED, _describe_start(event), job=event.job)
            case JobFinishedEvent():
                text = f"{event.job} ended: {event.reason}"
                self._log_line(logging.INFO, LogEvent.JOB_FINISHED, text, job=event.job, reason=event.reason)
            case TimeLeftEvent(text=text) if text:
                self._log_line(logging.DEBUG, LogEvent.TIME_LEFT, f"{event.job}: {text}", job=event.job)
            case LeaseLostEvent():
                text = f"lease lost {shown_url(event.url)}"
                self._log_line(logging.INFO, LogEvent.LEASE_LOST, text, job=event.job, url=event.url)

    def _log_line(self, level: int, event: LogEvent, text: str, **details: Any) -> None:
        self._logger.log(level, "%s", text, extra=line_details(event=event, **details))

    def _log_attempt(self, event: PageDoneEvent) -> None:
        attempt = event.attempt
        is_users_code = attempt.reason in (Fault.CALLBACK, Fault.PIPELINE)
        level = logging.ERROR if is_users_code else _VERDICTS.get(attempt.verdict, logging.DEBUG)
        if not self._logger.isEnabledFor(level):
            return
        more = ""
        if is_users_code:
            level, more = self._describe_error(attempt.detail)
        if self._logger.isEnabledFor(level):
            self._log_line(level, LogEvent.PAGE_DONE, describe_attempt(event) + more, **_details_of(event))

    def _describe_error(self, detail: str) -> tuple[int, str]:
        """At which level an error of the spider's code is logged, and what beside its headline.

        One error is one line, however many pages meet it: the first has the traceback, and later ones now and
        then the count.
        """
        error = error_of(detail)
        if error not in self._code_errors and len(self._code_errors) >= MAX_TRACEBACKS:
            return logging.ERROR, ""
        count = self._code_errors[error] = self._code_errors.get(error, 0) + 1
        if count == 1:
            return logging.ERROR, f"\n{printable_lines(detail.rstrip())}" if "\n" in detail else ""
        if count >= FIRST_COUNT and str(count).strip("0") == "1":
            return logging.ERROR, f" ({count:,} times so far)"
        return logging.DEBUG, ""

    def _log_drops(self, event: PageDoneEvent) -> None:
        """Log each reason of drops once: it is usually a mistake in the spider."""
        for reason in DropKind.ITEM.select_from(event.dropped) if event.dropped else ():
            if reason not in self._drops and len(self._drops) < MAX_TRACEBACKS:
                self._drops.add(reason)
                url = event.attempt.url
                text = f"item dropped: {one_line(reason)} (first on {shown_url(url)})"
                self._log_line(
                    logging.WARNING, LogEvent.ITEM_DROPPED, text, job=event.job, url=url, reason=reason
                )


def _details_of(event: PageDoneEvent) -> dict[str, Any]:
    """Return the details of a line about an attempt, for programs."""
    attempt = event.attempt
    return {
        "job": event.job,
        "url": attempt.url,
        "host": event.host,
        "verdict": attempt.verdict.value,
        "status": attempt.status,
        "reason": attempt.reason,
        "attempt": attempt.attempt,
        "elapsed_s": round(attempt.elapsed_ms / 1000, 3),
        "size_bytes": attempt.size_bytes,
        "items": event.items,
        "requests": event.requests,
        "rung": attempt.rung,
        "proxy": attempt.proxy,
        "worker": attempt.worker,
    }


def describe_attempt(event: PageDoneEvent) -> str:
    """Return a line about an attempt: ``200 https://… 31 ms, 1,204 bytes, 2 items, 40 requests``."""
    attempt = event.attempt
    if attempt.verdict is Verdict.SUCCESS:
        found = [f"{attempt.elapsed_ms:,.0f} ms", format_count(attempt.size_bytes, "byte")]
        found += [format_count(event.items, "item")] if event.items else []
        found += [format_count(event.requests, "request")] if event.requests else []
        return f"{attempt.status} {shown_url(attempt.url)} {', '.join(found)}"
    return f"{attempt.verdict} {shown_url(attempt.url)} {_failure_text(attempt)}"


def _failure_text(attempt: Attempt) -> str:
    status = f" {attempt.status}" if attempt.status else ""
    tries = f" (attempt {attempt.attempt})" if attempt.attempt > 1 else ""
    detail = f": {error_headline(attempt.detail)}" if attempt.detail else ""
    return f"{one_line(attempt.reason)}{status}{tries}{detail}"


def _describe_start(event: JobStartedEvent) -> str:
    taken_back = (
        f", {format_count(event.recovered, 'request')} of the last run taken back" if event.recovered else ""
    )
    return f"{event.job} {'continues' if event.resumed else 'started'}{taken_back}"
