"""Delivery of notifications: each is retried until its target has it, also by the next process."""

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
"""Seconds between two searches for notifications that another process has left behind."""
READ_AGAIN_S = 5.0
"""Seconds until pending notifications that could not be read are read again."""


class NoticeDelivery:
    """Takes notifications and delivers them to targets in order; does nothing without targets.

    ``is_left``: whether all processes have left the place of this name. This process then delivers its
    notifications. ``None``: this process delivers only those of its own place.
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
        """Accept notifications for delivery. Raises nothing."""
        if not self._targets:
            return
        memory = await self._read_memory()
        self._memory = add_notices(memory, new, self._clock.now())
        if self._memory != memory:
            await self.save()

    async def deliver(self) -> None:
        """Deliver all due notifications, the targets concurrently. Raises nothing."""
        if not self._targets:
            return
        await self.add(())  # drops notifications that are too old by now
        await self._take_left_news()
        memory = await self._read_memory()
        while due := next_notices(memory, self._clock.now()):
            errors = await asyncio.gather(*(self._try_target(one) for one in due))
            for one, error in zip(due, errors, strict=True):
                memory = self._memory = settle_notice(self._memory, one, self._clock.now(), error=error)
            await self.save()

    def forget(self) -> None:
        """Leave the delivery to another process from now on."""
        self._memory, self._is_read, self._read_at = NoticeMemory(), False, 0.0

    async def _read_memory(self) -> NoticeMemory:
        now = self._clock.now()
        if self._is_read or now < self._read_at:
            return self._memory
        self._read_at = now + READ_AGAIN_S
        try:
            kept = await load_notices(self._shared, self._place)
        except StorageError:  # new notifications are delivered; the stored ones are not lost
            return self._memory
        if not self._is_read:  # it may have been read by another call meanwhile
            self._is_read = True
            self._is_noted = bool(kept.waiting)
            self._memory = resume_notices(drop_targets(kept, self._targets, now), self._memory, now)
            if self._memory != kept:
                await self.save()
        return self._memory

    async def save(self) -> None:
        """Save the pending notifications; after a failure, the next call saves them."""
        memory = await self._read_memory()
        if not self._is_read:
            return
        with contextlib.suppress(StorageError):
            await save_notices(self._shared, self._place, memory)
            is_crawl = is_place_of_job(
                self._place
            )  # the next leader of a fleet sends its pending notifications
            if self._is_left is not None and is_crawl and self._is_noted != bool(memory.waiting):
                await note_left_news(
                    self._shared, self._place, self._clock.now(), is_left=bool(memory.waiting)
                )
                self._is_noted = bool(memory.waiting)

    async def _take_left_news(self) -> None:
        """Take over pending notifications of places without a running process. Raises nothing."""
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
        """Deliver one notification; return the error, or an empty text."""
        target = self._targets[one.target]
        try:
            await target.deliver(one.notice)
        except OperatorError as error:
            log.warning("a notification waits for the alert target %s: %s", target.name, error)
            return str(error) or type(error).__name__
        except Exception as error:  # noqa: BLE001 - a target may be third-party code; the watch continues
            log.exception("a notification waits for the alert target %s, which failed", target.name)
            return type(error).__name__
        return ""
