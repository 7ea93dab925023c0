"""``gossamer schedule``: crawls that start at set times."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from gossamer.cli.errors import print_message
from gossamer.cli.options import (
    Argument,
    AsJson,
    Data,
    Delay,
    MaxDepth,
    MaxPages,
    MaxTime,
    NoRobots,
    PerHost,
    Recrawl,
    Set,
    TargetText,
)
from gossamer.cli.terminal.backends import run_with_backends, run_with_store
from gossamer.cli.terminal.output import plain, print_json
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.command_settings import settings_of
from gossamer.config.overrides import arguments_of, crawl_overrides, parse_seconds
from gossamer.config.settings import Settings
from gossamer.core.schedules import CatchUpRule, OverlapRule, Schedule, ScheduledRun
from gossamer.jobs.scheduler import find_scheduler
from gossamer.jobs.schedules import ScheduleOrder, add_schedule, find_schedule, open_runner
from gossamer.observe.units import format_duration
from gossamer.ports.backends import StoreBackend
from gossamer.queries.documents import to_document
from gossamer.queries.schedules import RunReport, ScheduleReport, list_schedules, read_schedule
from gossamer.wiring.backends import Backends

HELP = "Schedules: crawls that begin by themselves."
EXAMPLES = """
  gossamer schedule add shop "30 6 * * *" shop.py --zone Europe/Berlin
  gossamer schedule list
  gossamer scheduler                    runs them here; on a fleet the supervisor does
"""
ADD_EXAMPLES = """
  gossamer schedule add shop "30 6 * * *" shop.py --zone Europe/Berlin
  gossamer schedule add news "*/15 * * * *" https://news.example --max-pages 50 --jitter 2m
  gossamer schedule add books @weekly shop -a category=books --overlap queue --catch-up none
"""
LIST_EXAMPLES = """
  gossamer schedule list --json
"""
SHOW_EXAMPLES = """
  gossamer schedule show shop --runs 50
"""
RUN_EXAMPLES = """
  gossamer schedule run shop            prints the job, which is as any other
"""
REMOVE_EXAMPLES = """
  gossamer schedule remove shop
"""
SWITCH_EXAMPLES = """
  gossamer schedule disable shop        it keeps its past, and begins nothing
  gossamer schedule enable shop         from now on; what passed meanwhile is not made up
