"""``gossamer submit`` and ``wait``: a crawl for the fleet, and its end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.commands.jobs import FORGOTTEN
from gossamer.cli.errors import print_message
from gossamer.cli.options import (
    Argument,
    AsJson,
    Data,
    Delay,
    JobName,
    MaxDepth,
    MaxPages,
    MaxTime,
    NoRobots,
    PerHost,
    Set,
    TargetText,
)
from gossamer.cli.terminal.backends import at_desk, job_of
from gossamer.cli.terminal.output import plain, print_facts, print_json
from gossamer.config.overrides import arguments_of, crawl_overrides, parse_seconds, settings_of
from gossamer.core.errors import LedgerReason
from gossamer.core.exits import exit_of
from gossamer.core.text import format_count
from gossamer.queries.pace import pace_of

if TYPE_CHECKING:
    from gossamer.core.jobs import FrontierStats, Job, JobTotals
    from gossamer.wiring.backends import Backends, SharedHost

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
"""How long servers that are away when the command begins are waited for; later on, without end."""


def submit_crawl(
    target: TargetText,
    *,
    settings: Set = None,
    argument: Argument = None,
    data: Data = None,
    max_pages: MaxPages = None,
    max_depth: MaxDepth = None,
    max_time: MaxTime = None,
    delay: Delay = None,
    per_host: PerHost = None,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", help="Requests at once of each shift of a worker.")
    ] = None,
    no_robots: NoRobots = False,
    as_json: AsJson = False,
) -> None:
    """Hand a crawl to the fleet.

    Its supervisor starts it within a second, if one runs, on as many workers as there is work for. The
    spider must be on the workers' machines, too, in the same version and under the same name.
    """
    from gossamer.jobs.control import prepare_submission, submit_job
    from gossamer.targets.plan import fleet_notes, plan_from

    given = crawl_overrides(
        settings,
        max_time=max_time,
        no_robots=no_robots,
        data=data,
        max_pages=max_pages,
        max_depth=max_depth,
        delay=delay,
        per_host=per_host,
        concurrency=concurrency,
    )
    settled, plan, name, text = prepare_submission(target, arguments_of(argument), given)

    async def work(desk: Backends) -> tuple[Job, int, list[SharedHost]]:
        from gossamer.wiring.fleet import roster_of

        job = await submit_job(desk, settled, plan, name, text)
        view = await roster_of(desk).roster.read_roster()
        sharing = await desk.jobs_sharing_hosts(job, plan_from(plan).hosts)
        return job, len(view.workers) if view.leader else 0, sharing

    job, workers, sharing = at_desk(settled, work, create=True)
    for warning in (*fleet_notes(plan_from(plan)), *(other.warning_for(job) for other in sharing)):
        print_message(warning)
    if as_json:
        print_json({"job": job.id, "spider": job.name, "target": job.target, "workers": workers})
        return
    typer.echo(job.id)
    if not workers:
        hint = "no supervisor with workers is at work: `gossamer up --workers 2` starts them here"
        sys.stderr.write(f"gossamer: {job.id} waits; {hint}\n")


# --------------------------------------------------------------------------- wait


def wait_for_job(
    name: JobName,
    *,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Give up after 90s, 15m, 2h ...")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there are dead letters.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--no-progress", help="No progress, no summary.")] = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Wait for the end of a job of the fleet.

    Exits as `gossamer crawl` does: 0 finished, 1 finished, but nothing could be had or a host was lost,
    3 stopped early (paused, cancelled, or the time is over; or nobody is at work on a crawl of one process).
    """
    patience_s = None if timeout is None else parse_seconds(timeout, "--timeout")

    async def work(desk: Backends) -> tuple[Job, JobTotals, FrontierStats, int]:
        from gossamer.core.jobs import FrontierStats

        job = await _until_over(desk, await job_of(desk, name), patience_s, quiet=quiet)
        stats = await desk.read_stats(job)
        if stats is None:
            print_message(f"the requests of {job.id} are {FORGOTTEN}")
        tally = await desk.store.read_totals(job)
        return job, tally, stats or FrontierStats(state=job.state), await desk.lost_letters(job, tally)

    at_most_s = PATIENCE_S if patience_s is None else min(patience_s, PATIENCE_S)
    job, tally, stats, lost = at_desk(settings_of(data, settings), work, patience_s=at_most_s)
    result = _result_json(job, tally, stats)
    if as_json:
        print_json(result)
    elif not quiet:
        print_facts(_result_facts(job, tally, stats), stream=sys.stderr)
    from gossamer.crawl.notes import ending_of

    is_early = job.state != "finished" and job.finish_reason not in ("max_pages", "max_time")
    ending = ending_of(tally, stats.dead, is_early=is_early, lost=lost)
    raise typer.Exit(exit_of(ending, strict=strict))


