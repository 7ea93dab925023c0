"""Dead letters that were just retried or dropped: kept as long as that can be undone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.core.errors import StorageError
from gossamer.core.jobs import DeadLetter
from gossamer.policy.undo import UNDO_S
from gossamer.wiring.backends import Backends

SPACE = "kept-letters"
TOGETHER = 20
"""Letters in one value."""
KEPT_S = UNDO_S + 60.0

_decode = msgspec.msgpack.Decoder(list[DeadLetter]).decode


async def keep_letters(backends: Backends, action: int, first: int, letters: Sequence[DeadLetter]) -> None:
    """Keep letters of an action; ``first`` of them are kept already."""
    shared, space = backends.requests.shared, await backends.name_own_space(SPACE)
    for at in range(0, len(letters), TOGETHER):
        part = msgspec.msgpack.encode(letters[at : at + TOGETHER])
        await shared.put(space, f"{action}:{first + at}", part, KEPT_S)


async def kept_letters(backends: Backends, action: int, count: int) -> list[DeadLetter]:
    """Return the first letters of an action, as far as they are kept. Raises ``StorageError``."""
    shared, space = backends.requests.shared, await backends.name_own_space(SPACE)
    found: list[DeadLetter] = []
    at = 0
    while at < count:
        part = await shared.get(space, f"{action}:{at}")
        try:
            letters = _decode(part) if part else []
        except msgspec.MsgspecError as error:
            raise StorageError(f"the letters of action {action} cannot be read: {error}") from None
        found += letters
        at += len(letters) or TOGETHER
    return found
