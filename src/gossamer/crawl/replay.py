"""Crawls a job again from its archived pages, with today's spider and without a network.

A replay is an ordinary crawl from the spider's seeds, whose only way to fetch is the archive: so callbacks,
their arguments and depths are those of today's code. Its result is a version: a job in a data directory of
its own, which changes nothing of the first job until it is promoted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gossamer.config.layers import load_settings
from gossamer.config.option import SettingOption
from gossamer.config.section import to_document
from gossamer.config.settings import Settings, setting_fields
from gossamer.core.errors import Fault, StorageError, UsageError
from gossamer.core.exits import ExitFacts
from gossamer.core.jobs import Job, tag_of
from gossamer.core.record import Record
from gossamer.core.result_versions import ResultVersion, VersionState
from gossamer.core.results import AttemptFilter
from gossamer.crawl.notes import failures_of
from gossamer.crawl.result import CrawlResult
from gossamer.crawl.run import CrawlRun, prepare_crawl
from gossamer.crawl.versions import VersionFolder
from gossamer.policy.freshness import is_partial
from gossamer.policy.merge import MERGE_MARK
from gossamer.ports.sink import Sink
from gossamer.runtime.file_lock import JobLock
from gossamer.targets.discovery import file_of
from gossamer.targets.launch import launch_from
from gossamer.targets.plan import plan_from
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.replay import find_archive, has_pages, read_visited

PART = 200
"""Requests without an answer that are looked up at once, among those that robots.txt refused."""
PARTS = 500
"""Parts that are looked up, at most; the rest counts as missing."""
_SENT = (200, 300)
MOST_TRIES = 5
"""Rows of one request in a ledger, as a rule."""
_UNLIMITED = (
    "delay", "max_pages", "max_pages_per_host", "max_time", "max_items", "max_errors", "metrics.port",
    "frontier.url", "store.url", "replay.folder",
)  # fmt: skip
"""Settings that a replay resets: limits on requests to sites, and places of other crawls."""


class ReplayPlan(Record, frozen=True, kw_only=True):
    """The parameters of a replay."""

    target: str  # as it was typed, a file by its whole path
    folder: Path  # in which it was typed: where its project is
    arguments: dict[str, str]  # of the spider
    options: tuple[SettingOption, ...]  # settings that the job was begun with
    archive: str  # where its pages are; empty: where the settings say


class ReplayResult(Record, frozen=True, kw_only=True):
    """The result of a replay."""

    version: ResultVersion
    data: str  # the data directory of the version
    crawled: CrawlResult  # of the job in there
    missing: int  # requests that the archive has no answer to
    refused: int  # others to which it has none because robots.txt did not allow them
    left_out: int  # others that a re-crawl was not sent: they had not changed, or were not due
    failures: dict[str, int]  # other requests without success, by reason

    @property
    def ending(self) -> ExitFacts:
        """Facts that decide the exit code. An archive may lack answers, but not all pages."""
        ending = self.crawled.ending
        if not ending.pages:
            return ending
        unanswered = self.missing + self.refused + self.left_out
        return ending._replace(dead=max(ending.dead - unanswered, 0))


class ReplayRun:
    """One replay, made by :func:`prepare_replay`."""

    def __init__(
        self,
        crawling: CrawlRun,
        version: ResultVersion,
        *,
        base: Job,
        is_recrawl: bool,
        backends: Backends,
        folder: VersionFolder,
        lock: JobLock,
    ) -> None:
        self.crawling = crawling
        self._is_recrawl = is_recrawl
        self._base = base
        self._backends = backends
        self._version = version
        self._folder = folder
        self._lock = lock
        self._is_noted = False

    async def run(self) -> ReplayResult:
        """Parse the archived pages; the version exists when all are parsed. Raises ``OperatorError``."""
        crawled = await self.crawling.run()
        failed = failures_of(await self.crawling.read_totals())
        missing = failed.pop(Fault.NOT_ARCHIVED, 0)
        refused, left_out = await self._count_unanswered() if missing else (0, 0)
        if not crawled.ending.is_early:
            await self._backends.versions.save_version(self._version)
            self._is_noted = True
        return ReplayResult(
            version=self._version,
            data=str(self._folder.path_of(self._version.job)),
            crawled=crawled,
            missing=missing - refused - left_out,
            refused=refused,
            left_out=left_out,
            failures=failed,
        )

    async def _count_unanswered(self) -> tuple[int, int]:
        """Count the requests without an answer that robots.txt refused, and those that were never sent.

        The ledger of the job tells which: a re-crawl skips most pages.
        """
        refused: set[tuple[str, str]] = set()
        left_out = 0
        which, last = AttemptFilter(reason=Fault.NOT_ARCHIVED), None
        for _ in range(PARTS):
            part = await self.crawling.ledger.page_attempts(self.crawling.job, PART, which, last)
            asked = {(row.method, row.url) for row in part.attempts}
            by_robots = asked & await self._find_asked(asked, AttemptFilter(reason=Fault.ROBOTS))
            refused |= by_robots
            if self._is_recrawl:
                sent = await self._find_asked(asked, AttemptFilter(statuses=_SENT))
                left_out += len(asked - by_robots - sent)
            last = part.next_before
            if last is None:
                break
        return len(refused), left_out

    async def _find_asked(self, asked: set[tuple[str, str]], which: AttemptFilter) -> set[tuple[str, str]]:
        """Return those of some requests that the job had sent, with attempts of a kind."""
        if not asked:
            return set()
        which = replace(which, urls=tuple({url for _, url in asked}))
        rows = await self._backends.ledger.find_attempts(self._base, MOST_TRIES * PART, which)
        return {(row.method, row.url) for row in rows}

    async def close(self) -> None:
        """Close everything, and delete an unfinished version."""
        await self.crawling.close()
        if not self._is_noted:
            self._folder.delete_version(self._version.job)
        self._lock.release()


async def prepare_replay(
    backends: Backends,
    job: Job,
    *,
    target: str = "",
    arguments: Mapping[str, str] | None = None,
    options: Sequence[SettingOption] = (),
    sinks: Sequence[Sink] = (),
) -> ReplayRun:
    """Find a job's spider and its archive, and make a version. Close the result when done with it.

    ``target``, ``arguments`` and ``options`` take the place of those that the job was begun with. Raises
    ``UsageError`` where the spider is not known, or nothing of the job is archived; ``OperatorError``.
    """
    plan = await plan_replay(backends, job, target=target, arguments=arguments or {}, options=options)
    if not await has_pages(backends.settings, plan.archive, tag_of(job)):
        raise UsageError(
            f"{plan.archive} has no page of {job.id}: only jobs crawled with --archive can be replayed"
        )
    is_recrawl = is_partial(await backends.store.read_totals(job))
    folder = VersionFolder(backends.settings.data, job)
    taken = [version.job for version in await backends.versions.list_versions(job.id)]
    name, lock = folder.create_version(taken)
    try:
        crawling = await prepare_crawl(
            plan.target,
            arguments=plan.arguments,
            overrides=_options_of(plan, tag_of(job), folder.path_of(name)),
            sinks=sinks,
            start=plan.folder,
        )
    except BaseException:
        folder.delete_version(name)
        lock.release()
        raise
    version = ResultVersion(job=name, base=job.id, created_at=crawling.job.created_at)
    if is_recrawl:  # the pages that lead to its pages may be unchanged
        crawling.further = read_visited(crawling.settings, backends, job)
    return ReplayRun(
        crawling, version, base=job, is_recrawl=is_recrawl, backends=backends, folder=folder, lock=lock
    )


async def open_version(backends: Backends, version: ResultVersion, base: Job) -> tuple[Backends, Job]:
    """Open the data directory of a version; return it, to be closed, and its job.

    Raises ``StorageError`` if it is not there: the replay may have run on another machine.
    """
    settings = backends.settings
    data = VersionFolder(settings.data, base).path_of(version.job)
    if not data.is_dir():
        raise StorageError(f"{version.job} is not on this machine, or was deleted: there is no {data}")
    opened = await open_backends(
        settings.model_copy(
            update={
                "data": str(data),
                "frontier": settings.frontier.model_copy(update={"url": None}),
                "store": settings.store.model_copy(update={"url": None}),
            }
        )
    )
    try:
        (job,) = await opened.book.list_jobs()
    except BaseException:
        await opened.close()
        raise
    return opened, job


async def discard_version(backends: Backends, version: ResultVersion, base: Job) -> None:
    """Delete the results of a replay. Safe to repeat. Raises ``StorageError``."""
    await backends.versions.change_state(version.job, VersionState.DISCARDED)
    VersionFolder(backends.settings.data, base).delete_version(version.job)


async def plan_replay(
    backends: Backends,
    job: Job,
    *,
    target: str,
    arguments: Mapping[str, str],
    options: Sequence[SettingOption],
) -> ReplayPlan:
    """Return the parameters of a job's start, with the given replacements.

    Raises the errors of :func:`prepare_replay`.
    """
    begun = (
        _plan_of_fleet(job) if job.is_fleet else _plan_of_launch(job, await backends.book.read_launch(job))
    )
    if job.target.startswith(MERGE_MARK):
        merged = ", ".join(job.target.removeprefix(MERGE_MARK).split("+"))
        raise UsageError(f"{job.id} is a merge of {merged}: replay that, and merge again")
    if not (target or begun.target):
        raise UsageError(
            f"{job.id} was begun by a program, from a class: name its spider with --spider FILE.py"
        )
    return ReplayPlan(
        target=target or begun.target,
        folder=Path.cwd() if target else begun.folder,
        arguments={**begun.arguments, **arguments},
        options=(*begun.options, *options),
        archive=find_archive(backends.settings, begun.archive, begun.folder),
    )


def _plan_of_launch(job: Job, packed: bytes) -> ReplayPlan:
    """Return the parameters of a crawl of this machine, without its passwords: a replay needs none."""
    launch = launch_from(packed)
    if launch is None:
        return ReplayPlan(target="", folder=Path.cwd(), arguments={}, options=(), archive="")
    folder = Path(launch.folder)
    return ReplayPlan(
        target=_find_target(launch.target or job.target, folder),
        folder=folder if folder.is_dir() else Path.cwd(),
        arguments=dict(launch.arguments),
        options=tuple(SettingOption(name, text, f"-s {name}") for name, text in launch.options),
        archive=launch.read_settings().archive.url or "",
    )


def _plan_of_fleet(job: Job) -> ReplayPlan:
    plan = plan_from(job.plan)
    settings = load_settings(env={}, spider=msgspec.json.decode(plan.settings)).settings
    return ReplayPlan(
        target=plan.target,
        folder=Path.cwd(),
        arguments=dict(plan.arguments),
        options=_said_in(settings),
        archive=settings.archive.url or "",
    )


def _said_in(settings: Settings) -> tuple[SettingOption, ...]:
    """Return the settings with values other than their defaults."""
    said, usual = to_document(settings), to_document(Settings())
    found = []
    for name in setting_fields():
        section, _, key = name.rpartition(".")
        value, default = (place[section][key] if section else place[key] for place in (said, usual))
        if value != default:
            found.append(SettingOption(name, value, f"{name} of the job"))
    return tuple(found)


def _find_target(target: str, folder: Path) -> str:
    """Return a file by its absolute path, if it is still there; any other target unchanged."""
    file = file_of(target)
    if file is None or not (folder / file[0]).is_file():
        return target
    path, name = file
    return f"{folder / path}:{name}" if name else str(folder / path)


def _options_of(plan: ReplayPlan, job: str, data: Path) -> list[SettingOption]:
    """Return the settings of a replay: those of the job, except for requests and reports to others."""
    own = {
        "data": str(data),
        "replay.job": job,
        "archive.url": plan.archive,
        "archive.on": False,  # pages from an archive are not archived again
        "extract.deferred": False,  # the process that reads the archive also runs the callbacks
        "log.sinks": (),
        "traces.enabled": False,
        "freshness.on": False,
        "freshness.recrawl": "off",
        "max_retries": 0,  # an archived answer stays as it is
        **dict.fromkeys(_UNLIMITED),
    }
    given = [option for option in plan.options if option.key not in own]
    return [*given, *(SettingOption(name, value, name) for name, value in own.items())]
