"""The processes of a fleet: a worker, and a supervisor."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import Sequence
from math import inf
from typing import Any

from gossamer.cluster.app import Publisher, broker_url, make_app
from gossamer.cluster.tasks import register
from gossamer.cluster.workplace import BEGIN
from gossamer.config import Settings
from gossamer.engine.fleet import Fleet
from gossamer.engine.fleet_parts import Complaints, FleetParts, Watched
from gossamer.engine.identity import this_process
from gossamer.wiring.desk import Desk, open_desk
from gossamer.wiring.in_redis import roster_of
from gossamer.wiring.pages import touches_network
from gossamer.wiring.plan import plan_from, settings_under
from gossamer.wiring.rules import rules_of
from gossamer.words.errors import StorageError
from gossamer.words.lifecycle import JobState
from gossamer.words.model import Job
from gossamer.words.ports import JobBook
from gossamer.words.servers import shown_server
from gossamer.words.shifts import SEED_LANE, Shift

FIRST_TIDY_S, TIDY_S = 60.0, 3600.0
AGAIN_S = 1.0
SIGNALS = (signal.SIGTERM, signal.SIGINT)
log = logging.getLogger("gossamer.fleet")


# --------------------------------------------------------------------------- worker


def run_worker(settings: Settings, *, slots: int, lanes: Sequence[str]) -> int:
    """Be a worker until told to end; its exit code."""
    everything = tuple(dict.fromkeys((*lanes, SEED_LANE)))
    app = register(make_app(settings, everything), settings)
    log.info("a worker of the fleet %r at %s", settings.cluster.fleet, shown_server(broker_url(settings)))
    name = f"gossamer-{os.getpid()}-{secrets.token_hex(2)}@{socket.gethostname()}"
    worker = app.Worker(
        pool="threads", concurrency=slots, hostname=name, loglevel=None, without_mingle=True,
        without_gossip=True, redirect_stdouts=False, quiet=True, task_events=True,
    )  # fmt: skip
    worker.start()
    return int(worker.exitcode or 0)


# --------------------------------------------------------------------------- supervisor


async def run_supervisor(settings: Settings) -> None:
    """Supervise until told to end; when a server is away, wait for it."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, told.set)
    app = make_app(settings)
    me = this_process()
    supervising = asyncio.create_task(_supervise(settings, Publisher(app, settings.cluster.fleet), me))
    telling = asyncio.create_task(told.wait())
    try:
        await asyncio.wait({supervising, telling}, return_when=asyncio.FIRST_COMPLETED)
        if supervising.done():
            supervising.result()
    finally:
        await ended({supervising, telling})


async def ended(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they have ended.

    A driver whose own time-out comes in the same moment may take a cancellation for it, and go on.
    """
    while tasks:
        for task in tasks:
            task.cancel()
        _, tasks = await asyncio.wait(tasks, timeout=AGAIN_S)


async def _supervise(settings: Settings, publisher: Publisher, me: str) -> None:
    desk = await _desk_in_time(settings)
    try:
        fleet = fleet_of(settings, desk, publisher, me)
        log.info("supervisor %s of the fleet %r", me, settings.cluster.fleet)
        tidying = asyncio.create_task(_tidy(fleet, desk, settings))
        try:
            await fleet.run()
        finally:
            tidying.cancel()
    finally:
        await desk.close()


async def _tidy(fleet: Fleet, desk: Desk, settings: Settings) -> None:
    """Drop what is too old, now and then; the supervisor that leads sees to it."""
    while True:
        await asyncio.sleep(FIRST_TIDY_S if not fleet.is_leading else TIDY_S)
        if fleet.is_leading:
            try:
                await desk.keeping.tidy(desk.clock.now())
                await forget_old(settings, desk)
            except StorageError as error:
                log.warning("what is too old was not dropped: %s", error)


async def forget_old(settings: Settings, desk: Desk) -> None:
    """Delete from Redis what is left of the fleet's jobs that ended longer ago than ``frontier.keep``."""
    requests, book = roster_of(desk), _OfFleet(desk.book, settings.cluster.fleet)
    ended_before = desk.clock.now() - (inf if settings.frontier.keep is None else settings.frontier.keep)
    for listed in await book.list():
        if not _is_old(listed, ended_before):
            continue
        job = await book.get(listed.id)  # it may have been taken up again meanwhile
        if job is not None and _is_old(job, ended_before) and await requests.forget(job):
            log.info("%s: ended long ago; its requests are deleted from Redis", job.id)


def _is_old(job: Job, ended_before: float) -> bool:
    """A paused job waits for somebody."""
    return job.state is not JobState.PAUSED and job.finished_at is not None and job.finished_at < ended_before


def fleet_of(settings: Settings, desk: Desk, publisher: Publisher, me: str) -> Fleet:
    """A supervisor at a desk."""
    requests = roster_of(desk)

    def watched(job: Job) -> Watched:
        said = settings_under(plan_from(job.plan), settings)
        rules = rules_of(said, touches_network=touches_network(said))
        return Watched(
            frontier=requests.frontier(job, rules), per_host=rules.per_host, max_time_s=said.max_time
        )

    async def publish(shifts: Sequence[Shift]) -> None:
        await asyncio.to_thread(publisher.publish, shifts)

    parts = FleetParts(
        book=_OfFleet(desk.book, settings.cluster.fleet),
        store=desk.store,
        roster=requests.roster,
        shared=requests.shared,
        clock=desk.clock,
        watched=watched,
        publish=publish,
    )
    return Fleet(parts, me=me)


class _OfFleet:
    """A book that lists the jobs of one fleet; those of `gossamer crawl` look after themselves."""

    def __init__(self, book: JobBook, fleet: str) -> None:
        self._book = book
        self._fleet = fleet
        self.create = book.create
        self.get = book.get
        self.update = book.update

    async def list(self, *, unfinished: bool = False) -> list[Job]:
        """See :class:`~gossamer.words.ports.JobBook`."""
        found = await self._book.list(unfinished=unfinished)
        return [job for job in found if job.plan and self._is_ours(job)]

    def _is_ours(self, job: Job) -> bool:
        try:
            return plan_from(job.plan).fleet == self._fleet
        except StorageError:
            return True  # whoever looks at it complains


async def _desk_in_time(settings: Settings) -> Desk:
    """The servers may start later than their supervisor."""
    complaints = Complaints()
    while True:
        try:
            desk = await open_desk(settings, create=True)
        except StorageError as error:
            await asyncio.sleep(complaints.say(BEGIN, str(error), time.monotonic()))
        else:
            complaints.well(BEGIN)
            return desk
