"""Limit on wrong tokens. Pure: state and ``now`` in, decision out."""

from __future__ import annotations

from gossamer.core.record import Record, Time

TRIES = 5
"""Wrong tokens from one address, one soon after the other, before it has to wait."""
WAIT_S = 60.0
"""For how long, counted from the last of them."""


class SignInState(Record, frozen=True):
    """The latest wrong tokens from one address."""

    wrong_at: tuple[Time, ...] = ()


def wait_before_try(state: SignInState, now: float) -> float:
    """Seconds until the address may try again; 0: it may."""
    if len(state.wrong_at) < TRIES:
        return 0.0
    return max(state.wrong_at[-1] + WAIT_S - now, 0.0)


def note_wrong_token(state: SignInState, now: float) -> SignInState:
    """Return the state after one more wrong token; those older than the wait no longer count."""
    recent = [at for at in state.wrong_at if at > now - WAIT_S]
    return SignInState((*recent, now)[-TRIES:])


def is_forgotten(state: SignInState, now: float) -> bool:
    """Whether nothing of it counts any longer."""
    return not state.wrong_at or state.wrong_at[-1] <= now - WAIT_S
