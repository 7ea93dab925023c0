"""Keeps the picture of a page, and notes its name in the ledger's row."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.results import FetchResult, Verdict, VisitResult
from gossamer.ports.screenshot_store import ScreenshotStore

NO_SCREENSHOT = "no_screenshot"
"""The flag of a page whose picture could not be taken, or not be kept."""


async def keep_picture(
    store: ScreenshotStore, result: VisitResult, picture: bytes, page: FetchResult | None
) -> VisitResult:
    """Return the result with the picture's name in the row's flags, if that picture is to be kept."""
    if result.outcome.verdict is Verdict.SUCCESS and not store.keeps_all:
        return result
    name = await store.keep(result.outcome.lease, picture, b"" if page is None else page.body)
    flag = f"screenshot:{name}" if name else NO_SCREENSHOT
    rows = tuple(replace(row, flags=(*row.flags, flag)) for row in result.attempts)
    return replace(result, attempts=rows)
