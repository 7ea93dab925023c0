"""What an action consists of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

from gossamer.config.layers import LoadedSettings
from gossamer.core.access import LoggedAction
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import ConflictError, UnknownJobError
from gossamer.core.jobs import Job
from gossamer.wiring.backends import Backends


class ActionParts(NamedTuple):
    """What actions work with."""

    backends: Backends
    loaded: LoadedSettings  # of the process that does them: its project, and what it allows
    later: Callable[[Coroutine[Any, Any, None]], None]  # lets something go on after the answer

    async def find_job(self, order: ActionOrder) -> Job:
        """The job that an order is about. Raises ``UnknownJobError``."""
        job = await self.backends.book.get(order.job)
        if job is None:
            raise UnknownJobError(f"there is no job {order.job!r}")
        return job


class ActionFacts(NamedTuple):
    """How things are before an action."""

    what: str  # what it is done to, for people
    before: dict[str, Any]  # what it will change, for the log and for the way back
    seen: dict[str, Any]  # what whoever asks may have seen, by the names that they see
    has_way_back: bool = True


class ActionKind(NamedTuple):
    """One kind of action. ``act`` may be done twice; ``follow`` goes on after the answer, in this process.

    ``finish`` does the rest of it, ``delay_s`` after the answer: where this process ends before, another one
    of its place does. It may be done twice, too, and be given what was done before.
    """

    look: Callable[[ActionParts, ActionOrder], Awaitable[ActionFacts]]
    act: Callable[[ActionParts, ActionOrder], Awaitable[dict[str, Any]]]
    follow: Callable[[ActionParts, ActionOrder, LoggedAction], Coroutine[Any, Any, None]] | None = None
    finish: Callable[[Backends, ActionOrder, LoggedAction], Awaitable[None]] | None = None
    delay_s: float = 0.0
    takes: tuple[str, ...] | None = ()  # the names of what may go with it; None: ``act`` looks at them


def check_same_order(done: LoggedAction, order: ActionOrder) -> None:
    """Raise ``ConflictError`` where the key of an order was used for another one before."""
    if (done.kind, order.job or done.job) != (order.kind, done.job) or done.asked not in ("", order.digest):
        raise ConflictError(
            f"the key {order.key!r} was used for another order before, action {done.id} ({done.kind} of "
            f"{done.what or done.job}): take a new key for each order",
            now={"action": done.id},
        )