"""
ScheduleName = Annotated[str, typer.Argument(metavar="NAME", help="The name of the schedule.")]
Concurrency = Annotated[int | None, typer.Option(metavar="N", help="At most N requests at once.")]
CronText = Annotated[
    str,
    typer.Argument(
        metavar="CRON", help='Minute, hour, day of month, month, day of week, as in "30 6 * * *"; or @daily.'
    ),
]
Zone = Annotated[str, typer.Option(metavar="ZONE", help="Time zone of the schedule, as in Europe/Berlin.")]
Overlap = Annotated[OverlapRule, typer.Option(help="Skip the next run while one is not over, or queue it.")]
CatchUp = Annotated[CatchUpRule, typer.Option(help="Run the latest missed time, or none.")]
Jitter = Annotated[
    str, typer.Option(metavar="TIME", help="Delay each run by a random time of at most 90s, 5m ...")
]
NO_SCHEDULE = "no schedules; add one with `gossamer schedule add`"


def add(
    name: ScheduleName,
    cron: CronText,
    target: TargetText,
    *,
    zone: Zone = "UTC",
    overlap: Overlap = OverlapRule.SKIP,
    catch_up: CatchUp = CatchUpRule.ONE,
    jitter: Jitter = "0",
    settings: Set = None,
    argument: Argument = None,
    data: Data = None,
    max_pages: MaxPages = None,
    max_depth: MaxDepth = None,
    max_time: MaxTime = None,
    delay: Delay = None,
    per_host: PerHost = None,
    concurrency: Concurrency = None,
    no_robots: NoRobots = False,
    recrawl: Recrawl = False,
    as_json: AsJson = False,
) -> None:
    """Add a schedule.

    Each run is a fresh crawl of the target, with the options given here. `gossamer scheduler` runs it on
    this machine; with the requests in Redis, the fleet's supervisor does. A time that the clocks skip in
    spring runs at once, and a time that comes twice in autumn runs once.
    """
    limits = {"max_pages": max_pages, "max_depth": max_depth}
    pace = {"delay": delay, "per_host": per_host, "concurrency": concurrency}
    order = ScheduleOrder(
        name=name,
        cron=cron,
        zone=zone,
        target=target,
        arguments=arguments_of(argument),
        options=crawl_overrides(
            settings, max_time=max_time, no_robots=no_robots, recrawl=recrawl, **limits, **pace
        ),
        overlap=overlap,
        catch_up=catch_up,
        jitter_s=parse_seconds(jitter, "--jitter"),
    )
    _add_order(order, settings_of(data, settings), as_json=as_json)


def _add_order(order: ScheduleOrder, settings: Settings, *, as_json: bool) -> None:
    async def work(backends: Backends) -> tuple[ScheduleReport, str]:
        made = await add_schedule(backends, order, time.time())
        report = await read_schedule(backends, made, time.time(), 0)
        return report, await _find_missing(backends, settings)

    made, missing = run_with_backends(settings, work, create=True)
    if as_json:
        print_json(to_document(made))
    else:
        typer.echo(f"{made.name}: {made.words}, {made.zone}; next {_next_words(made)}")
    if missing:
        print_message(missing, logging.WARNING)


async def _find_missing(backends: Backends, settings: Settings) -> str:
    """Return why no schedule will run, with the remedy; empty if one will."""
    if backends.requests.fleet is None:
        return "" if find_scheduler(settings) else "nothing runs it yet: `gossamer scheduler` does"
    view = await backends.requests.fleet.roster.read_roster()
    return "" if view.leader else "no supervisor is there to run it: `gossamer up --workers 2` starts one"


def list_all(data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """List the schedules.

    Shows the next run of each, in its time zone, and the result of its latest run.
    """

    async def work(backends: Backends) -> list[ScheduleReport]:
        return await list_schedules(backends, time.time(), runs=1)

    found = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(found))
        return
    if not found:
        print_message(NO_SCHEDULE)
        return
    columns = ("schedule", "when", "zone", "next", "in", "last run", "outcome")
    print_table(columns, map(_row_of, found), wide="when")


def _row_of(one: ScheduleReport) -> tuple[str, ...]:
    last = one.runs[0] if one.runs else None
    return (
        one.name,
        one.words,
        one.zone,
        _local(one.next_at, one.zone) if one.next_at is not None else _next_words(one),
        "" if one.next_at is None else format_duration(max(one.next_at - time.time(), 0.0)),
        "" if last is None else _local(last.due_at, one.zone),
        "" if last is None else _outcome_of(last),
    )


def _next_words(one: ScheduleReport) -> str:
    if one.next_at is None:
        return "never" if one.is_on else "off"
    return f"{_local(one.next_at, one.zone)}, in {format_duration(max(one.next_at - time.time(), 0.0))}"


def _local(at: float, zone: str) -> str:
    """Return a time in the time zone of a schedule."""
    return datetime.fromtimestamp(at, ZoneInfo(zone)).strftime("%a %Y-%m-%d %H:%M")


def _outcome_of(run: RunReport) -> str:
    job = f" {run.job}" if run.job else ""
    return plain(f"{run.outcome}{job}{f': {run.detail}' if run.detail else ''}")


def show(
    name: ScheduleName,
    *,
    runs: Annotated[int, typer.Option(metavar="N", min=0, max=200, help="Show the latest N runs.")] = 14,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show a schedule and its latest runs."""

    async def work(backends: Backends) -> ScheduleReport:
        schedule = await find_schedule(backends.schedules, name)
        return await read_schedule(backends, schedule, time.time(), runs)

    found = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(found))
        return
    print_facts(_facts_of(found))
    if found.runs:
        typer.echo()
        columns = ("due", "began", "took", "outcome")
        print_table(columns, (_run_row(run, found.zone) for run in found.runs), wide="outcome")


