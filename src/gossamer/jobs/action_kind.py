"""The parts of an action."""

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
    """The environment of actions."""

    backends: Backends
    loaded: LoadedSettings  # of the process that carries them out: its project and its permissions
    later: Callable[[Coroutine[Any, Any, None]], None]  # runs work after the response

    async def find_job(self, order: ActionOrder) -> Job:
        """Return the job of an order. Raises ``UnknownJobError``."""
        job = await self.backends.book.get(order.job)
        if job is None:
            raise UnknownJobError(f"there is no job {order.job!r}")
        return job


class ActionFacts(NamedTuple):
    """How things are before an action."""

    what: str  # the target, for people
    before: dict[str, Any]  # the values before the change, for the log and the undo
    seen: dict[str, Any]  # the current values that the caller may have seen, by their public names
    has_way_back: bool = True


class ActionKind(NamedTuple):
    """One kind of action. ``act`` may run twice; ``follow`` continues after the response, in this process.

    ``finish`` does the rest, ``delay_s`` after the response; if this process ends before, another process of
    the place does it. It may run twice, and receives the earlier result.
    """

    look: Callable[[ActionParts, ActionOrder], Awaitable[ActionFacts]]
    act: Callable[[ActionParts, ActionOrder], Awaitable[dict[str, Any]]]
    follow: Callable[[ActionParts, ActionOrder, LoggedAction], Coroutine[Any, Any, None]] | None = None
    finish: Callable[[Backends, ActionOrder, LoggedAction], Awaitable[None]] | None = None
    delay_s: float = 0.0
    takes: tuple[str, ...] | None = ()  # names of its arguments; None: ``act`` checks them


def check_same_order(done: LoggedAction, order: ActionOrder) -> None:
    """Raise ``ConflictError`` where the key of an order was used for another one before."""
    if (done.kind, order.job or done.job) != (order.kind, done.job) or done.asked not in ("", order.digest):
        raise ConflictError(
            f"the key {order.key!r} was used for another order before, action {done.id} ({done.kind} of "
            f"{done.what or done.job}): take a new key for each order",
            now={"action": done.id},
        )
