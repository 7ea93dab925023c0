"""The first process of a crawl, and the other processes that run beside its own worker.

Every member works on the same frontier under the same guarantees: a lease belongs to one worker, and
politeness is decided when it is granted. The first process alone seeds, watches the job and decides when it
is over.

A member that dies is replaced; one that keeps dying at once is given up, and the crawl continues with the
others. A member that is stopped in the middle of a write would block the others: it is killed and replaced.
However a member has ended, its leases are taken back at once, so that no host waits for their deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.requests import Lease
from gossamer.core.steering import WorkLimits
from gossamer.core.text import format_count
from gossamer.crawl.processes.cost import PageCost
from gossamer.crawl.processes.messages import (
    BEAT_S,
    SHORT_S,
    EventsMessage,
    FreeSlotsMessage,
    FromMember,
    HookFailureMessage,
    IdleMessage,
    LimitsMessage,
    LogMessage,
    ShortageMessage,
    StartMessage,
    StopMessage,
    ToMember,
    TrustMessage,
    next_frame,
    to_frame,
    unpack_event,
)
from gossamer.engine.worker import Worker
from gossamer.ports.owned_frontier import OwnedFrontier
from gossamer.ports.sink import Sink
from gossamer.runtime.cancelling import end_tasks
from gossamer.runtime.log_context import line_details
from gossamer.runtime.process_name import worker_name

MAX_EARLY_DEATHS = 3
EARLY_S = 5.0
"""A member that ends by itself so soon after its start will hardly do better the next time."""

LEAVE_S = 1.0
"""Seconds after which a member that should have ended is killed: its spider holds it up."""

SILENT_BEATS = 3
"""Missed heartbeats after which a member that blocks all writers is killed."""

LAST_BEATS = 2
"""Missed heartbeats after which an ended member has no more messages."""

log = logging.getLogger("gossamer.crawl")
_decode = msgspec.msgpack.Decoder(FromMember).decode


class ProcessPool:
    """A ``WorkerGroup`` of the engine: a worker in this process, and ``others`` processes with one each.

    ``frontier`` takes back the leases of dead members. ``writers`` returns the processes that block all other
    writers at the moment; ``failed_hooks`` receives the failures of closing pipelines in other processes.
    """

    def __init__(
        self,
        worker: Worker,
        frontier: OwnedFrontier,
        plan: StartMessage,
        others: int,
        sink: Sink,
        *,
        writers: Callable[[], set[int]] = set,
        failed_hooks: list[str] | None = None,
    ) -> None:
        self._worker = worker
        self._frontier = frontier
        self._plan = plan
        self._others = others
        self._sink = sink
        self._writers = writers
        self._cost = PageCost()
        self._failed_hooks = [] if failed_hooks is None else failed_hooks
        self._trusted = list(plan.trusted)
        self._stop: StopMessage | None = None
        self._limits: LimitsMessage | None = None  # of each member, since the job was changed
        self._members: dict[asyncio.subprocess.Process, int] = {}  # beats missed
        self._killing: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<ProcessPool of {self._worker!r} and {len(self._members)} processes>"

    @property
    def idle(self) -> asyncio.Event:
        """Set whenever a worker has nothing in hand and the frontier nothing for it."""
        return self._worker.idle

    async def run(self) -> None:
        """Work until stopped. Raises the errors of this process's worker; the others end with it."""
        others = [asyncio.create_task(self._keep_running(number)) for number in range(self._others)]
        watching = [asyncio.create_task(self._watch_processes()), asyncio.create_task(self._say_short())]
        try:
            await self._worker.run()
            self._broadcast_message(self._stop or StopMessage())
            await asyncio.gather(*others)
        finally:
            self._broadcast_message(StopMessage(at_once=True))
            await end_tasks(*others, *watching)
            self._kill_processes()
            if self._killing is not None:
                self._killing.cancel()

    def stop(self) -> None:
        """Take no new work; all workers finish their requests."""
        self._stop_processes(StopMessage())
        self._worker.stop()

    async def abandon(self) -> None:
        """Give everything back at once."""
        self._stop_processes(StopMessage(at_once=True))
        if self._killing is None:
            self._killing = asyncio.get_running_loop().call_later(LEAVE_S, self._kill_processes)
        await self._worker.abandon()

    def wake(self) -> None:
        """Something was added; the other processes look often enough by themselves."""
        self._worker.wake()

    async def record_expired(self, leases: Sequence[Lease]) -> None:
        """See :meth:`~gossamer.engine.worker.Worker.record_expired`."""
        await self._worker.record_expired(leases)

    def follow_limits(self, limits: WorkLimits) -> None:
        """See :class:`~gossamer.ports.worker_group.WorkerGroup`."""
        own = replace(limits, concurrency=-(-limits.concurrency // (self._others + 1)))
        self._limits = LimitsMessage(own)
        self._worker.follow_limits(own)
        self._broadcast_message(self._limits)

    def trust_host(self, host: str) -> None:
        """Trust a host that the operator named; all members trust it before its first request is added."""
        self._trusted.append(host)
        self._broadcast_message(TrustMessage(host))

    # ------------------------------------------------------------------ members

    def _stop_processes(self, stop: StopMessage) -> None:
        self._stop = stop
        self._broadcast_message(stop)

    def _broadcast_message(self, message: ToMember, *, but: asyncio.subprocess.Process | None = None) -> None:
        for member in self._members:
            if member is not but and member.stdin is not None and not member.stdin.is_closing():
                member.stdin.write(to_frame(message))

    def _kill_processes(self) -> None:
        for member in self._members:
            with contextlib.suppress(ProcessLookupError):
                member.kill()

    async def _watch_processes(self) -> None:
        """Kill members that block all writers and do not run (stopped, or their disk hangs).

        An ended member is released, even while a process that its spider forked keeps its pipe open.
        Heartbeats are counted, not timed: while this process is stopped itself, no member counts as silent.
        """
        while True:
            await asyncio.sleep(BEAT_S)
            for member in self._members:
                self._members[member] += 1
                if member.returncode is not None and self._members[member] >= LAST_BEATS:
                    assert member.stdout is not None
                    member.stdout.feed_eof()
            silent = [member for member, missed in self._members.items() if missed > SILENT_BEATS]
            writers = await asyncio.to_thread(self._writers) if silent else set()
            for member in silent:
                if member.pid in writers and self._members.get(member, 0) > SILENT_BEATS:
                    log.warning(
                        "process %d of the crawl keeps the database locked and does not run; it is killed",
                        member.pid,
                    )
                    with contextlib.suppress(ProcessLookupError):
                        member.kill()

    async def _say_short(self) -> None:
        """Let the others know while the worker of this process is short of work."""
        while True:
            await asyncio.sleep(SHORT_S)
            self._cost.note_pages(self._worker.ended_visits, time.thread_time())
            held = self._worker.load_if_short()
            if held is not None:
                self._broadcast_message(FreeSlotsMessage(held, len(self._members) + 1))

    async def _keep_running(self, number: int) -> None:
        """Keep one member going."""
        loop = asyncio.get_running_loop()
        early_deaths = 0
        while self._stop is None:
            started = loop.time()
            try:
                code = await self._run_process()
            except OSError as error:  # no more processes, files or memory
                log.warning(
                    "process %d of the crawl does not start (%s); continuing without it", number + 2, error
                )
                return
            if self._stop is not None or code == 0:
                return
            early_deaths = early_deaths + 1 if loop.time() - started < EARLY_S else 0
            if early_deaths >= MAX_EARLY_DEATHS:
                log.error(
                    "process %d of the crawl keeps ending (%s); continuing without it", number + 2, code
                )
                return
            log.warning("process %d of the crawl ended (%s); another takes its place", number + 2, code)

    async def _run_process(self) -> int:
        """Run one member from its start to its end; return its exit code."""
        # A session of its own: Ctrl-C is for the first process, which tells the others.
        member = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gossamer.crawl.processes.member",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert member.stdin is not None
        assert member.stdout is not None
        plan = replace(self._plan, trusted=self._trusted)
        member.stdin.write(to_frame(plan))
        if self._limits is not None:
            member.stdin.write(to_frame(self._limits))
        self._members[member] = 0
        try:
            if self._stop is not None:
                self._broadcast_message(self._stop)
            while (frame := await next_frame(member.stdout)) is not None:
                self._members[member] = 0
                self._handle_message(member, _decode(frame))
            return await member.wait()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                member.kill()
            await member.wait()
            raise
        finally:
            self._members.pop(member, None)
            await self._take_back(member.pid)

    async def _take_back(self, pid: int) -> None:
        """End the leases of a member that is gone; their deadlines do so, should that fail."""
        name = worker_name(pid)
        try:
            leases = await self._frontier.recover_leases(name)
            await self._worker.record_expired(leases, name)
        except StorageError as error:
            log.warning("what process %d of the crawl had in hand waits for its deadline: %s", pid, error)
            return
        if leases:
            held = format_count(len(leases), "request")
            log.warning("process %d of the crawl is gone; taken back from it: %s", pid, held)

    def _handle_message(self, member: asyncio.subprocess.Process, message: FromMember) -> None:
        if isinstance(message, EventsMessage):
            for name, event in message.events:
                self._sink.emit(unpack_event(name, event))
        elif isinstance(message, LogMessage):
            extra = line_details(**message.details)
            logging.getLogger(message.logger).log(message.level, "%s", message.text, extra=extra)
        elif isinstance(message, HookFailureMessage):
            self._failed_hooks.append(message.failure)
        elif isinstance(message, ShortageMessage):
            room = FreeSlotsMessage(message.held, len(self._members) + 1)
            if self._cost.is_high:
                self._worker.make_room(room.held, room.workers)
            self._broadcast_message(room, but=member)
        elif isinstance(message, IdleMessage):
            self._worker.idle.set()
