"""The form of a line of the log: for people, or as JSON for programs.

Guarantee: one record of :mod:`logging` is one line of JSON; in text, no further line of it can pose as a
record, with any text of a page, a library or a spider. Lines have no control characters, no user and password
of a URL, and no secret that this process knows.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import msgspec

from gossamer.core.logs import LogEvent, LogLine
from gossamer.core.redaction import hide_userinfo
from gossamer.observe.text import json_line, printable_lines
from gossamer.policy.request_secrets import secret_values_of
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.runtime.log_context import details_of, page_in_hand
from gossamer.runtime.process_name import place_of_process

LONGEST = 20_000
"""Maximum characters of one record."""
LONGEST_VALUE = 2_000
"""Maximum characters of a value in a line of JSON; its text and its detail may be longer."""
_MARGIN = 1000
"""Characters after the written ones that are also searched: a secret cut in two would be missed."""
FIELDS = frozenset(LogLine.__struct_fields__)


def formatter_of(log_format: str) -> logging.Formatter:
    """Return the formatter for ``log.format``."""
    return JsonFormatter() if log_format == "json" else LineFormatter()


def message_formatter_of(log_format: str) -> logging.Formatter | None:
    """Return the formatter of a command's own messages; ``None``: they are plain text."""
    return JsonFormatter() if log_format == "json" else None


class SafeFormatter(logging.Formatter):
    """A formatter also for lines of users: a wrong ``%d`` loses neither the line nor the crawl."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as bounded text of one or more lines, without the passwords of URLs."""
        try:
            text = super().format(record)
        except Exception as error:  # noqa: BLE001 - whatever users' objects raise as they are shown
            record.msg, record.args = f"{record.msg!r} cannot be written: {error!r}", None
            text = super().format(record)
        page = page_in_hand()
        more = secret_values_of(page) if page else ()
        return hide_secrets(hide_userinfo(text[: LONGEST + _MARGIN]), more)[:LONGEST]


class LineFormatter(SafeFormatter):
    """``2026-11-21T06:21:22Z WARNING text``; further lines (a traceback) are indented: none poses as one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """Return the time of a record, in UTC."""
        return time.strftime(datefmt or "%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line."""
        return printable_lines(super().format(record), LONGEST).replace("\n", "\n    ")


class JsonFormatter(SafeFormatter):
    """Lines of JSON: each is a :class:`~gossamer.core.logs.LogLine`."""

    def __init__(self) -> None:
        super().__init__("%(message)s")
        self._process = place_of_process()

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line; text after its first line is ``detail``."""
        text, _, detail = super().format(record).strip("\n").partition("\n")
        known: dict[str, Any] = {
            "event": LogEvent.MESSAGE,
            "process": self._process,
            **{name: _bounded(value) for name, value in details_of(record).items() if name in FIELDS},
        }
        line = LogLine(
            at=_time_text(record.created),
            level=record.levelname.lower(),
            logger=record.name,
            text=text,
            detail=detail,
            **known,
        )
        return json_line(msgspec.to_builtins(line))


def _time_text(at: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    thousandths = round(at * 1000)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(thousandths // 1000))
    return f"{moment}.{thousandths % 1000:03d}Z"


def _bounded(value: Any) -> Any:
    """A number as it is; text of bounded length."""
    if not isinstance(value, str):
        return value
    text = hide_secrets(hide_userinfo(value[: LONGEST_VALUE + _MARGIN]))
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
