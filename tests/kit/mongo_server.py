"""A small server of MongoDB's wire protocol, with its documents in memory, as a separate program.

It knows the commands, filters and updates that the stores use, and refuses all others by name, so that it
never differs silently from a real server. It is atomic by document, as the real one; it has no replica sets,
transactions, users or disk. Encoding is that of PyMongo.

``python mongo_server.py PORT``
"""

from __future__ import annotations

import asyncio
import struct
import sys
from datetime import UTC, datetime
from typing import Any

import bson
from bson.codec_options import CodecOptions

MSG, QUERY, REPLY = 2013, 2004, 1
BATCH = 101
CODEC = CodecOptions(document_class=dict)
Document = dict[str, Any]


class CommandError(Exception):
    """A server's answer with ``ok: 0``."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class DuplicateError(CommandError):
    """A key that is there already."""

    def __init__(self) -> None:
        super().__init__(11000, "E11000 duplicate key error")


# ---------------------------------------------------------------------------- values, filters, updates


def frozen(value: Any) -> Any:
    """A value as a key of a dict."""
    return bytes(bson.encode({"": value})) if isinstance(value, dict | list) else value


def rank(value: Any) -> int:
    """The place of a type in MongoDB's order; only values of one rank are compared."""
    kinds = ((type(None),), (int, float), (str,), (dict,), (list,), (bytes,), (bool,))
    if isinstance(value, bool):
        return 6
    return next(number for number, kind in enumerate(kinds) if isinstance(value, kind))


def look_up(document: Document, path: str) -> Any:
    """A field by its path; ``None`` where there is none."""
    found: Any = document
    for name in path.split("."):
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found


def equals(value: Any, wanted: Any) -> bool:
    """Whether a field has a value, or is an array that has it."""
    if isinstance(value, list) and not isinstance(wanted, list):
        return any(equals(one, wanted) for one in value)
    return rank(value) == rank(wanted) and bool(value == wanted)


def _is_among(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, frozenset):  # numbers or texts alone
        return value in wanted and not isinstance(value, bool)
    return any(equals(value, one) for one in wanted)


def prepared(query: Document) -> Document:
    """The same filter, in which it is quick to look among many."""
    quick = dict(query)
    for path, condition in query.items():
        among = condition.get("$in") if isinstance(condition, dict) else None
        if path != "_id" and among and {*map(type, among)} in ({str}, {int}):
            quick[path] = {**condition, "$in": frozenset(among)}
    return quick


def _in_order(value: Any, wanted: Any, operator: str) -> bool:
    if value is None or rank(value) != rank(wanted):
        return False
    return bool(
        {"$gt": value > wanted, "$gte": value >= wanted, "$lt": value < wanted, "$lte": value <= wanted}[
            operator
        ]
    )


def fits_one(value: Any, condition: Any) -> bool:
    """Whether a field fits its condition."""
    if not isinstance(condition, dict) or not any(name.startswith("$") for name in condition):
        return equals(value, condition)
    for operator, wanted in condition.items():
        if operator == "$in":
            fits = _is_among(value, wanted)
        elif operator == "$ne":
            fits = not equals(value, wanted)
        elif operator in ("$gt", "$gte", "$lt", "$lte"):
            fits = _in_order(value, wanted, operator)
        else:
            raise CommandError(2, f"unknown operator: {operator}")
        if not fits:
            return False
    return True


def fits(document: Document, query: Document) -> bool:
    """Whether a document fits a filter."""
    for path, condition in query.items():
        if path == "$or":
            if not any(fits(document, other) for other in condition):
                return False
        elif path.startswith("$"):
            raise CommandError(2, f"unknown top level operator: {path}")
        elif not fits_one(look_up(document, path), condition):
            return False
    return True


def change(document: Document, update: Document, *, is_new: bool) -> None:
    """Apply an update in place."""
    for operator, fields in update.items():
        if operator == "$setOnInsert" and not is_new:
            continue
        for path, value in fields.items():
            *parents, name = path.split(".")
            place = document
            for parent in parents:
                place = place.setdefault(parent, {})
            if operator in ("$set", "$setOnInsert"):
                if path == "_id" and not is_new and value != document["_id"]:
                    raise CommandError(66, "the field _id is immutable")
                place[name] = value
            elif operator == "$inc":
                place[name] = place.get(name, 0) + value
            elif operator == "$max":
                place[name] = max(place.get(name, value), value)
            elif operator == "$min":
                place[name] = min(place.get(name, value), value)
            elif operator == "$currentDate" and value is True:
                place[name] = datetime.now(UTC)
            elif operator == "$unset":
                place.pop(name, None)
            else:
                raise CommandError(9, f"unknown modifier: {operator}")


