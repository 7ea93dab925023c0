"""The health of proxies in shared state, for all workers and jobs in one place, across restarts.

Each proxy has one record. Proxies are spread over :data:`BUCKETS` buckets, and one small record holds a
version of each bucket: a look reads that record, and then only changed buckets. Urgent changes (a
quarantine begins or ends, a canary is claimed) are written at once; counts are collected and added later.
"""

from __future__ import annotations

import asyncio
import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import islice

import msgspec
from msgspec.structs import replace

from gossamer.policy.proxies import UNKNOWN, ProxyHealth, ProxyOutcome
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState

SPACE = "proxies"
BUCKETS = 256
KEPT_S = 30 * 86_400.0
"""Seconds for which the record of an unused proxy is kept."""
LOOK_S = 1.0
"""Greatest age of the known state of other workers' proxies, in seconds."""
SAVE_S = 2.0
"""Seconds between saves of counts."""
SAVED_AT_ONCE = 32
"""Records whose counts are saved together; those of the others wait for the next time."""
RECENT = 0.2
"""The weight of the latest latency in the moving average."""

_VERSIONS = struct.Struct(f"<{BUCKETS}I")
_NO_VERSIONS = (0,) * BUCKETS
_VERSIONS_KEY = ""
_decode = msgspec.msgpack.Decoder(ProxyHealth).decode
_encode = msgspec.msgpack.Encoder().encode


class ProxyCounts:
    """Counts of requests through one proxy since its record was last written."""

    __slots__ = ("answers", "blocks", "failures", "latencies")

    def __init__(self) -> None:
        self.answers = self.blocks = self.failures = 0
        self.latencies: list[float] = []

    def add(self, outcome: ProxyOutcome, latency_s: float) -> None:
        """Count one request."""
        if outcome is ProxyOutcome.ANSWERED:
            self.answers += 1
        elif outcome is ProxyOutcome.BLOCKED:
            self.blocks += 1
        else:
            self.failures += 1
        if latency_s > 0:
            self.latencies.append(latency_s)

    def added_to(self, health: ProxyHealth) -> ProxyHealth:
        """Return a record with these counts."""
        latency_s = health.latency_s
        for one in self.latencies:
            latency_s = latency_s + RECENT * (one - latency_s) if latency_s else one
        return replace(
            health,
            answers=health.answers + self.answers,
            blocks=health.blocks + self.blocks,
            failures=health.failures + self.failures,
            latency_s=round(latency_s, 4),
        )


class SharedProxyHealth:
    """The shared state of the proxies in ``names``, which may change; the state of others is dropped."""

    def __init__(self, shared: SharedState, clock: Clock) -> None:
        self._shared = shared
        self._clock = clock
        self._known: dict[str, ProxyHealth] = {}
        self._buckets: dict[int, list[str]] = {}
        self._versions: tuple[int, ...] = _NO_VERSIONS
        self._counts: OrderedDict[str, ProxyCounts] = OrderedDict()
        self._looked_at: float | None = None
        self._saved_at = clock.now()
        self._looking = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<SharedProxyHealth: {len(self._known)} known, {len(self._counts)} with counts to be saved>"

    def watch_proxies(self, names: Iterable[str]) -> None:
        """Set the proxies of interest."""
        self._buckets, names = {}, tuple(names)
        self._known = {name: self._known[name] for name in names if name in self._known}
        for name in names:
            self._buckets.setdefault(_bucket_of(name), []).append(name)
        self._versions, self._looked_at = _NO_VERSIONS, None

    def find_health(self, name: str) -> ProxyHealth:
        """Return the health of a proxy as known here."""
        return self._known.get(name, UNKNOWN)

    async def look(self, *, is_forced: bool = False) -> None:
        """Read what others have changed, if the last look is too long ago. Raises ``StorageError``."""
        if not is_forced and self._is_fresh():
            return
        async with self._looking:
            if is_forced or not self._is_fresh():
                await self._read_changes()
                self._looked_at = self._clock.now()

    def _is_fresh(self) -> bool:
        return self._looked_at is not None and self._clock.now() - self._looked_at < LOOK_S

    async def _read_changes(self) -> None:
        buckets, known = self._buckets, self._versions
        versions = _read_versions(await self._shared.get(SPACE, _VERSIONS_KEY))
        changed = [bucket for bucket in buckets if versions[bucket] != known[bucket]]
        names = [name for bucket in changed for name in buckets[bucket]]
        for name, record in zip(names, await read_records(self._shared, names), strict=True):
            self._known[name] = record
        if self._buckets is buckets:  # else the list has changed meanwhile, and the next look reads all of it
            self._versions = versions

    # ------------------------------------------------------------------ learning

    def add_count(self, name: str, outcome: ProxyOutcome, latency_s: float) -> None:
        """Count one request, with the next change of its record at the latest."""
        counts = self._counts.get(name)
        if counts is None:
            counts = self._counts[name] = ProxyCounts()
        counts.add(outcome, latency_s)

    async def count(self, name: str, outcome: ProxyOutcome, latency_s: float) -> None:
        """Count one request. Raises ``StorageError``, when it is time to save and that fails."""
        self.add_count(name, outcome, latency_s)
        if self._clock.now() - self._saved_at >= SAVE_S:
            await self.save_counts(SAVED_AT_ONCE)

    async def save_counts(self, most: int | None = None) -> None:
        """Add counts to the records, the longest unsaved first."""
        self._saved_at = self._clock.now()
        await asyncio.gather(*(self._write(name, None) for name in list(islice(self._counts, most))))

    async def change(self, name: str, change: Callable[[ProxyHealth], ProxyHealth]) -> ProxyHealth:
        """Change a record for all workers at once and return it. Raises ``StorageError``."""
        health = await self._write(name, change)
        bucket = _bucket_of(name)
        await self._shared.update(SPACE, _VERSIONS_KEY, lambda stored: _raise_version(stored, bucket), KEPT_S)
        return health

    async def _write(self, name: str, change: Callable[[ProxyHealth], ProxyHealth] | None) -> ProxyHealth:
        counts = self._counts.pop(name, None)

        def apply(stored: bytes | None) -> bytes:
            health = _read_record(stored)
            health = counts.added_to(health) if counts else health
            return _encode(change(health) if change else health)

        try:
            written = _read_record(await self._shared.update(SPACE, name, apply, KEPT_S))
        except BaseException:
            if counts is not None:
                self._counts.setdefault(name, counts)
            raise
        self._known[name] = written
        return written


async def read_records(shared: SharedState, names: Iterable[str]) -> list[ProxyHealth]:
    """Return the shared records of some proxies. Raises ``StorageError``."""
    return [_read_record(stored) for stored in await asyncio.gather(*(shared.get(SPACE, n) for n in names))]


def _read_record(stored: bytes | None) -> ProxyHealth:
    """Decode a record; an unreadable one (of another version, or damaged) counts as none."""
    if stored is None:
        return UNKNOWN
    try:
        return _decode(stored)
    except ValueError:
        return UNKNOWN


def _bucket_of(name: str) -> int:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0]


def _read_versions(stored: bytes | None) -> tuple[int, ...]:
    return _VERSIONS.unpack(stored) if stored and len(stored) == _VERSIONS.size else _NO_VERSIONS


def _raise_version(stored: bytes | None, bucket: int) -> bytes:
    versions = list(_read_versions(stored))
    versions[bucket] = (versions[bucket] + 1) % 2**32
    return _VERSIONS.pack(*versions)
