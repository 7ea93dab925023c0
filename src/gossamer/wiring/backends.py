"""The places of crawls opened to look into them and to manage their jobs, without crawling."""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections import defaultdict
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from gossamer.config.settings import Settings
from gossamer.core.archive import ArchiveEntry
from gossamer.core.errors import Fault, LostRequestsError, SettingError, StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter, FrontierStats, Job, JobTotals, tag_of
from gossamer.core.lifecycle import JobState
from gossamer.core.redaction import shown_server
from gossamer.core.requests import Request
from gossamer.core.shifts import FleetStore
from gossamer.policy import shared_hosts, urls
from gossamer.policy.content_memory import ContentMemory
from gossamer.policy.job_life import mark_interrupted
from gossamer.policy.request_variants import variant_of
from gossamer.policy.sentences.fleet import describe_other_store
from gossamer.ports.archive_reader import ArchiveReader
from gossamer.ports.backends import FleetBackend, FrontierBackend, StoreBackend
from gossamer.ports.clock import Clock
from gossamer.ports.file_store import FileStore
from gossamer.ports.job_frontier import JobFrontier
from gossamer.ports.known_page_store import KnownPageStore
from gossamer.targets.plan import plan_from
from gossamer.wiring.databases import database_path
from gossamer.wiring.open import fleet_of, open_places
from gossamer.wiring.rules import rules_of

if TYPE_CHECKING:
    from gossamer.policy.ladder import LadderState
    from gossamer.ports.schedule_store import ScheduleStore

HOSTS_LOOKED_AT = 5
"""Hosts of a new job that are looked for among those of each other one."""

PLACES = {
    "postgresql": "PostgreSQL",
    "postgres": "PostgreSQL",
    "mongodb": "MongoDB",
    "redis": "Redis",
    "rediss": "Redis",
}
"""Names of the places of crawls by URL scheme; any other URL is a file."""
FILE = "the file"
_PLACE, _KEPT_S = "place", 100 * 366 * 86_400.0


def name_place(url: str | None) -> str:
    """Return the name of a place of crawls for people."""
    return PLACES.get((url or "").partition(":")[0].partition("+")[0], FILE)


