"""``gossamer dead``: show, retry and drop the requests that were given up."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, JobName, Set
from gossamer.cli.terminal.acting import note_action, who_acts
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import LONG, local_short, local_time, plain, plain_url, print_json
from gossamer.cli.terminal.requests import RARE, details_cell, method_cell, request_facts
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.command_settings import settings_of
from gossamer.config.layers import find_project
from gossamer.config.overrides import parse_seconds
from gossamer.core.errors import Fault, MissingServiceError, UsageError
from gossamer.core.jobs import DeadLetterFilter, Job
from gossamer.core.results import Attempt
from gossamer.core.text import format_count
from gossamer.jobs.control import adopt_version, check_store, revive_letters
from gossamer.observe.text import error_headline
from gossamer.queries import dead_letters
from gossamer.queries.dead_letters import LetterPage, LetterReport, LetterReportPage, LetterSummary
from gossamer.queries.documents import to_document
from gossamer.queries.jobs import find_job
from gossamer.wiring.backends import Backends

HELP = "Dead letters: requests that were given up. List, show, retry or drop them."
EXAMPLES = """
  gossamer dead list shop --reason server
  gossamer dead retry shop --host shop.example && gossamer crawl shop
  gossamer dead drop shop --older-than 7d
"""
LIST_EXAMPLES = """
  gossamer dead list shop
  gossamer dead list shop --reason timeout_body --older-than 1h --json
"""
SHOW_EXAMPLES = """
  gossamer dead show shop 17
  gossamer dead show shop --reason callback
"""
RETRY_EXAMPLES = """
  gossamer dead retry shop                 all of them
  gossamer dead retry shop 17 18           two of them
"""
DROP_EXAMPLES = """
  gossamer dead drop shop --reason gone
"""

Ids = Annotated[list[int] | None, typer.Argument(metavar="ID", help="Only these dead letters.")]
Reason = Annotated[
    str | None,
    typer.Option(
        metavar="REASON",
        help="Only those given up for this: server, dns, callback ...",
        autocompletion=completion.complete_words(of=completion.known_faults),
    ),
]
Host = Annotated[
    str | None, typer.Option(metavar="HOST", help="Only those of this host (HOST or HOST:PORT).")
]
OlderThan = Annotated[
    str | None,
    typer.Option("--older-than", metavar="TIME", help="Only those given up longer ago: 30m, 2h, 7d."),
]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Show at most N.")]


def _make_filter(
    ids: list[int] | None, reason: str | None, host: str | None, older_than: str | None
) -> DeadLetterFilter:

    if reason is not None and reason not in set(Fault):
        known = ", ".join(sorted(Fault))
        raise UsageError(f"--reason {reason!r} is not a reason of a dead letter; known are {known}")
    before = None if older_than is None else time.time() - parse_seconds(older_than, "--older-than")
    return DeadLetterFilter(
        reason=reason, host=host.lower() if host else None, older_than=before, ids=tuple(ids or ())
    )


def list_letters(
    name: JobName,
    *,
    reason: Reason = None,
    host: Host = None,
    older_than: OlderThan = None,
    limit: Limit = 1000,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """List the dead letters of a job, oldest first."""

    which = _make_filter(None, reason, host, older_than)

    async def work(backends: Backends) -> LetterPage:
        return await dead_letters.list_letters(backends, await find_job(backends, name), which, limit)

    letters = run_with_backends(settings_of(data, settings), work).letters
    if as_json:
        print_json(to_document(letters))
        return
    columns = {name: show for name, show in COLUMNS.items() if name not in RARE or any(map(show, letters))}
    print_table(
        tuple(columns),
        ([show(letter) for show in columns.values()] for letter in letters),
        right=("id", "attempts"),
        wide="url",
    )


COLUMNS: dict[str, Callable[[LetterSummary], object]] = {
    "id": lambda letter: str(letter.id),
    "reason": lambda letter: letter.reason,
    "attempts": lambda letter: letter.attempts,
    "given up": lambda letter: local_short(letter.died_at),
    "method": lambda letter: method_cell(letter.method),
    "request": lambda letter: details_cell(letter.details),
    "url": lambda letter: plain_url(letter.url, LONG),
}


def _check_found(name: str, ids: list[int] | None, count: int) -> None:
    """Raise ``UsageError`` if none of the named dead letters exist."""
    if ids and not count:
        raise UsageError(f"{name} has no dead letter {', '.join(map(str, ids))}")


# --------------------------------------------------------------------------- show


def show_letters(
    name: JobName,
    ids: Ids = None,
    *,
    reason: Reason = None,
    host: Host = None,
    older_than: OlderThan = None,
    limit: Limit = 10,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show dead letters with every attempt that was made."""

    which = _make_filter(ids, reason, host, older_than)

    async def work(backends: Backends) -> LetterReportPage:
        return await dead_letters.read_letters(backends, await find_job(backends, name), which, limit)

    letters = run_with_backends(settings_of(data, settings), work).letters
    _check_found(name, ids, len(letters))
    if as_json:
        print_json(to_document(letters))
        return
    for letter in letters:
        print_facts(_letter_facts(letter))
        print_facts([("", "")])


