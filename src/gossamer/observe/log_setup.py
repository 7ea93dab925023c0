"""Where lines of the log go: the handlers of a program that is nothing but a crawl.

While they are attached, whatever Python or a library would write to stderr by itself is a line of the log.
"""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gossamer.core.errors import StorageError
from gossamer.observe.log_lines import formatter_of
from gossamer.observe.text import one_line

log = logging.getLogger("gossamer.crawl")
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class LogFileHandler(logging.FileHandler):
    """A file of lines. A full disk ends the file, not the crawl, and is reported once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self._is_broken = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        if not self._is_broken:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Handle an error of ``emit``."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
            return
        self._is_broken = True
        text = f"the log {self.baseFilename} cannot be written ({error.strerror}); continuing without it"
        logging.getLogger("gossamer.crawl").error("%s", one_line(text))

    def close(self) -> None:
        """Close the file; lines that do not fit on the disk are lost."""
        with suppress(OSError):
            super().close()


def open_log_file(file: str | None) -> list[logging.Handler]:
    """Return the handler of ``log.file``, if set. Raises ``StorageError`` if it cannot be written."""
    if not file:
        return []
    path = Path(file).expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return [LogFileHandler(path)]
    except OSError as error:
        raise StorageError(f"the log {path} cannot be written: {error.strerror}") from None


@contextmanager
def attach_handlers(
    level: str, handlers: Sequence[logging.Handler], log_format: str = "text"
) -> Iterator[None]:
    """Send log lines of Gossamer, the spiders (from ``level``) and libraries (warnings) to ``handlers``.

    Warnings of Python (``warnings.warn``) and uncaught errors of threads are also lines.
    """
    root, own = logging.getLogger(), logging.getLogger("gossamer")
    before = own.level
    own.setLevel(LEVELS[level])
    for handler in handlers:
        handler.setFormatter(formatter_of(log_format))
        root.addHandler(handler)
    with capture_stray_lines():
        try:
            yield
        finally:
            own.setLevel(before)
            for handler in handlers:
                root.removeHandler(handler)
                handler.close()


@contextmanager
def capture_stray_lines() -> Iterator[None]:
    """Log the lines that Python itself would write to stderr."""
    of_threads, of_finalizers = threading.excepthook, sys.unraisablehook
    of_warnings = warnings.formatwarning
    threading.excepthook = _log_thread_error
    sys.unraisablehook = _log_unraisable_error
    warnings.formatwarning = _describe_warning
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        warnings.formatwarning = of_warnings
        threading.excepthook, sys.unraisablehook = of_threads, of_finalizers


def _log_thread_error(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        name = args.thread.name if args.thread else "?"
        log.error("the thread %s ended with an error", name, exc_info=args.exc_value)


def _log_unraisable_error(args: Any) -> None:
    what = f"{args.err_msg or 'an error was ignored'}: {args.object!r}"
    log.error("%s", one_line(what), exc_info=args.exc_value)


def _describe_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """``file.py:3: DeprecationWarning: text``, without the line of code that Python adds."""
    return f"{filename}:{lineno}: {category.__name__}: {message}"
