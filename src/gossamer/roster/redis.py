"""The roster in Redis: one script, in which every call is one atomic step.

Guarantee: all of it may be lost at any time; workers register again with their next beat and the supervisor
asks anew. Times are the server's, so that the clocks of the machines do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gossamer.core.clock import Clock
from gossamer.core.shifts import RosterView, Sample, Shift, ShiftEnd, Standing, Why, WorkerCard
from gossamer.drivers.redis.server import RedisServer, script
from gossamer.roster.limits import BURIED_S, ENDS, FORGET_EVERY_S, GONE_S, REFUSERS, SAMPLES, STANDING_S

_pack = msgspec.msgpack.encode
_card = msgspec.msgpack.Decoder(WorkerCard).decode
_shift = msgspec.msgpack.Decoder(Shift).decode
_standing = msgspec.msgpack.Decoder(Standing).decode
_end = msgspec.msgpack.Decoder(ShiftEnd).decode
_samples = msgspec.msgpack.Decoder(tuple[Sample, ...]).decode

_BOUNDS = _pack(
    {
        "gone_s": GONE_S,
        "buried_s": BURIED_S,
        "standing_s": STANDING_S,
        "forget_every_s": FORGET_EVERY_S,
        "ends": ENDS,
        "samples": SAMPLES,
        "refusers": REFUSERS,
    }
)


class RedisRoster:
    """A ``Roster`` and ``Attendance`` over a Redis; those of one ``fleet`` share it.

    ``uses_server_time=False`` goes by the clock instead, for tests.
    """

    def __init__(
        self, server: RedisServer, fleet: str, clock: Clock, *, uses_server_time: bool = True
    ) -> None:
        self._server = server
        self._clock = None if uses_server_time else clock
        self._key = server.key(f"fleet:{fleet}")
        self._script = script("gossamer.roster", "roster.lua")

    def __repr__(self) -> str:
        return f"<RedisRoster {self._key} at {self._server.where}>"

    # ----------------------------------------------------------------- attendance

    async def begin(self, shift_id: str, worker_id: str) -> Shift | None:
        """See :class:`~gossamer.ports.fleet.Attendance`."""
        found = await self._call("begin", shift_id, worker_id)
        return None if found is None else _shift(found)

    async def beat(self, worker: WorkerCard, shifts: Sequence[Shift]) -> dict[str, Why]:
        """See :class:`~gossamer.ports.fleet.Attendance`."""
        orders = [text.decode() for text in await self._call("beat", _pack(worker), *map(_pack, shifts))]
        return {shift_id: Why(why) for shift_id, why in zip(orders[::2], orders[1::2], strict=True)}

    async def end(self, ends: Sequence[ShiftEnd]) -> None:
        """See :class:`~gossamer.ports.fleet.Attendance`."""
        await self._call("end", *map(_pack, ends), repeat=True)

    async def leave(self, worker_id: str) -> None:
        """See :class:`~gossamer.ports.fleet.Attendance`."""
        await self._call("leave", worker_id, repeat=True)

    # ----------------------------------------------------------------- the roster

    async def lead(self, me: str, ttl_s: float) -> int | None:
        """See :class:`~gossamer.ports.fleet.Roster`."""
        token = await self._call("lead", me, repr(ttl_s))
        return None if token is None else int(token)

    async def ask(self, shifts: Sequence[Shift], recalls: Mapping[str, Why], token: int) -> bool:
        """See :class:`~gossamer.ports.fleet.Roster`."""
        pairs = [text for shift_id, why in recalls.items() for text in (shift_id, why.value)]
        return bool(await self._call("ask", token, len(recalls), *pairs, *map(_pack, shifts)))

    async def look(self, *, history: bool = False) -> RosterView:
        """See :class:`~gossamer.ports.fleet.Roster`."""
        at, leader, workers, shifts, standings, ends, samples = await self._call("look", int(history))
        return RosterView(
            at=float(at),
            leader=leader.decode(),
            workers=tuple(map(_card, workers)),
            shifts=tuple(map(_shift, shifts)),
            standings=tuple(map(_standing, standings)),
            ends=tuple(map(_end, ends)),
            samples={
                job.decode(): _samples(kept) for job, kept in zip(samples[::2], samples[1::2], strict=True)
            },
        )

    async def bury(self, shift_ids: Sequence[str]) -> None:
        """See :class:`~gossamer.ports.fleet.Roster`."""
        await self._call("bury", *shift_ids)

    async def note(self, job: str, sample: Sample) -> None:
        """See :class:`~gossamer.ports.fleet.Roster`."""
        await self._call("note", job, _pack(sample))

    async def ring(self) -> None:
        """See :class:`~gossamer.ports.fleet.Roster`."""
        await self._call("ring")

    async def wait_bell(self, timeout_s: float) -> bool:
        """See :class:`~gossamer.ports.fleet.Roster`."""
        client, bell = self._server.client, f"{self._key}:bell"
        with self._server.translated():
            if timeout_s <= 0:
                return await client.lpop(bell) is not None
            return await client.blpop([bell], timeout=timeout_s) is not None

    async def _call(self, what: str, *args: Any, repeat: bool = False) -> Any:
        now = "" if self._clock is None else repr(self._clock.now())
        return await self._server.run(self._script, self._key, what, now, _BOUNDS, *args, repeat=repeat)
