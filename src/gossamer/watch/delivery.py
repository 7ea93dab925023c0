"""News of alerts on their way: each is tried until its target has taken it, also by the next process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

from gossamer.core.errors import OperatorError, StorageError
from gossamer.policy.notices import (
    NoticeMemory,
    PendingNotice,
    add_notices,
    drop_targets,
    next_notices,
    settle_notice,
)
from gossamer.ports.alert_target import AlertTarget
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState
from gossamer.watch.memories import load_notices, save_notices
from gossamer.watch.parts import log


class NoticeDelivery:
    """Takes news, and hands them to targets one after the other. Where nobody wants news it does nothing."""

    def __init__(self, place: str, targets: Sequence[AlertTarget], shared: SharedState, clock: Clock) -> None:
        self._place = place
        self._targets = {target.name: target for target in targets}
        self._shared = shared
        self._clock = clock
        self._memory: NoticeMemory | None = None  # None: what former processes left was not read yet

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
        memory = await self._read_memory()
        while due := next_notices(memory, self._clock.now()):
            taken = await asyncio.gather(*(self._try_target(one) for one in due))
            for one, is_taken in zip(due, taken, strict=True):
                memory = settle_notice(self._memory or memory, one, self._clock.now(), is_taken=is_taken)
                self._memory = memory
            await self.save()

    def forget(self) -> None:
        """Somebody else delivers from now on."""
        self._memory = None

    async def _read_memory(self) -> NoticeMemory:
        if self._memory is None:
            try:
                self._memory = drop_targets(await load_notices(self._shared, self._place), self._targets)
            except StorageError:  # what was left there is delivered by who reads it next
                return NoticeMemory()
        return self._memory

    async def save(self) -> None:
        """Keep the news; what cannot be kept now is kept with what comes next."""
        if self._memory is not None:
            with contextlib.suppress(StorageError):
                await save_notices(self._shared, self._place, self._memory)

    async def _try_target(self, one: PendingNotice) -> bool:
        target = self._targets[one.target]
        try:
            await target.deliver(one.notice)
        except OperatorError as error:
            log.warning("the alert target %s took no news; they are sent again: %s", target.name, error)
            return False
        except Exception:  # noqa: BLE001 - a target is code of others; the watch goes on
            log.exception("the alert target %s failed; the news are sent again", target.name)
            return False
        return True
