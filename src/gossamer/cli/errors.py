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
"""What asks a process to end."""
LONGEST = 20_000
"""Characters of a traceback that are shown, at most."""
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}
"""Errors of the system that an operator can mend, where no adapter has said it better."""


class _StrayFormatter(logging.Formatter):
    """For what is logged while no command has a log: a warning of a library, of a spider that is loaded."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line; most commands log nothing, and do without what writes lines."""
        return str(import_module("gossamer.observe.log_lines").LineFormatter().format(record))


@contextmanager
def exit_codes() -> Iterator[None]:
    """End the process as the contract says, whatever a command raises."""
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
    """Say what went wrong, on stderr; to programs with ``details``."""
    _print_line(message, f"gossamer: {printable_lines(hide_secrets(message))}", level, details)


def print_notes(notes: Iterable[CrawlNote], *, quiet: bool = False) -> None:
    """Say what a person should know of a crawl; ``quiet``: only what may be wrong."""
    for note in notes:
        if note.is_warning or not quiet:
            print_message(note.text, logging.WARNING if note.is_warning else logging.INFO)


def print_progress(message: str) -> None:
    """Say what happens on the way to a result, on stderr."""
    _print_line(message, printable_lines(hide_secrets(message)), logging.INFO, {})


def print_traceback(headline: str, text: str) -> None:
    """Show what users' code raised, on stderr; programs have the headline before it."""
    shown = printable_lines(hide_secrets(text.rstrip()), LONGEST)
    _print_line(f"{headline}\n{text}", shown, logging.ERROR, {})


def _print_line(message: str, shown: str, level: int, details: Mapping[str, Any]) -> None:
    """Write a message as a line of the log, or as it is ``shown`` to people."""
    if _MESSAGES.formatter is not None:
        about = {"name": "gossamer.cli", "levelno": level, "levelname": logging.getLevelName(level)}
        record = logging.makeLogRecord({**about, "msg": hide_secrets(message), **line_details(**details)})
        shown = _MESSAGES.formatter.format(record)
    with suppress(OSError):
        sys.stderr.write(f"{shown}\n")
        sys.stderr.flush()


def write_messages_with(formatter: logging.Formatter | None) -> None:
    """From now on messages are lines of the log, so that stderr has one form; ``None``: plain text."""
    _MESSAGES.formatter = formatter


class _MessageForm:
    """How messages are written: as lines of the log, or plainly."""

    formatter: logging.Formatter | None = None


_MESSAGES = _MessageForm()


def _report_bug() -> None:
    """The exception in hand is none that anybody foresaw."""
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
    """Write out what a command has printed while it can still be said that nobody reads it.

    A pipe keeps up to a block of it in this process; Python's own end would only note that it was lost.
    """
    try:
        yield
    except typer.Exit:
        _flush_stream(sys.stdout)
        raise
    _flush_stream(sys.stdout)


def _flush_stream(stream: TextIO) -> None:
    """Write out what a stream holds, unless a spider has closed it."""
    if not stream.closed:
        stream.flush()


def replace_missing_output() -> None:
    """Give a process that was started without stdout or stderr (``>&-``) a place to write to."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - until the end


def release_output() -> None:
    """Drop what stdout and stderr could not write, after it was said: Python's end must not try again.

    It would print "Exception ignored" and end with 120 instead of the exit code of the command.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            _flush_stream(stream)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