class Backends:
    """Both places of crawls, to look into them and to manage their jobs."""

    def __init__(self, settings: Settings, requests: FrontierBackend, keeping: StoreBackend) -> None:
        self._settings = settings
        self.requests = requests
        self.keeping = keeping
        self.book = keeping.book
        self.store = keeping.store
        self.ledger = keeping.ledger
        self.series = keeping.series
        self.items = keeping.items
        self.tokens = keeping.tokens
        self.actions = keeping.actions
        self.profiles = keeping.profiles
        self.versions = keeping.versions
        self._archive: ArchiveReader | None = None
        self._identity = ""  # that of the store, as soon as it is known
        self.page_memories: dict[str, ContentMemory] = {}  # by the tag of the job, the latest last

    @property
    def settings(self) -> Settings:
        """The settings that name the places."""
        return self._settings

    async def find_archived(self, job: Job, request: Request) -> ArchiveEntry | None:
        """Return the latest archived response to a request; ``None``: there is none, or no archive.

        Raises ``OperatorError`` if the archive cannot be read.
        """
        archives = import_module("gossamer.wiring.archives")
        if self._archive is None and archives.is_there(self._settings):
            self._archive = archives.open_reader(self._settings)
        if self._archive is None:
            return None
        asked = request.url, request.method, request.body
        return await self._archive.find_page(tag_of(job), *asked, variant=variant_of(request))

    @property
    def files(self) -> FileStore:
        """Which files jobs have saved."""
        return self.keeping.files

    @property
    def known_pages(self) -> KnownPageStore:
        """Known pages of spiders, and how often they change."""
        return self.keeping.known_pages

    @property
    def schedules(self) -> ScheduleStore:
        """Crawls that begin by themselves."""
        return self.keeping.schedules

    @property
    def clock(self) -> Clock:
        """The time that leases and hosts are kept by."""
        return self.requests.clock

    @property
    def store_name(self) -> str:
        """Name of the store for people."""
        return name_place(self._settings.store.url)

    async def read_place(self) -> str:
        """Return the name that tells the jobs of this place from others in the store: of a fleet, its name.

        A data directory has a generated name, which is permanent.
        """
        if self.requests.fleet is not None:
            return f"fleet {self._settings.cluster.fleet}"
        shared = self.requests.shared
        while (known := await shared.get(_PLACE, "name")) is None:
            await shared.compare_and_swap(_PLACE, "name", None, secrets.token_hex(8).encode(), _KEPT_S)
        return known.decode()

    def require_fleet(self) -> FleetBackend:
        """Return the parts for a fleet. Raises ``SettingError`` for a frontier that serves no fleet."""
        return fleet_of(self.requests)

    async def read_store(self) -> FleetStore:
        """Return the identity and the address of the store."""
        url = self._settings.store.url
        if url is None or url.startswith("sqlite:"):
            place = f"{database_path(self._settings, url).absolute()} on {socket.gethostname()}"
        else:
            place = shown_server(url)
        return FleetStore(id=await self.book.read_identity(), place=place)

    async def name_own_space(self, space: str) -> str:
        """Return the space of shared state for facts that the store numbers: other stores may share the
        Redis.

        Raises ``StorageError``.
        """
        self._identity = self._identity or await self.book.read_identity()
        return f"{space}:{self._identity}"

    async def join_fleet(self) -> None:
        """Work with the fleet that the settings name. Raises ``SettingError`` when it has another store."""
        ours = await self.read_store()
        self._check_store(await self.require_fleet().roster.join_store(ours), ours)

    async def check_fleet(self, job: Job | None = None) -> None:
        """Raise ``SettingError`` when the fleet that looks after a job works with another store than this.

        Without a job: the fleet that the settings name, where there can be one.
        """
        fleet = self.requests.fleet
        if fleet is None or (job is not None and not job.is_fleet):
            return
        roster = fleet.roster if job is None else fleet.roster_of(job)
        if (theirs := (await roster.read_roster()).store) is not None:
            self._check_store(theirs, await self.read_store(), job)

    def _check_store(self, theirs: FleetStore, ours: FleetStore, job: Job | None = None) -> None:
        if theirs.id == ours.id:
            return
        fleet = self._settings.cluster.fleet if job is None else plan_from(job.plan).fleet
        redis = shown_server(self._settings.frontier.url or "")
        raise SettingError(describe_other_store(fleet, redis, theirs.place, ours.place))

    def open_frontier(self, job: Job) -> JobFrontier:
        """Open the requests of a job."""
        return self.requests.open_frontier(job, rules_of(self._settings))

    async def read_stats(self, job: Job) -> FrontierStats | None:
        """Return the state of a job; ``None``: it is over, and its requests are deleted."""
        try:
            return await self.open_frontier(job).read_stats()
        except LostRequestsError:
            if job.finished_at is None:
                raise
            return None

    async def count_letters(self, job: Job, tally: JobTotals, fault: Fault) -> int:
        """Return how many dead letters of a job with these totals have a fault, and were not retried since.

        For a job with too many to count: how many there ever were, if one is left.
        """
        ever = tally.by_reason.get(fault, 0)
        if not ever or await self.read_stats(job) is None:
            return 0
        frontier = self.open_frontier(job)
        counts = await frontier.count_letters(DeadLetterFilter())
        found = counts.by_reason.get(fault, 0)
        if counts.is_all:
            return found
        # The exit code of a crawl tells whether one is left: the others are looked through, oldest first.
        which = DeadLetterFilter(reason=fault)
        return ever if found or await frontier.dead_letters(which, 1) else 0

    async def read_rules(self, job: Job) -> FrontierRules:
        """Return the rules in force for a job; the defaults if its requests are deleted."""
        if job.finished_at is not None and await self.read_stats(job) is None:
            return FrontierRules()
        return await self.open_frontier(job).read_rules()

    async def find_ladder(self, host: str) -> LadderState:
        """Return the ladder's state for a host, by its politeness key."""
        ladder = import_module("gossamer.fetch.routing.ladder")  # plain crawls do not use it
        state: LadderState = ladder.decode_state(await self.requests.shared.get(ladder.SPACE, host))
        return state

    async def at_work(self, job: Job) -> str | None:
        """Return the process that crawls this job, as a number or in words; ``None``: none does.

        A process that was killed leaves the job in the state "running".
        """
        return await self.requests.at_work(job)

    async def warn_of_shared_hosts(self, ours: Job, names: Collection[str]) -> list[str]:
        """Return a sentence for each host that ``ours`` begins with and that other jobs use now.

        ``names`` are the hosts that it names, as ``named_hosts`` gives them.
        """
        hosts = shared_hosts.first_hosts(names)
        sharing: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for job in await self.book.list_jobs(unfinished=True) if hosts else []:
            if job.id == ours.id or job.state is not JobState.RUNNING:
                continue
            with contextlib.suppress(StorageError):  # the process that watches the place reports the error
                if not job.is_fleet and (_is_same_crawl(job, ours) or await self.at_work(job) is None):
                    continue
                if host := await self._find_shared(job, hosts):
                    sharing[host].append((job.id, job.target))
        return [
            shared_hosts.describe_sharing(ours.id, host, others) for host, others in sorted(sharing.items())
        ]

    async def _find_shared(self, job: Job, hosts: Sequence[str]) -> str:
        """Return the first of some hosts that a job uses now; empty: none, as far as is known."""
        theirs = plan_from(job.plan).hosts if job.is_fleet else (urls.host_key(job.target),)
        for host in shared_hosts.may_share(hosts, theirs)[:HOSTS_LOOKED_AT]:
            report = await self.open_frontier(job).find_host(host)
            if report is None:
                if host in theirs:  # it has not come to its start URLs yet
                    return host
            elif report.pending or report.state.in_flight:
                return host
        return ""

    async def withdraw_claims(self, ours: Job) -> None:
        """Release the claims of killed crawls on hosts, so that no other crawl waits for them.

        ``ours`` is about to begin, and its target is locked.
        """
        now = self.clock.now()  # a process that resumes one of these jobs makes new claims
        for job in await self.book.list_jobs(unfinished=True):
            if job.id == ours.id or job.is_fleet:
                continue
            if _is_same_crawl(job, ours) or await self.at_work(job) is None:
                await self.requests.withdraw_claims(job, now)

    def blocking_writers(self) -> set[int]:
        """Return the processes that block all other writers at the moment."""
        return self.requests.blocking_writers() | self.keeping.blocking_writers()

    async def close(self) -> None:
        """Let go of files and connections."""
        try:
            await self.requests.close()
        finally:
            await self.keeping.close()


async def refresh_job(backends: Backends, job: Job) -> Job:
    """Return the job as it is now; if its process was killed, as interrupted."""
    if not job.is_running:
        return job
    is_abandoned = not job.is_fleet and await backends.at_work(job) is None
    job = await backends.book.get(job.id) or job  # it may have ended since it was asked for
    return mark_interrupted(job) if is_abandoned and job.is_running else job


def _is_same_crawl(job: Job, ours: Job) -> bool:
    """Whether both are crawls of one target, which a lock keeps from running at once."""
    return job.target == ours.target and not ours.is_fleet


async def open_backends(
    settings: Settings, *, create: bool = False, limit_s: float | None = None
) -> Backends:
    """Open the places that the settings name; ``limit_s`` is the limit of one query in seconds.

    Raises :class:`StorageError` if the data directory does not exist (and not ``create``).
    """
    return Backends(settings, *await open_places(settings, create=create, limit_s=limit_s))
