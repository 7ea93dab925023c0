"""One request's place in a frontier, for a person who asks why it is where it is."""

from __future__ import annotations

from typing import NamedTuple


class QueuePosition(NamedTuple):
    """Where a request stands. Times are zero where they do not apply."""

    granted_at: float = 0.0  # LEASED: since when
    deadline: float = 0.0  # LEASED: until when
    died_at: float = 0.0  # DEAD: since when
    number: int = 0  # DEAD: the id of its letter
    ahead: int = 0  # PENDING: requests of the same host that go first
