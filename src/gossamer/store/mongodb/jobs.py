"""The book of jobs in MongoDB.

Guarantee: of many who create jobs of one name at the same time each gets an id of its own, safe as a file
name; who creates one while the connection is lost has created one.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Collection, Sequence

from gossamer.core.jobs import Job
from gossamer.core.lifecycle import JobState
from gossamer.core.steering import SettingChange
from gossamer.drivers.mongodb.packages import driver
from gossamer.drivers.mongodb.server import Document, MongoDatabase, MongoServer
from gossamer.ports.clock import Clock
from gossamer.store.access_rows import clean_text
from gossamer.store.job_rows import change_of, change_text, job_of, slug_of
from gossamer.store.mongodb.documents import field_of
from gossamer.store.mongodb.numbers import take_numbers

UNFINISHED: Document = {
    "state": {"$in": [JobState.RUNNING.value, JobState.PAUSED.value]},
    "finished_at": None,
}


class MongoJobStore:
    """A ``JobStore`` on a server."""

    def __init__(self, server: MongoServer, clock: Clock) -> None:
        self._server = server
        self._clock = clock

    def __repr__(self) -> str:
        return f"<MongoJobStore on {self._server!r}>"

    async def read_identity(self) -> str:
        """See :class:`~gossamer.ports.job_store.JobStore`."""

        async def read(db: MongoDatabase) -> str:
            if (known := await db["identity"].find_one({"_id": "store"})) is None:
                with contextlib.suppress(driver.DuplicateKeyError):
                    await db["identity"].insert_one({"_id": "store", "id": secrets.token_hex(8)})
                known = await db["identity"].find_one({"_id": "store"}) or {}
            return str(known["id"])

        return await self._server.run(read)

    async def create(
        self, name: str, target: str, plan: bytes = b"", key: bytes = b"", *, alone: bool = False
    ) -> Job:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        name, target, own = clean_text(name), clean_text(target), key or secrets.token_bytes(16)
        head, now = slug_of(name), self._clock.now()

        async def create(db: MongoDatabase) -> Job:
            made = await db["job"].find_one({"key": own})
            if made is not None:  # by another process, or by an earlier try, whose answer was lost
                return _read_job(made)
            number = await take_numbers(db, f"job/{head}")
            job = Job(id=f"{head}-{number}", name=name, target=target, created_at=now, key=own, plan=plan)
            document = {"seq": await take_numbers(db, "job"), **_document_of(job)}
            if key:
                document = await _settle_key(db, document)
            if alone:
                document = await _claim_name(db, document)
            with contextlib.suppress(driver.DuplicateKeyError):
                await db["job"].insert_one(document)
            return _read_job(document)

        return await self._server.run(create)

    async def find_by_key(self, key: bytes) -> Job | None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        found = await self._server.run(lambda db: db["job"].find_one({"key": key}))
        return None if found is None else _read_job(found)

    async def get(self, id_or_name: str) -> Job | None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        wanted = clean_text(id_or_name)

        async def get(db: MongoDatabase) -> Document | None:
            found = await db["job"].find_one({"_id": wanted})
            return found or await db["job"].find_one({"name": wanted}, sort=[("seq", -1)])

        found = await self._server.run(get)
        return None if found is None else _read_job(found)

    async def list_jobs(self, *, unfinished: bool = False) -> list[Job]:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        query: Document = UNFINISHED if unfinished else {}

        async def read(db: MongoDatabase) -> list[Job]:
            return [_read_job(one) async for one in db["job"].find(query).sort("seq", -1)]

        return await self._server.run(read)

    async def update(self, job: Job, *, expected: Job | None = None) -> bool:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        query: Document = {"_id": clean_text(job.id)}
        if expected is not None:
            query |= {"state": expected.state.value, "finished_at": expected.finished_at}
        done = await self._server.run(lambda db: db["job"].update_one(query, {"$set": _end_of(job)}))
        return done.matched_count == 1

    async def update_plan(self, job: Job) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        query, changed = {"_id": clean_text(job.id)}, {"$set": {"plan": job.plan}}
        await self._server.run(lambda db: db["job"].update_one(query, changed))

    async def read_changes(self, job: Job) -> tuple[SettingChange, ...]:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        found = await self._find(job)
        changes = [change_of(text) for text in found.get("changes", {}).values()]
        return tuple(sorted(changes, key=lambda change: change.key))

    async def save_changes(
        self, job: Job, changes: Sequence[SettingChange], put_back: Collection[str] = ()
    ) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        kept = {f"changes.{field_of(one.key)}": clean_text(change_text(one)) for one in changes}
        forgotten = {f"changes.{field_of(key)}": "" for key in put_back}
        update: Document = {"$set": {name: text for name, text in kept.items() if name not in forgotten}}
        update["$unset"] = forgotten
        update = {operator: fields for operator, fields in update.items() if fields}
        if update:
            await self._server.run(lambda db: db["job"].update_one({"_id": job.id}, update))

    async def read_launch(self, job: Job) -> bytes:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        return bytes((await self._find(job)).get("launch", b""))

    async def save_launch(self, job: Job, launch: bytes) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        await self._server.run(lambda db: db["job"].update_one({"_id": job.id}, {"$set": {"launch": launch}}))

    async def _find(self, job: Job) -> Document:
        return await self._server.run(lambda db: db["job"].find_one({"_id": job.id})) or {}


async def _settle_key(db: MongoDatabase, document: Document) -> Document:
    """Return the document of the one job with a key: this one, unless another was first."""
    place = {"_id": document["key"].hex()}
    try:
        await db["job_key"].insert_one({**place, "job": document})
    except driver.DuplicateKeyError:
        settled = await db["job_key"].find_one(place) or {}
        return dict(settled["job"])
    return document


async def _claim_name(db: MongoDatabase, document: Document) -> Document:
    """Return the document of the running job of a name: this one, unless another was first.

    A claim holds the whole job: if its process was cut off, the job exists all the same.
    """
    place = {"_id": document["name"]}
    query = {"name": document["name"], **UNFINISHED, "plan": {"$ne": b""}}
    while True:  # in this order: a job that is made meanwhile is seen, or has changed the claim
        claim = await db["job_name"].find_one(place)
        if claim is not None and await db["job"].find_one({"_id": claim["job"]["_id"]}) is None:
            return dict(claim["job"])
        if (under_way := await db["job"].find_one(query, sort=[("seq", -1)])) is not None:
            return under_way
        with contextlib.suppress(driver.DuplicateKeyError):
            if claim is None:
                await db["job_name"].insert_one({**place, "job": document})
                return document
            before = {**place, "job._id": claim["job"]["_id"]}
            if (await db["job_name"].update_one(before, {"$set": {"job": document}})).matched_count:
                return document


def _document_of(job: Job) -> Document:
    named = {"_id": job.id, "name": job.name, "target": job.target, "created_at": job.created_at}
    return {**named, **_end_of(job), "key": job.key, "plan": job.plan}


def _end_of(job: Job) -> Document:
    return {
        "state": job.state.value,
        "finished_at": job.finished_at,
        "end_reason": job.end_reason or "",
        "end_error": clean_text(job.end_error),
    }


def _read_job(one: Document) -> Job:
    named = (one["_id"], one["name"], one["target"], one["created_at"])
    end = (one["state"], one["finished_at"], one["end_reason"], one["end_error"])
    return job_of((*named, *end, one["key"], one["plan"]))
