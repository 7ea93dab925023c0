"""Exit codes, and how errors end a command: one clear message, the right code, no traceback."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from gossamer.core.errors import OperatorError
from gossamer.core.exits import ExitCode
from gossamer.observe.text import printable_lines
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.runtime.log_context import line_details

if TYPE_CHECKING:
    from gossamer.core.notes import CrawlNote

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a process."""
LONGEST = 20_000
"""Maximum characters of a traceback that are shown."""
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}
"""System errors that an operator can fix; used where no adapter has a better message."""


class _StrayFormatter(logging.Formatter):
    """Formats lines logged before a command has a log, such as a warning of a library or a spider."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line; the formatter is imported late, as most commands log nothing."""
        return str(import_module("gossamer.observe.log_lines").LineFormatter().format(record))


@contextmanager
def exit_codes() -> Iterator[None]:
    """End the process with the documented exit code for any exception of a command."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_StrayFormatter())
    try:
        with _flushed_stdout():
            yield
    except OperatorError as error:
        print_message(str(error))
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        print_message("interrupted")
        raise typer.Exit(ExitCode.STOPPED) from None
    except BrokenPipeError:
        raise typer.Exit(ExitCode.NO_READER) from None
    except OSError as error:
        if error.errno not in DISK:
            _report_bug()
        print_message(f"{error.strerror}{f': {error.filename}' if error.filename else ''}")
        raise typer.Exit(ExitCode.MISSING) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if hasattr(error, "exit_code"):  # typer's own: a wrong option; it says what and how
            raise
        _report_bug()
    finally:
        write_messages_with(None)


def print_message(message: str, level: int = logging.ERROR, **details: Any) -> None:
    """Print an error on stderr; a line of JSON also has ``details``."""
    _print_line(message, f"gossamer: {printable_lines(hide_secrets(message))}", level, details)


def print_notes(notes: Iterable[CrawlNote], *, quiet: bool = False) -> None:
    """Print notes on a crawl; ``quiet``: only warnings."""
    for note in notes:
        if note.is_warning or not quiet:
            print_message(note.text, logging.WARNING if note.is_warning else logging.INFO)


def print_progress(message: str) -> None:
    """Print progress on stderr."""
    _print_line(message, printable_lines(hide_secrets(message)), logging.INFO, {})


def print_traceback(headline: str, text: str) -> None:
    """Show a traceback of users' code on stderr; a line of JSON begins with the headline."""
    shown = printable_lines(hide_secrets(text.rstrip()), LONGEST)
    _print_line(f"{headline}\n{text}", shown, logging.ERROR, {})


def _print_line(message: str, shown: str, level: int, details: Mapping[str, Any]) -> None:
    """Print a message as a line of the log, or as ``shown``."""
    if _MESSAGES.formatter is not None:
        about = {"name": "gossamer.cli", "levelno": level, "levelname": logging.getLevelName(level)}
        record = logging.makeLogRecord({**about, "msg": hide_secrets(message), **line_details(**details)})
        shown = _MESSAGES.formatter.format(record)
    with suppress(OSError):
        sys.stderr.write(f"{shown}\n")
        sys.stderr.flush()


def write_messages_with(formatter: logging.Formatter | None) -> None:
    """Print messages from now on as lines of the log, so that stderr has one form; ``None``: plainly."""
    _MESSAGES.formatter = formatter


class _MessageForm:
    """The formatter of messages; ``None``: plain text."""

    formatter: logging.Formatter | None = None


_MESSAGES = _MessageForm()


def _report_bug() -> None:
    """Report the current exception, which no code expected."""
    told = "this is a bug in Gossamer, please report it with the lines"
    if _MESSAGES.formatter is not None:
        print_message(f"{told} of its detail\n{traceback.format_exc()}")
        raise typer.Exit(ExitCode.BUG) from None
    with suppress(OSError):
        sys.stderr.write(f"{printable_lines(hide_secrets(traceback.format_exc()), LONGEST)}\n")
    print_message(f"{told} above")
    raise typer.Exit(ExitCode.BUG) from None


@contextmanager
def _flushed_stdout() -> Iterator[None]:
    """Flush stdout at the end of a command, while a closed pipe can still be reported.

    Up to a block for a pipe stays in this process; at exit, Python would only note that it was lost.
    """
    try:
        yield
    except typer.Exit:
        _flush_stream(sys.stdout)
        raise
    _flush_stream(sys.stdout)


def _flush_stream(stream: TextIO) -> None:
    """Flush a stream, unless a spider has closed it."""
    if not stream.closed:
        stream.flush()


def replace_missing_output() -> None:
    """Give a process that was started without stdout or stderr (``>&-``) a place to write to."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - until the end


def release_output() -> None:
    """Drop output that stdout and stderr could not write, once that was reported.

    Python would try again at exit, print "Exception ignored" and end with 120 instead of the command's code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            _flush_stream(stream)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
