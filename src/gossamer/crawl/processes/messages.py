"""Messages between the processes of a crawl: msgpack in frames, over pipes.

Nothing of value travels here. Requests, results and politeness are in the frontier and the store; a message
that is lost costs a line in a view.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from gossamer.core import events
from gossamer.core.events import Event
from gossamer.core.steering import WorkLimits
from gossamer.core.storable import without_surrogates

BEAT_S = 1.0
"""A member says so often that its process runs."""
SHORT_S = 0.1
"""A worker that is short of work says so as often as this."""
MAX_FRAME = 64 * 1024 * 1024
_EVENTS: dict[str, type[Event]] = {
    name: kind
    for name, kind in vars(events).items()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
}


class StartMessage(msgspec.Struct, frozen=True):
    """The first message to a member: its work."""

    job: str
    target: str
    arguments: dict[str, str]
    settings: str  # settled, as JSON
    trusted: list[str]  # hosts that the operator named


class TrustMessage(msgspec.Struct, frozen=True, tag=True):
    """To a member: the operator named this host too."""

    host: str


class StopMessage(msgspec.Struct, frozen=True, tag=True):
    """To a member: finish the requests in hand and end; or give them back and end."""

    at_once: bool = False


class FreeSlotsMessage(msgspec.Struct, frozen=True, tag=True):
    """To a member: another of ``workers`` is short of work, with ``held`` requests in hand lately."""

    held: float
    workers: int


class LimitsMessage(msgspec.Struct, frozen=True, tag=True):
    """To a member: a person changed the job; the limits are those of one member."""

    limits: WorkLimits


class EventsMessage(msgspec.Struct, frozen=True, tag=True):
    """From a member: events, in order."""

    events: list[tuple[str, msgspec.Raw]]  # the event's name, the event


class LogMessage(msgspec.Struct, frozen=True, tag=True):
    """From a member: a line of its log."""

    logger: str
    level: int
    text: str
    details: dict[str, Any]  # the details of the line, such as its job and page


class IdleMessage(msgspec.Struct, frozen=True, tag=True):
    """From a member: it has nothing in hand, and the frontier has nothing for it."""


class HeartbeatMessage(msgspec.Struct, frozen=True, tag=True):
    """From a member: its process runs, whatever its event loop does."""


class HookFailureMessage(msgspec.Struct, frozen=True, tag=True):
    """From a member: a pipeline step did not close."""

    failure: str


class ShortageMessage(msgspec.Struct, frozen=True, tag=True):
    """From a member: the frontier has too few requests for it; it had ``held`` in hand lately."""

    held: float


ToMember = TrustMessage | StopMessage | FreeSlotsMessage | LimitsMessage
FromMember = (
    EventsMessage | LogMessage | IdleMessage | HeartbeatMessage | HookFailureMessage | ShortageMessage
)

_as_msgpack = msgspec.msgpack.Encoder().encode


def _encode(message: msgspec.Struct) -> bytes:
    """Return a message as msgpack; half a surrogate pair, which has no UTF-8, becomes U+FFFD."""
    try:
        return _as_msgpack(message)
    except UnicodeEncodeError:
        return _as_msgpack(_clean_value(msgspec.to_builtins(message)))


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {_clean_value(name): _clean_value(part) for name, part in value.items()}
    return [_clean_value(part) for part in value] if isinstance(value, list | tuple) else value


def to_frame(message: msgspec.Struct) -> bytes:
    """Return a message with a prefix of its length."""
    data = _encode(message)
    return len(data).to_bytes(4, "big") + data


async def next_frame(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next message, still packed; ``None`` if the other side is gone."""
    try:
        size = int.from_bytes(await reader.readexactly(4), "big")
        return await reader.readexactly(size) if size <= MAX_FRAME else None
    except (asyncio.IncompleteReadError, OSError):
        return None


def can_pack(event: Event) -> bool:
    """Whether the other side knows this kind of event."""
    return type(event).__name__ in _EVENTS


def pack_event(event: Event) -> tuple[str, msgspec.Raw]:
    """Pack an event."""
    return type(event).__name__, msgspec.Raw(_encode(event))


def unpack_event(name: str, data: msgspec.Raw) -> Event:
    """Unpack an event."""
    return msgspec.msgpack.decode(data, type=_EVENTS[name])
