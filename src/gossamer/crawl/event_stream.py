"""The events of a crawl for a program that reads them at its own pace."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from weakref import WeakSet

from gossamer.core.events import Event, NoticeEvent
from gossamer.core.text import format_count

log = logging.getLogger("gossamer.crawl")


class EventStream:
    """The events of a crawl from when it was made, in order: ``async for event in crawling.events()``.

    It ends with the crawl. A reader never holds the crawl up: of events that it has not read yet the latest
    ``limit`` are kept, and a ``NoticeEvent`` stands in the place of those that were dropped.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[Event] = deque()
        self._dropped = 0
        self._is_over = False
        self._news = asyncio.Event()

    def put_event(self, event: Event) -> None:
        """Add one event; it replaces the oldest one if the stream is full."""
        if len(self._waiting) >= self._limit:
            self._waiting.popleft()
            self._dropped += 1
        self._waiting.append(event)
        self._news.set()

    def end(self) -> None:
        """Nothing more will come."""
        self._is_over = True
        self._news.set()

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._is_over:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        if self._dropped:
            return self._tell_dropped(self._waiting[0].at)
        return self._waiting.popleft()

    def _tell_dropped(self, at: float) -> NoticeEvent:
        count, self._dropped = self._dropped, 0
        text = f"{format_count(count, 'event')} dropped: the program reads them more slowly than they come"
        log.warning("%s", text)
        return NoticeEvent(at=at, level="warning", text=text)


class StreamSink:
    """Port ``Sink``: passes each event to every stream that is still referenced."""

    def __init__(self) -> None:
        self._streams: WeakSet[EventStream] = WeakSet()
        self._is_over = False

    def emit(self, event: Event) -> None:
        """Pass one event on."""
        for stream in self._streams:
            stream.put_event(event)

    def open_stream(self, limit: int) -> EventStream:
        """Open a stream of all events from now on; it ends with its last reference."""
        stream = EventStream(limit)
        if self._is_over:
            stream.end()
        self._streams.add(stream)
        return stream

    def end(self) -> None:
        """End the streams after their remaining events: the crawl is over."""
        self._is_over = True
        for stream in self._streams:
            stream.end()
