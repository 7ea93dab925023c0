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
from contextlib import AsyncExitStack

from gossamer.cluster.app import make_app
from gossamer.cluster.broker import broker_url
from gossamer.cluster.celery_log import keep_log
from gossamer.cluster.publisher import ShiftPublisher
from gossamer.cluster.tasks import register_task
from gossamer.cluster.worker_process import BEGIN
from gossamer.config.live import with_changes
from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job
from gossamer.core.redaction import shown_server
from gossamer.core.shifts import EXTRACT_LANE, SEED_LANE, Shift
from gossamer.core.steering import SettingChange
from gossamer.fleet.error_throttle import ErrorThrottle
from gossamer.fleet.parts import FleetParts, MonitoredJob
from gossamer.fleet.supervisor import FleetSupervisor
from gossamer.jobs.duties import duties_of
from gossamer.jobs.retention import FleetJobStore
from gossamer.observe.multi_sink import MultiSink
from gossamer.ports.sink import Sink
from gossamer.runtime.cancelling import end_tasks
from gossamer.runtime.process_name import this_process
from gossamer.targets.plan import plan_from, settings_under
from gossamer.wiring.backend_check import BackendCheck, waiting_health
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.budgets import end_finder_of
from gossamer.wiring.fetchers import touches_network
from gossamer.wiring.process_health import watch_process
from gossamer.wiring.rules import lanes_of, rules_of
from gossamer.wiring.sinks import open_sinks
from gossamer.wiring.watch import watch_fleet

SIGNALS = (signal.SIGTERM, signal.SIGINT)
log = logging.getLogger("gossamer.fleet")


# --------------------------------------------------------------------------- worker


def run_worker(settings: Settings, *, slots: int, lanes: Sequence[str]) -> int:
    """Be a worker until told to end; its exit code. Without ``lanes`` it serves all of the fleet's."""
    everything = tuple(dict.fromkeys((*(lanes or (*settings.cluster.lanes, EXTRACT_LANE)), SEED_LANE)))
    app = register_task(make_app(settings, everything), settings)
    keep_log()
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
    supervising = asyncio.create_task(
        _supervise_fleet(settings, ShiftPublisher(app, settings.cluster.fleet), me)
    )
    telling = asyncio.create_task(told.wait())
    try:
        await asyncio.wait({supervising, telling}, return_when=asyncio.FIRST_COMPLETED)
        if supervising.done():
            supervising.result()
    finally:
        await end_tasks(supervising, telling)


async def _supervise_fleet(settings: Settings, publisher: ShiftPublisher, me: str) -> None:
    async with AsyncExitStack() as closing:
        began_at, servers = time.monotonic(), None
        health = watch_process(closing, lambda: servers.read_parts() if servers else waiting_health(began_at))
        sinks = closing.enter_context(open_sinks(settings, health))
        backends = await _desk_in_time(settings)
        closing.push_async_callback(backends.close)
        servers = BackendCheck(backends)
        closing.push_async_callback(end_tasks, asyncio.create_task(servers.run()))
        fleet = make_supervisor(settings, backends, publisher, me, sinks)
        health.watch_life(fleet.read_health)
        watch = watch_fleet(
            settings,
            backends,
            FleetJobStore(backends.book, settings.cluster.fleet),
            is_leading=lambda: fleet.is_leading,
        )
        log.info("supervisor %s of the fleet %r", me, settings.cluster.fleet)
        watching = asyncio.create_task(watch.run())
        closing.push_async_callback(end_tasks, watching)
        await fleet.run()


def make_supervisor(
    settings: Settings, backends: Backends, publisher: ShiftPublisher, me: str, sinks: Sequence[Sink] = ()
) -> FleetSupervisor:
    """Return a supervisor over its back ends."""
    requests = backends.require_fleet()

    def watched(job: Job, changes: Sequence[SettingChange]) -> MonitoredJob:
        planned = settings_under(plan_from(job.plan), settings)
        said = with_changes(planned, {change.key: change.value for change in changes})
        rules = rules_of(said, touches_network=touches_network(said))
        return MonitoredJob(
            frontier=requests.open_frontier(job, rules),
            per_host=rules.per_host,
            max_time_s=said.max_time,
            find_end=end_finder_of(said, requests.shared, backends.store, job),
            lanes=lanes_of(said, job),
            make_frontier=lambda: requests.create_frontier(job, rules),
        )

    async def publish(shifts: Sequence[Shift]) -> None:
        await asyncio.to_thread(publisher.publish_shifts, shifts)

    parts = FleetParts(
        book=FleetJobStore(backends.book, settings.cluster.fleet),
        store=backends.store,
        roster=requests.roster,
        shared=requests.shared,
        clock=backends.clock,
        watched=watched,
        publish=publish,
        join=backends.join_fleet,
        series=backends.series,
        sink=MultiSink(sinks),
    )
    return FleetSupervisor(parts, me=me, duties=duties_of(settings, backends))


async def _join_fleet(backends: Backends) -> None:
    try:
        await backends.join_fleet()
    except BaseException:
        await backends.close()
        raise


async def _desk_in_time(settings: Settings) -> Backends:
    """Open the back ends once the servers are there: they may start later than their supervisor."""
    complaints = ErrorThrottle()
    while True:
        try:
            backends = await open_backends(settings, create=True)
            await _join_fleet(backends)
        except StorageError as error:
            await asyncio.sleep(complaints.report_error(BEGIN, str(error), time.monotonic()))
        else:
            complaints.clear_error(BEGIN)
            return backends
