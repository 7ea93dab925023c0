"""What is watched for all streams together: each topic is looked at once, however many look at it.

A monitor asks its question every second or two while anybody listens, less often where the answer costs
much, and tells all listeners what has changed. A listener that does not keep up loses what it was to be told,
and is given the whole answer when it comes back: what is kept for it has a bound.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from gossamer.core.record import Record
from gossamer.runtime.cancelling import end_soon
from gossamer.web.deltas import find_delta
from gossamer.web.topics import TopicQuestion, decode_answer

KEPT_S = 60.0
"""For how long it is known what was told: so late may a stream begin again where it was."""
LEAST_REST = 200
"""A look is followed by a rest of so many times its length: looking on costs half a hundredth at most."""
MAX_REST_S = 5.0
LOOKS = 3
"""A look is as long as the shortest of so many: what else a machine does makes one longer, never shorter."""
EAGER_S = 20.0
"""For so long after something was done no topic rests longer than usual: a crawl takes its time to obey."""
MAX_SNAPSHOT = 60_000
MAX_DELTA = 8_000
MAX_BUFFER = 256_000
"""Bytes that wait for one stream."""
MAX_STREAMS = 200
MAX_STREAMS_EACH = 50
"""Of them, those of one token: nobody takes them from all others."""

TOO_LARGE = {
    "error": {
        "what": "This is too large for the stream.",
        "why": f"a topic's answer may have {MAX_SNAPSHOT:,} bytes",
        "way": "Ask for the answer itself, or for less.",
    }
}

log = logging.getLogger("gossamer.web")

Ask = Callable[[TopicQuestion], Awaitable[tuple[int, bytes]]]


def rest_after(took_s: float, every_s: float) -> float:
    """How long a topic rests after a look: a busy machine is looked at less often."""
    return max(every_s, min(took_s * LEAST_REST, MAX_REST_S))


class StreamEvent(Record, frozen=True):
    """One thing that is told."""

    number: int
    kind: str  # ``snapshot``, ``delta``, ``error``, ``reset``
    data: bytes  # JSON
    at: float = 0.0  # by the loop's clock


class EventCounter:
    """Numbers what is told. ``epoch`` is another one in every process."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(4)
        self._latest = 0

    def next_number(self) -> int:
        """The number of the next event."""
        self._latest += 1
        return self._latest

    @property
    def latest(self) -> int:
        """That of the latest one."""
        return self._latest

    def read_id(self, text: str) -> int | None:
        """The number of an event by its id; ``None`` for one of another process."""
        epoch, _, number = text.partition("-")
        return int(number) if epoch == self.epoch and number.isdecimal() and len(number) < 16 else None


class TopicMonitor:
    """Watches one topic."""

    def __init__(self, question: TopicQuestion, ask: Ask, counter: EventCounter) -> None:
        self.question = question
        self._ask = ask
        self._counter = counter
        self._listeners: set[StreamBuffer] = set()
        self._waiting: set[StreamBuffer] = set()  # those among them that were told nothing yet
        self._told: deque[StreamEvent] = deque()  # lately
        self._told_bytes = 0
        self._since = 0  # the number from which on all that was told is there
        self._answer: Any = None
        self._error = b""
        self._is_known = asyncio.Event()
        self._is_due = asyncio.Event()  # before its time
        self._eager_until = float("-inf")  # by the loop's clock
        self._took_s = deque[float](maxlen=LOOKS)
        self._task: asyncio.Task[None] | None = None
        self.left_at = float("-inf")  # when the last one stopped listening, by the loop's clock

    @property
    def is_listened_to(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    async def add_listener(self, listener: StreamBuffer, after: int | None) -> None:
        """Tell a stream from now on, and first what it has missed ``after`` an event, or everything."""
        self._listeners.add(listener)
        self._waiting.add(listener)
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
        await self._is_known.wait()
        self._waiting.discard(listener)
        if after is not None and self._since <= after:
            for event in self._told:
                if event.number > after:
                    listener.add_event(self, event)
            return
        if after is not None:
            listener.add_event(self, self._make_event("reset", {}))
        listener.add_event(self, self.current_event())

    def remove_listener(self, listener: StreamBuffer) -> None:
        """Tell a stream nothing any more."""
        if listener not in self._listeners:
            return
        self._listeners.discard(listener)
        self._waiting.discard(listener)
        if not self._listeners:
            self.left_at = asyncio.get_running_loop().time()
            end_soon(self._task)
            self._task = None

    def look_soon(self) -> None:
        """Look again without waiting, and often for a while: something was done."""
        self._is_due.set()
        self._eager_until = asyncio.get_running_loop().time() + EAGER_S

    def current_event(self) -> StreamEvent:
        """The whole answer as it is now, or the error that is in its place."""
        if self._error:
            return self._make_event("error", {"error": msgspec.Raw(self._error)})
        return self._make_event("snapshot", {"data": self._answer})

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            self._is_due.clear()
            try:
                await self._look()
            except Exception:
                log.exception("the topic %s could not be looked at", self.question.name)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._find_rest(began, loop.time())):
                    await self._is_due.wait()

    def _find_rest(self, began: float, now: float) -> float:
        every_s = self.question.rule.every_s
        self._took_s.append(now - began)
        return every_s if now < self._eager_until else rest_after(min(self._took_s), every_s)

    async def _look(self) -> None:
        status, body = await self._ask(self.question)
        if status != 200 or len(body) > MAX_SNAPSHOT:
            self._note_error(status, body)
        else:
            self._note_answer(decode_answer(body))
        self._is_known.set()

    def _note_error(self, status: int, body: bytes) -> None:
        said: Any = decode_answer(body) if status != 200 else TOO_LARGE
        error = msgspec.json.encode({**said["error"], "status": status})
        if error != self._error:
            self._error = error
            self._tell(self.current_event())

    def _note_answer(self, answer: Any) -> None:
        former, self._answer = self._answer, answer
        if self._error or not self._is_known.is_set():
            self._error = b""
            self._tell(self.current_event())
            return
        delta = find_delta(former, answer)
        if not delta.set and not delta.drop:
            return
        event = self._make_event("delta", {"set": delta.set, "drop": delta.drop})
        self._tell(event if len(event.data) <= MAX_DELTA else self.current_event())

    def _tell(self, event: StreamEvent) -> None:
        if event.kind == "delta":
            self._told_bytes += len(event.data)
        else:  # whoever missed what was told before needs nothing of it any more
            self._told.clear()
            self._told_bytes = len(event.data)
            self._since = self._since if self._is_known.is_set() else event.number - 1
        self._told.append(event)
        while self._told[0].at < event.at - KEPT_S or self._told_bytes > MAX_BUFFER:
            former = self._told.popleft()
            self._since = former.number
            self._told_bytes -= len(former.data)
        for listener in self._listeners - self._waiting:
            listener.add_event(self, event)

    def _make_event(self, kind: str, values: dict[str, Any]) -> StreamEvent:
        data = msgspec.json.encode({"topic": self.question.name, "at": time.time(), **values})
        return StreamEvent(self._counter.next_number(), kind, data, asyncio.get_running_loop().time())