def _letter_facts(letter: LetterReport) -> list[tuple[str, str]]:
    tries = letter.tries
    facts = [
        ("id", str(letter.id)),
        ("url", plain_url(letter.url, 1000)),
        ("found on", plain_url(letter.via, 1000)),
        ("reason", f"{letter.reason} at {local_time(letter.died_at)}"),
        *request_facts(letter),
    ]
    facts += [(f"attempt {tried.attempt}", _format_attempt(tried)) for tried in reversed(tries)]
    if tries and "\n" in tries[0].detail:
        facts += [("", plain(line, 500)) for line in tries[0].detail.rstrip().split("\n")]
    return [(label, value) for label, value in facts if value]


def _format_attempt(tried: Attempt) -> str:
    status = f"{tried.status} " if tried.status else ""
    what = f"{status}{tried.verdict} {tried.reason} {tried.elapsed_ms:,.0f} ms"
    return f"{local_time(tried.at)}  {what}  {error_headline(tried.detail)}"


# --------------------------------------------------------------------------- retry, drop


def retry_letters(
    name: JobName,
    ids: Ids = None,
    *,
    reason: Reason = None,
    host: Host = None,
    older_than: OlderThan = None,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Retry dead letters.

    They return to the queue, with their counts at zero. The next crawl of the job fetches them;
    on a fleet, a finished job runs again.
    """
    which = _make_filter(ids, reason, host, older_than)

    async def work(backends: Backends) -> tuple[Job, int, bool]:
        before = await find_job(backends, name)
        now = before
        with suppress(UsageError, MissingServiceError):  # the spider is not on this machine
            now = await adopt_version(backends, before, find_project(Path.cwd()), who_acts())
        job, count = await revive_letters(backends, now, which)
        await note_action(backends, "retry", job, {"count": count}, {"done": count})
        return job, count, now.plan != before.plan

    job, count, is_mended = run_with_backends(settings_of(data, settings), work)
    _check_found(name, ids, count)
    if as_json:
        print_json({"job": job.id, "retried": count})
    else:
        wait = "waits" if count == 1 else "wait"
        by = _fetched_by(job) if count else ""
        typer.echo(f"{format_count(count, 'request')} of {job.id} {wait} again{by}")
        if is_mended:
            typer.echo("its spider has another version here: workers need that one from now on")


def _fetched_by(job: Job) -> str:
    """Return the end of a sentence: which command fetches the retried requests."""
    if not job.is_fleet:
        return "; the same `gossamer crawl` command as before fetches them"
    if job.state == "running":
        return f"; the fleet fetches them, `gossamer wait {job.id}` follows it"
    if job.state == "paused":
        return f"; `gossamer resume {job.id}` lets the fleet fetch them"
    return f", but it is {job.state}: `gossamer submit` makes a new job"


def drop_letters(
    name: JobName,
    ids: Ids = None,
    *,
    reason: Reason = None,
    host: Host = None,
    older_than: OlderThan = None,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Forget dead letters.

    Their URLs stay known, so that they are not fetched again in this job.
    """
    which = _make_filter(ids, reason, host, older_than)

    async def work(backends: Backends) -> tuple[Job, int]:
        job = await find_job(backends, name)
        await check_store(backends, job)
        count = await backends.open_frontier(job).drop_letters(which)
        await note_action(backends, "drop", job, {"count": count}, {"done": count})
        return job, count

    job, count = run_with_backends(settings_of(data, settings), work)
    _check_found(name, ids, count)
    if as_json:
        print_json({"job": job.id, "dropped": count})
    else:
        typer.echo(f"{format_count(count, 'dead letter')} of {job.id} dropped")


COMMANDS = (
    ("list", list_letters, LIST_EXAMPLES),
    ("show", show_letters, SHOW_EXAMPLES),
    ("retry", retry_letters, RETRY_EXAMPLES),
    ("drop", drop_letters, DROP_EXAMPLES),
)
