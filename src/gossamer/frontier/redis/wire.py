"""Packs requests, leases and outcomes for the scripts of the Redis frontier, and unpacks their answers.

Guarantee: this format is the one that ``lua/library.lua`` and its scripts read and write; numbers are exact,
since doubles travel as doubles and 64-bit fingerprints as text or bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import Any, NamedTuple

import msgspec

from gossamer.core.hosts import FREE, HostSignal, HostSignalKind, HostState, JobClaim, SharedPace
from gossamer.core.lifecycle import RequestState
from gossamer.core.requests import Entry, Lease, Request, band_of
from gossamer.core.results import Outcome
from gossamer.frontier.codec import pack_request, read_entry
from gossamer.frontier.transitions import recorded_as, request_after, state_after

_TRIES = Struct("<dIIIIH")
_RANK, _TRIED, _RANKED, _AFTER_IDS = Struct("<d"), 1, 2, 2**48
_SHOWN = Struct("<ddddB")  # granted_at, start_by, deadline, pause, STANDING; between token and host's name
_DOWN, _ANSWERED, _SUSPECT, _SILENT, _BLAMES, _KNOWN, _UNHEARD, _TROUBLED = (1 << bit for bit in range(8))
"""``STANDING`` of lua/library.lua."""
_HOST = Struct("<6d4IBB")
_HOST_MORE = Struct("<4dI")  # of a host that was written by this version
_WHOLE, _SKIPPED, _PACED, _HELD, _DATED, _LOOKING, _BLAMING = 2, 4, 8, 16, 32, 64, 128
_TIME, _BLAMED = Struct("<d"), Struct("<Bb")
_PACE, _CLAIM = Struct("<11d3I8sB"), Struct("<8sdddII")  # of lua/sharing.lua
_WAITING = Struct("<BBII")
_LEASE = Struct("<4sBBddBB")
_REASON_CHARACTERS = 10_000
_KINDS = {kind: number for number, kind in enumerate(HostSignalKind)}
_CHARGED, _LATER, _EXCUSED = 1, 2, 3
_VERDICTS = {
    RequestState.DONE: 0,
    RequestState.DELAYED: 1,
    RequestState.DEAD: 2,
    RequestState.PENDING: 3,
}

Batch = tuple[list[msgspec.Raw], list[msgspec.Raw], list[Any]]
"""Names of hosts, names of lanes, and eight values for each request: see ``lua/admit.lua``."""


class StoredRequest(NamedTuple):
    """A request as it stands in a queue."""

    id: int
    fingerprint: int
    due_at: float
    attempts: int
    failures: int
    throttled: int
    expiries: int
    reason: str
    text: str
    place: int  # among those of its host and band

    def to_entry(self, host: str) -> Entry:
        """Return the accepted entry."""
        return read_entry(self.text, self.fingerprint, host, self.due_at)


class WaitingRow(NamedTuple):
    """The requests that wait for a host in one lane and band."""

    lane: int
    band: int
    listed: int
    back: int


class HostRow(NamedTuple):
    """A host as it is stored."""

    name: str
    state: HostState
    waiting: tuple[WaitingRow, ...]

    @property
    def pending_count(self) -> int:
        """All that waits for it."""
        return sum(slot.listed + slot.back for slot in self.waiting)


class LeaseRow(NamedTuple):
    """A lease as it is stored."""

    host: bytes
    granted_at: float
    owner: bytes
    element: bytes


def raw_bytes(value: bytes) -> msgspec.Raw:
    """Wrap bytes for the arguments of a script, whose reader takes any bytes as text."""
    size = len(value)
    head = b"\xda" + size.to_bytes(2) if size < 65536 else b"\xdb" + size.to_bytes(4)
    return msgspec.Raw(head + value)


def text_bytes(text: str) -> bytes:
    """Return text of strangers; lone surrogates come back as they were."""
    return text.encode("utf-8", "surrogatepass")


def text_of(stored: bytes) -> str:
    """Return the same, back."""
    return stored.decode("utf-8", "surrogatepass")


def fingerprint_bytes(fingerprint: int) -> bytes:
    """Return the eight bytes by which it is compared."""
    return fingerprint.to_bytes(8, "big", signed=True)


def held_by(lease: Lease) -> msgspec.Raw:
    """Return the holder that a lease must match, beside its token, to be in force."""
    return raw_bytes(fingerprint_bytes(lease.entry.fingerprint))


def batch_of(entries: Iterable[Entry]) -> Batch:
    """Requests to be added."""
    hosts: dict[str, int] = {}
    lanes: dict[str, int] = {}
    flat: list[Any] = []
    for entry in entries:
        request, due_at, fingerprint = entry.request, entry.due_at, entry.fingerprint
        recorded = recorded_as(entry)
        rank = request.rank
        head, text = _packed_head(rank, due_at), pack_request(request, entry.host).encode()
        flat += (
            hosts.setdefault(entry.host, len(hosts) + 1),
            lanes.setdefault(request.lane, len(lanes) + 1),
            band_of(rank),
            request.depth,
            due_at,
            raw_bytes(fingerprint_bytes(recorded)) if request.dont_filter else False,
            str(recorded),
            raw_bytes(fingerprint_bytes(fingerprint) + head + text),
        )
    return (
        [raw_bytes(text_bytes(host)) for host in hosts],
        [raw_bytes(text_bytes(lane)) for lane in lanes],
        flat,
    )


def raised_parts(request: Request, host: str) -> tuple[Any, ...]:
    """Return the band of a raised request, the bytes before its text, and its text."""
    head, text = _packed_head(request.rank, 0.0), pack_request(request, host).encode()
    return request.band, raw_bytes(head), raw_bytes(text)


def _packed_head(rank: int, due_at: float) -> bytes:
    """Return the bytes before the text of a request that was never tried."""
    is_ranked = rank != band_of(rank)
    head = _RANK.pack(rank) if is_ranked else b""
    if due_at:
        head += _TRIES.pack(due_at, 0, 0, 0, 0, 0)
    return bytes(((_TRIED if due_at else 0) + (_RANKED if is_ranked else 0),)) + head


def packed_outcome(outcome: Outcome, token: int, links: int) -> tuple[Any, ...]:
    """Return one outcome; ``links`` of its outlinks come with the call, and the others were added before.

    Raises :class:`~gossamer.core.errors.TransitionError` for no settling verdict.
    """
    return (
        token,
        held_by(outcome.lease),
        _VERDICTS[state_after(outcome)],
        raw_bytes(text_bytes(outcome.reason[:_REASON_CHARACTERS])),
        outcome.due_at,
        _CHARGED if outcome.charged else _EXCUSED if outcome.is_excused else _LATER,
        outcome.is_page,
        *_packed_signal(outcome.signal),
        _packed_route(outcome),
        links,
        links < len(outcome.outlinks),
    )


def _packed_route(outcome: Outcome) -> Any:
    """Return a request's new lane, its text with that lane, its band there, and the bytes before it."""
    if not outcome.lane:
        return False
    request = request_after(outcome)
    text, head = pack_request(request, outcome.lease.entry.host), _packed_head(request.rank, 0.0)
    return raw_bytes(text_bytes(request.lane)), raw_bytes(text.encode()), request.band, raw_bytes(head)


