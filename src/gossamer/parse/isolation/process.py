"""Tries suspicious pages in a process that can be killed, before the crawl parses them itself.

The process reports a page as harmless, or returns the rest of it after cutting it to a harmless shape. It is
started with the first such page, and ends itself when a page has used up its CPU time; the next page gets a
new one. Wall time depends on other load, not on the page: only a process without any progress is killed, and
its page is retried later. The event loop never waits: all communication runs in a thread.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from typing import BinaryIO, cast

from gossamer.parse.isolation.frames import OUT_OF_MEMORY, ExamineResult, ExamineTask, read_frame, write_frame
from gossamer.parse.isolation.limits import ParseLimits
from gossamer.ports.page_examiner import ParseInterruptError, ParseLimitError, TruncatedPage

_WORKER = "gossamer.parse.isolation.worker"
_PATIENCE, _PATIENCE_S = 24.0, 60.0
"""The process may take this many times its CPU time, and at least this long: a machine may be very busy."""


class IsolatedExaminer:
    """One process for suspicious pages, one page at a time."""

    def __init__(
        self, limits: ParseLimits, *, worker: str = _WORKER, patience_s: float | None = None
    ) -> None:
        self._limits = limits
        self._worker = worker
        self._patience_s = patience_s or max(limits.cpu_s * _PATIENCE, _PATIENCE_S)
        self._process: subprocess.Popen[bytes] | None = None
        self._queue = asyncio.Lock()
        self._turn = threading.Lock()
        self._is_closed = False

    def __repr__(self) -> str:
        pid = self._process.pid if self._process is not None else None
        return f"Isolation(process={pid})"

    async def examine(self, body: bytes, content_type: str) -> TruncatedPage | None:
        """``None`` for a page that may be parsed as it is.

        Raises :class:`ParseLimitError` for the page's own fault, :class:`ParseInterruptError` for that
        of others.
        """
        async with self._queue:  # waiting takes no thread, which others need (to look up names)
            return await asyncio.to_thread(self._examine_blocking, body, content_type)

    def _examine_blocking(self, body: bytes, content_type: str) -> TruncatedPage | None:
        question = ExamineTask(
            cpu_s=self._limits.cpu_s,
            content_type=content_type,
            max_depth=self._limits.max_depth,
            max_tags=self._limits.max_tags,
            guesses_charset=self._limits.guesses_charset,
        )
        with self._turn:
            if self._is_closed:
                raise ParseInterruptError("the crawl ends")
            answer, page = self._ask_process(question, body)
        return TruncatedPage(page, answer.encoding, answer.cuts) if answer.is_cut else None

    def _ask_process(self, question: ExamineTask, body: bytes) -> tuple[ExamineResult, bytes]:
        """Send the page to the process and return its answer."""
        process = self._ensure_process()
        if self._is_closed:  # closed meanwhile: only this code can end the new process
            process.kill()
        alarm = threading.Timer(self._patience_s, process.kill)
        alarm.daemon = True
        alarm.start()
        try:
            write_frame(cast("BinaryIO", process.stdin), question, body)
            answer = read_frame(cast("BinaryIO", process.stdout), ExamineResult)
        except OSError:
            answer = None
        if answer is None:
            code = process.wait()  # it has closed its ends: it is ending, or is killed by the alarm
            self._end_process()
        alarm.cancel()
        if answer is None:
            raise self._exit_error(code)
        return answer

    def _exit_error(self, code: int) -> Exception:
        """Return the error for a page whose process ended."""
        if code == -signal.SIGPROF:
            return ParseLimitError(
                f"the page needs more than {self._limits.cpu_s:g} s of CPU time (parse.timeout)"
            )
        if code == OUT_OF_MEMORY:
            megabytes = self._limits.memory_bytes >> 20
            return ParseLimitError(f"the page needs more than {megabytes} MB (parse.max_memory_mb)")
        if code in (-signal.SIGKILL, -signal.SIGTERM):
            return ParseInterruptError(
                "the process that examines suspicious pages was killed, from outside or because it made no "
                f"progress for {self._patience_s:g} s"
            )
        return ParseLimitError(f"the process that examined the page died while doing so (code {code})")

    def _ensure_process(self) -> subprocess.Popen[bytes]:
        """Return the process, started where there is none (any more)."""
        if self._process is not None and self._process.poll() is not None:
            self._end_process()
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, a module of ours
                [sys.executable, "-m", self._worker, str(self._limits.memory_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return self._process

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:  # the process did not read the rest
                pass

    def close(self) -> None:
        """End the process; a page that is being tried is interrupted."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.kill()  # the task that waits for its answer gives its turn back
        with self._turn:
            self._end_process()
