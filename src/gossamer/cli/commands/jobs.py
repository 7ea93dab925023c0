"""``gossamer jobs``, ``status`` and ``export``: what was crawled, how it stands, and its items."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, Format, JobName, Set
from gossamer.cli.terminal.backends import at_desk, job_of
from gossamer.cli.terminal.output import (
    LONG,
    iso_time,
    local_short,
    local_time,
    plain,
    plain_url,
    print_facts,
    print_json,
    print_table,
)
from gossamer.config.overrides import settings_of
from gossamer.core.errors import LedgerReason, UsageError
from gossamer.core.text import format_count
from gossamer.queries.pace import JobPace, pace_of

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.core.hosts import FrontierRules
    from gossamer.core.jobs import FrontierStats, HostReport, Job, JobTotals
    from gossamer.wiring.backends import Backends

JOBS_EXAMPLES = """
  gossamer jobs
  gossamer jobs --data /srv/crawl --json
"""
STATUS_EXAMPLES = """
  gossamer status shop              the latest job of that name
  gossamer status shop-3 --json
"""
EXPORT_EXAMPLES = """
  gossamer export shop | head
  gossamer export shop -o items.csv --safe-csv     to be opened in a spreadsheet
  gossamer export shop-3 --format xml > items.xml
  gossamer export shop --json                      all items as one JSON array
"""
FORGOTTEN = "forgotten: the job ended longer ago than frontier.keep says (its pages and items are kept)"
"""What is said of requests that are not in Redis any more."""
HOSTS = 10
"""Hosts that ``status`` shows."""


def list_jobs(
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="The N newest.")] = 50,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """List the crawls, newest first."""

    async def work(desk: Backends) -> list[tuple[Job, JobTotals, FrontierStats | None]]:
        found = [await _as_it_is(desk, job) for job in (await desk.book.list_jobs())[:limit]]
        return [(job, await desk.store.read_totals(job), await _known_stats(desk, job)) for job in found]

    found = at_desk(settings_of(data, settings), work)
    if as_json:
        print_json([_job_json(*each) for each in found])
        return
    print_table(
        ("job", "state", "pages", "items", "waiting", "dead", "started", "target"),
        (
            (
                job.id,
                _format_state(job, short=True),
                tally.pages,
                tally.items,
                stats.waiting if stats else "?",
                stats.dead if stats else "?",
                local_short(job.created_at),
                plain_url(job.target, LONG),
            )
            for job, tally, stats in found
        ),
        right=("pages", "items", "waiting", "dead"),
        wide="target",
    )


async def _known_stats(desk: Backends, job: Job) -> FrontierStats | None:
    """The counts of its frontier; nothing waits in one that is gone. ``None``: it cannot be looked into."""
    from gossamer.core.errors import LostRequestsError, StorageError
    from gossamer.core.jobs import FrontierStats

    try:
        return await desk.open_frontier(job).read_stats()
    except LostRequestsError:
        return FrontierStats(state=job.state)
    except StorageError as error:
        print_message(f"{job.id}: {error}")
        return None


async def _as_it_is(desk: Backends, job: Job) -> Job:
    """The job; one whose process was killed could not say so itself."""
    if job.plan or job.state != "running" or job.finish_reason:
        return job  # what becomes of a fleet's job is in the book
    if await desk.at_work(job) is None:
        from msgspec.structs import replace

        return replace(job, finish_reason="interrupted")
    return job


def _format_state(job: Job, *, short: bool = False) -> str:
    """``finished``, or why the last run of an unfinished job ended; ``short``: without what an error said."""
    if job.state == "running" and job.finish_reason:
        reason = job.end_reason if short else plain(job.finish_reason)
        return f"unfinished ({reason})"
    return str(job.state)


def _job_json(job: Job, tally: JobTotals, stats: FrontierStats | None) -> dict[str, Any]:
    return {
        "job": job.id,
        "name": job.name,
        "target": job.target,
        "state": job.state.value,
        "finish_reason": job.end_reason,
        "error": job.end_error,
        "created_at": iso_time(job.created_at),
        "finished_at": iso_time(job.finished_at),
        "pages": tally.pages,
        "items": tally.items,
        "waiting": stats.waiting if stats else None,
        "dead": stats.dead if stats else None,
    }


# --------------------------------------------------------------------------- status


class JobStatus(NamedTuple):
    """How a job stands."""

    job: Job
    tally: JobTotals
    stats: FrontierStats | None = None  # None: its requests are forgotten
    hosts: Sequence[HostReport] = ()
    pace: JobPace = JobPace()
    dedup: tuple[str, int, float] | None = None  # how, of how many URLs, and the rate of errors
    silent: str = ""  # which of the hosts does not answer, for people


def show_status(name: JobName, data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """Show how a crawl stands.

    Its queue, its totals, what failed, its busiest hosts, and which of them does not answer.
    """
    from gossamer.observe.silent_hosts import waiting_for

    async def work(desk: Backends) -> JobStatus:
        job = await _as_it_is(desk, await job_of(desk, name))
        tally = await desk.store.read_totals(job)
        stats = await desk.read_stats(job)
        if stats is None:
            return JobStatus(job, tally)
        frontier = desk.open_frontier(job)
        rules, _ = await desk.find_position(job, 0)
        hosts = [_as_paced(report, rules) for report in await frontier.busiest_hosts(HOSTS)]
        pace = await pace_of(desk, job) if job.plan else JobPace()
        silent = waiting_for(hosts, desk.clock.now())
        return JobStatus(job, tally, stats, hosts, pace, await desk.requests.dedup_report(job), silent)

    found = at_desk(settings_of(data, settings), work)
    if as_json:
        print_json(_status_json(found))
        return
    print_facts([*_status_facts(found), *_pace_facts(found.job, found.pace)])
    if hosts := found.hosts:
        print_facts([("", "")])
        print_table(
            ("host", "pending", "in flight", "delay s", "pages"),
            ((h.host, h.pending, h.state.in_flight, f"{h.state.delay_s:.2f}", h.state.pages) for h in hosts),
            right=("pending", "in flight", "delay s", "pages"),
        )


def _as_paced(report: HostReport, rules: FrontierRules) -> HostReport:
    """A host with the delay that is in force: the job's own and that of robots.txt count too."""
    from msgspec.structs import replace

    from gossamer.policy.politeness import delay_in_force

    return replace(report, state=replace(report.state, delay_s=delay_in_force(report.state, rules)))


