"""Tokens in MongoDB: a token by its name, a session by the digest of its secret."""

from __future__ import annotations

from gossamer.core.access import AccessToken
from gossamer.drivers.mongodb.packages import driver
from gossamer.drivers.mongodb.server import Document, MongoDatabase, MongoServer
from gossamer.store.access_rows import SESSIONS, clean_text, row_of_token, token_of

_FIELDS = ("name", "role", "made_at", "expires_at", "is_session")


class MongoTokenStore:
    """A ``TokenStore`` on a server."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    async def add_token(self, token: AccessToken, digest: bytes) -> bool:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        fields = dict(zip(_FIELDS, row_of_token(token), strict=True))
        name = f"token/{token.name}"
        made = {**fields, "_id": f"session/{digest.hex()}" if token.is_session else name, "digest": digest}

        async def add(db: MongoDatabase) -> bool:
            await db["token"].delete_many({"expires_at": {"$lte": token.made_at}})
            if token.is_session:
                parent = await db["token"].find_one({"_id": name})
                if parent is None:
                    return False
                made["parent"] = parent["digest"]
            try:
                await db["token"].insert_one(made)
            except driver.DuplicateKeyError:  # perhaps by an earlier try, whose answer was lost
                return bool(await db["token"].find_one({"_id": made["_id"], "digest": digest}))
            await _forget_oldest(db, token.name)
            return True

        return await self._server.run(add)

    async def find_token(self, digest: bytes, now: float) -> AccessToken | None:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""

        async def find(db: MongoDatabase) -> Document | None:
            found = await db["token"].find_one({"digest": digest})
            if found is None or (found["expires_at"] is not None and found["expires_at"] <= now):
                return None
            if not found["is_session"]:
                return found
            # One that was made in the moment in which its token was revoked is none.
            parent = {"_id": f"token/{found['name']}", "digest": found["parent"]}
            return found if await db["token"].find_one(parent) else None

        found = await self._server.run(find)
        return None if found is None else _read_token(found)

    async def list_tokens(self) -> list[AccessToken]:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""

        async def read(db: MongoDatabase) -> list[AccessToken]:
            return [_read_token(one) async for one in db["token"].find({"is_session": False})]

        return sorted(await self._server.run(read), key=lambda token: token.name)

    async def revoke_token(self, name: str) -> bool:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        done = await self._server.run(lambda db: db["token"].delete_many({"name": clean_text(name)}))
        return done.deleted_count > 0

    async def end_session(self, digest: bytes) -> None:
        """See :class:`~gossamer.ports.token_store.TokenStore`."""
        await self._server.run(lambda db: db["token"].delete_one({"_id": f"session/{digest.hex()}"}))


async def _forget_oldest(db: MongoDatabase, name: str) -> None:
    """Keep only the newest sessions of a token."""
    cursor = db["token"].find({"name": name, "is_session": True}, {"made_at": 1}).sort("made_at", -1)
    old = [one["_id"] async for one in cursor.skip(SESSIONS)]
    if old:
        await db["token"].delete_many({"_id": {"$in": old}})


def _read_token(one: Document) -> AccessToken:
    return token_of(one[name] for name in _FIELDS)