class Documents:
    """A collection."""

    def __init__(self) -> None:
        self.by_id: dict[Any, Document] = {}

    def insert(self, document: Document) -> None:
        """Add a document."""
        key = frozen(document["_id"])
        if key in self.by_id:
            raise DuplicateError
        self.by_id[key] = document

    def find(self, query: Document) -> list[Document]:
        """The documents that fit, in the order in which they came."""
        wanted = query.get("_id")
        if wanted is None or (isinstance(wanted, dict) and set(wanted) != {"$in"}):
            query = prepared(query)
            return [document for document in self.by_id.values() if fits(document, query)]
        keys = dict.fromkeys(frozen(one) for one in (wanted["$in"] if isinstance(wanted, dict) else [wanted]))
        found = [self.by_id[key] for key in keys if key in self.by_id]
        others = {path: condition for path, condition in query.items() if path != "_id"}
        return [document for document in found if fits(document, others)]

    def upsert(self, query: Document, update: Document) -> Document:
        """Make a document from a filter and an update."""
        equal = {
            path: value for path, value in query.items() if not isinstance(value, dict) and path[0] != "$"
        }
        made: Document = {}
        change(made, {"$set": equal}, is_new=True)
        change(made, update, is_new=True)
        made = {"_id": made.pop("_id", bson.ObjectId()), **made}
        self.insert(made)
        return made

    def update(self, query: Document, update: Document, *, upsert: bool, multi: bool) -> tuple[int, Any]:
        """Return the number of matches, and the ``_id`` of a document made instead."""
        found = self.find(query)[: None if multi else 1]
        for document in found:
            change(document, update, is_new=False)
        if not found and upsert:
            return 0, self.upsert(query, update)["_id"]
        return len(found), None


# ---------------------------------------------------------------------------- commands