def _status_facts(found: JobStatus) -> list[tuple[str, str]]:
    job, tally, stats = found.job, found.tally, found.stats
    facts = [
        ("job", job.id),
        ("target", plain_url(job.target)),
        ("state", _format_state(job)),
        ("started", local_time(job.created_at)),
        ("finished", local_time(job.finished_at)),
        *_queue_facts(stats, found.dedup),
        ("silent", found.silent),
        ("pages", f"{tally.pages:,}"),
        ("items", f"{tally.items:,} ({tally.duplicates:,} seen again)"),
        ("attempts", f"{tally.attempts:,} ({format_count(tally.retries, 'retry', 'retries')})"),
        ("status", _format_counts(tally.by_status)),
        (
            "failures",
            _format_counts({name: n for name, n in tally.by_reason.items() if name not in set(LedgerReason)}),
        ),
        ("redirects", _format_redirects(tally.by_reason.get(LedgerReason.KNOWN_TARGET, 0))),
        ("dropped", _format_counts(tally.dropped)),
    ]
    return [(name, value) for name, value in facts if value]


def _format_redirects(count: int) -> str:
    return f"{count:,} to pages that were known already" if count else ""


def _queue_facts(stats: FrontierStats | None, dedup: tuple[str, int, float] | None) -> list[tuple[str, str]]:
    if stats is None:
        return [("requests", FORGOTTEN)]
    facts = [
        ("queue", f"{stats.pending:,} pending, {stats.delayed:,} delayed, {stats.leased:,} in flight"),
        (
            "requests",
            f"{stats.done:,} done, {stats.dead:,} dead, "
            f"{format_count(stats.duplicates, 'duplicate')} refused",
        ),
    ]
    if dedup is not None and dedup[0] == "bloom":
        facts.append(("dedup", f"bloom; {dedup[2]:.4%} of new URLs are taken for known ones"))
    return facts


