"""Items: to look at, and as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from gossamer.core.access import Role
from gossamer.core.errors import AccessError
from gossamer.core.jobs import ItemFilter
from gossamer.export import stream_items
from gossamer.export.formats import find_kind, load_writer
from gossamer.queries import items, quality
from gossamer.queries.items import ItemListing
from gossamer.queries.quality import QualityReport
from gossamer.web.headers import file_headers
from gossamer.web.parts import Cursor, JobName, Limit, Parts, Text, WhoAsks, require_role
from gossamer.web.route_group import RouteGroup, described_errors

ROUTES = RouteGroup("Items")


class ExportKind(StrEnum):
    """Formats of a file of items."""

    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    XML = "xml"
    PARQUET = "parquet"
    EXCEL = "excel"


TYPES = {
    ExportKind.JSONL: "application/x-ndjson",
    ExportKind.JSON: "application/json",
    ExportKind.CSV: "text/csv; charset=utf-8",
    ExportKind.XML: "application/xml",
    ExportKind.PARQUET: "application/vnd.apache.parquet",
    ExportKind.EXCEL: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
Type = Annotated[str, Query(alias="type", max_length=200, description="Only items of this type.")]
Missing = Annotated[
    str, Query(max_length=200, description="Only items in which this field is absent, null or empty.")
]
Since = Annotated[float | None, Query(ge=0, le=1e11, description="Only items that changed then or later.")]


@ROUTES.read("/jobs/{job}/items", answer=ItemListing, topic="items", every_s=5.0)
async def list_items(
    parts: Parts,
    job: JobName,
    *,
    limit: Limit = 50,
    cursor: Cursor = "",
    kind: Type = "",
    missing: Missing = "",
    changed_since: Since = None,
    q: Text = "",
) -> ItemListing:
    """The items of a job that fit, the newest change first; their fields are cut at 400 characters."""
    which = ItemFilter(type=kind, missing=missing, changed_since=changed_since, text=q)
    return await items.page_items(parts.backends, await parts.find_job(job), which, limit, cursor)


@ROUTES.read("/jobs/{job}/quality", answer=QualityReport, fresh_s=10.0)
async def read_quality(parts: Parts, job: JobName) -> QualityReport:
    """Report the quality of a job's items, field by field, beside earlier jobs; and dropped items.

    An ended job has the report of its end, a running job the current one.
    """
    report = await quality.report_quality(parts.backends, await parts.find_job(job))
    return quality.cut_quality(report)


@ROUTES.router.get(
    "/jobs/{job}/export",
    summary="The items of a job as a file.",
    description="All that fit, whole. One at a time for each token. Needs the role `read`.",
    operation_id="export_items",
    response_model=None,
    dependencies=[Depends(require_role(Role.READ))],
    responses=described_errors()
    | {
        200: {
            "description": "The file.",
            "content": {media.partition(";")[0]: {"schema": {}} for media in TYPES.values()},
        }
    },
)
async def export_items(
    *,
    request: Request,
    parts: Parts,
    caller: WhoAsks,
    job: JobName,
    file_format: Annotated[ExportKind, Query(alias="format")] = ExportKind.JSONL,
    kind: Type = "",
    missing: Missing = "",
    changed_since: Since = None,
    q: Text = "",
    safe_csv: Annotated[bool, Query(description="Put ' before texts that a spreadsheet would run.")] = False,
) -> Response:
    """Stream the items."""
    found = await parts.find_job(job)
    which = ItemFilter(type=kind, missing=missing, changed_since=changed_since, text=q)
    load_writer(file_format.value)  # raises for a missing package before anything is sent
    exporting: set[str] = request.app.state.exporting
    if caller.name in exporting:
        raise AccessError(
            f"{caller.name!r} downloads items already", way="wait for its end", status=429, wait_s=5.0
        )

    async def stream() -> AsyncIterator[bytes]:
        exporting.add(caller.name)
        try:
            yield b""
            fitting = parts.backends.store.read_items(found, which=which)
            async for piece in stream_items(fitting, file_format.value, safe_csv=safe_csv):
                yield piece
        finally:
            exporting.discard(caller.name)

    pieces = stream()
    await anext(pieces)  # from here on it counts, and ends however little of it is sent
    headers = file_headers(f"{found.id}{find_kind(file_format.value).suffixes[0]}")
    return StreamingResponse(pieces, headers=headers, media_type=TYPES[file_format])
