"""Dead letters: requests that were given up, with the reason."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Path, Query, Response
from fastapi.responses import StreamingResponse

from gossamer.core.access import Role
from gossamer.core.errors import Fault, NotThereError
from gossamer.core.jobs import DeadLetterFilter
from gossamer.queries import dead_letters
from gossamer.queries.dead_letters import LetterListing, LetterReport
from gossamer.web.answers import encode_answer
from gossamer.web.headers import file_headers
from gossamer.web.parts import Cursor, JobName, Limit, Parts, Text, WebParts, Word, require_role
from gossamer.web.route_group import RouteGroup, described_errors

ROUTES = RouteGroup("Dead letters")
JSON_LINES = "application/x-ndjson"
PART = 100
"""Letters of one piece of a file."""

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
    which = _filter_of(parts, reason, host, older_than, q)
    return await dead_letters.page_letters(parts.backends, await parts.find_job(job), which, limit, cursor)


def _filter_of(
    parts: WebParts, reason: Fault | None, host: str, older_than: float | None, text: str
) -> DeadLetterFilter:
    now = parts.backends.clock.now()
    return DeadLetterFilter(
        reason=None if reason is None else reason.value,
        host=host.lower() or None,
        older_than=None if older_than is None else now - older_than,
        text=text,
    )


@ROUTES.router.get(
    "/jobs/{job}/dead/export",
    summary="Dead letters as a file of JSON lines.",
    description="All that fit, newest first, without secrets. Needs the role `read`.",
    operation_id="export_letters",
    response_model=None,
    dependencies=[Depends(require_role(Role.READ))],
    responses=described_errors()
    | {200: {"description": "The file.", "content": {JSON_LINES: {"schema": {}}}}},
)
async def export_letters(
    parts: Parts,
    job: JobName,
    *,
    reason: Fault | None = None,
    host: Word = "",
    older_than: OlderThan = None,
    q: Text = "",
) -> Response:
    """Stream the dead letters."""
    found = await parts.find_job(job)
    which = _filter_of(parts, reason, host, older_than, q)

    async def stream() -> AsyncIterator[bytes]:
        cursor: str | None = ""
        while cursor is not None:
            page = await dead_letters.page_letters(parts.backends, found, which, PART, cursor)
            yield b"".join(encode_answer(letter) + b"\n" for letter in page.letters)
            cursor = page.next_cursor

    return StreamingResponse(stream(), headers=file_headers(f"{found.id}-dead.jsonl"), media_type=JSON_LINES)


@ROUTES.read("/jobs/{job}/dead/{number}", answer=LetterReport)
async def read_letter(parts: Parts, job: JobName, number: Number) -> LetterReport:
    """One dead letter with its request and its latest tries."""
    found = await dead_letters.read_letter(parts.backends, await parts.find_job(job), number)
    if found is None:
        raise NotThereError(f"{job} has no dead letter {number}: it was retried, dropped, or is forgotten")
    return found
