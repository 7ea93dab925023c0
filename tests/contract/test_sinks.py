"""Every sink keeps every promise of the contract."""

import io
import logging
from contextlib import asynccontextmanager

import msgspec
import pytest
from prometheus_client import generate_latest

from gossamer.cluster.shift_task import ShiftTask
from gossamer.config.settings import Settings
from gossamer.core import events
from gossamer.core.events import Event
from gossamer.crawl.processes.member import EventPipe
from gossamer.crawl.processes.messages import EventsMessage, unpack_event
from gossamer.observe.exposition import make_registry
from gossamer.observe.guarded_sink import GuardedSink
from gossamer.observe.log import LogSink
from gossamer.observe.metrics_sink import MetricsSink
from gossamer.observe.multi_sink import MultiSink
from gossamer.observe.progress import ProgressSink
from gossamer.observe.run_stats import RunStats
from gossamer.testing.contracts.roster_harness import make_shift
from gossamer.testing.contracts.sink import EVENTS, SINK_CHECKS, SinkSubject, check_sink


class Listener:
    """A sink that keeps what it is given."""

    def __init__(self):
        self.seen = []

    def emit(self, event):
        self.seen.append(event)


@asynccontextmanager
async def log(clock):
    """All levels, so that every line is formatted."""
    logger, lines = logging.Logger("sink", logging.DEBUG), []

    class Lines(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    logger.addHandler(Lines())
    yield SinkSubject(LogSink(logger))
    assert lines


@asynccontextmanager
async def run_stats(clock):
    yield SinkSubject(RunStats())


@asynccontextmanager
async def progress(clock):
    yield SinkSubject(ProgressSink(RunStats(), lambda line: None, every_s=0.0))


@asynccontextmanager
async def several(clock):
    first, second = Listener(), Listener()
    yield SinkSubject(MultiSink([RunStats(), first, second]), lambda: list(second.seen))
    assert first.seen == second.seen


@asynccontextmanager
async def guarded(clock):
    """Of another package."""
    listener = Listener()
    yield SinkSubject(GuardedSink("listener", listener), lambda: list(listener.seen))


@asynccontextmanager
async def pipe(clock):
    """To another process, as the first one reads it."""
    stream = io.BytesIO()
    sink = EventPipe(stream)

    def arrived():
        sink.flush()
        data = stream.getvalue()
        size = int.from_bytes(data[:4], "big")
        assert len(data) == 4 + size
        message = msgspec.msgpack.decode(data[4:], type=EventsMessage)
        return [unpack_event(name, event) for name, event in message.events]

    yield SinkSubject(sink, arrived)


@asynccontextmanager
async def shift(clock):
    """Of a fleet's worker, which counts what was recorded."""

    async def notify():
        pass

    yield SinkSubject(ShiftTask(make_shift(clock.now(), "s1"), Settings(), None, notify))


@asynccontextmanager
async def broken(clock):
    """Of a package that was installed, and does not work."""
    yield SinkSubject(GuardedSink("broken", object()))


@asynccontextmanager
async def metrics(clock):
    """Whatever was counted can be shown."""
    sink = MetricsSink()
    yield SinkSubject(sink)
    assert b"gossamer_attempts_total{" in generate_latest(make_registry(sink.read_samples))


MAKES = {
    make.__name__: make for make in (log, run_stats, progress, several, guarded, broken, pipe, shift, metrics)
}


@pytest.mark.parametrize("name", SINK_CHECKS)
@pytest.mark.parametrize("kind", MAKES)
async def test_contract(kind, name):
    await SINK_CHECKS[name](MAKES[kind])


async def test_the_suite_runs_every_check():
    await check_sink(several)
    assert len(SINK_CHECKS) >= 5


def test_the_suite_has_an_event_of_every_kind():
    kinds = {kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event)}
    assert {type(event) for event in EVENTS} == kinds - {Event}


async def test_the_suite_catches_a_sink_that_knows_its_events_only():
    class Narrow:
        def emit(self, event):
            {type(known): known for known in EVENTS}[type(event)]

    class Unordered(Listener):
        def emit(self, event):
            self.seen.insert(0, event)

    @asynccontextmanager
    async def narrow(clock):
        yield SinkSubject(Narrow())

    @asynccontextmanager
    async def unordered(clock):
        sink = Unordered()
        yield SinkSubject(sink, lambda: sink.seen)

    with pytest.raises(AssertionError, match="unknown kinds are ignored"):
        await SINK_CHECKS["unknown_kinds_are_ignored"](narrow)
    with pytest.raises(AssertionError, match="in order"):
        await SINK_CHECKS["every_kind_of_event_is_taken"](unordered)
