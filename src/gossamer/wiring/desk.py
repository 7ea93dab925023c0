"""The places of crawls opened to look into them and to manage their jobs, without crawling."""

from __future__ import annotations

import msgspec

from gossamer.config import Settings
from gossamer.fetch import robots_cache
from gossamer.frontier.look import Place
from gossamer.policy import urls
from gossamer.policy.robots import RobotsRecord, RobotsRules
from gossamer.wiring.places import JobFrontier, Keeping, Requests, open_places
from gossamer.wiring.rules import rules_of
from gossamer.words.clock import Clock
from gossamer.words.errors import RequestsGone
from gossamer.words.model import FrontierStats, Job, Rules


class Desk:
    """Both places of crawls, to look into them and to manage their jobs."""

    def __init__(self, settings: Settings, requests: Requests, keeping: Keeping) -> None:
        self._settings = settings
        self.requests = requests
        self.keeping = keeping
        self.book = keeping.book
        self.store = keeping.store
        self.ledger = keeping.ledger

    @property
    def clock(self) -> Clock:
        """The time that leases and hosts are kept by."""
        return self.requests.clock

    def frontier(self, job: Job) -> JobFrontier:
        """The requests of a job."""
        return self.requests.frontier(job, rules_of(self._settings))

    async def stats(self, job: Job) -> FrontierStats | None:
        """How a job stands; ``None``: it is over, and its requests are not kept any more."""
        try:
            return await self.frontier(job).stats()
        except RequestsGone:
            if job.finished_at is None:
                raise
            return None

    async def place(self, job: Job, fingerprint: int) -> tuple[Rules, Place]:
        """The rules in force for a job, and where one of its requests stands; of one forgotten neither."""
        if job.finished_at is not None and await self.stats(job) is None:
            return Rules(), Place()
        return await self.frontier(job).place(fingerprint)

    async def robots_deny(self, url: str) -> bool:
        """Whether the robots.txt of a URL's site, where it is remembered, refuses it. Asks nobody."""
        if not self._settings.robots:
            return False
        stored = await self.requests.shared.get(robots_cache.SPACE, urls.origin(url))
        try:
            record = msgspec.msgpack.decode(stored or b"", type=RobotsRecord)
        except msgspec.DecodeError:
            return False
        return record.text != "" and not RobotsRules(record).allowed(url, self._settings.user_agent)

    async def at_work(self, job: Job) -> str | None:
        """Who crawls this job now: the number of a process, or words; ``None``: nobody.

        A process that was killed leaves its job running in name only.
        """
        return await self.requests.at_work(job)

    def writers(self) -> set[int]:
        """The processes that keep all others from writing at the moment."""
        return self.requests.writers() | self.keeping.writers()

    async def close(self) -> None:
        """Let go of files and connections."""
        try:
            await self.requests.close()
        finally:
            await self.keeping.close()


async def open_desk(settings: Settings, *, create: bool = False) -> Desk:
    """Open the places that the settings name.

    Raises :class:`StorageError` when there is no data directory (and not ``create``).
    """
    return Desk(settings, *await open_places(settings, create=create))
