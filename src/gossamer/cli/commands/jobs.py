"""``gossamer jobs`` and ``status``: the list of crawls, and the state of one."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, LatestJob, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import (
    LONG,
    local_short,
    local_time,
    plain,
    plain_url,
    print_json,
    stat_facts,
)
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.command_settings import settings_of
from gossamer.core.errors import LedgerReason
from gossamer.core.text import format_count
from gossamer.observe.units import format_costs, format_rate, format_rungs
from gossamer.queries import jobs, status
from gossamer.queries.documents import to_document
from gossamer.queries.jobs import JobPage, JobSummary
from gossamer.queries.status import JobStatus
from gossamer.targets.launch import to_text
from gossamer.wiring.backends import Backends

JOBS_EXAMPLES = """
  gossamer jobs
  gossamer jobs --data /srv/crawl --json
"""
STATUS_EXAMPLES = """
  gossamer status                   the latest job of all
  gossamer status shop              the latest job of that name
  gossamer status shop-3 --json
"""
FORGOTTEN = "forgotten: the job ended longer ago than frontier.keep says (its pages and items are kept)"
"""Shown in place of requests that are no longer in Redis."""


def list_jobs(
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Show the N newest.")] = 50,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """List the crawls, newest first."""

    async def work(backends: Backends) -> JobPage:
        return await jobs.list_jobs(backends, limit)

    found = run_with_backends(settings_of(data, settings), work).jobs
    for summary in found:
        if summary.unreadable:
            print_message(f"{summary.job}: {summary.unreadable}")
    if as_json:
        print_json(to_document(found))
        return
    print_table(
        ("job", "state", "pages", "items", "waiting", "dead", "started", "target"),
        (
            (
                summary.job,
                _format_state(summary, short=True),
                summary.pages,
                summary.items,
                _format_known(summary.waiting),
                _format_known(summary.dead),
                local_short(summary.created_at),
                plain_url(summary.target, LONG),
            )
            for summary in found
        ),
        right=("pages", "items", "waiting", "dead"),
        wide="target",
        names_rows=True,
    )


def _format_known(count: int | None) -> int | str:
    return "?" if count is None else count


def _format_state(summary: JobSummary, *, short: bool = False) -> str:
    """Return the state, and why a job ended early; ``short``: without the text of an error."""
    reason = summary.finish_reason
    if summary.state not in ("unfinished", "cancelled") or reason in ("", summary.state):
        return summary.state
    error = "" if short or not summary.error else f": {summary.error}"
    return f"{summary.state} ({plain(reason + error)})"


# --------------------------------------------------------------------------- status


def show_status(
    name: LatestJob = None, data: Data = None, settings: Set = None, as_json: AsJson = False
) -> None:
    """Show the state of a crawl.

    Shows its queue, its totals, its failures, its busiest hosts, and which of them do not answer.
    """

    async def work(backends: Backends) -> JobStatus:
        return await status.read_status(backends, await jobs.find_latest(backends, name))

    found = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(found))
        return
    print_facts([*_status_facts(found), *_pace_facts(found)])
    if found.hosts:
        print_facts([("", "")])
        print_table(
            ("host", "pending", "in flight", "delay s", "pages"),
            ((h.host, h.pending, h.in_flight, f"{h.delay_s:.2f}", h.pages) for h in found.hosts),
            right=("pending", "in flight", "delay s", "pages"),
        )


def _status_facts(status: JobStatus) -> list[tuple[str, str]]:
    failures = {name: n for name, n in status.by_reason.items() if name not in set(LedgerReason)}
    facts = [
        ("job", status.job),
        ("target", plain_url(status.target)),
        ("state", _format_state(status)),
        ("in short", " ".join(status.say)),
        *(("alert" if place == 0 else "", plain(one.text, LONG)) for place, one in enumerate(status.alerts)),
        ("started", local_time(status.created_at)),
        ("finished", local_time(status.finished_at)),
        *_queue_facts(status),
        ("silent", status.silent),
        ("pages", f"{status.pages:,}"),
        ("items", f"{status.items:,} ({status.duplicates:,} seen again)"),
        *(("listed", plain(goal.to_text())) for goal in status.goals),
        *stat_facts(status.stats),
        *(("budget", plain(budget.to_text())) for budget in status.budgets),
        ("attempts", f"{status.attempts:,} ({format_count(status.retries, 'retry', 'retries')})"),
        ("status", _format_counts(status.by_status)),
        ("rungs", format_rungs(status.by_rung)),
        ("cost", format_costs(status.cost, status.cost_by_rung)),
        ("failures", _format_counts(failures)),
        ("redirects", _format_redirects(status.by_reason.get(LedgerReason.KNOWN_TARGET, 0))),
        ("dropped", _format_counts(status.dropped)),
        *(("warning", plain(warning, LONG)) for warning in status.warnings),
    ]
    facts += [("spider", line) for line in _switch_lines(status)]
    facts += [("changed" if place == 0 else "", line) for place, line in enumerate(_change_lines(status))]
    return [(name, value) for name, value in facts if value]


def _switch_lines(status: JobStatus) -> list[str]:
    """Return the versions of the job's spider, each with its start."""
    return [
        plain(f"{one.after} instead of {one.before}: {one.by}, {local_short(one.at)}", LONG)
        for one in status.switches
    ]


def _change_lines(status: JobStatus) -> list[str]:
    """Return a line for each setting that was changed while the crawl ran."""
    return [
        plain(
            f"{change.key} is {to_text(change.value)} instead of {to_text(change.before)}: "
            f"{change.by}, {local_short(change.at)}",
            LONG,
        )
        for change in status.changes
    ]


def _format_redirects(count: int) -> str:
    return f"{count:,} to pages that were known already" if count else ""


def _queue_facts(status: JobStatus) -> list[tuple[str, str]]:
    queue, dedup = status.queue, status.dedup
    if queue is None:
        return [("requests", FORGOTTEN)]
    refused = format_count(status.refused, "duplicate")
    facts = [
        ("queue", f"{queue.pending:,} pending, {queue.delayed:,} delayed, {queue.leased:,} in flight"),
        ("requests", f"{status.done:,} done, {status.dead:,} dead, {refused} refused"),
    ]
    if dedup is not None and dedup.kind == "bloom":
        facts.append(("dedup", f"bloom; {dedup.error_rate:.4%} of new URLs are taken for known ones"))
    return facts


def _pace_facts(status: JobStatus) -> list[tuple[str, str]]:
    """Print the progress of a running job."""
    if status.state != "running":
        return []
    pace = status.pages_per_second
    facts = [
        ("workers", f"{format_count(status.shifts, 'shift')} at work" if status.is_fleet else ""),
        ("pace", "" if pace is None else format_rate(pace)),
        ("left", "" if status.trouble and status.eta_seconds is None else status.left),
        ("trouble", status.trouble),
    ]
    return [(name, value) for name, value in facts if value]


def _format_counts(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name or '?'} {count:,}" for name, count in ordered)


COMMANDS = (("jobs", list_jobs, JOBS_EXAMPLES), ("status", show_status, STATUS_EXAMPLES))
