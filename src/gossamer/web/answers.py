"""Answers, each made once for equal requests within a second, in bounded time and memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from typing import Any

import msgspec

from gossamer.core.record import Record
from gossamer.queries.documents import to_answer

FRESH_S = 1.0
"""Seconds for which an answer is reused."""
LIMIT_S = 5.0
"""Maximum seconds for an answer."""
MAX_BYTES = 32 * 1024 * 1024
MAX_ANSWERS = 1000

_encode = msgspec.json.Encoder(decimal_format="number").encode


class ReadyAnswer(Record, frozen=True):
    """An answer, ready to be sent."""

    body: bytes
    etag: str
    fresh_until: float  # by the loop's clock


def encode_answer(value: Any) -> bytes:
    """Return a record as the JSON of the API."""
    return _encode(to_answer(value))


def etag_of(body: bytes) -> str:
    """Return the ETag of an answer."""
    return f'"{blake2b(body, digest_size=12).hexdigest()}"'


class AnswerCache:
    """Keeps answers for a second; equal requests wait for the same answer."""

    def __init__(self) -> None:
        self._ready: dict[str, ReadyAnswer] = {}  # the oldest first
        self._bytes = 0
        self._making: dict[str, asyncio.Task[ReadyAnswer]] = {}
        self._changes = 0  # how often something was changed

    def forget_answers(self) -> None:
        """Forget all answers, also unfinished ones, after a change."""
        self._ready.clear()
        self._making.clear()
        self._bytes = 0
        self._changes += 1

    async def give_answer(
        self, key: str, ask: Callable[[], Awaitable[Any]], fresh_s: float = FRESH_S
    ) -> ReadyAnswer:
        """Return the answer of ``ask``, or its answer to another caller less than ``fresh_s`` ago.

        Raises the errors of ``ask``, and ``TimeoutError`` if it takes too long. A caller may stop waiting
        without an effect on others.
        """
        now = asyncio.get_running_loop().time()
        ready = self._ready.get(key)
        if ready is not None and now < ready.fresh_until:
            return ready
        task = self._making.get(key)
        if task is None:
            task = self._making[key] = asyncio.create_task(self._make_answer(key, ask, fresh_s))
            task.add_done_callback(lambda done: self._forget_task(key, done))
        return await asyncio.shield(task)

    async def _make_answer(self, key: str, ask: Callable[[], Awaitable[Any]], fresh_s: float) -> ReadyAnswer:
        async with asyncio.timeout(LIMIT_S):
            changes, body = self._changes, encode_answer(await ask())
        now = asyncio.get_running_loop().time()
        answer = ReadyAnswer(body, etag_of(body), now + fresh_s)
        if changes == self._changes:
            self._keep(key, answer, now)
        return answer

    def _forget_task(self, key: str, done: asyncio.Task[ReadyAnswer]) -> None:
        if self._making.get(key) is done:
            del self._making[key]
        if not done.cancelled():
            done.exception()  # marks it as retrieved: all callers may have left

    def _keep(self, key: str, answer: ReadyAnswer, now: float) -> None:
        self._drop(key)
        self._ready[key] = answer
        self._bytes += len(answer.body)
        for oldest in list(self._ready):
            is_stale = self._ready[oldest].fresh_until <= now
            if not is_stale and self._bytes <= MAX_BYTES and len(self._ready) <= MAX_ANSWERS:
                return
            self._drop(oldest)

    def _drop(self, key: str) -> None:
        former = self._ready.pop(key, None)
        if former is not None:
            self._bytes -= len(former.body)
