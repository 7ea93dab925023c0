"""Dead letters: what was given up, and why."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from gossamer.core.errors import Fault, NotThereError
from gossamer.core.jobs import DeadLetterFilter
from gossamer.queries import dead_letters
from gossamer.queries.dead_letters import LetterListing, LetterReport
from gossamer.web.parts import Cursor, JobName, Limit, Parts, Text, Word
from gossamer.web.route_group import RouteGroup

ROUTES = RouteGroup("Dead letters")

OlderThan = Annotated[
    float | None, Query(ge=0, le=1e10, description="Only those given up longer ago, in seconds.")
]
Number = Annotated[int, Path(alias="number", ge=0, le=2**63 - 1, description="The number of a dead letter.")]


@ROUTES.read("/jobs/{job}/dead", answer=LetterListing, topic="dead", every_s=5.0)
async def list_letters(
    parts: Parts,
    job: JobName,
    *,
    limit: Limit = 50,
    cursor: Cursor = "",
    reason: Fault | None = None,
    host: Word = "",
    older_than: OlderThan = None,
    q: Text = "",
) -> LetterListing:
    """The dead letters of a job that fit, newest first; none once its requests are forgotten."""
    now = parts.backends.clock.now()
    which = DeadLetterFilter(
        reason=None if reason is None else reason.value,
        host=host.lower() or None,
        older_than=None if older_than is None else now - older_than,
        text=q,
    )
    return await dead_letters.page_letters(parts.backends, await parts.find_job(job), which, limit, cursor)


@ROUTES.read("/jobs/{job}/dead/{number}", answer=LetterReport)
async def read_letter(parts: Parts, job: JobName, number: Number) -> LetterReport:
    """One dead letter with its request and its latest tries."""
    found = await dead_letters.read_letter(parts.backends, await parts.find_job(job), number)
    if found is None:
        raise NotThereError(f"{job} has no dead letter {number}: it was retried, dropped, or is forgotten")
    return found