def packed_release(lease: Lease, signal: HostSignal, token: int) -> tuple[Any, ...]:
    """Return one lease to be given back."""
    return (token, held_by(lease), *_packed_signal(signal))


def _packed_signal(signal: HostSignal) -> tuple[Any, ...]:
    latency_s, retry_after_s, asked = signal.latency_s, signal.retry_after_s, signal.crawl_delay_s
    return (
        _KINDS[signal.kind],
        signal.started_at,
        False if latency_s is None else latency_s,  # nil would leave a hole in Lua's table
        False if retry_after_s is None else retry_after_s,
        signal.robots_read,
        False if asked is None else asked,
    )


def stored_of(element: bytes) -> StoredRequest:
    """Return a request from a queue."""
    number, fingerprint = int.from_bytes(element[:6]), int.from_bytes(element[6:14], signed=True)
    form, at, place = element[14], 15, number
    if form & _RANKED:
        rank, at = int(_RANK.unpack_from(element, at)[0]), at + _RANK.size
        place = rank if rank < 0 else _AFTER_IDS + rank
    if not form & _TRIED:
        return StoredRequest(number, fingerprint, 0.0, 0, 0, 0, 0, "", _decode_text(element[at:]), place)
    due_at, attempts, failures, throttled, expiries, size = _TRIES.unpack_from(element, at)
    at += _TRIES.size
    reason, text = text_of(element[at : at + size]), _decode_text(element[at + size :])
    counts = attempts, failures, throttled, expiries
    return StoredRequest(number, fingerprint, due_at, *counts, reason, text, place)


def _decode_text(stored: bytes) -> str:
    """Return the text of a request; empty for bytes that are not text, which cannot be read."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return ""


def unpack_member(member: bytes) -> tuple[bytes, StoredRequest]:
    """Return the host's key and the request of a delayed one or a dead letter."""
    return member[6:10], stored_of(member[:6] + member[12:])


