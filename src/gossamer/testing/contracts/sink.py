"""The contract of a sink, as named checks.

Use: ``await check_sink(make)``, or one by one from ``SINK_CHECKS``; ``make(clock)`` is an async context
manager that gives a :class:`SinkSubject` with a new sink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gossamer.core.events import (
    Event,
    JobFinishedEvent,
    JobStartedEvent,
    LeaseLostEvent,
    NoticeEvent,
    PageDoneEvent,
    ProgressEvent,
    ShiftEndedEvent,
    TimeLeftEvent,
)
from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import JobState
from gossamer.core.results import Attempt, Verdict
from gossamer.core.shifts import EndReason
from gossamer.ports.sink import Sink
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal

__all__ = ["EVENTS", "SINK_CHECKS", "SinkSubject", "check_sink"]


@dataclass
class SinkSubject:
    """The sink under test and, for a sink that forwards events, the events that have arrived."""

    sink: Sink
    arrived: Callable[[], list[Event]] | None = None

    def emit_all(self, events: list[Event], promise: str) -> None:
        """Emit events; whatever the sink raises breaks the promise."""
        for event in events:
            try:
                self.sink.emit(event)
            except Exception as error:
                raise AssertionError(f"{promise}: {event!r} raised {error!r}") from error


SINK_CHECKS: ContractSuite[SinkSubject] = ContractSuite()
"""The checks by name."""


async def check_sink(make: Make[SinkSubject]) -> None:
    """Run every check on a fresh sink each. Raises ``AssertionError`` for a broken promise."""
    await SINK_CHECKS.run(make)


def page_done(number: int, verdict: Verdict = Verdict.SUCCESS, reason: str = "", detail: str = "") -> Event:
    """An attempt that ended, as a worker tells of it."""
    attempt = Attempt(
        at=float(number),
        url=f"http://a.example/{number}",
        fingerprint=number,
        verdict=verdict,
        reason=reason,
        detail=detail,
        status=200 if verdict is Verdict.SUCCESS else 0,
    )
    return PageDoneEvent(at=attempt.at, job="shop-1", attempt=attempt, host="a.example", items=2)


EVENTS: tuple[Event, ...] = (
    JobStartedEvent(at=0.0, job="shop-1", resumed=True, recovered=2),
    page_done(1),
    page_done(2, Verdict.RETRY, "connect", "refused"),
    page_done(3, Verdict.DEAD, "callback", 'Traceback:\n  File "x.py", line 1\nValueError: no'),
    page_done(4, Verdict.SKIPPED, "robots"),
    LeaseLostEvent(at=5.0, job="shop-1", url="http://a.example/5"),
    ProgressEvent(at=6.0, job="shop-1", stats=FrontierStats(state=JobState.RUNNING, pending=3)),
    TimeLeftEvent(at=6.5, job="shop-1", least_s=180.0, most_s=300.0, text="done in 3 to 5 minutes"),
    NoticeEvent(at=7.0, level="warning", text="something to know"),
    ShiftEndedEvent(at=7.5, job="shop-1", lane="http", why=EndReason.IDLE, pages=1),
    JobFinishedEvent(at=8.0, job="shop-1", reason="finished"),
)
"""The events of a short run, of every kind."""

STRANGE = ("", "\x00\x1b[31m\r\n", "\ud800", "\ufffe\u202e", "\U0001f577" * 5000, "{}%s%(name)s[red]")
"""Text that pages and users' code may bring into an event."""


class _UnknownEvent(Event, frozen=True, kw_only=True):
    """An event of a later version."""

    text: str = ""


@SINK_CHECKS.register
async def every_kind_of_event_is_taken(s: SinkSubject) -> None:
    """In the order of a run, and whatever passes events on keeps the order."""
    s.emit_all([*EVENTS], "every kind of event is taken")
    if s.arrived is not None:
        assert_equal(s.arrived(), [*EVENTS], "each event arrives once, whole and in order")


@SINK_CHECKS.register
async def events_come_in_any_order(s: SinkSubject) -> None:
    """A sink may be added in the middle of a run, and a job may be resumed."""
    events = [*reversed(EVENTS), *EVENTS, *EVENTS]
    s.emit_all(events, "events may come in any order")
    if s.arrived is not None:
        assert_equal(s.arrived(), events, "each event arrives once, in the order it was emitted")


@SINK_CHECKS.register
async def unknown_kinds_are_ignored(s: SinkSubject) -> None:
    """The events after them are taken as ever."""
    s.emit_all([_UnknownEvent(at=1.0, text="x"), *EVENTS], "unknown kinds are ignored")
    if s.arrived is not None:
        known = [event for event in s.arrived() if not isinstance(event, _UnknownEvent)]
        assert_equal(known, [*EVENTS], "later events arrive")


@SINK_CHECKS.register
async def strange_text_does_no_harm(s: SinkSubject) -> None:
    """Control characters, half a surrogate pair, very long text, what looks like a format."""
    events: list[Event] = []
    for text in STRANGE:
        events += [
            page_done(1, Verdict.DEAD, "callback", f"ValueError: {text}\n{text}"),
            page_done(2, Verdict.DEAD, text, text),
            LeaseLostEvent(at=3.0, job=text, url=f"http://a.example/{text}"),
            NoticeEvent(at=4.0, level=text, text=text),
            JobFinishedEvent(at=5.0, job="shop-1", reason=text),
        ]
    s.emit_all([*events, *EVENTS], "strange text does no harm")
    if s.arrived is not None:
        arrived = s.arrived()
        assert_equal(len(arrived), len(events) + len(EVENTS), "every event arrives")
        assert_equal(arrived[len(events) :], [*EVENTS], "and those after them are whole")


@SINK_CHECKS.register
async def many_events_are_taken(s: SinkSubject) -> None:
    """As many as a few seconds of a fast crawl have, each failure with a text of its own."""
    events = [page_done(n, Verdict.DEAD, "callback", f"x\nValueError: {n}") for n in range(3000)]
    s.emit_all(events, "many events are taken")
    if s.arrived is not None:
        assert_equal(len(s.arrived()), len(events), "every one of them arrives")
