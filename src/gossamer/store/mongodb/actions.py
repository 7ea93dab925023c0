"""The audit log in MongoDB: an action by its token and key, so that each pair is there once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.core.access import LoggedAction
from gossamer.drivers.mongodb.packages import driver
from gossamer.drivers.mongodb.server import Document, MongoDatabase, MongoServer
from gossamer.store.access_rows import action_of, clean_text, packed_values, row_of_action, with_key
from gossamer.store.mongodb.numbers import take_numbers

_FIELDS = ("at", "token", "kind", "job", "what", "before", "after", "undo_until", "undone_at", "key", "asked")


class MongoActionLog:
    """An ``ActionLog`` on a server."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    async def add_action(self, action: LoggedAction) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        action, nonce = with_key(action), secrets.token_hex(12)
        fields = dict(zip(_FIELDS, row_of_action(action), strict=True))
        place = _place_of(action.token, action.key)

        async def add(db: MongoDatabase) -> int | None:
            number = await take_numbers(db, "action")
            try:
                await db["action"].insert_one({"_id": place, "number": number, "nonce": nonce, **fields})
            except driver.DuplicateKeyError:  # perhaps by an earlier try, whose answer was lost
                found = await db["action"].find_one({"_id": place, "nonce": nonce})
                return None if found is None else int(found["number"])
            return number

        made = await self._server.run(add)
        return None if made is None else replace(action, id=made)

    async def find_key(self, token: str, key: str) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        return await self._find({"_id": _place_of(token, key)})

    async def find_action(self, number: int) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        return await self._find({"number": number})

    async def _find(self, query: Document) -> LoggedAction | None:
        found = await self._server.run(lambda db: db["action"].find_one(query))
        return None if found is None else _read_action(found)

    async def list_actions(
        self, limit: int, *, job: str = "", before_id: int | None = None
    ) -> list[LoggedAction]:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        query: Document = {"job": clean_text(job)} if job else {}
        if before_id is not None:
            query["number"] = {"$lt": before_id}

        async def read(db: MongoDatabase) -> list[LoggedAction]:
            cursor = db["action"].find(query).sort("number", -1).limit(limit)
            return [_read_action(one) async for one in cursor]

        return await self._server.run(read)

    async def note_after(self, number: int, after: Mapping[str, Any]) -> None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        await self._update({"number": number}, {"after": packed_values(after)})

    async def mark_undone(self, number: int, at: float) -> bool:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        query = {"number": number, "undone_at": None, "undo_until": {"$gt": at}}
        return await self._update(query, {"undone_at": at}) == 1

    async def clear_undone(self, number: int, at: float) -> None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        await self._update({"number": number, "undone_at": at}, {"undone_at": None})

    async def _update(self, query: Document, values: Document) -> int:
        done = await self._server.run(lambda db: db["action"].update_one(query, {"$set": values}))
        return done.matched_count


def _place_of(token: str, key: str) -> bytes:
    pair = msgspec.msgpack.encode([clean_text(token), clean_text(key)])
    return blake2b(pair, digest_size=16).digest()


def _read_action(one: Document) -> LoggedAction:
    return action_of([one["number"], *(one[name] for name in _FIELDS)])
