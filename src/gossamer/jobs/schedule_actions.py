"""Actions on schedules, for callers other than the command line."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from gossamer.core.actions import ActionOrder
from gossamer.core.errors import UsageError
from gossamer.core.lifecycle import JobCommand
from gossamer.jobs.action_kind import ActionFacts, ActionKind, ActionParts
from gossamer.jobs.control import change_job
from gossamer.jobs.schedules import find_schedule, open_runner


async def _look_at(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    schedule = await find_schedule(parts.backends.schedules, order.who)
    facts = {"is_on": schedule.is_on}
    return ActionFacts(schedule.name, {"schedule": schedule.name, **facts}, facts)


async def _switch(is_on: bool, parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    schedules = parts.backends.schedules
    await schedules.switch_schedule(order.who, is_on=is_on, now=parts.backends.clock.now())
    return {"schedule": order.who, "is_on": is_on}


async def _run_now(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    schedule = await find_schedule(parts.backends.schedules, order.who)
    run = await (await open_runner(parts.backends)).run_now(schedule, parts.backends.clock)
    return {"schedule": schedule.name, "job": run.job}


async def _end_run(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    """Cancel the crawl that was begun by mistake, unless it is over."""
    job = await parts.backends.book.get(str(order.given.get("job", "")))
    if job is not None and job.is_unfinished:
        with contextlib.suppress(UsageError):  # it is over now
            await change_job(parts.backends, job, JobCommand.CANCEL)
    return {"schedule": order.who}


SCHEDULE_ACTIONS = {
    "run": ActionKind(_look_at, _run_now),
    "unrun": ActionKind(_look_at, _end_run, takes=("job",)),
    "enable": ActionKind(_look_at, partial(_switch, True)),
    "disable": ActionKind(_look_at, partial(_switch, False)),
}
"""Actions on schedules; ``unrun`` undoes ``run``."""
