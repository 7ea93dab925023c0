"""Work on a server that may be away is tried again, with growing pauses, while the trouble may pass."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from gossamer.core.errors import StorageError
from gossamer.drivers.outage_alarm import OutageAlarm
from gossamer.runtime.cancelling import heed_cancellation

T = TypeVar("T")

PAUSES_S = (0.05, 2.0)
"""Between two tries: the first pause, which doubles each time, and the longest; each spread by a half."""


class ErrorRules(NamedTuple):
    """The meaning of a driver's errors."""

    kinds: tuple[type[BaseException], ...]  # those that it raises; all others pass through
    is_passing: Callable[[BaseException], bool]  # whether it may be otherwise at another try
    is_outage: Callable[[BaseException], bool]  # whether the server is away, which is reported
    translate: Callable[[BaseException], StorageError]  # in words, without secrets
    try_s: float = 0.0  # how long one failed try takes: this much counts from the first one on


async def run_patiently(
    work: Callable[[], Awaitable[T]], rules: ErrorRules, alarm: OutageAlarm, patience_s: float
) -> T:
    """Return the result of ``work``, retried as a whole for ``patience_s`` after its first failure.

    Raises the ``StorageError`` of the last try; it is the cause of a cancellation between two tries.
    """
    now = asyncio.get_running_loop().time
    failed_at: float | None = None
    pause_s = PAUSES_S[0]
    while True:
        begun_at = now()
        try:
            result = await heed_cancellation(work())
        except rules.kinds as error:
            if failed_at is None:
                failed_at = begun_at if rules.try_s else now()
            spent_s = now() - failed_at
            found = rules.translate(error)
            if not rules.is_passing(error) or spent_s + pause_s > patience_s:
                if spent_s < rules.try_s + 1:
                    raise found from error
                raise type(found)(f"{found}; gave up after {spent_s:.0f} s") from error
            if rules.is_outage(error):
                alarm.note_failure(found, begun_at, now(), patience_s)
        else:
            alarm.note_answer(begun_at, now(), has_failed=failed_at is not None)
            return result
        try:
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311
        except asyncio.CancelledError as cancelled:
            cancelled.__cause__ = found  # for a caller whose time is over
            raise
        pause_s = min(pause_s * 2, PAUSES_S[1])
