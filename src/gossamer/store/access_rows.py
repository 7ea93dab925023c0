"""Rows of tokens and of the audit log as records, the same for every store."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.core.access import AccessToken, LoggedAction, Role
from gossamer.core.storable import without_surrogates

SESSIONS = 100
"""Sessions that one token has at most; who signs in once more ends the oldest."""

_from_json = msgspec.json.Decoder(dict[str, Any]).decode
_to_json = msgspec.json.Encoder().encode


def token_of(row: Iterable[Any]) -> AccessToken:
    """Return the record of a row: ``name, role, made_at, expires_at, is_session``."""
    name, role, made_at, expires_at, is_session = row
    return AccessToken(
        name=name, role=Role(role), made_at=made_at, expires_at=expires_at, is_session=bool(is_session)
    )


def row_of_token(token: AccessToken) -> tuple[Any, ...]:
    """Return the columns of :func:`token_of`."""
    return token.name, token.role.value, token.made_at, token.expires_at, token.is_session


def action_of(row: Iterable[Any]) -> LoggedAction:
    """The record of a row: ``id, at, token, kind, job, what, before, after, undo_until, undone_at, key,
    asked``.
    """
    number, at, token, kind, job, what, before, after, undo_until, undone_at, key, asked = row
    return LoggedAction(
        id=number,
        at=at,
        token=token,
        kind=kind,
        job=job,
        what=what,
        before=_from_json(before),
        after=_from_json(after),
        undo_until=undo_until,
        undone_at=undone_at,
        key=key,
        asked=asked,
    )


def row_of_action(action: LoggedAction) -> tuple[Any, ...]:
    """Return the columns of :func:`action_of` behind the id."""
    changes = packed_values(action.before), packed_values(action.after)
    return (
        action.at,
        *(clean_text(text) for text in (action.token, action.kind, action.job, action.what)),
        *changes,
        action.undo_until,
        action.undone_at,
        clean_text(action.key),
        action.asked,
    )


def with_key(action: LoggedAction) -> LoggedAction:
    """Return the action with a key: its own, or a new unique one."""
    return action if action.key else replace(action, key=secrets.token_hex(16))


def packed_values(values: Mapping[str, Any]) -> str:
    """Return the changed values of an action, as the text of its column."""
    return clean_text(_to_json(values).decode("utf-8", "replace"))


def clean_text(text: str) -> str:
    """Return text that every database can carry."""
    return without_surrogates(text).replace("\0", "\N{REPLACEMENT CHARACTER}")
