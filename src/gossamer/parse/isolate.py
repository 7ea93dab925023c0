"""Suspicious pages are tried in a process that can be killed, before the crawl parses them itself.

The process says that a page is harmless, or sends back what is left of it when it is cut to a shape that
is. It is started with the first such page, and killed when a page has had its time; the next page gets a
new one. The event loop never waits for it: all talking is done on a thread.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import BinaryIO, NamedTuple, cast

from gossamer.parse.isolate_frames import Answer, Question, read_frame, write_frame
from gossamer.parse.isolate_limits import ParseLimits

_WORKER = "gossamer.parse.isolate_worker"


class ParseKilled(Exception):
    """A page used up the time or the memory it may have, and could not even be cut."""


class Cut(NamedTuple):
    """What is left of a page that was too much: UTF-8, quick to parse."""

    body: bytes
    encoding: str  # of the page as it came
    cuts: dict[str, int]  # what was left out, by kind


class Isolation:
    """One process for suspicious pages, one page at a time."""

    def __init__(self, limits: ParseLimits, *, worker: str = _WORKER) -> None:
        self._limits = limits
        self._worker = worker
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()
        self._is_closed = False

    def __repr__(self) -> str:
        pid = self._process.pid if self._process is not None else None
        return f"Isolation(process={pid})"

    async def examine(self, body: bytes, content_type: str) -> Cut | None:
        """``None`` for a page that may be parsed as it is.

        Raises :class:`ParseKilled`; takes at most twice the time a page may have, and the wait for those
        before it.
        """
        return await asyncio.to_thread(self._examine, body, content_type)

    def _examine(self, body: bytes, content_type: str) -> Cut | None:
        with self._turn:
            for is_tried in (True, False):
                question = Question(
                    timeout_s=self._limits.timeout_s,
                    content_type=content_type,
                    max_depth=self._limits.max_depth,
                    max_tags=self._limits.max_tags,
                    is_tried=is_tried,
                )
                frame = self._ask(question, body)
                if frame is not None:
                    answer, page = frame
                    return Cut(page, answer.encoding, answer.cuts) if answer.is_cut else None
        raise ParseKilled(
            f"the page could not be parsed within {self._limits.timeout_s:g} s "
            f"and {self._limits.memory_bytes >> 20} MB"
        )

    def _ask(self, question: Question, body: bytes) -> tuple[Answer, bytes] | None:
        """One exchange; ``None`` when the process died of it, or was killed for its slowness."""
        if self._is_closed:
            return None
        process = self._running()
        alarm = threading.Timer(question.timeout_s, process.kill)
        alarm.daemon = True
        alarm.start()
        try:
            write_frame(cast("BinaryIO", process.stdin), question, body)
            answer = read_frame(cast("BinaryIO", process.stdout), Answer)
        except OSError:
            answer = None
        finally:
            alarm.cancel()
        if answer is None:
            self._end()
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        """The process, started where there is none (any more)."""
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, a module of ours
                [sys.executable, "-m", self._worker, str(self._limits.memory_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:  # what it had not read any more
                pass

    def close(self) -> None:
        """End the process; a page that is being tried is given up."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.kill()  # whoever waits for its answer lets go of the turn
        with self._turn:
            self._end()
