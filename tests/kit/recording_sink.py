"""A sink as another package would provide it, which records its events."""

from __future__ import annotations

from contextlib import contextmanager

from gossamer.core.events import PageDoneEvent

ENTRY = {
    "gossamer.sinks": {
        "recording": "kit.recording_sink:open_sink",
        "failing": "kit.recording_sink:open_failing",
    }
}


class RecordingSink:
    """Port ``Sink``: remembers."""

    def __init__(self) -> None:
        self.events = []
        self.is_closed = False

    def emit(self, event) -> None:
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__.removesuffix("Event") for event in self.events]


class FailingSink(RecordingSink):
    """One that fails at the first page."""

    def emit(self, event) -> None:
        super().emit(event)
        if isinstance(event, PageDoneEvent):
            raise RuntimeError("no room")  # noqa: TRY004


OPENED: list[RecordingSink] = []
"""Every sink that was opened, the latest last."""


@contextmanager
def open_sink(settings, kind=RecordingSink):
    sink = kind()
    OPENED.append(sink)
    yield sink
    sink.is_closed = True


def open_failing(settings):
    return open_sink(settings, FailingSink)
