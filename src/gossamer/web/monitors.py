"""Monitors of topics: each topic is read once for all its streams.

While a stream listens, a monitor reads its topic every second or two, less often if the answer is costly, and
sends the changes to all streams. Buffers are bounded: a stream that falls behind loses events, and gets a
whole answer instead.
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
"""Seconds for which events are kept: a stream that reconnects within them misses nothing."""
LEAST_REST = 200
"""Rest after a look, as a multiple of its length: looks take at most half a hundredth of the time."""
MAX_REST_S = 5.0
LOOKS = 3
"""The length of a look is the shortest of this many: other work only makes looks longer."""
EAGER_S = 20.0
"""Seconds after an action in which no topic rests longer than usual: a crawl obeys with a delay."""
MAX_SNAPSHOT = 60_000
MAX_DELTA = 8_000
MAX_BUFFER = 256_000
"""Maximum bytes that wait for one stream."""
MAX_STREAMS = 200
MAX_STREAMS_EACH = 50
"""Maximum streams of one token, which leaves streams for others."""

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
    """Return the rest of a topic after a look, longer on a busy machine."""
    return max(every_s, min(took_s * LEAST_REST, MAX_REST_S))


class StreamEvent(Record, frozen=True):
    """An event of a stream."""

    number: int
    kind: str  # ``snapshot``, ``delta``, ``error``, ``reset``
    data: bytes  # JSON
    at: float = 0.0  # by the loop's clock


class EventCounter:
    """Numbers the events. ``epoch`` differs in every process."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(4)
        self._latest = 0

    def next_number(self) -> int:
        """Return the number of the next event."""
        self._latest += 1
        return self._latest

    @property
    def latest(self) -> int:
        """The number of the latest event."""
        return self._latest

    def read_id(self, text: str) -> int | None:
        """Return the number of an event by its id; ``None`` for another process's event."""
        epoch, _, number = text.partition("-")
        return int(number) if epoch == self.epoch and number.isdecimal() and len(number) < 16 else None


class TopicMonitor:
    """Watches one topic."""

    def __init__(self, question: TopicQuestion, ask: Ask, counter: EventCounter) -> None:
        self.question = question
        self._ask = ask
        self._counter = counter
        self._listeners: set[StreamBuffer] = set()
        self._waiting: set[StreamBuffer] = set()  # those among them that have no event yet
        self._told: deque[StreamEvent] = deque()  # lately
        self._told_bytes = 0
        self._since = 0  # all events after this number are kept
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
        """Whether a stream listens."""
        return bool(self._listeners)

    async def add_listener(self, listener: StreamBuffer, after: int | None) -> None:
        """Add a stream; first send it the events ``after`` one, or a whole answer."""
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
        """Remove a stream."""
        if listener not in self._listeners:
            return
        self._listeners.discard(listener)
        self._waiting.discard(listener)
        if not self._listeners:
            self.left_at = asyncio.get_running_loop().time()
            end_soon(self._task)
            self._task = None

    def look_soon(self) -> None:
        """Read again without waiting, and often for a while, after an action."""
        self._is_due.set()
        self._eager_until = asyncio.get_running_loop().time() + EAGER_S

    def current_event(self) -> StreamEvent:
        """Return the whole current answer, or the error in its place."""
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
        else:  # a whole answer replaces all earlier events
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
    """The events that wait to be sent on one stream."""

    def __init__(self) -> None:
        self._events: deque[tuple[TopicMonitor, StreamEvent]] = deque()
        self._bytes = 0
        self._behind: set[TopicMonitor] = set()  # of which something was lost
        self._has_news = asyncio.Event()

    def add_event(self, monitor: TopicMonitor, event: StreamEvent) -> None:
        """Add an event; drop all events of its topic if the buffer is full."""
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
        """Return the events to send; none, if none comes within that time."""
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
    """The monitors of all topics with a stream, also of a moment ago."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.counter = EventCounter()
        self._monitors: dict[str, TopicMonitor] = {}  # by their topics
        self._open: dict[StreamBuffer, str] = {}  # with who listens

    @property
    def streams(self) -> int:
        """Number of open streams."""
        return len(self._open)

    def has_room_for(self, who: str) -> bool:
        """Return whether ``who`` may open one more stream."""
        return len(self._open) < MAX_STREAMS and [*self._open.values()].count(who) < MAX_STREAMS_EACH

    async def open_stream(
        self, buffer: StreamBuffer, questions: Sequence[TopicQuestion], last_id: str, who: str = ""
    ) -> None:
        """Open a stream of topics for ``who``; ``last_id`` is the id of the last event received."""
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
        """Read all topics again now, so that the effect of an action shows at once."""
        for monitor in self._monitors.values():
            monitor.look_soon()

    def close_stream(self, buffer: StreamBuffer) -> None:
        """Close a stream."""
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
