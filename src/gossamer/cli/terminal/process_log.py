"""The log of a command other than a crawl: a process that runs until stopped, or one page."""

from __future__ import annotations

import logging
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from gossamer.cli.errors import write_messages_with
from gossamer.config.settings import Settings
from gossamer.core.logs import LogEvent
from gossamer.observe.log_lines import message_formatter_of
from gossamer.observe.log_setup import attach_handlers, open_log_file

if TYPE_CHECKING:  # a worker's process needs neither
    from gossamer.crawl.result import CrawlResult
    from gossamer.queries.job_result import JobResult


def summary_details(result: CrawlResult | JobResult) -> dict[str, Any]:
    """Return the result of a crawl as details of a line of JSON."""
    return {
        "event": LogEvent.SUMMARY,
        "job": result.job,
        "reason": result.finish_reason,
        "elapsed_s": round(result.seconds, 3),
        "size_bytes": result.bytes,
        "pages": result.pages,
        "items": int(result.items),
        "attempts": result.attempts,
        "retries": result.retries,
        "dead": result.dead,
    }


def write_log(settings: Settings, *, verbose: bool = False) -> AbstractContextManager[None]:
    """Log to stderr, and to the file that the settings name."""
    write_messages_with(message_formatter_of(settings.log.format))
    handlers = [logging.StreamHandler(sys.stderr), *open_log_file(settings.log.file)]
    return attach_handlers("debug" if verbose else settings.log.level, handlers, settings.log.format)


def write_lines(settings: Settings) -> AbstractContextManager[None]:
    """Log to stderr alone, for a short command: the file is for crawls."""
    write_messages_with(message_formatter_of(settings.log.format))
    handlers = [logging.StreamHandler(sys.stderr)]
    return attach_handlers(settings.log.level, handlers, settings.log.format)
