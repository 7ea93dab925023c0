"""``gossamer submit`` and ``wait``: a crawl for the fleet, and its end."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from typing import Annotated

import typer

from gossamer.cli.commands.jobs import FORGOTTEN
from gossamer.cli.errors import print_message, print_notes, print_progress
from gossamer.cli.options import (
    Argument,
    AsJson,
    Data,
    Delay,
    JobKey,
    JobName,
    MaxDepth,
    MaxErrors,
    MaxItems,
    MaxPages,
    MaxTime,
    NoRobots,
    PerHost,
    Recrawl,
    Set,
    Strict,
    TargetText,
)
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import plain, print_json, stat_facts
from gossamer.cli.terminal.process_log import summary_details, write_lines
from gossamer.cli.terminal.tables import print_facts
from gossamer.config.command_settings import settings_of
from gossamer.config.overrides import arguments_of, crawl_overrides, job_key_of, parse_seconds
from gossamer.core.errors import LedgerReason, LostRequestsError, StorageError
from gossamer.core.exits import ExitFacts, exit_of
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import FinishReason
from gossamer.core.text import format_count
from gossamer.crawl.notes import ending_of
from gossamer.jobs.control import prepare_submission, submit_job, wait_for_rest
from gossamer.observe.units import format_costs, format_duration, format_rate, format_rungs, format_size
from gossamer.queries.documents import to_document
from gossamer.queries.job_result import JobResult, read_result
from gossamer.queries.jobs import find_job
from gossamer.queries.observed_jobs import ObservedJob, observe_closely, say_of
from gossamer.targets.plan import fleet_notes, plan_from
from gossamer.wiring.backends import Backends, refresh_job

SUBMIT_EXAMPLES = """
  gossamer submit shop.py --max-pages 1000
  gossamer submit https://example.com --json
  gossamer submit shop -a category=books && gossamer wait shop
"""
WAIT_EXAMPLES = """
  gossamer wait shop               the latest job of that name
  gossamer wait shop-3 --timeout 2h --json
"""
LOOK_S = 0.2
TELL_S = 5.0
PATIENCE_S = 60.0
"""How long to wait for servers that are away at the start; later, the wait has no end."""


Concurrency = Annotated[
    int | None, typer.Option(metavar="N", help="At most N requests at once in each shift of a worker.")
]


NO_WORKERS = "no supervisor with workers is running: `gossamer up --workers 2` starts them here"


def submit_crawl(
    target: TargetText,
    *,
    settings: Set = None,
    argument: Argument = None,
    data: Data = None,
    max_pages: MaxPages = None,
    max_items: MaxItems = None,
    max_errors: MaxErrors = None,
    max_depth: MaxDepth = None,
    max_time: MaxTime = None,
    delay: Delay = None,
    per_host: PerHost = None,
    concurrency: Concurrency = None,
    no_robots: NoRobots = False,
    recrawl: Recrawl = False,
    key: JobKey = "",
    as_json: AsJson = False,
) -> None:
    """Submit a crawl to the fleet.

    If a supervisor runs, it starts the crawl within a second, on as many workers as there is work for. The
    spider must be on the workers' machines too, in the same version and under the same name. Without a
    fleet, `gossamer crawl` with the same target and options crawls on this machine.
    """
    most = {"max_pages": max_pages, "max_items": max_items, "max_errors": max_errors, "max_depth": max_depth}
    limits = {**most, "delay": delay, "per_host": per_host, "concurrency": concurrency, "data": data}
    given = crawl_overrides(settings, max_time=max_time, no_robots=no_robots, recrawl=recrawl, **limits)
    settled, plan, name, text = prepare_submission(target, arguments_of(argument), given)

    async def work(backends: Backends) -> tuple[Job, int, list[str]]:
        job = await submit_job(backends, settled, plan, name, text, key=job_key_of(key))
        view = await backends.require_fleet().roster.read_roster()
        sharing = await backends.warn_of_shared_hosts(job, plan_from(plan).hosts)
        return job, len(view.workers) if view.leader else 0, sharing

    with write_lines(settled):
        job, workers, sharing = run_with_backends(settled, work, create=True)
    for warning in (*fleet_notes(plan_from(plan), given), *sharing):
        print_message(warning, logging.WARNING)
    if as_json:
        print_json({"job": job.id, "spider": job.name, "target": job.target, "workers": workers})
    else:
        _say_submitted(job, workers)


def _say_submitted(job: Job, workers: int) -> None:
    typer.echo(job.id)
    if not workers:
        print_message(f"{job.id} waits; {NO_WORKERS}", logging.WARNING, job=job.id)


# --------------------------------------------------------------------------- wait


def wait_for_job(
    name: JobName,
    *,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Give up after 90s, 15m, 2h ...")
    ] = None,
    strict: Strict = False,
    quiet: Annotated[
        bool, typer.Option("-q", "--no-progress", help="Show no progress and no summary.")
    ] = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Wait for the end of a job of the fleet.

    Exits as `gossamer crawl` does: 0 finished, 1 finished, but most requests failed, every item was dropped
    or a host was lost, 3 stopped early (paused, cancelled, or the time is over; or no process works on a
    crawl of one machine).
    """
    patience_s = None if timeout is None else parse_seconds(timeout, "--timeout")

    async def work(backends: Backends) -> JobResult:
        job = await _until_over(backends, await find_job(backends, name), patience_s, quiet=quiet)
        if not job.is_running:
            await wait_for_rest(backends, job)
        return await read_result(backends, job)

    at_most_s = PATIENCE_S if patience_s is None else min(patience_s, PATIENCE_S)
    settled = settings_of(data, settings)
    with write_lines(settled):
        result = run_with_backends(settled, work, patience_s=at_most_s)
    if result.is_forgotten:
        print_message(f"the requests of {result.job} are {FORGOTTEN}", logging.WARNING)
    if as_json:
        print_json(to_document(result))
    if not quiet and settled.log.format == "json":
        print_message(f"{result.job} ended ({result.finish_reason})", logging.INFO, **summary_details(result))
    elif not (quiet or as_json):
        print_facts(_result_facts(result), stream=sys.stderr)
    for warning in result.warnings:
        print_message(warning, logging.WARNING)
    print_notes(result.notes, quiet=quiet)
    raise typer.Exit(exit_of(_ending_of(result), strict=strict))


