"""The memory of a watch in shared state: the next watching process continues with it; displays read it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.core.jobs import Job, tag_of
from gossamer.policy.alerts import MOST_ALERTS
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.notices import NoticeMemory
from gossamer.ports.shared_state import SharedState

SPACE = "watch"
KEPT_S = 7 * 86_400.0
"""Seconds after its last change until an entry is forgotten."""
ACKNOWLEDGED_S = 365 * 86_400.0
"""Seconds for which a lasting alert stays acknowledged."""
LEFT_NEWS = "left news"
MOST_LEFT = 100
"""Maximum crawls of one machine that are noted as having pending notifications."""
CLAIM_S = 30.0
"""Seconds for which one process alone may take over the notifications of a place."""

_decode_job = msgspec.msgpack.Decoder(JobMemory).decode
_decode_place = msgspec.msgpack.Decoder(PlaceMemory).decode
_decode_notices = msgspec.msgpack.Decoder(NoticeMemory).decode
_decode_places = msgspec.msgpack.Decoder(dict[str, float]).decode
_decode_acknowledged = msgspec.msgpack.Decoder(dict[str, float]).decode
_encode = msgspec.msgpack.Encoder().encode


def place_of_fleet(fleet: str) -> str:
    """Return the name of a fleet's place."""
    return f"fleet:{fleet}"


def place_of_crawl(job: Job) -> str:
    """Return the name of the place of a crawl of one machine."""
    return f"job:{job.id}"


def is_place_of_job(place: str) -> bool:
    """Return whether a place is that of one job, and not a fleet."""
    return place.startswith("job:")


def job_of_place(place: str) -> str:
    """Return the id of the job whose crawl is a place."""
    return place.partition(":")[2]


async def load_job_memory(shared: SharedState, job: Job) -> JobMemory:
    """Return the memory of a job; empty if another version wrote it. Raises ``StorageError``."""
    return _read_memory(await shared.get(SPACE, _key_of(job)))


async def load_job_memories(shared: SharedState, jobs: Sequence[Job]) -> dict[str, JobMemory]:
    """Return the memories of many jobs, by their ids. Raises ``StorageError``."""
    stored = await shared.get_many(SPACE, [_key_of(job) for job in jobs])
    return {job.id: _read_memory(one) for job, one in zip(jobs, stored, strict=True)}


async def save_job_memory(shared: SharedState, job: Job, memory: JobMemory) -> None:
    """Save the memory of a job. Raises ``StorageError``."""
    await shared.put(SPACE, _key_of(job), _encode(memory), KEPT_S)


async def load_place_memory(shared: SharedState, place: str) -> PlaceMemory:
    """Return the memory of a place, by its name. Raises ``StorageError``."""
    stored = await shared.get(SPACE, f"place:{place}")
    try:
        return _decode_place(stored) if stored else PlaceMemory()
    except msgspec.DecodeError:
        return PlaceMemory()


async def save_place_memory(shared: SharedState, place: str, memory: PlaceMemory) -> None:
    """Save the memory of a place. Raises ``StorageError``."""
    await shared.put(SPACE, f"place:{place}", _encode(memory), KEPT_S)


async def load_notices(shared: SharedState, place: str) -> NoticeMemory:
    """Return the pending notifications of a place. Raises ``StorageError``."""
    stored = await shared.get(SPACE, f"news:{place}")
    try:
        return _decode_notices(stored) if stored else NoticeMemory()
    except msgspec.DecodeError:
        return NoticeMemory()


async def save_notices(shared: SharedState, place: str, memory: NoticeMemory) -> None:
    """Save the pending notifications of a place. Raises ``StorageError``."""
    await shared.put(SPACE, f"news:{place}", _encode(memory), KEPT_S)


async def load_acknowledged(shared: SharedState, about: str) -> dict[str, float]:
    """Return when alerts of a job or of the services were acknowledged, by the ids of the alerts."""
    stored = await shared.get(SPACE, f"acknowledged:{about}")
    return _decode_acknowledged(stored) if stored else {}


async def save_acknowledged(shared: SharedState, about: str, more: dict[str, float]) -> None:
    """Save that more alerts were acknowledged. Raises ``StorageError``."""

    def add(stored: bytes | None) -> bytes:
        known = (_decode_acknowledged(stored) if stored else {}) | more
        latest = sorted(known, key=known.__getitem__)[-MOST_ALERTS:]
        return _encode({name: known[name] for name in latest})

    await shared.update(SPACE, f"acknowledged:{about}", add, ACKNOWLEDGED_S)


async def load_left_news(shared: SharedState) -> list[str]:
    """Return the names of places that are noted as having pending notifications."""
    stored = await shared.get(SPACE, LEFT_NEWS)
    return list(_decode_places(stored)) if stored else []


async def note_left_news(shared: SharedState, place: str, now: float, *, is_left: bool) -> None:
    """Note whether a place has pending notifications. Raises ``StorageError``."""

    def change(stored: bytes | None) -> bytes:
        known = _decode_places(stored) if stored else {}
        known.pop(place, None)
        latest = sorted(known, key=known.__getitem__)[-MOST_LEFT:]
        return _encode({name: known[name] for name in latest} | ({place: now} if is_left else {}))

    await shared.update(SPACE, LEFT_NEWS, change, KEPT_S)


async def claim_left_news(shared: SharedState, place: str) -> bool:
    """Return whether the caller alone may take over the notifications of a place now."""
    return await shared.claim(SPACE, f"left:{place}", CLAIM_S)


def _read_memory(stored: bytes | None) -> JobMemory:
    try:
        return _decode_job(stored) if stored else JobMemory()
    except msgspec.DecodeError:
        return JobMemory()


def _key_of(job: Job) -> str:
    return f"job:{tag_of(job)}"