class StreamBuffer:
    """What waits to be sent on one stream."""

    def __init__(self) -> None:
        self._events: deque[tuple[TopicMonitor, StreamEvent]] = deque()
        self._bytes = 0
        self._behind: set[TopicMonitor] = set()  # of which something was lost
        self._has_news = asyncio.Event()

    def add_event(self, monitor: TopicMonitor, event: StreamEvent) -> None:
        """Let something wait, or forget what waits of its topic where that would be too much."""
        self._has_news.set()
        if monitor in self._behind:
            return
        self._events.append((monitor, event))
        self._bytes += len(event.data)
        if self._bytes > MAX_BUFFER:
            self._behind.add(monitor)
            kept = [(other, waiting) for other, waiting in self._events if other is not monitor]
            self._events = deque(kept)
            self._bytes = sum(len(waiting.data) for _, waiting in kept)

    async def take_events(self, within_s: float) -> list[StreamEvent]:
        """What is to be sent; nothing, if nothing happens within that time."""
        if not self._events and not self._behind:
            self._has_news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await self._has_news.wait()
        taken = [event for _, event in self._events]
        taken += [monitor.current_event() for monitor in self._behind]
        self._events.clear()
        self._behind.clear()
        self._bytes = 0
        return taken


class MonitorPool:
    """The monitors of all topics that anybody listens to, or did a moment ago."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.counter = EventCounter()
        self._monitors: dict[str, TopicMonitor] = {}  # by their topics
        self._open: dict[StreamBuffer, str] = {}  # with who listens

    @property
    def streams(self) -> int:
        """How many are open."""
        return len(self._open)

    def has_room_for(self, who: str) -> bool:
        """Whether one more may be opened, and by ``who``."""
        return len(self._open) < MAX_STREAMS and [*self._open.values()].count(who) < MAX_STREAMS_EACH

    async def open_stream(
        self, buffer: StreamBuffer, questions: Sequence[TopicQuestion], last_id: str, who: str = ""
    ) -> None:
        """Tell ``who`` of these topics; ``last_id`` is that of the last event that they got."""
        self._forget_unused()
        self._open[buffer] = who
        after = self.counter.read_id(last_id) if last_id else None
        if last_id and after is None:
            after = -1  # of another process: everything was missed
        for question in questions:
            monitor = self._monitors.setdefault(
                question.name, TopicMonitor(question, self._ask, self.counter)
            )
            await monitor.add_listener(buffer, after)

    def look_soon(self) -> None:
        """Look at everything again: whoever did something sees at once what came of it."""
        for monitor in self._monitors.values():
            monitor.look_soon()

    def close_stream(self, buffer: StreamBuffer) -> None:
        """Stop telling."""
        self._open.pop(buffer, None)
        for monitor in self._monitors.values():
            monitor.remove_listener(buffer)

    def _forget_unused(self) -> None:
        now = asyncio.get_running_loop().time()
        self._monitors = {
            key: monitor
            for key, monitor in self._monitors.items()
            if monitor.is_listened_to or monitor.left_at > now - KEPT_S
        }
