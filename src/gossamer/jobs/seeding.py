"""Adds lists of URLs of any length to a job; safe to repeat, since a known request is not added again.

Guarantee: memory is bounded by a chunk of rows. Added rows are in the frontier, and an interrupted command
adds the rest when it is run again. A person named the seeds, so the rules against traps, which are for links,
do not apply to them; scope, canonical form and deduplication do.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec

from gossamer.config.option import SettingOption
from gossamer.core.errors import JobBusyError, UsageError
from gossamer.core.jobs import AddResult, Job
from gossamer.core.lifecycle import JobState
from gossamer.core.record import Record
from gossamer.core.requests import FARTHEST, Entry, Request
from gossamer.engine.admission import Admission
from gossamer.jobs.control import prepare_submission, reopen_job, submit_job
from gossamer.jobs.seed_files import CHUNK, FIELDS, SeedRow, named_fields
from gossamer.policy.traps import TrapCounter, TrapRules
from gossamer.runtime.cancelling import end_tasks
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import is_url
from gossamer.targets.launch import launch_of
from gossamer.targets.loading import LoadedTarget
from gossamer.targets.start_url import absolute_url
from gossamer.wiring.backends import Backends
from gossamer.wiring.fetchers import touches_network
from gossamer.wiring.job_choice import choose_job
from gossamer.wiring.row_sources import stream_rows
from gossamer.wiring.rules import rules_of
from gossamer.wiring.seeding import open_admission, trust_private_host

SHOWN = 20
"""Rows that are named of those that were left out."""
REOPEN_EVERY = 25
"""Chunks after which a job of a fleet that has ended meanwhile is opened again."""
REMEMBERED_HOSTS = 10_000
_BEGINNING = re.compile(
    r"[a-z][a-z0-9+.-]*://|(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::\d+)?(?:[/?#]|\Z)", re.IGNORECASE
)
"""How a URL begins: with its scheme or its host, and with nothing before them."""
_NO_TRAPS = TrapRules(max_segments=None, max_repeats=None, max_same_body=None)


class SeedRefusal(Record, frozen=True, kw_only=True):
    """A row that was left out."""

    number: int  # of its line, or of the row of a query
    reason: str
    text: str  # its URL, or how it begins


class SeedReport(Record, frozen=True, kw_only=True):
    """Totals of a list."""

    job: str
    rows: int = 0  # that were read
    added: int = 0
    known: int = 0  # known to the job already
    raised: int = 0  # of those: they wait, and go earlier now
    left_out: dict[str, int] = {}  # rows by why they were not accepted
    refusals: tuple[SeedRefusal, ...] = ()  # the first of those

    @property
    def total_left_out(self) -> int:
        """How many rows were not accepted."""
        return sum(self.left_out.values())


class SeededTarget(Record, frozen=True):
    """A target whose job receives seeds, and the way to create that job."""

    loaded: LoadedTarget
    text: str  # as it was typed
    arguments: Mapping[str, str] = {}
    options: tuple[SettingOption, ...] = ()

    async def choose_job(self, backends: Backends, *, fresh: bool) -> Job:
        """Return the unfinished job of the target, or (on this machine) the latest; else a new one.

        Raises ``JobBusyError`` for a new job of a fleet while one of that name runs.
        """
        if backends.requests.fleet is None:
            return await self._choose_own(backends, fresh=fresh)
        found = self.loaded.target
        for job in await backends.book.list_jobs(unfinished=True):
            if job.is_fleet and (job.name, job.target) == (found.name, found.text) and not fresh:
                return job
        prepared = prepare_submission(self.text, self.arguments, self.options)
        return await submit_job(backends, *prepared)

    async def _choose_own(self, backends: Backends, *, fresh: bool) -> Job:
        job, is_old = await choose_job(backends, self.loaded.target, fresh=fresh)
        if not is_old:
            settings = self.loaded.settings
            await backends.requests.create_frontier(
                job, rules_of(settings, touches_network=touches_network(settings))
            )
        if not await backends.book.read_launch(job):
            launch = launch_of(self.text, self.arguments, self.loaded.loaded)
            await backends.book.save_launch(job, launch)
        return job


async def open_writer(backends: Backends, job: Job) -> SeedWriter:
    """Open the writer of a job's seeds.

    Raises ``UsageError`` if the job is cancelled, or its spider is not installed here.
    """
    if job.state is JobState.CANCELLED:
        raise UsageError(f"{job.id} is cancelled, and takes no more requests")
    return SeedWriter(backends, job, *await open_admission(backends, job))


class SeedWriter:
    """Adds the rows of a list to one job."""

    def __init__(self, backends: Backends, job: Job, spider: Spider, admission: Admission) -> None:
        admission.traps = TrapCounter(_NO_TRAPS)
        self._backends = backends
        self._job = job
        self._spider = spider
        self._admission = admission
        self._frontier = backends.open_frontier(job)
        self._trusted: set[str] = set()
        self._left_out: Counter[str] = Counter()
        self._refusals: list[SeedRefusal] = []
        self._rows = 0
        self._added = AddResult()
        self._raised = 0

    @property
    def report(self) -> SeedReport:
        """Totals of the rows until now."""
        return SeedReport(
            job=self._job.id,
            rows=self._rows,
            added=self._added.accepted,
            known=self._added.duplicates,
            raised=self._raised,
            left_out=dict(self._left_out),
            refusals=tuple(self._refusals),
        )

    async def add_chunks(
        self, chunks: AsyncIterator[list[SeedRow]], tell: Callable[[SeedReport], None]
    ) -> SeedReport:
        """Add all rows; ``tell`` is called after each chunk.

        Raises ``JobBusyError`` when the job is cancelled meanwhile, and what reading raises: after a
        ``UsageError`` all is added that came before it.
        """
        adding: asyncio.Task[None] | None = None
        number = 0
        try:
            async for chunk in chunks:
                number += 1
                pairs = [(row, entry) for row in chunk if (entry := self._admit_row(row)) is not None]
                entries = [entry for _, entry in pairs]
                urgent = [entry for row, entry in pairs if row.fields.get("priority") is not None]
                self._rows += len(chunk)
                await self._trust_hosts(entries)
                if adding is not None:
                    await adding
                adding = asyncio.create_task(self._add_entries(entries, urgent))
                tell(self.report)
                if number % REOPEN_EVERY == 0:
                    await self._open_again()
            if adding is not None:
                await adding
        except UsageError:
            if adding is not None:
                await adding
            await self._open_again()
            raise
        finally:
            if adding is not None and not adding.done():
                await end_tasks(adding)
        await self._open_again()
        return self.report

    async def _add_entries(self, entries: list[Entry], urgent: list[Entry]) -> None:
        """Add entries; those with a priority also raise the waiting requests for their pages."""
        if entries:
            known = await self._frontier.are_known(urgent) if urgent else []
            added = await self._frontier.add(entries)
            waiting = [entry for entry, is_known in zip(urgent, known, strict=True) if is_known]
            if waiting:
                self._raised += await self._frontier.raise_requests(waiting)
            self._added = AddResult(
                accepted=self._added.accepted + added.accepted,
                duplicates=self._added.duplicates + added.duplicates,
            )

    async def _open_again(self) -> None:
        """Reopen a job of a fleet that may have finished before these seeds."""
        if not self._job.is_fleet:
            return
        job = await self._backends.book.get(self._job.id)
        if job is not None and job.state is JobState.CANCELLED:
            raise JobBusyError(f"{job.id} was cancelled; nothing more is added to it")
        if self._added.accepted:
            await reopen_job(self._backends, self._job)

    # ----------------------------------------------------------------- one row

    def _admit_row(self, row: SeedRow) -> Entry | None:
        reason, said = "unreadable", row.problem
        if not said:
            try:
                request = request_of(row.fields)
                self._check_callback(request.callback)
            except UsageError as error:
                reason, said = "invalid", str(error)
            else:
                entry = self._admission.admit_request(request)
                if not isinstance(entry, str):
                    return entry
                reason = said = entry
        self._refuse_row(row, reason, said)
        return None

    def _refuse_row(self, row: SeedRow, reason: str, said: str) -> None:
        self._left_out[reason] += 1
        if len(self._refusals) < SHOWN:
            text = str(row.fields.get("url") or "")[:200]
            self._refusals.append(SeedRefusal(number=row.number, reason=said, text=text))

    def _check_callback(self, name: str | None) -> None:
        if name is None or name == "parse":
            return
        is_word = name.startswith("_") or hasattr(Spider, name)  # it may be called, and not with a page
        if is_word or not callable(getattr(self._spider, name, None)):
            raise UsageError(f"the spider {self._spider.name!r} has no callback {name!r}")

    async def _trust_hosts(self, entries: list[Entry]) -> None:
        """Hosts that are private by their names were named by a person, and may be asked."""
        for host in dict.fromkeys(entry.host for entry in entries):
            if host not in self._trusted:
                if len(self._trusted) >= REMEMBERED_HOSTS:
                    self._trusted.clear()
                self._trusted.add(host)
                await trust_private_host(self._backends, self._job, host)


def request_of(fields: Mapping[str, Any]) -> Request:
    """Return the request of a row. Raises ``UsageError`` that names the mistake."""
    url = fields.get("url")
    if not isinstance(url, str) or not url.strip():
        raise UsageError("the URL is missing")
    url = url.strip()
    if not is_url(url) or not _BEGINNING.match(url):
        raise UsageError("not a URL")
    url = absolute_url(url)
    if len(fields) == 1:
        return Request(url)
    given = {name: fields[name] for name in FIELDS[1:] if fields.get(name) is not None}
    if "priority" in given:
        given["priority"] = _whole_number(given["priority"])
    for name in ("meta", "cb_kwargs"):
        if isinstance(given.get(name), str):
            given[name] = _json_object(given[name], name)
    return Request(url, **given)


def _whole_number(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"priority {value!r} is not a whole number") from None
    return max(-FARTHEST, min(number, FARTHEST))


def _json_object(text: str, name: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise UsageError(f"{name} is not JSON") from None


async def stream_query(url: str, query: str, column: str) -> AsyncIterator[list[SeedRow]]:
    """Yield the rows of a query in chunks; a single column is the URL. Raises as ``stream_rows``."""
    number = 0
    async for rows in stream_rows(url, query, CHUNK):
        names = [*rows[0]]
        wanted = names[0] if len(names) == 1 else column
        if wanted not in names:
            raise UsageError(
                f"the query gives no column {column!r}, but {', '.join(names)}: name it with --column"
            )
        yield [SeedRow(at, named_fields(row, wanted)) for at, row in enumerate(rows, number + 1)]
        number += len(rows)
