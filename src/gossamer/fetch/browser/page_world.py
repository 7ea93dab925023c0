"""Scripts that run in a page's own world, beside the page's scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import Page


async def run_in_page(page: Page, script: str) -> Any:
    """Run a function in the world of the page's own scripts; patchright needs an explicit order for it."""
    is_apart = type(page).__module__.partition(".")[0] == "patchright"
    options: dict[str, Any] = {"isolated_context": False} if is_apart else {}
    return await page.evaluate(script, **options)
