"""A job's view of URLs, by its spider and settings."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.config.layers import find_project, load_settings
from gossamer.config.option import SettingOption
from gossamer.config.overrides import to_overrides
from gossamer.config.settings import Settings
from gossamer.core.errors import OperatorError, UsageError
from gossamer.core.jobs import Job
from gossamer.core.requests import Entry, Request
from gossamer.policy.scope import MEDIA, is_media_link
from gossamer.queries.explain.scope import ScopeFacts
from gossamer.spiders.generic import GenericSpider
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import find_target, spiders_in
from gossamer.targets.settings import spider_settings
from gossamer.wiring.scope import admission_of


@dataclass(frozen=True)
class JobScope:
    """A job's treatment of URLs, as far as its spider and settings are known."""

    settings: Settings
    spider: Spider | None  # None: not at hand

    @property
    def obeys_robots(self) -> bool:
        """Whether robots.txt counts for the job."""
        return self.settings.robots

    def entry_for(self, request: Request, key: bytes) -> Entry | None:
        """Return the job's entry for a request, regardless of scope; ``None`` if its URL is invalid."""
        traps = self.settings.traps.model_copy(update=dict.fromkeys(type(self.settings.traps).model_fields))
        scope = {"include": (), "exclude": (), "deny_extensions": ()}
        everything = self.settings.model_copy(update={**scope, "traps": traps})
        entry = admission_of(everything, Spider(), key).admit_request(request)
        return None if isinstance(entry, str) else entry

    def scope_facts_for(self, url: str, key: bytes) -> ScopeFacts | None:
        """Return the decision of the job's scope; ``None`` if its spider is not available."""
        if self.spider is None:
            return None
        entry = admission_of(self.settings, self.spider, key).admit_request(Request(url))
        refused = entry if isinstance(entry, str) else ""
        if not refused and isinstance(self.spider, GenericSpider) and is_media_link(url):
            refused = MEDIA
        return ScopeFacts(
            refused=refused,
            allowed_domains=tuple(self.spider.allowed_domains),
            include=self.settings.include,
            exclude=self.settings.exclude,
        )


class JobScopeCache:
    """The views of all jobs; each target's spider is looked for once."""

    def __init__(
        self,
        spider: str | None,
        data: str | None,
        settings: list[str] | None,
        options: Sequence[SettingOption] = (),
    ) -> None:
        self.spider = spider
        self._overrides = [*to_overrides(settings, data=data), *options]
        self._start = Path.cwd()
        self._made: dict[str, JobScope] = {}

    def scope_of(self, job: Job, *, strict: bool = False) -> JobScope:
        """A job's view. ``strict``: raises ``UsageError`` when ``--spider`` is not the job's."""
        if job.target not in self._made:
            self._made[job.target] = self._load_scope(job, strict=strict)
        return self._made[job.target]

    def _load_scope(self, job: Job, *, strict: bool) -> JobScope:
        spider = self._spider_of(job, strict=strict)
        own = spider_settings(spider) if spider is not None else {}
        loaded = load_settings(overrides=self._overrides, env=os.environ, spider=own, start=self._start)
        return JobScope(loaded.settings, spider)

    def _spider_of(self, job: Job, *, strict: bool) -> Spider | None:
        folder = find_project(self._start)
        name, arguments = _parse_target(job.target)
        if self.spider is None:
            try:
                target = find_target(name, arguments, folder)
            except OperatorError:  # a file somewhere, or a spider that is not there any more
                return None
            return target.spider if target.text == job.target else None
        try:
            target = find_target(self.spider, arguments, folder)
        except UsageError:
            names = [spider.name for spider in spiders_in(self.spider, folder)]
            if job.name in names or len(names) > 1:
                raise
            named = names[0]  # the arguments of another spider's job say nothing about this one
        else:
            named = target.name
            if named == job.name:
                return target.spider
        if strict:
            raise UsageError(f"the job {job.id} is of {job.name!r}, and --spider names {named!r}")
        return None


def _parse_target(target: str) -> tuple[str, dict[str, str]]:
    """The spider's name, or the URL, and the arguments of a job's target."""
    if "://" in target.partition(" ")[0]:
        return target, {}
    try:
        name, *pairs = shlex.split(target)
    except ValueError:  # nothing that was written here
        return target, {}
    return name, {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
