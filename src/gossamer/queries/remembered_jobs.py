"""The remembered facts about many jobs, read in bulk."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gossamer.core.errors import StorageError
from gossamer.core.jobs import FrontierStats, Job
from gossamer.policy.job_memory import JobMemory
from gossamer.watch.memories import load_job_memories
from gossamer.wiring.alerts_on import read_profiles_of
from gossamer.wiring.backends import Backends


class RememberedFacts(NamedTuple):
    """The facts about many jobs from a few bulk reads, by job id."""

    memories: Mapping[str, JobMemory]
    profiles: Mapping[str, bytes]
    stats: Mapping[str, FrontierStats]  # of those that are not watched, as far as that is known


async def remember_jobs(backends: Backends, jobs: Sequence[Job]) -> RememberedFacts:
    """Return the remembered facts about many jobs. Raises ``StorageError``."""
    memories = await load_job_memories(backends.requests.shared, jobs)
    fleet, now = backends.requests.fleet, backends.clock.now()
    stats: Mapping[str, FrontierStats] = {}
    unwatched = [job for job in jobs if job.is_running and not memories[job.id].is_fresh(now)]
    if fleet is not None and unwatched:
        with contextlib.suppress(StorageError):  # the frontier of each job gives the reason
            stats = await fleet.read_many_stats(unwatched)
    return RememberedFacts(memories, await read_profiles_of(backends, jobs), stats)