def leases_of(shown: Sequence[bytes], index: int, of: int) -> Iterator[Lease]:
    """Leases that a script tells of, two strings each; ``index`` and ``of`` say which shard of how many."""
    for head, element in zip(shown[::2], shown[1::2], strict=True):
        granted_at, start_by, deadline, pause_s, standing = _SHOWN.unpack_from(head, 6)
        stored = stored_of(element)
        yield Lease(
            entry=stored.to_entry(text_of(head[6 + _SHOWN.size :])),
            token=int.from_bytes(head[:6]) * of + index,
            granted_at=granted_at,
            start_by=start_by,
            deadline=deadline,
            attempt=stored.attempts + 1,
            failures=stored.failures,
            throttled=stored.throttled,
            expiries=stored.expiries,
            host_down=bool(standing & _DOWN),
            host_answered=bool(standing & _ANSWERED),
            host_pause_s=pause_s,
            is_probe=bool(standing & _TROUBLED),
            host_silent=bool(standing & _SILENT),
            is_suspect=bool(standing & _SUSPECT),
            blames_pages=bool(standing & _BLAMES),
            host_unheard=bool(standing & _UNHEARD),
            asks_known=bool(standing & _KNOWN),
        )


def pace_of(raw: bytes) -> SharedPace:
    """Return the common knowledge of a host."""
    numbers = _PACE.unpack_from(raw)
    next_at, delay_s, crawl_delay_s, incident_at, last_at, hold_until, answered_at, troubled_since = numbers[
        :8
    ]
    pace_s, limit_s, turn_at, incidents, silences, troubled_by, turn_by, _ = numbers[8:]
    claims = (
        JobClaim(
            job=job.decode(),
            until=until,
            started_at=started_at,
            waits_until=waits_until,
            in_flight=in_flight,
            slots=slots,
        )
        for job, until, started_at, waits_until, in_flight, slots in _CLAIM.iter_unpack(raw[_PACE.size :])
    )
    return SharedPace(
        next_at=next_at,
        delay_s=delay_s,
        crawl_delay_s=None if crawl_delay_s < 0 else crawl_delay_s,
        incidents=incidents,
        silences=silences,
        incident_at=incident_at,
        last_at=last_at,
        hold_until=hold_until,
        answered_at=answered_at,
        troubled_since=troubled_since,
        troubled_by=troubled_by,
        pace_s=pace_s,
        limit_s=limit_s,
        turn_at=turn_at,
        turn_by=turn_by.rstrip(b"\0").decode(),
        claims=tuple(claims),
    )


def host_of(raw: bytes) -> HostRow:
    """Return a host."""
    next_at, delay_s, crawl_delay_s, incident_at, last_at, hold_until, *counts = _HOST.unpack_from(raw)
    in_flight, incidents, silences, pages, form, size = counts
    more, slots_at = (0.0, 0.0, 0.0, 0.0, 0), _HOST.size
    if form & _WHOLE:
        more, slots_at = _HOST_MORE.unpack_from(raw, slots_at), slots_at + _HOST_MORE.size
    slots_end = name_at = slots_at + size * _WAITING.size
    waiting_since = 0.0
    if form & _DATED:
        ((waiting_since,), name_at) = _TIME.unpack_from(raw, slots_end), slots_end + _TIME.size
    if form & _LOOKING:
        name_at += _TIME.size
    failed_in_row = blamed = 0
    if form & _BLAMING:
        (failed_in_row, blamed), name_at = _BLAMED.unpack_from(raw, name_at), name_at + _BLAMED.size
    name = text_of(raw[name_at:])
    state = HostState(
        next_at=next_at,
        delay_s=delay_s,
        in_flight=in_flight,
        crawl_delay_s=None if crawl_delay_s < 0 else crawl_delay_s,
        incidents=incidents,
        silences=silences,
        incident_at=incident_at,
        pages=pages,
        last_at=last_at,
        hold_until=hold_until,
        answered_at=more[0],
        troubled_since=more[1],
        pace_s=more[2],
        limit_s=more[3],
        troubled_by=more[4],
        is_paced=bool(form & _PACED),
        is_held=bool(form & _HELD),
        is_skipped=bool(form & _SKIPPED),
        waiting_since=waiting_since,
        is_free=FREE in name,
        failed_in_row=failed_in_row,
        blamed=blamed,
    )
    waiting = tuple(WaitingRow(*slot) for slot in _WAITING.iter_unpack(raw[slots_at:slots_end]))
    return HostRow(name, state, waiting)


def pending_of(raw: bytes) -> int:
    """How much waits for a host, without taking the rest of it apart: many are looked through for a few."""
    form, size = raw[_HOST.size - 2], raw[_HOST.size - 1]
    if not size:
        return 0
    at = _HOST.size + (_HOST_MORE.size if form & _WHOLE else 0)
    slots = _WAITING.iter_unpack(raw[at : at + size * _WAITING.size])
    return sum(listed + back for _, _, listed, back in slots)


def lease_of(raw: bytes) -> LeaseRow:
    """Return a lease that is in force."""
    host, _, _, granted_at, _, _, size = _LEASE.unpack_from(raw)
    at = _LEASE.size
    return LeaseRow(host, granted_at, raw[at : at + size], raw[at + size :])