class Server:
    """All databases, and the cursors that are open."""

    def __init__(self) -> None:
        self.databases: dict[str, dict[str, Documents]] = {}
        self.cursors: dict[int, tuple[str, list[Document]]] = {}

    def answer(self, command: Document) -> Document:
        """Return the answer to a command."""
        name = next(iter(command))
        handler = getattr(self, f"do_{name.lower()}", None)
        try:
            if handler is None:
                raise CommandError(59, f"no such command: {name}")
            return {**handler(command), "ok": 1.0}
        except CommandError as error:
            named = {"code": error.code, "codeName": type(error).__name__}
            return {"ok": 0.0, "errmsg": str(error), **named}
        except Exception as error:
            return {"ok": 0.0, "errmsg": repr(error), "code": 1, "codeName": repr(error)}

    def _documents(self, command: Document, name: str = "") -> Documents:
        database = self.databases.setdefault(command["$db"], {})
        return database.setdefault(name or command[next(iter(command))], Documents())

    def do_hello(self, _command: Document) -> Document:
        """A server alone, of version 7."""
        return {
            "helloOk": True,
            "ismaster": True,
            "isWritablePrimary": True,
            "localTime": datetime.now(UTC),
            "readOnly": False,
            "maxBsonObjectSize": 16 * 2**20,
            "maxMessageSizeBytes": 48_000_000,
            "maxWriteBatchSize": 100_000,
            "minWireVersion": 0,
            "maxWireVersion": 21,
        }

    do_ismaster = do_hello

    def do_ping(self, _command: Document) -> Document:
        """It is there."""
        return {}

    def do_endsessions(self, _command: Document) -> Document:
        """There are none."""
        return {}

    def do_createindexes(self, command: Document) -> Document:
        """Everything is looked through; unique ones are not known."""
        if any(index.get("unique") for index in command["indexes"]):
            raise CommandError(67, "unique indexes are not known here")
        self._documents(command)
        return {}

    def do_dropdatabase(self, command: Document) -> Document:
        """Forget all of it."""
        self.databases.pop(command["$db"], None)
        return {}

    def do_insert(self, command: Document) -> Document:
        """Each by itself."""
        documents = self._documents(command)

        def insert(_place: int, document: Document) -> int:
            documents.insert(document)
            return 1

        return self._each(command, command["documents"], insert)

    def do_update(self, command: Document) -> Document:
        """Each by itself."""
        documents, made = self._documents(command), []

        def update(place: int, one: Document) -> int:
            number, key = documents.update(
                one["q"], one["u"], upsert=one.get("upsert", False), multi=one.get("multi", False)
            )
            if key is not None:
                made.append({"index": place, "_id": key})
            return number or (key is not None)

        found = self._each(command, command["updates"], update)
        return {**found, "nModified": found["n"] - len(made), **({"upserted": made} if made else {})}

    def do_delete(self, command: Document) -> Document:
        """Each by itself."""
        documents = self._documents(command)

        def delete(_place: int, one: Document) -> int:
            found = documents.find(one["q"])[: one["limit"] or None]
            for document in found:
                del documents.by_id[frozen(document["_id"])]
            return len(found)

        return self._each(command, command["deletes"], delete)

    @staticmethod
    def _each(command: Document, statements: list[Document], apply: Any) -> Document:
        errors: list[Document] = []
        count = 0
        for number, one in enumerate(statements):
            try:
                count += apply(number, one)
            except CommandError as error:
                errors.append({"index": number, "code": error.code, "errmsg": str(error)})
                if command.get("ordered", True):
                    break
        return {"n": count, **({"writeErrors": errors} if errors else {})}

    def do_findandmodify(self, command: Document) -> Document:
        """The first that fits."""
        documents = self._documents(command)
        found = documents.find(command["query"])[:1]
        before = dict(found[0]) if found else None
        if found:
            change(found[0], command["update"], is_new=False)
        elif command.get("upsert"):
            found = [documents.upsert(command["query"], command["update"])]
        return {"value": (found[0] if found else None) if command.get("new") else before}

    def do_find(self, command: Document) -> Document:
        """Return the first part; getMore returns the rest."""
        found = self._documents(command).find(command.get("filter", {}))
        for path, way in reversed(list(command.get("sort", {}).items())):
            found = sorted(found, key=lambda one: _sort_key(look_up(one, path)), reverse=way < 0)
        found = found[command.get("skip", 0) :]
        found = found[: abs(command.get("limit", 0)) or None]
        if shown := command.get("projection"):
            found = [{name: one[name] for name in ("_id", *shown) if name in one} for one in found]
        size = command.get("batchSize", BATCH)
        first, rest = found[:size], found[size:]
        number = 0
        if rest and not command.get("singleBatch"):
            number = len(self.cursors) + 1
            self.cursors[number] = (command["find"], rest)
        space = f"{command['$db']}.{command['find']}"
        return {"cursor": {"firstBatch": first, "id": bson.Int64(number), "ns": space}}

    def do_getmore(self, command: Document) -> Document:
        """The rest of it."""
        name, rest = self.cursors.pop(command["getMore"])
        space = f"{command['$db']}.{name}"
        return {"cursor": {"nextBatch": rest, "id": bson.Int64(0), "ns": space}}

    def do_killcursors(self, command: Document) -> Document:
        """Drop cursors that are no longer read."""
        for number in command["cursors"]:
            self.cursors.pop(number, None)
        return {}

    def do_count(self, command: Document) -> Document:
        """How many fit."""
        return {"n": len(self._documents(command).find(command.get("query", {})))}

    def do_distinct(self, command: Document) -> Document:
        """The values of a field."""
        found = self._documents(command).find(command.get("query", {}))
        return {
            "values": list(
                {frozen(value): value for one in found if (value := look_up(one, command["key"]))}.values()
            )
        }


def _sort_key(value: Any) -> tuple[int, Any]:
    return (rank(value), 0 if value is None else value)


# ---------------------------------------------------------------------------- the wire


def read_message(body: bytes) -> Document:
    """The command of an OP_MSG: its document, with the sequences beside it."""
    at, command = 4, {}
    while at < len(body):
        kind, at = body[at], at + 1
        (size,) = struct.unpack_from("<i", body, at)
        if kind == 0:
            command.update(bson.decode(body[at : at + size], CODEC))
        else:
            end = body.index(b"\0", at + 4)
            command[body[at + 4 : end].decode()] = bson.decode_all(body[end + 1 : at + size], CODEC)
        at += size
    return command


async def serve(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one client, message by message."""
    try:
        while True:
            size, number, _, kind = struct.unpack("<iiii", await reader.readexactly(16))
            body = await reader.readexactly(size - 16)
            if kind == QUERY:  # how the first message of a driver comes
                end = body.index(b"\0", 4)
                document = bson.encode(server.answer(bson.decode(body[end + 9 :], CODEC)))
                payload, kind = struct.pack("<iqii", 8, 0, 0, 1) + document, REPLY
            else:
                payload = struct.pack("<ib", 0, 0) + bson.encode(server.answer(read_message(body)))
            writer.write(struct.pack("<iiii", 16 + len(payload), 0, number, kind) + payload)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main(port: int) -> None:
    """Serve until the process ends."""
    server = Server()
    listening = await asyncio.start_server(lambda r, w: serve(server, r, w), "127.0.0.1", port)
    async with listening:
        await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
