"""The pointer and the keyboard on one page: at once, or as a person's hand moves them."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

from gossamer.fetch.browser.human import Point, choose_point, plan_path, plan_scroll, plan_typing

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

_KEYS = {"\n": "Enter", "\t": "Tab"}
_HAS_TEXT = "element => Boolean('value' in element ? element.value : element.textContent)"


class Hand:
    """Moves the pointer and presses keys. ``timeout`` is always in milliseconds, as Playwright's."""

    def __init__(self, page: Page, random: Random) -> None:
        self._page = page
        self._random = random
        self._at: Point = (random.uniform(50, 500), random.uniform(50, 400))  # where it has come to rest

    async def click(self, target: Locator, *, human: bool, timeout: float) -> None:
        """Click on an element, as soon as it can be clicked."""
        if not human:
            await target.click(timeout=timeout)
            return
        await target.click(timeout=timeout, trial=True)  # visible, enabled, covered by nothing, in the window
        box = await target.bounding_box(timeout=timeout)
        if box is None:
            await target.click(timeout=timeout)
            return
        await self._move_to(choose_point(box["x"], box["y"], box["width"], box["height"], self._random))
        await asyncio.sleep(self._random.uniform(0.04, 0.15))
        await self._page.mouse.down()
        await asyncio.sleep(self._random.uniform(0.05, 0.12))
        await self._page.mouse.up()

    async def _move_to(self, end: Point) -> None:
        for step in plan_path(self._at, end, self._random):
            await asyncio.sleep(step.pause_s)
            await self._page.mouse.move(step.x, step.y)
        self._at = end

    async def type_text(self, field: Locator, text: str, *, human: bool, timeout: float) -> None:
        """Type a text in the place of what the field holds."""
        if not human:
            await field.fill("", timeout=timeout)
            await field.press_sequentially(text, timeout=timeout)
            return
        await self.click(field, human=True, timeout=timeout)
        if await field.evaluate(_HAS_TEXT):
            await self._page.keyboard.press("ControlOrMeta+A")
            await self._page.keyboard.press("Backspace", delay=60)
        for step in plan_typing(text, self._random):
            key = _KEYS.get(step.key, step.key)
            if key.isascii() and key.isprintable():
                await self._page.keyboard.press(key, delay=step.hold_s * 1000)
            else:
                await self._page.keyboard.insert_text(key)
            await asyncio.sleep(step.pause_s)

    async def scroll_down(self, distance: float, target: Locator | None) -> None:
        """Scroll by strokes of the wheel, over an element where it is that which scrolls."""
        if target is not None and (box := await target.bounding_box()) is not None:
            middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            await self._move_to(middle)
        way, turned = 0.0, 0
        for step in plan_scroll(distance, self._random):
            way += step.distance
            await self._page.mouse.wheel(0, round(way) - turned)  # Firefox takes whole pixels only
            turned = round(way)
            await asyncio.sleep(step.pause_s)
