"""Opens the trap meter that the workers of a job share, by the settings."""

from __future__ import annotations

from contextlib import AsyncExitStack

from gossamer.core.jobs import Job, tag_of
from gossamer.engine.trap_counts import TrapCountStore
from gossamer.engine.trap_meter import TrapMeter
from gossamer.policy.content_memory import ContentMemory
from gossamer.wiring.backends import Backends
from gossamer.wiring.routing import RouteParts
from gossamer.wiring.trap_rules import trap_budgets_of

MAX_MEMORIES = 4
"""Jobs whose pages one process remembers from shift to shift, the latest."""


async def open_traps(ways: RouteParts, backends: Backends, closing: AsyncExitStack) -> TrapMeter | None:
    """Open the meter of the job's URL patterns; ``None`` without trap limits. Raises ``StorageError``."""
    settings, job = ways.settings, ways.job
    rules = trap_budgets_of(settings)
    if rules is None or settings.replay.job is not None:  # pages of an archive have an end
        return None
    store = TrapCountStore(backends.requests.shared, tag_of(job))
    meter = TrapMeter(store, backends.clock, rules, _memory_of(backends, job), is_alone=ways.is_alone)
    await meter.load()
    closing.push_async_callback(meter.save)
    return meter


def _memory_of(backends: Backends, job: Job) -> ContentMemory:
    """Return the memory of this process for a job, which includes earlier shifts."""
    memories, tag = backends.page_memories, tag_of(job)
    memory = memories.pop(tag) if tag in memories else ContentMemory()
    memories[tag] = memory
    if len(memories) > MAX_MEMORIES:
        del memories[next(iter(memories))]
    return memory
