"""The pointer and the keyboard on one page: immediate, or at the pace of a person.

The check whether an element can be clicked must cause no events. The driver's own check moves the pointer,
so it is not used here.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any

from gossamer.fetch.browser.human import (
    SHIFTED,
    Point,
    choose_point,
    plan_keys,
    plan_path,
    plan_scroll,
    plan_typing,
)

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Locator, Page

_KEYS = {"\n": "Enter", "\t": "Tab"}
_HAS_TEXT = "element => Boolean('value' in element ? element.value : element.textContent)"
_HAS_FOCUS = "element => element.getRootNode().activeElement === element"
_TAKES_TEXT = """element => element.isContentEditable || element.localName === "textarea"
    || element.localName === "input" && element.selectionStart !== null"""
_LOOK = """(element, shares) => {
    const boxes = [...element.getClientRects()].filter(box => box.width >= 1 && box.height >= 1);
    if (!boxes.length || element.matches(":disabled, [aria-disabled=true]")) return null;
    const size = box => box.width * box.height;
    const box = boxes.reduce((one, other) => size(other) > size(one) ? other : one);
    const outer = element.getBoundingClientRect();
    const x = box.x + shares[0] * box.width, y = box.y + shares[1] * box.height;
    const isSeen = x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    const root = element.getRootNode();
    const top = isSeen && root.elementFromPoint ? root.elementFromPoint(x, y) : null;
    let hit = top;
    while (hit && hit !== element) hit = hit.parentNode || hit.host;
    const label = top && top.closest("label");
    const isFree = hit === element || Boolean(label && label.control === element);
    return {x: box.x, y: box.y, width: box.width, height: box.height, left: x, top: y, isSeen, isFree,
            window: innerHeight, outerX: outer.x, outerY: outer.y};
}"""
"""The place of an element, and whether a pointer would hit it at the given shares of its largest box."""
_LOOK_S = 0.06  # until an element is looked at again: it may still be moving
_MAX_STROKES = 60


class HandError(Exception):
    """An element that cannot be used, with the reason in words for people."""


class Hand:
    """Moves the pointer and presses keys. ``timeout`` is always in milliseconds, as Playwright's."""

    def __init__(self, page: Page, random: Random) -> None:
        self._page = page
        self._random = random
        self._at: Point = (random.randint(50, 500), 0)  # it comes in from above, where the address is
        self._is_in = False

    async def click(self, target: Locator, *, human: bool, timeout: float) -> None:
        """Click on an element, as soon as it can be clicked."""
        if not human:
            await target.click(timeout=timeout)
            return
        await target.wait_for(state="visible", timeout=timeout)
        await self.click_on(target, human=True, timeout=timeout)

    async def click_on(self, target: Locator | ElementHandle, *, human: bool, timeout: float) -> None:
        """Click on an existing element."""
        if not human:
            await target.click(timeout=timeout)
            return
        await self._reach(target, timeout)
        await asyncio.sleep(self._random.uniform(0.04, 0.15))
        await self._page.mouse.down()
        await asyncio.sleep(self._random.uniform(0.05, 0.12))
        await self._page.mouse.up()

    async def _reach(self, target: Locator | ElementHandle, timeout: float) -> None:
        """Have the pointer on an element that can be clicked. Raises :class:`HandError`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout / 1000
        shares = choose_point(0, 0, 1, 1, self._random)
        while True:
            before = await self._find(target, shares)
            await asyncio.sleep(_LOOK_S)
            found = await self._find(target, shares)
            if found is not None and found == before:
                if not found["isSeen"]:
                    await self._bring_near(target, found)
                elif found["isFree"]:
                    await self._move_to((found["left"], found["top"]))
                    if await self._find(target, shares) == found:  # else it moved while the hand did
                        return
                else:
                    shares = choose_point(0, 0, 1, 1, self._random)
            if loop.time() >= end:
                raise HandError("it is there, but cannot be used")

    async def _find(self, target: Locator | ElementHandle, shares: Point) -> dict[str, Any] | None:
        """Return the place of an element in the window; ``None`` if it cannot be clicked."""
        found: dict[str, Any] | None = await target.evaluate(_LOOK, list(shares))
        outer = await target.bounding_box() if found is not None else None
        if found is None or outer is None:
            return None
        found["left"] += outer["x"] - found["outerX"]  # in a frame, it is looked at from there
        found["top"] += outer["y"] - found["outerY"]
        return found

    async def _bring_near(self, target: Locator | ElementHandle, found: dict[str, Any]) -> None:
        """Turn the wheel until an element is in the window; where a wheel does not help, it is put there."""
        distance = found["top"] - found["window"] / 2
        await self._turn_wheel(min(abs(distance), _MAX_STROKES * 100), -1 if distance < 0 else 1)
        await asyncio.sleep(_LOOK_S)
        moved = await target.bounding_box()
        if moved is not None and abs(moved["y"] - found["y"]) < 1:
            await target.scroll_into_view_if_needed()

    async def _move_to(self, end: Point) -> None:
        end = round(end[0]), round(end[1])  # a mouse counts whole pixels
        size = self._page.viewport_size or {"width": 800, "height": 600}
        for step in plan_path(self._at, end, self._random):
            await asyncio.sleep(step.pause_s)
            # A pointer that shoots over the edge of the window is not seen beyond it, and Firefox refuses it.
            here = min(round(step.x), size["width"] - 1), min(round(step.y), size["height"] - 1)
            if here != self._at:
                await self._page.mouse.move(*here)
            self._at = here
        self._is_in = True

    async def type_text(self, field: Locator, text: str, *, human: bool, timeout: float) -> None:
        """Type a text in place of the field's value."""
        if not human:
            await field.fill("", timeout=timeout)
            await field.press_sequentially(text, timeout=timeout)
            return
        await self.click(field, human=True, timeout=timeout)
        if await field.evaluate(_HAS_TEXT):
            await self.press("ControlOrMeta+a")
            await asyncio.sleep(self._random.uniform(0.08, 0.2))
            await self.press("Backspace")
        is_shifted = False
        for step in plan_typing(text, self._random):
            key = _KEYS.get(step.key, step.key)
            is_known = key.isascii() and key.isprintable()
            if is_known and is_shifted != (key in SHIFTED):
                is_shifted = not is_shifted
                await self._hold("Shift", is_down=is_shifted)
            if is_known:
                await self._page.keyboard.press(key, delay=step.hold_s * 1000)
            else:
                await self._page.keyboard.insert_text(key)
            await asyncio.sleep(step.pause_s)
        if is_shifted:
            await self._hold("Shift", is_down=False)

    async def press_on(self, target: Locator, key: str, *, timeout: float) -> None:
        """Press a key on an element as a person does, who clicks into a field first."""
        await target.wait_for(state="visible", timeout=timeout)
        if not await target.evaluate(_HAS_FOCUS):
            if await target.evaluate(_TAKES_TEXT):
                await self.click(target, human=True, timeout=timeout)
            else:
                await target.focus(timeout=timeout)
        await self.press(key)

    async def press(self, keys: str) -> None:
        """Press a key or a combination as a person does: one after the other, and each held for a while."""
        for step in plan_keys(keys, self._random):
            await self._hold(step.key, is_down=step.is_down, pause_s=step.pause_s)

    async def _hold(self, key: str, *, is_down: bool, pause_s: float = 0.0) -> None:
        keyboard = self._page.keyboard
        await (keyboard.down(key) if is_down else keyboard.up(key))
        await asyncio.sleep(pause_s or self._random.uniform(0.03, 0.08))

    async def scroll_down(self, distance: float, target: Locator | ElementHandle | None) -> None:
        """Scroll by strokes of the wheel, over an element where it is that which scrolls."""
        if target is not None and (box := await target.bounding_box()) is not None:
            middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            await self._move_to(middle)
        await self._turn_wheel(distance, 1)

    async def _turn_wheel(self, distance: float, direction: int) -> None:
        """Turn it where the pointer is, which has to be in the page."""
        if not self._is_in:
            size = self._page.viewport_size or {"width": 800, "height": 600}
            await self._move_to(choose_point(0, 0, size["width"], size["height"], self._random))
        for step in plan_scroll(distance, self._random):
            await self._page.mouse.wheel(0, direction * step.distance)
            await asyncio.sleep(step.pause_s)
