"""Adds, finds and runs schedules."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from gossamer.config.option import SettingOption
from gossamer.core.errors import UsageError
from gossamer.core.record import Record
from gossamer.core.schedules import CatchUpRule, OverlapRule, Schedule
from gossamer.jobs.control import prepare_submission
from gossamer.jobs.fleet_runs import FleetStarter
from gossamer.jobs.process_runs import ProcessStarter
from gossamer.jobs.schedule_runner import ScheduleRunner
from gossamer.policy.schedules import check_cron, check_zone
from gossamer.ports.run_starter import RunStarter
from gossamer.ports.schedule_store import ScheduleStore
from gossamer.targets.discovery import CrawlTarget
from gossamer.targets.launch import LaunchPlan, launch_from, launch_of
from gossamer.targets.loading import load_target
from gossamer.wiring.backends import Backends

MOST_JITTER_S = 86_400.0
MOST_SCHEDULES = 1000
"""Schedules that a store takes, at most; every check reads all of them."""
PLACE_SETTINGS = ("data", "frontier.url", "store.url", "broker.url", "cluster.fleet")
"""Settings of the place of crawls: a schedule has those of the process that runs it."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ScheduleOrder(Record, frozen=True, kw_only=True):
    """The parameters of a new schedule."""

    name: str
    cron: str
    target: str
    zone: str = "UTC"
    arguments: dict[str, str] = {}
    options: Sequence[SettingOption] = ()
    overlap: OverlapRule = OverlapRule.SKIP
    catch_up: CatchUpRule = CatchUpRule.ONE
    jitter_s: float = 0.0


async def add_schedule(backends: Backends, order: ScheduleOrder, now: float) -> Schedule:
    """Check everything that can be checked now, and store the schedule.

    Raises ``UsageError`` that names the mistake.
    """
    check_name(order.name)
    cron, zone = check_cron(order.cron), check_zone(order.zone)
    if not 0.0 <= order.jitter_s <= MOST_JITTER_S:
        raise UsageError(f"--jitter {order.jitter_s:g} s: it is a time up to 24h")
    launch, found = _check_target(order, is_fleet=backends.requests.fleet is not None)
    schedule = Schedule(
        name=order.name,
        cron=cron,
        zone=zone,
        target=launch.target,
        arguments=launch.arguments,
        options=tuple(pair for pair in launch.options if pair[0] not in PLACE_SETTINGS),
        folder=launch.folder,
        place=await backends.read_place(),
        job_name=found.name,
        job_target=found.text,
        overlap=order.overlap,
        catch_up=order.catch_up,
        jitter_s=order.jitter_s,
        created_at=now,
        since=now,
    )
    known = [one.name for one in await backends.schedules.list_schedules()]
    if order.name not in known and len(known) >= MOST_SCHEDULES:
        raise UsageError(f"there are {len(known)} schedules already; `gossamer schedule remove` makes room")
    if not await backends.schedules.add_schedule(schedule):
        raise UsageError(
            f"there is a schedule {order.name!r} already: `gossamer schedule show {order.name}` shows it, "
            f"`gossamer schedule remove {order.name}` makes room for another one"
        )
    return schedule


def check_name(name: str) -> None:
    """Raise ``UsageError`` for an invalid name of a schedule."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a schedule: letters, digits, . _ and - can, 64 at most, and it begins "
            "with a letter or a digit"
        )


def _check_target(order: ScheduleOrder, *, is_fleet: bool) -> tuple[LaunchPlan, CrawlTarget]:
    """Return the schedule's launch plan and target. Raises ``UsageError`` for mistakes and secrets."""
    found = load_target(order.target, order.arguments, order.options)
    launch = launch_from(launch_of(order.target, order.arguments, found.loaded))
    if launch is None or launch.secrets:
        raise UsageError(
            f"{', '.join(launch.secrets if launch else ())}: secrets are not kept with a schedule. Give them "
            "to the process that runs it, as GOSSAMER_... in its environment, or in its gossamer.toml"
        )
    if is_fleet:
        prepare_submission(order.target, order.arguments, order.options)
    return launch, found.target


async def find_schedule(schedules: ScheduleStore, name: str) -> Schedule:
    """Return a schedule by its name. Raises ``UsageError`` that names the nearest one."""
    known = {one.name: one for one in await schedules.list_schedules()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        said = f"did you mean {near[0]!r}?"
    elif known:
        said = f"there are: {', '.join(sorted(known)[:10])}"
    else:
        said = "there is none yet; `gossamer schedule add` makes one"
    raise UsageError(f"unknown schedule {name!r}; {said}")


def starter_of(backends: Backends) -> RunStarter:
    """Return the starter of crawls for this place."""
    if backends.requests.fleet is not None:
        return FleetStarter(backends.settings, backends.book)
    return ProcessStarter(backends.settings, backends.requests)


async def open_runner(backends: Backends, starter: RunStarter | None = None) -> ScheduleRunner:
    """Return the runner of this place's schedules."""
    place = await backends.read_place()
    return ScheduleRunner(backends.schedules, backends.book, starter or starter_of(backends), place)
