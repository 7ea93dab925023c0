"""What counts the traps of a job: from the settings to the meter that its workers share, and a warning."""

from __future__ import annotations

from contextlib import AsyncExitStack

from gossamer.core.jobs import Job, JobTotals, tag_of
from gossamer.engine.trap_counts import TrapCountStore, read_counts
from gossamer.engine.trap_meter import TrapMeter
from gossamer.policy.content_memory import ContentMemory
from gossamer.policy.trap_closing import count_left_out, warn_of_traps
from gossamer.wiring.backends import Backends
from gossamer.wiring.routing import RouteParts
from gossamer.wiring.trap_rules import trap_budgets_of

MAX_MEMORIES = 4
"""Jobs whose pages one process remembers from shift to shift, the latest."""


async def open_traps(ways: RouteParts, backends: Backends, closing: AsyncExitStack) -> TrapMeter | None:
    """What counts what the patterns of a job are worth; ``None``: nobody asks. Raises ``StorageError``."""
    settings, job = ways.settings, ways.job
    rules = trap_budgets_of(settings)
    if rules is None or settings.replay.job is not None:  # pages of an archive have an end
        return None
    store = TrapCountStore(backends.requests.shared, tag_of(job))
    meter = TrapMeter(store, backends.clock, rules, _memory_of(backends, job), is_alone=ways.is_alone)
    await meter.load()
    closing.push_async_callback(meter.save)
    return meter


async def read_trap_warnings(
    backends: Backends, job: Job, totals: JobTotals, *, is_kept: bool = True
) -> tuple[str, ...]:
    """What a person should know of links of a job that were left out as traps. Raises ``StorageError``."""
    links = count_left_out(totals.dropped)
    if not links:
        return ()
    known = await read_counts(backends.requests.shared, tag_of(job))
    closed = {group: counts for group, counts in known.items() if counts.rule and counts.refused}
    return (warn_of_traps(job.id if is_kept else "", links, closed),)


def _memory_of(backends: Backends, job: Job) -> ContentMemory:
    """What this process has seen of a job, in earlier shifts of it, too."""
    memories, tag = backends.page_memories, tag_of(job)
    memory = memories.pop(tag) if tag in memories else ContentMemory()
    memories[tag] = memory
    if len(memories) > MAX_MEMORIES:
        del memories[next(iter(memories))]
    return memory
