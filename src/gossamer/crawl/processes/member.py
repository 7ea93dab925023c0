"""A further process of a crawl: ``python -m gossamer.crawl.processes.member``, started by the pool.

It reads its plan from stdin, works on the frontier until it is stopped, and ends at once when the first
process is gone: the next run takes its leases back.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

import msgspec

from gossamer.config.layers import find_project, load_settings
from gossamer.core.errors import OperatorError
from gossamer.core.events import Event
from gossamer.core.exits import ExitCode
from gossamer.crawl.processes.cost import PageCost
from gossamer.crawl.processes.messages import (
    BEAT_S,
    SHORT_S,
    EventsMessage,
    FreeSlotsMessage,
    HeartbeatMessage,
    HookFailureMessage,
    IdleMessage,
    LimitsMessage,
    LogMessage,
    ShortageMessage,
    StartMessage,
    StopMessage,
    ToMember,
    TrustMessage,
    can_pack,
    next_frame,
    pack_event,
    to_frame,
)
from gossamer.engine.worker import Worker
from gossamer.observe.log_lines import SafeFormatter
from gossamer.observe.log_setup import capture_stray_lines
from gossamer.runtime.cancelling import end_tasks
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.runtime.log_context import describe_lines, details_of
from gossamer.runtime.process_name import place_of_process
from gossamer.targets.discovery import find_target
from gossamer.wiring.assemble import CrawlParts, wire_member

FLUSH_S = 0.05
DRAIN_S = 10.0
GRACE_S = 3.0
"""Seconds for giving back leases after the first process is gone."""


class EventPipe(logging.Handler):
    """Port ``Sink``, and a handler of logs: sends events and lines in batches."""

    def __init__(self, pipe: BinaryIO) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(SafeFormatter())
        self._pipe = pipe
        self._process = place_of_process()
        self._events: list[Event] = []
        self._sending = threading.Lock()

    def emit(self, event: Event | logging.LogRecord) -> None:
        """Take an event or a line of the log."""
        if not isinstance(event, logging.LogRecord):
            self._events.append(event)
            return
        try:
            text = self.format(event).encode(errors="backslashreplace").decode()
            details = {"process": self._process, **details_of(event)}
            self._send_message(LogMessage(event.name, event.levelno, text, details))
        except Exception:  # noqa: BLE001 - as every handler: a line that is wrong costs no page
            self.handleError(event)

    def say_dry(self) -> None:
        """Report that this member has no requests, and that the frontier has none for it."""
        self._send_message(IdleMessage())

    def say_failed(self, failure: str) -> None:
        """Report that a pipeline step did not close."""
        self._send_message(HookFailureMessage(failure))

    def keep_beating(self) -> None:
        """Report, from a thread, that this process runs, also while a spider blocks the event loop."""
        while True:
            time.sleep(BEAT_S)
            try:
                self._send_message(HeartbeatMessage())
            except OSError:  # the first process is gone; another thread sees to that
                return

    def say_short(self, held: float) -> None:
        """Report a shortage of work, with the number of requests in hand lately."""
        self._send_message(ShortageMessage(held))

    def flush(self) -> None:
        """Send the collected events."""
        if self._events:
            events, self._events = self._events, []
            self._send_message(EventsMessage([pack_event(event) for event in events if can_pack(event)]))

    def _send_message(self, message: msgspec.Struct) -> None:
        with self._sending:
            self._pipe.write(to_frame(message))
            self._pipe.flush()


async def work_on_job(plan: StartMessage, reader: asyncio.StreamReader, outbox: EventPipe) -> None:
    """Work on the job until told to stop."""
    settings = load_settings(env={}, spider=msgspec.json.decode(plan.settings)).settings
    target = find_target(plan.target, plan.arguments, find_project(Path.cwd()), lambda: settings.scrapy)
    wired = await wire_member(settings, target, plan.job, trusted=plan.trusted, sinks=(outbox,))
    describe_lines(job=plan.job)
    worker = Worker(wired.parts, wired.shift)
    cost = PageCost()
    listening = asyncio.create_task(obey_messages(reader, worker, wired, cost))
    reporting = asyncio.create_task(report_events(worker, outbox, cost))
    try:
        await worker.run()
    finally:
        await end_tasks(listening, reporting)
        await wired.close()
        for failure in await wired.close_steps():
            outbox.say_failed(failure)


async def obey_messages(
    reader: asyncio.StreamReader, worker: Worker, wired: CrawlParts, cost: PageCost
) -> None:
    """Follow the first process's messages; give everything back if it is gone, or the drain is over."""
    decode = msgspec.msgpack.Decoder(ToMember).decode
    leaving: asyncio.Task[None] | None = None
    while (frame := await next_frame(reader)) is not None:
        message = decode(frame)
        if isinstance(message, TrustMessage):
            wired.guard.trust_place(message.host)
            continue
        if isinstance(message, LimitsMessage):
            worker.follow_limits(message.limits)
            continue
        if isinstance(message, FreeSlotsMessage):
            if cost.is_high:
                worker.make_room(message.held, message.workers)
            continue
        if isinstance(message, StopMessage) and message.at_once:
            break
        worker.stop()
        leaving = leaving or asyncio.create_task(abandon_after_drain(worker))
    await worker.abandon()


async def abandon_after_drain(worker: Worker) -> None:
    """Give everything back at the end of the time to drain."""
    await asyncio.sleep(DRAIN_S)
    await worker.abandon()


async def report_events(worker: Worker, outbox: EventPipe, cost: PageCost) -> None:
    """Send the collected events, a few times a second."""
    short_at = 0.0
    while True:
        await asyncio.sleep(FLUSH_S)
        outbox.flush()
        cost.note_pages(worker.ended_visits, time.thread_time())
        held = worker.load_if_short()
        if held is not None and time.monotonic() >= short_at:
            short_at = time.monotonic() + SHORT_S
            outbox.say_short(held)
        if worker.idle.is_set():
            worker.idle.clear()
            outbox.say_dry()


def end_with_parent() -> None:
    """End when the first process is gone, also if a spider holds up the event loop. For a thread."""
    ends = select.poll()
    ends.register(0, 0)  # for its hang-up alone
    ends.poll()
    time.sleep(GRACE_S)
    os._exit(ExitCode.MISSING)


async def run_plan(outbox: EventPipe) -> None:
    """Read the plan, and follow it."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    frame = await next_frame(reader)
    if frame is not None:
        await work_on_job(msgspec.msgpack.decode(frame, type=StartMessage), reader, outbox)


def main() -> int:
    """Run the member; return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a spider must not come between the messages
    outbox = EventPipe(pipe)
    logging.getLogger().addHandler(outbox)
    logging.getLogger().setLevel(logging.INFO)
    threading.Thread(target=end_with_parent, name="gossamer-parent", daemon=True).start()
    threading.Thread(target=outbox.keep_beating, name="gossamer-beat", daemon=True).start()
    gc.freeze()
    try:
        with capture_stray_lines():
            asyncio.run(run_plan(outbox))
        outbox.flush()
    except BrokenPipeError:
        return ExitCode.MISSING
    except OperatorError as error:
        sys.stderr.write(f"gossamer: {hide_secrets(str(error))}\n")
        return ExitCode.MISSING
    return 0


if __name__ == "__main__":
    sys.exit(main())
