"""A MongoDB server or replica set: its connections, its indexes, and retries while it is away.

Guarantee: nothing connects before it is used. Work is retried, with growing pauses, for ``patience_s``
seconds while the trouble may pass. Errors are described (``drivers/mongodb/errors.py``), without secrets.

There are no transactions, since a standalone server has none. Functions passed to :meth:`MongoServer.run` may
run twice, also after a complete first run whose answer was lost, and must be idempotent. Their last write is
durable (``DURABLE``), and makes all earlier ones durable.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from gossamer.core.errors import UsageError
from gossamer.core.redaction import shown_server
from gossamer.drivers.mongodb.errors import is_passing, translate_error
from gossamer.drivers.mongodb.packages import (
    AsyncDatabase,
    AsyncMongoClient,
    CodecOptions,
    IndexModel,
    Int64,
    ReadPreference,
    TypeDecoder,
    TypeRegistry,
    WriteConcern,
    driver,
    parse_uri,
)
from gossamer.drivers.outage_alarm import OutageAlarm
from gossamer.drivers.patience import ErrorRules, run_patiently

T = TypeVar("T")
Document = dict[str, Any]
MongoDatabase = AsyncDatabase[Document]
Work = Callable[[MongoDatabase], Awaitable[T]]
Indexes = Mapping[str, Sequence[Sequence[str]]]
"""Fields of each index, by collection; ``-at`` descends, ``at?`` leaves out documents without it."""

SCHEMES = ("mongodb://", "mongodb+srv://")
FORM = "write mongodb://USER:PASSWORD@HOST/DATABASE; in a password write %2F for /, %3A for :, %40 for @"
DATABASE = "gossamer"
"""The database of a URL that names none."""
SELECT_S = 5.0
"""How long a server that can be written to is looked for, each time."""

DURABLE = WriteConcern(w="majority", j=True)
QUICK = WriteConcern(w=1)
"""For writes that a durable write follows."""
_ERRORS = (driver.PyMongoError, OSError)


class _PlainNumbers(TypeDecoder):
    """Whole numbers of 64 bits as ``int``, and not as a type that no encoder of JSON knows."""

    bson_type = Int64

    def transform_bson(self, value: Any) -> int:
        """See PyMongo."""
        return int(value)


CODEC: CodecOptions[Document] = CodecOptions(type_registry=TypeRegistry([_PlainNumbers()]))
"""How documents are read."""


class MongoServer:
    """A server by its URL (``mongodb://user@host/database``); nothing connects before it is used.

    ``indexes`` are made by :meth:`prepare_database`. ``timeout_s``: for one command. One object may be used
    from several event loops; each has connections of its own. Raises :class:`UsageError` for a URL that is
    none.
    """

    def __init__(
        self, url: str, *, indexes: Indexes, patience_s: float = 60.0, timeout_s: float = 30.0
    ) -> None:
        self.place = shown_server(url)
        self._url = url
        self._indexes = indexes
        self._patience_s = patience_s
        self._timeout_s = timeout_s
        self._database = _database_of(url, self.place)
        self._clients: dict[asyncio.AbstractEventLoop, AsyncMongoClient[Document]] = {}
        self._alarm = OutageAlarm(f"MongoDB at {self.place}")
        self._rules = ErrorRules(
            kinds=_ERRORS,
            is_passing=is_passing,
            is_outage=lambda error: isinstance(error, driver.ConnectionFailure | OSError),
            translate=partial(translate_error, place=self.place),
            try_s=SELECT_S,
        )

    def __repr__(self) -> str:
        return f"<MongoServer {self.place} ({self._alarm.state})>"

    async def prepare_database(self) -> None:
        """Connect and create the indexes, without retries, for the start of a program.

        Raises :class:`StorageError` with the reason.
        """
        await self._run_patiently(self._make_indexes, patience_s=0.0)

    async def check_server(self) -> None:
        """Connect, and see whether this user may read; changes nothing. Raises as ``prepare_database``."""
        try:
            await self._run_patiently(_read_something, patience_s=0.0)
        finally:
            await self.close()

    async def run(self, work: Work[T]) -> T:
        """Return ``work``'s result on the database. All of it is retried while the trouble may pass."""
        return await self._run_patiently(work, self._patience_s)

    async def close(self) -> None:
        """Let go of this event loop's connections. Idempotent; the next use opens new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _make_indexes(self, db: MongoDatabase) -> None:
        for name, indexes in self._indexes.items():
            await db[name].create_indexes([_index_of(fields) for fields in indexes])

    async def _run_patiently(self, work: Work[T], patience_s: float) -> T:
        return await run_patiently(lambda: work(self._open_database()), self._rules, self._alarm, patience_s)

    def _open_database(self) -> MongoDatabase:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            for other in [known for known in self._clients if known.is_closed()]:
                del self._clients[other]
            client = self._clients[loop] = self._make_client()
        return client.get_database(
            self._database,
            codec_options=CODEC,
            read_preference=ReadPreference.PRIMARY,  # reads decide the next write
            write_concern=DURABLE,
        )

    def _make_client(self) -> AsyncMongoClient[Document]:
        timeout_ms = int(self._timeout_s * 1000)
        select_ms = min(int(SELECT_S * 1000), timeout_ms)
        return AsyncMongoClient(
            self._url,
            appname="gossamer",
            serverSelectionTimeoutMS=select_ms,
            connectTimeoutMS=select_ms,
            socketTimeoutMS=timeout_ms,
        )


def _database_of(url: str, place: str) -> str:
    """Return the database that a URL names. Raises ``UsageError`` that holds no part of a password."""
    if not url.startswith(SCHEMES):
        raise UsageError(f"{place!r} is not a MongoDB URL; {FORM}")
    if url.startswith(SCHEMES[1]):  # connecting resolves the address by DNS
        name = re.sub(r"^[^/]*//[^/]*/?|\?.*$", "", url) or DATABASE
        return name.partition(".")[0]
    try:
        return parse_uri(url)["database"] or DATABASE
    except (driver.PyMongoError, ValueError) as error:
        said = re.split(r"[:\"'@]|\. ", str(error))[0].strip()  # what follows may be a part of the URL
        raise UsageError(f"{place!r} is not a MongoDB URL ({said}); {FORM}") from None


def _index_of(fields: Sequence[str]) -> IndexModel:
    named = [(field.strip("-?"), -1 if field.startswith("-") else 1) for field in fields]
    return IndexModel(named, sparse=fields[-1].endswith("?"))


async def _read_something(db: MongoDatabase) -> None:
    await db["job"].find_one({"_id": ""})
