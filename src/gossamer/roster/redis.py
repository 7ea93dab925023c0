"""The roster in Redis: one script, in which every call is one atomic step.

Guarantee: all of it may be lost at any time; workers register again with their next beat and the supervisor
asks anew. Times are the server's, so that the clocks of the machines do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gossamer.core.shifts import (
    EndReason,
    FleetStore,
    JobSample,
    LaneHealth,
    RosterView,
    Shift,
    ShiftResult,
    WorkerInfo,
)
from gossamer.drivers.redis.server import RedisServer, load_script
from gossamer.ports.clock import Clock
from gossamer.roster.limits import BURIED_S, ENDS, FORGET_EVERY_S, GONE_S, SAMPLES, STANDING_S

_pack = msgspec.msgpack.encode
_card = msgspec.msgpack.Decoder(WorkerInfo).decode
_shift = msgspec.msgpack.Decoder(Shift).decode
_standing = msgspec.msgpack.Decoder(LaneHealth).decode
_store = msgspec.msgpack.Decoder(FleetStore).decode
_end = msgspec.msgpack.Decoder(ShiftResult).decode
_samples = msgspec.msgpack.Decoder(tuple[JobSample, ...]).decode

_BOUNDS = _pack(
    {
        "gone_s": GONE_S,
        "buried_s": BURIED_S,
        "standing_s": STANDING_S,
        "forget_every_s": FORGET_EVERY_S,
        "ends": ENDS,
        "samples": SAMPLES,
    }
)


class RedisRoster:
    """A ``Roster`` and ``WorkerRegistry`` over a Redis; those of one ``fleet`` share it.

    ``uses_server_time=False`` goes by the clock instead, for tests.
    """

    def __init__(
        self, server: RedisServer, fleet: str, clock: Clock, *, uses_server_time: bool = True
    ) -> None:
        self._server = server
        self._clock = None if uses_server_time else clock
        self._key = server.key_for(f"fleet:{fleet}")
        self._script = load_script("gossamer.roster", "roster.lua")

    def __repr__(self) -> str:
        return f"<RedisRoster {self._key} at {self._server.where}>"

    # ----------------------------------------------------------------- attendance

    async def begin_shift(self, shift_id: str, worker_id: str) -> Shift | None:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        found = await self._call_script("begin", shift_id, worker_id)
        return None if found is None else _shift(found)

    async def record_heartbeat(self, worker: WorkerInfo, shifts: Sequence[Shift]) -> dict[str, EndReason]:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        orders = [
            text.decode() for text in await self._call_script("beat", _pack(worker), *map(_pack, shifts))
        ]
        return {shift_id: EndReason(why) for shift_id, why in zip(orders[::2], orders[1::2], strict=True)}

    async def end_shifts(self, ends: Sequence[ShiftResult]) -> None:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        await self._call_script("end", *map(_pack, ends), repeat=True)

    async def remove_worker(self, worker_id: str) -> None:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        await self._call_script("leave", worker_id, repeat=True)

    # ----------------------------------------------------------------- the roster

    async def claim_leadership(self, me: str, ttl_s: float) -> int | None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        token = await self._call_script("lead", me, repr(ttl_s))
        return None if token is None else int(token)

    async def join_store(self, store: FleetStore) -> FleetStore:
        """See :class:`~gossamer.ports.roster.Roster`."""
        return _store(await self._call_script("join", _pack(store)))

    async def adopt_store(self, store: FleetStore) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        await self._call_script("adopt", _pack(store))

    async def request_shifts(
        self, shifts: Sequence[Shift], recalls: Mapping[str, EndReason], token: int
    ) -> bool:
        """See :class:`~gossamer.ports.roster.Roster`."""
        pairs = [text for shift_id, why in recalls.items() for text in (shift_id, why.value)]
        return bool(await self._call_script("ask", token, len(recalls), *pairs, *map(_pack, shifts)))

    async def read_roster(self, *, history: bool = False) -> RosterView:
        """See :class:`~gossamer.ports.roster.Roster`."""
        at, leader, store, workers, shifts, standings, ends, samples = await self._call_script(
            "look", int(history)
        )
        return RosterView(
            at=float(at),
            leader=leader.decode(),
            store=_store(store) if store else None,
            workers=tuple(map(_card, workers)),
            shifts=tuple(map(_shift, shifts)),
            standings=tuple(map(_standing, standings)),
            ends=tuple(map(_end, ends)),
            samples={
                job.decode(): _samples(kept) for job, kept in zip(samples[::2], samples[1::2], strict=True)
            },
        )

    async def reap_shifts(self, shift_ids: Sequence[str]) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        await self._call_script("bury", *shift_ids)

    async def add_sample(self, job: str, sample: JobSample) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        await self._call_script("note", job, _pack(sample))

    async def forget_health(self, job: str) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        await self._call_script("forgive", job, repeat=True)

    async def notify_supervisor(self) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        await self._call_script("ring")

    async def wait_for_notification(self, timeout_s: float) -> bool:
        """See :class:`~gossamer.ports.roster.Roster`."""
        client, bell = self._server.client, f"{self._key}:bell"
        call = client.lpop(bell) if timeout_s <= 0 else client.blpop([bell], timeout=timeout_s)
        return await self._server.answer_of(call) is not None

    async def _call_script(self, what: str, *args: Any, repeat: bool = False) -> Any:
        now = "" if self._clock is None else repr(self._clock.now())
        return await self._server.run_script(
            self._script, self._key, what, now, _BOUNDS, *args, repeat=repeat
        )