def _pace_facts(job: Job, pace: JobPace) -> list[tuple[str, str]]:
    """How a job of the fleet comes on, while it runs."""
    if not job.plan or job.state != "running":
        return []
    from gossamer.observe.units import format_rate

    facts = [
        ("workers", f"{format_count(pace.working, 'shift')} at work"),
        ("pace", format_rate(pace.pages_per_s) if pace.pages_per_s is not None else ""),
        ("left", _format_time_left(pace)),
        ("trouble", pace.trouble),
    ]
    return [(name, value) for name, value in facts if value]


def _format_time_left(pace: JobPace) -> str:
    from gossamer.observe.units import format_duration

    if pace.left_s is None:  # trouble says it better than that nothing is known yet
        return "" if pace.trouble else pace.note
    return f"about {format_duration(pace.left_s)}{f' ({pace.note})' if pace.note else ''}"


def _format_counts(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name or '?'} {count:,}" for name, count in ordered)


def _status_json(found: JobStatus) -> dict[str, Any]:
    from gossamer.policy.politeness import is_silent

    job, tally, stats, pace, dedup = found.job, found.tally, found.stats, found.pace, found.dedup
    return {
        **_job_json(job, tally, stats),
        "shifts": pace.working,
        "pages_per_second": pace.pages_per_s,
        "eta_seconds": pace.left_s,
        "trouble": pace.trouble,
        "forgotten": stats is None,
        "queue": stats and {"pending": stats.pending, "delayed": stats.delayed, "leased": stats.leased},
        "done": stats.done if stats else None,
        "dedup": dict(zip(("kind", "known", "error_rate"), dedup, strict=True)) if dedup else None,
        "attempts": tally.attempts,
        "retries": tally.retries,
        "duplicates": tally.duplicates,
        "bytes": tally.bytes,
        "by_status": tally.by_status,
        "by_reason": tally.by_reason,
        "dropped": tally.dropped,
        "next_at": iso_time(stats.next_at) if stats else None,
        "hosts": [
            {
                "host": report.host,
                "pending": report.pending,
                "in_flight": report.state.in_flight,
                "delay_s": report.state.delay_s,
                "next_at": iso_time(report.state.next_at),
                "pages": report.state.pages,
                "silent_since": iso_time(report.state.troubled_since) if is_silent(report.state) else None,
            }
            for report in found.hosts
        ],
    }


# --------------------------------------------------------------------------- export


def export_job(
    name: JobName,
    *,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE; - is stdout."),
    ] = None,
    format_: Format = None,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv", help="Put ' before texts that a spreadsheet would run as a formula (csv only)."
        ),
    ] = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Write the items of a crawl.

    To stdout, as JSON lines unless --format says otherwise, or to a file, which is replaced as a whole.
    With --json: the items as one JSON array or, with -o, what was written.

    Texts are written exactly, in csv too, here and by `gossamer crawl -o`. A page can put a formula into a
    cell that way (=HYPERLINK(...), also + - @): for a file that is opened in a spreadsheet, --safe-csv puts
    an apostrophe before such texts.
    """
    if output == "-":
        output = None
    if as_json and not output:
        if format_ not in (None, "json"):
            raise UsageError(f"--json and --format {format_} contradict each other; choose one")
        format_ = "json"
    job, kind, count = _export_items(settings_of(data, settings), name, output, format_, safe_csv=safe_csv)
    if output and as_json:
        print_json({"job": job, "file": output, "format": kind, "items": count})
    elif output:
        sys.stderr.write(f"{format_count(count, 'item')} to {output}\n")


def _export_items(
    settings: Settings, name: str, output: str | None, format_: str | None, *, safe_csv: bool
) -> tuple[str, str, int]:
    """The job, the format and the number of items."""
    from gossamer.cli.terminal.exports import check_output
    from gossamer.export import write_items

    file = check_output(output, append=False, format=format_) if output else None
    kind = file.format if file else format_ or "jsonl"
    if safe_csv and kind != "csv":
        raise UsageError(f"--safe-csv is for csv; this is {kind}")

    async def work(desk: Backends) -> tuple[str, str, int]:
        job = await job_of(desk, name)
        items = desk.store.read_items(job)
        target = file.path if file and file.path else sys.stdout.buffer
        return job.id, kind, await write_items(items, target, kind, safe_csv=safe_csv)

    return at_desk(settings, work)


COMMANDS = (
    ("jobs", list_jobs, JOBS_EXAMPLES),
    ("status", show_status, STATUS_EXAMPLES),
    ("export", export_job, EXPORT_EXAMPLES),
)