def _ending_of(result: JobResult) -> ExitFacts:
    ending = ending_of(
        result.totals, result.dead, is_early=result.is_early, lost=result.lost, fetched=result.fetched
    )
    return ending._replace(failed_steps=result.failed_steps)


async def _until_over(backends: Backends, job: Job, patience_s: float | None, *, quiet: bool) -> Job:
    """Wait until the job has ended or the time is over, also while servers are away, and return the job."""

    until = None if patience_s is None else time.monotonic() + patience_s
    tell_at = time.monotonic() + TELL_S
    trouble = ""
    while job.is_running and (until is None or time.monotonic() < until):
        await asyncio.sleep(LOOK_S)
        try:
            job = await refresh_job(backends, job)
            if not job.is_running:
                _say_interrupted(job)
                break
            await backends.open_frontier(job).read_stats()  # raises when the requests are gone
            if not quiet and time.monotonic() >= tell_at:
                tell_at = time.monotonic() + TELL_S
                print_progress(progress_line(await observe_closely(backends, job)))
            trouble = ""
        except StorageError as error:
            if isinstance(error, LostRequestsError) and not (await backends.store.read_totals(job)).is_empty:
                raise  # of a job that had not begun, the supervisor makes them anew
            if str(error) != trouble:
                print_message(f"{error}; waiting", logging.WARNING)
            trouble = str(error)
            await asyncio.sleep(TELL_S / 5)
    if job.is_running:
        _say_late(job, patience_s or 0.0)
    return job


def _say_interrupted(job: Job) -> None:
    """A crawl of one process that was killed could not say so itself."""
    if job.end_reason is FinishReason.INTERRUPTED:
        print_message(
            f"nothing is working on {job.id}; the same `gossamer crawl` command as before continues it",
            logging.WARNING,
        )


def _say_late(job: Job, patience_s: float) -> None:
    print_message(
        f"{job.id} has not ended after {format_duration(patience_s)}, and continues; "
        f"`gossamer wait {job.id}` waits again, `gossamer status {job.id}` says how it stands",
        logging.WARNING,
    )


def progress_line(known: ObservedJob) -> str:
    """Return the state of the job in one line."""
    parts = [plain(say_of(known).answer.removesuffix("."))]
    if known.stats is not None:
        stats = known.stats
        parts.append(format_count(stats.pages, "page"))
        parts.append(f"{stats.pending:,} pending, {stats.delayed:,} delayed, {stats.leased:,} in flight")
    parts += [] if known.pages_per_s is None else [format_rate(known.pages_per_s)]
    if known.workers is not None:
        parts += [format_count(known.shifts, "shift"), plain(known.workers.trouble)]
    return "; ".join(part for part in parts if part)


def _result_facts(result: JobResult) -> list[tuple[str, str]]:
    why = f"{result.finish_reason}: {result.error}" if result.error else result.finish_reason
    known, rate = result.redirects_to_known, format_rate(result.pages_per_second)
    listed = f"gossamer attempts {result.job} --reason {LedgerReason.KNOWN_TARGET}"
    redirects = [("redirects", f"{known:,} to pages that were known already: {listed}")] if known else []
    retries = format_count(result.retries, "retry", "retries")
    paid = (
        ("rungs", format_rungs(result.by_rung)),
        ("cost", format_costs(result.cost, result.cost_by_rung)),
    )
    return [
        ("job", f"{result.job} ({why}, {format_duration(result.seconds)})"),
        ("pages", f"{result.pages:,} ({rate}, {format_size(result.bytes)})"),
        ("items", f"{result.items:,} ({result.duplicates:,} seen again)"),
        *(("listed", plain(goal.to_text())) for goal in result.goals),
        *stat_facts(result.stats),
        *(("budget", plain(budget.to_text())) for budget in result.budgets),
        ("requests", f"{result.attempts:,} ({retries}, {result.dead:,} dead)"),
        *redirects,
        *(fact for fact in paid if fact[1]),
        ("next", f"gossamer export {result.job} -o items.jsonl"),
    ]


COMMANDS = (("submit", submit_crawl, SUBMIT_EXAMPLES), ("wait", wait_for_job, WAIT_EXAMPLES))
