"""By when a shift has to be over, and how it is ended when it is not."""

from __future__ import annotations

GRACE_S = 120.0
"""Seconds that a shift may take beyond its length and the time to drain: to be put together, to wait for a
database that restarts, and to be taken apart."""
MORE_S = 60.0
"""The part of it in which no database is waited for."""
KILL_S = 30.0
"""Seconds that a shift has to end after it was cancelled; then its process ends."""


def deadline_of(
    max_s: float, drain_s: float, *, patience_s: float = 0.0, began_at: float, told_at: float | None
) -> float:
    """Return when a shift must be over, by its start and the time at which it was recalled.

    ``max_s`` is its length (infinite for seeding), ``drain_s`` the time to finish its leases, ``patience_s``
    the wait for a store that is away.
    """
    ends_at = began_at + max_s
    if told_at is not None:
        ends_at = min(ends_at, told_at)
    return ends_at + drain_s + max(GRACE_S, patience_s + MORE_S)


def must_leave(overdue_s: float) -> bool:
    """Whether a shift is so long past its deadline that its process has to end. It is cancelled before."""
    return overdue_s >= KILL_S