def _facts_of(one: ScheduleReport) -> Iterable[tuple[str, str]]:
    yield "schedule", f"{one.name} ({'on' if one.is_on else 'off'})"
    yield "when", f"{one.words} ({one.cron}), {one.zone}"
    yield "next", _next_words(one)
    given = [*(f"-a {key}={value}" for key, value in one.arguments.items())]
    given += [f"-s {key}={value}" for key, value in one.options.items()]
    yield "crawls", plain(" ".join([one.target, *given]))
    yield "overlap", "left out" if one.overlap == OverlapRule.SKIP else "waits for the end of the one before"
    yield "missed", "the latest is made up" if one.catch_up == CatchUpRule.ONE else "not made up"
    if one.jitter_s:
        yield "jitter", f"up to {format_duration(one.jitter_s)}"
    if not one.is_here:
        yield "place", "another data directory, or another fleet, runs it"


def _run_row(run: RunReport, zone: str) -> tuple[str, str, str, str]:
    due = _local(run.due_at, zone) + (" by hand" if run.is_manual else "")
    began = "" if run.started_at is None else _local(run.started_at, zone)
    took = format_duration(run.ended_at - run.started_at) if run.started_at and run.ended_at else ""
    passed = f" ({run.passed} passed before it)" if run.passed else ""
    return due, began, took, _outcome_of(run) + passed


def run_now(name: ScheduleName, data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """Run a schedule now, whether it is on or off.

    It prints the job, which continues when this command has ended; its regular runs stay as they are.
    """

    async def work(backends: Backends) -> ScheduledRun:
        schedule = await find_schedule(backends.schedules, name)
        return await (await open_runner(backends)).run_now(schedule, backends.clock)

    run = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json({"schedule": name, "job": run.job or None})
    elif run.job:
        typer.echo(run.job)
    else:
        print_message(f"{name} waits for the end of its last run", logging.WARNING)


def remove(name: ScheduleName, data: Data = None, settings: Set = None) -> None:
    """Remove a schedule and the record of its runs; their jobs stay."""

    async def work(keeping: StoreBackend) -> Schedule:
        schedule = await find_schedule(keeping.schedules, name)
        await keeping.schedules.remove_schedule(name)
        return schedule

    run_with_store(settings_of(data, settings), work)
    print_message(f"the schedule {name!r} is removed", logging.INFO)


def enable(name: ScheduleName, data: Data = None, settings: Set = None) -> None:
    """Turn a schedule on, from now on."""
    _switch(name, data, settings, is_on=True)


def disable(name: ScheduleName, data: Data = None, settings: Set = None) -> None:
    """Turn a schedule off; a run that is under way continues."""
    _switch(name, data, settings, is_on=False)


def _switch(name: str, data: str | None, settings: list[str] | None, *, is_on: bool) -> None:
    async def work(keeping: StoreBackend) -> None:
        await find_schedule(keeping.schedules, name)
        await keeping.schedules.switch_schedule(name, is_on=is_on, now=time.time())

    run_with_store(settings_of(data, settings), work)
    print_message(f"the schedule {name!r} is {'on' if is_on else 'off'}", logging.INFO)


COMMANDS = (
    ("add", add, ADD_EXAMPLES),
    ("list", list_all, LIST_EXAMPLES),
    ("show", show, SHOW_EXAMPLES),
    ("run", run_now, RUN_EXAMPLES),
    ("enable", enable, SWITCH_EXAMPLES),
    ("disable", disable, SWITCH_EXAMPLES),
    ("remove", remove, REMOVE_EXAMPLES),
)