async def _until_over(desk: Backends, job: Job, patience_s: float | None, *, quiet: bool) -> Job:
    """The job when nobody works on it any more, or the time is over. Servers that are away are waited for."""
    import asyncio

    from gossamer.core.errors import LostRequestsError, StorageError

    until = None if patience_s is None else time.monotonic() + patience_s
    tell_at = time.monotonic() + TELL_S
    trouble = ""
    while job.state == "running" and not job.finish_reason and (until is None or time.monotonic() < until):
        await asyncio.sleep(LOOK_S)
        try:
            job = await _as_it_is(desk, job)
            if job.state != "running" or job.finish_reason:
                break
            stats = await desk.open_frontier(job).read_stats()
            if not quiet and time.monotonic() >= tell_at:
                tell_at = time.monotonic() + TELL_S
                sys.stderr.write(f"{await _progress_line(desk, job, stats)}\n")
            trouble = ""
        except LostRequestsError:
            raise
        except StorageError as error:
            if str(error) != trouble:
                sys.stderr.write(f"gossamer: {error}; waiting\n")
            trouble = str(error)
            await asyncio.sleep(TELL_S / 5)
    if job.state == "running" and not job.finish_reason:
        from gossamer.observe.units import format_duration

        print_message(
            f"{job.id} has not ended after {format_duration(patience_s or 0.0)}, and goes on; "
            f"`gossamer wait {job.id}` waits again, `gossamer status {job.id}` says how it stands"
        )
    return job


async def _as_it_is(desk: Backends, job: Job) -> Job:
    """The job by the book; a crawl of one process that was killed could not say so itself."""
    is_alone = not job.plan and await desk.at_work(job) is None
    job = await desk.book.get(job.id) or job  # it may have ended since it was asked for
    if is_alone and job.state == "running" and not job.finish_reason:
        from msgspec.structs import replace

        print_message(
            f"nobody is at work on {job.id}; the same `gossamer crawl` command as before goes on with it"
        )
        return replace(job, finish_reason="interrupted")
    return job


async def _progress_line(desk: Backends, job: Job, stats: FrontierStats) -> str:
    """How it stands, in a line."""
    pace = await pace_of(desk, job)
    queue = f"{stats.pending:,} pending, {stats.delayed:,} delayed, {stats.leased:,} in flight"
    return f"{job.id}: {format_count(stats.pages, 'page')}; {queue}; {plain(pace.to_line())}"


def _result_json(job: Job, tally: JobTotals, stats: FrontierStats) -> dict[str, Any]:
    """What ``crawl --json`` prints; times are those of the whole job."""
    took_s = max((job.finished_at or time.time()) - job.created_at, 1e-6)
    return {
        "job": job.id,
        "spider": job.name,
        "finish_reason": job.end_reason or str(job.state),
        "pages": tally.pages,
        "items": tally.items,
        "attempts": tally.attempts,
        "retries": tally.retries,
        "dead": stats.dead,
        "dropped": sum(n for reason, n in tally.dropped.items() if reason.startswith("item:")),
        "duplicates": tally.duplicates,
        "bytes": tally.bytes,
        "seconds": round(took_s, 3),
        "pages_per_second": round(tally.pages / took_s, 1),
        "by_status": tally.by_status,
        "redirects_to_known": tally.by_reason.get(LedgerReason.KNOWN_TARGET, 0),
    }


def _result_facts(job: Job, tally: JobTotals, stats: FrontierStats) -> list[tuple[str, str]]:
    from gossamer.observe.units import format_duration, format_rate, format_size

    result = _result_json(job, tally, stats)
    why = job.finish_reason or str(job.state)
    known = result["redirects_to_known"]
    listed = f"gossamer attempts {job.id} --reason {LedgerReason.KNOWN_TARGET}"
    redirects = [("redirects", f"{known:,} to pages that were known already: {listed}")] if known else []
    return [
        ("job", f"{job.id} ({why}, {format_duration(result['seconds'])})"),
        ("pages", f"{tally.pages:,} ({format_rate(result['pages_per_second'])}, {format_size(tally.bytes)})"),
        ("items", f"{tally.items:,} ({tally.duplicates:,} seen again)"),
        (
            "requests",
            f"{tally.attempts:,} ({format_count(tally.retries, 'retry', 'retries')}, {stats.dead:,} dead)",
        ),
        *redirects,
        ("next", f"gossamer export {job.id} -o items.jsonl"),
    ]


COMMANDS = (("submit", submit_crawl, SUBMIT_EXAMPLES), ("wait", wait_for_job, WAIT_EXAMPLES))
