"""Events as lines of a log: one event, one line.

Lines go through :mod:`logging` (the logger ``gossamer.crawl``), so that a program which embeds a crawl
decides itself where they go. ``attach`` is for programs that are nothing but a crawl. Pages that went well
are ``debug``, because there are thousands of them; what was given up is a ``warning``.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault
from gossamer.core.events import (
    Event,
    JobFinishedEvent,
    JobStartedEvent,
    LeaseLostEvent,
    NoticeEvent,
    PageDoneEvent,
)
from gossamer.core.results import Attempt, Verdict
from gossamer.core.text import format_count
from gossamer.observe.silent_hosts import HostMonitor
from gossamer.observe.text import error_headline, one_line, printable_lines, shown_url

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
MAX_TRACEBACKS = 50
"""Different tracebacks of spiders' code that are logged in full; later ones only by their headline."""

_VERDICTS = {Verdict.DEAD: logging.WARNING, Verdict.EXPIRED: logging.INFO}


class LogSink:
    """Port ``Sink``: writes each event that is worth a line."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("gossamer.crawl")
        self._tracebacks: set[str] = set()
        self._drops: set[str] = set()
        self._silent_hosts = HostMonitor()

    def emit(self, event: Event) -> None:
        """Log one event, if its level is asked for."""
        match event:
            case PageDoneEvent():
                level = _VERDICTS.get(event.attempt.verdict, logging.DEBUG)
                is_users_code = event.attempt.reason in (Fault.CALLBACK, Fault.PIPELINE)
                level = logging.ERROR if is_users_code else level
                if self._logger.isEnabledFor(level):
                    self._log_line(level, describe_attempt(event))
                    if is_users_code:
                        self._log_traceback(event.attempt.detail)
                self._log_drops(event)
                if remark := self._silent_hosts.describe_change(event):
                    self._log_line(logging.INFO if event.attempt.status else logging.WARNING, remark)
            case NoticeEvent():
                self._log_line(LEVELS.get(event.level, logging.INFO), one_line(event.text, 1000))
            case JobStartedEvent():
                self._log_line(logging.INFO, _describe_start(event))
            case JobFinishedEvent():
                self._log_line(logging.INFO, f"{event.job} ended: {event.reason}")
            case LeaseLostEvent():
                self._log_line(logging.INFO, f"lease lost {shown_url(event.url)}")

    def _log_line(self, level: int, text: str) -> None:
        self._logger.log(level, "%s", text)

    def _log_drops(self, event: PageDoneEvent) -> None:
        """Why items are dropped: each reason the first time, for it is mostly a slip of the spider."""
        for reason in DropKind.ITEM.select_from(event.dropped) if event.dropped else ():
            if reason not in self._drops and len(self._drops) < MAX_TRACEBACKS:
                self._drops.add(reason)
                where = shown_url(event.attempt.url)
                self._log_line(logging.WARNING, f"item dropped: {one_line(reason)} (first on {where})")

    def _log_traceback(self, detail: str) -> None:
        """The traceback of a callback or a pipeline step, the first time that this error occurs."""
        error = error_headline(detail)
        if "\n" not in detail or error in self._tracebacks or len(self._tracebacks) >= MAX_TRACEBACKS:
            return
        self._tracebacks.add(error)
        self._logger.error("%s", printable_lines(detail.rstrip()))


def describe_attempt(event: PageDoneEvent) -> str:
    """One line about one attempt: ``200 https://… 31 ms, 1,204 bytes, 2 items, 40 requests``."""
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


class LineFormatter(logging.Formatter):
    """``2026-11-21T06:21:22Z WARNING text``; further lines (a traceback) are indented: none poses as one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """When it was logged, in UTC."""
        return time.strftime(datefmt or "%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        return printable_lines(super().format(record), 20_000).replace("\n", "\n    ")


class LogFileHandler(logging.FileHandler):
    """A file of lines. A disk that takes no more of them ends the file, not the crawl, and is told once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self._is_broken = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        if not self._is_broken:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Called by ``emit`` for what it ran into."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
            return
        self._is_broken = True
        text = f"the log {self.baseFilename} cannot be written ({error.strerror}); continuing without it"
        logging.getLogger("gossamer.crawl").error("%s", one_line(text))

    def close(self) -> None:
        """Close the file; what does not fit on the disk any more is lost."""
        with suppress(OSError):
            super().close()


@contextmanager
def attach_handlers(level: str, handlers: Sequence[logging.Handler]) -> Iterator[None]:
    """Send what Gossamer, the spiders (from ``level``) and libraries (warnings) log to ``handlers``."""
    root, own = logging.getLogger(), logging.getLogger("gossamer")
    before = own.level
    own.setLevel(LEVELS[level])
    for handler in handlers:
        handler.setFormatter(LineFormatter())
        root.addHandler(handler)
    try:
        yield
    finally:
        own.setLevel(before)
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
