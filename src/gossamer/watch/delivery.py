"""News of alerts on their way: each is tried until its target has taken it, also by the next process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence

from gossamer.core.errors import OperatorError, StorageError
from gossamer.policy.notices import (
    NoticeMemory,
    PendingNotice,
    add_notices,
    drop_targets,
    next_notices,
    resume_notices,
    settle_notice,
    take_over,
)
from gossamer.ports.alert_target import AlertTarget
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState
from gossamer.watch.memories import (
    claim_left_news,
    is_place_of_job,
    load_left_news,
    load_notices,
    note_left_news,
    save_notices,
)
from gossamer.watch.parts import log

LOOK_FOR_LEFT_S = 60.0
"""How often news are looked for that a process has left behind."""
READ_AGAIN_S = 5.0
"""After so long it is tried again to read what former processes left, where that could not be read."""


class NoticeDelivery:
    """Takes news, and hands them to targets one after the other. Where nobody wants news it does nothing.

    ``is_left``: whether nobody works any more at the place of this name. Then its news are delivered by this
    process. ``None``: it delivers those of its own place alone.
    """

    def __init__(
        self,
        place: str,
        targets: Sequence[AlertTarget],
        shared: SharedState,
        clock: Clock,
        *,
        is_left: Callable[[str], Awaitable[bool]] | None = None,
    ) -> None:
        self._place = place
        self._targets = {target.name: target for target in targets}
        self._shared = shared
        self._clock = clock
        self._is_left = is_left
        self._is_noted = False  # that news of this place wait
        self._look_at = 0.0  # when news that were left behind are looked for
        self._memory = NoticeMemory()
        self._is_read = False  # what former processes left is in it: else nothing is kept in its place
        self._read_at = 0.0  # when that is tried

    async def add(self, new: Iterable[PendingNotice]) -> None:
        """Take news to be delivered. Raises nothing."""
        if not self._targets:
            return
        memory = await self._read_memory()
        self._memory = add_notices(memory, new, self._clock.now())
        if self._memory != memory:
            await self.save()

    async def deliver(self) -> None:
        """Try everything that is due, the targets side by side. Raises nothing."""
        if not self._targets:
            return
        await self.add(())  # what is too old by now is given up
        await self._take_left_news()
        memory = await self._read_memory()
        while due := next_notices(memory, self._clock.now()):
            errors = await asyncio.gather(*(self._try_target(one) for one in due))
            for one, error in zip(due, errors, strict=True):
                memory = self._memory = settle_notice(self._memory, one, self._clock.now(), error=error)
            await self.save()

    def forget(self) -> None:
        """Somebody else delivers from now on."""
        self._memory, self._is_read, self._read_at = NoticeMemory(), False, 0.0

    async def _read_memory(self) -> NoticeMemory:
        now = self._clock.now()
        if self._is_read or now < self._read_at:
            return self._memory
        self._read_at = now + READ_AGAIN_S
        try:
            kept = await load_notices(self._shared, self._place)
        except StorageError:  # news that come meanwhile are delivered, and what was left there is not lost
            return self._memory
        if not self._is_read:  # it may have been read by another call meanwhile
            self._is_read = True
            self._is_noted = bool(kept.waiting)
            self._memory = resume_notices(drop_targets(kept, self._targets, now), self._memory, now)
            if self._memory != kept:
                await self.save()
        return self._memory

    async def save(self) -> None:
        """Keep the news; what cannot be kept now is kept with what comes next."""
        memory = await self._read_memory()
        if not self._is_read:
            return
        with contextlib.suppress(StorageError):
            await save_notices(self._shared, self._place, memory)
            is_crawl = is_place_of_job(self._place)  # the next leader of a fleet sends what waits there
            if self._is_left is not None and is_crawl and self._is_noted != bool(memory.waiting):
                await note_left_news(
                    self._shared, self._place, self._clock.now(), is_left=bool(memory.waiting)
                )
                self._is_noted = bool(memory.waiting)

    async def _take_left_news(self) -> None:
        """Take over what waits at places where nobody works any more. Raises nothing."""
        now = self._clock.now()
        if self._is_left is None or now < self._look_at:
            return
        self._look_at = now + LOOK_FOR_LEFT_S
        with contextlib.suppress(OperatorError):
            for place in await load_left_news(self._shared):
                if place == self._place or not await self._is_left(place):
                    continue
                waiting = (await load_notices(self._shared, place)).waiting
                is_ours = any(one.target in self._targets for one in waiting)
                if is_ours and await claim_left_news(self._shared, place):
                    await self._take_over(place, now)

    async def _take_over(self, place: str, now: float) -> None:
        theirs = await load_notices(self._shared, place)
        ours, rest = take_over(await self._read_memory(), theirs, self._targets, now)
        self._memory = ours
        await self.save()
        await save_notices(self._shared, place, rest)
        if not rest.waiting:
            await note_left_news(self._shared, place, now, is_left=False)

    async def _try_target(self, one: PendingNotice) -> str:
        """Why the target did not take it; empty: it did."""
        target = self._targets[one.target]
        try:
            await target.deliver(one.notice)
        except OperatorError as error:
            log.warning("a notification waits for the alert target %s: %s", target.name, error)
            return str(error) or type(error).__name__
        except Exception as error:  # noqa: BLE001 - a target is code of others; the watch goes on
            log.exception("a notification waits for the alert target %s, which failed", target.name)
            return type(error).__name__
        return ""
