"""Counters over time in MongoDB; ``store/mongodb/counts.py`` adds the counts of a batch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from gossamer.core.jobs import Job
from gossamer.core.series import (
    ATTEMPTS,
    BUCKET_S,
    COUNTERS,
    EVERYBODY,
    HOUR_S,
    HourlyKind,
    HourlyRow,
    SeriesStep,
)
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.mongodb.packages import UpdateOne
from gossamer.drivers.mongodb.server import Document, MongoDatabase, MongoServer
from gossamer.policy.chart_range import fold_limits
from gossamer.store.mongodb.folding import fold_gauges, fold_series
from gossamer.store.series import bucket_of, hours_between, steps_of, worst_of

WRITERS = 4
"""Documents among which one counter is spread, as far as the worst are looked for."""


class MongoSeries:
    """A ``Series`` on a server."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    def __repr__(self) -> str:
        return f"<MongoSeries on {self._server!r}>"

    async def set_gauges(self, job: Job, at: float, gauges: Mapping[str, int]) -> None:
        """See :class:`~gossamer.ports.series.Series`."""
        bucket = bucket_of(at)
        named = {"job": job.id, "step": BUCKET_S, "at": bucket}
        cover = {**named, "covered": BUCKET_S}
        changes = [
            UpdateOne(
                {"_id": f"{job.id}/{BUCKET_S}/{bucket}/{clean(name)}"},
                {"$set": {"value": value}, "$setOnInsert": {**named, "name": clean(name)}},
                upsert=True,
            )
            for name, value in gauges.items()
        ]

        async def write(db: MongoDatabase) -> None:
            place = {"_id": f"{job.id}/{BUCKET_S}/{bucket}/"}
            await db["series"].update_one(place, {"$setOnInsert": cover}, upsert=True)
            if changes:
                await db["gauge"].bulk_write(changes, ordered=False)

        await self._server.run(write)

    async def read_steps(self, job: Job, since: int, until: int, step_s: int) -> list[SeriesStep]:
        """See :class:`~gossamer.ports.series.Series`."""
        query = {"job": job.id, "at": {"$gte": since, "$lt": until}}
        series = await self._read("series", query)
        gauges = await self._read("gauge", query)
        values: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        for one in gauges:
            values[one["at"] // step_s * step_s, one["name"]].append(one["value"])
        means = [(at, name, sum(noted) / len(noted)) for (at, name), noted in values.items()]
        return steps_of(_count_steps(series, step_s), means)

    async def read_hours(
        self, job: Job, kind: HourlyKind, since: int, until: int, who: Collection[str]
    ) -> list[HourlyRow]:
        """See :class:`~gossamer.ports.series.Series`."""
        hours, names = hours_between(since, until), [clean(name) for name in who]
        query = {"job": job.id, "kind": kind.value, "hour": {"$in": hours}, "who": {"$in": names}}
        return _rows_of(await self._read("hourly", query))

    async def list_reasons(self, job: Job, since: int) -> list[HourlyRow]:
        """See :class:`~gossamer.ports.series.Series`."""
        query = {"job": job.id, "kind": HourlyKind.REASON.value, "hour": {"$gte": since}}
        return _rows_of(await self._read("hourly", query))

    async def rank_failures(
        self, job: Job, kind: HourlyKind, since: int, until: int, limit: int
    ) -> list[str]:
        """See :class:`~gossamer.ports.series.Series`."""
        of_kind = {"job": job.id, "kind": kind.value}
        hours = {"hour": {"$in": hours_between(since, until)}}
        together = await self._read("hourly", {**of_kind, **hours, "who": EVERYBODY})
        failed = {(one["hour"], one["label"]) for one in together if one["label"] != ATTEMPTS}

        async def read(db: MongoDatabase) -> list[tuple[str, int]]:
            found = []
            for hour, label in sorted(failed):
                query = {**of_kind, "label": label, "hour": hour, "who": {"$gt": EVERYBODY}}
                cursor = db["hourly"].find(query).sort("value", -1).limit(limit * WRITERS)
                found += [(one["who"], one["value"]) async for one in cursor]
            return found

        return worst_of(await self._server.run(read), limit)

    async def count_hosts(self, job: Job, reason: str, since: int, limit: int) -> int:
        """See :class:`~gossamer.ports.series.Series`."""
        query = {
            "job": job.id,
            "kind": HourlyKind.HOST.value,
            "label": reason,
            "hour": {"$gte": since},
            "who": {"$gt": EVERYBODY},
        }
        return len({one["who"] for one in await self._read("hourly", query, limit * WRITERS)})

    async def fold_buckets(self, now: float) -> None:
        """See :class:`~gossamer.ports.series.Series`."""
        fine, named = fold_limits(now)
        await self._server.run(lambda db: fold_series(db, fine, now))
        await self._server.run(lambda db: fold_gauges(db, fine))
        kinds = [HourlyKind.HOST.value, HourlyKind.PROXY.value]
        old = {"kind": {"$in": kinds}, "hour": {"$lt": named}, "who": {"$gt": EVERYBODY}}
        await self._server.run(lambda db: db["hourly"].delete_many(old))

    async def _read(self, name: str, query: Document, limit: int = 0) -> list[Document]:
        async def read(db: MongoDatabase) -> list[Document]:
            return [one async for one in db[name].find(query).limit(limit)]

        return await self._server.run(read)


def _count_steps(series: Sequence[Document], step_s: int) -> list[tuple[int, ...]]:
    """When each step begins, the seconds that it covers, and its counters; of all writers together."""
    folded = {place for one in series for place in one.get("of", ())}
    sums: defaultdict[int, Counter[str]] = defaultdict(Counter)
    covered: defaultdict[int, dict[tuple[int, int], int]] = defaultdict(dict)
    for one in series:
        if one["_id"] in folded:  # it is in its hour already, and about to be deleted
            continue
        step = one["at"] // step_s * step_s
        sums[step].update(one.get("counts", {}))
        seconds = covered[step]
        bucket = (one["step"], one["at"])
        if one["step"] == BUCKET_S:
            seconds[bucket] = BUCKET_S
        else:
            seconds[bucket] = min(HOUR_S, seconds.get(bucket, 0) + one["covered"])
    return [
        (at, sum(covered[at].values()), *(counts[name] for name in COUNTERS)) for at, counts in sums.items()
    ]


def _rows_of(found: Iterable[Document]) -> list[HourlyRow]:
    """Counts by hour, who and label, of all writers together."""
    sums: Counter[tuple[int, str, str]] = Counter()
    for one in found:
        sums[one["hour"], one["who"], one["label"]] += one["value"]
    return [
        HourlyRow(hour=hour, who=who, label=label, value=value) for (hour, who, label), value in sums.items()
    ]
