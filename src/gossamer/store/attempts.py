"""The rows of any ledger as records, and how it is read: in rounds, so that it need not fit into memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import asdict

from gossamer.core.requests import RequestPreview
from gossamer.core.results import Attempt, AttemptFilter, AttemptRows, NumberedAttempt, Verdict
from gossamer.policy import urls

ROUND = 1000
"""Rows read at a time."""
LATEST = 100_000
"""Rows among which one is looked for that was written a moment ago: a large ledger is not searched."""
SLICE = 20_000
"""Rows that are looked at by one statement, at most."""
SLICES = 3
"""Such statements for one part of a ledger: what fits a filter may be rare."""
SLACK_S = 600.0
"""So long after it began an attempt is written, at the latest: it has to end, and the store to be there."""
NEWEST = 2**63 - 1
"""Larger than the id of any row."""

_encode = msgspec.json.Encoder().encode
_decode: Callable[[str], RequestPreview] = msgspec.json.Decoder(RequestPreview).decode


def attempt_of(row: Sequence[Any]) -> Attempt:
    """The record of a row: ``at, url, fingerprint, verdict, reason, detail, attempt, status, size_bytes,
    elapsed_ms, worker, rung, depth, via, method, flags, request, proxy, session, cost, wire_bytes, address``.
    """
    at, url, fingerprint, verdict, reason, detail, attempt, status, size, elapsed_ms = row[:10]
    worker, rung, depth, via, method, flags, request = row[10:17]
    proxy, session, cost, wire_bytes, address = row[17:]
    return Attempt(
        at=at,
        url=url,
        fingerprint=fingerprint,
        verdict=Verdict(verdict),
        reason=reason,
        detail=detail,
        attempt=attempt,
        status=status,
        size_bytes=size,
        elapsed_ms=elapsed_ms,
        worker=worker,
        rung=rung,
        depth=depth,
        via=via,
        method=method,
        flags=tuple(flags.split()),
        request=_decode(request) if request else None,
        proxy=proxy,
        session=session,
        cost=cost,
        wire_bytes=wire_bytes,
        address=address,
    )


def packed_request(attempt: Attempt) -> str:
    """Return an attempt's request as the text of the ledger's column."""
    return "" if attempt.request is None else _encode(attempt.request).decode("utf-8", "replace")


async def latest_attempts(
    older_than: Callable[[int, int], Awaitable[Sequence[Any]]], limit: int, host: str
) -> list[Attempt]:
    """Return the latest tries at a host (empty: any), newest first.

    ``older_than(id, count)`` reads up to ``count`` rows below an id, newest first, each with its own id
    before the columns of :func:`attempt_of`.
    """
    found: list[Attempt] = []
    last = NEWEST
    while len(found) < limit:
        wanted = ROUND if host else min(ROUND, limit - len(found))
        rows = await older_than(last, wanted)
        tries = (attempt_of(row[1:]) for row in rows)
        found += [tried for tried in tries if not host or urls.host_key(tried.url) == host]
        if len(rows) < wanted:
            break
        last = rows[-1][0]
    return found[:limit]


class LedgerRows(Protocol):
    """How a part of one job's ledger is read, as far as a filter has an index."""

    async def read_slice(self, before: int, count: int) -> Sequence[Any]:
        """Return the matching rows among the newest ``SLICE`` rows below an id, ``count`` at most.

        Newest first, each with its own id before the columns of :func:`attempt_of`.
        """
        ...

    async def find_edge(self, before: int) -> tuple[int, float] | None:
        """Return the oldest of these rows, with its time; ``None``: there are fewer than ``SLICE``."""
        ...

    async def find_below(self, number: int) -> tuple[int, float] | None:
        """Return the newest row below an id, with its time."""
        ...


async def page_attempts(
    rows: LedgerRows, limit: int, which: AttemptFilter, before: int | None
) -> AttemptRows:
    """Return a part of a ledger."""
    last = NEWEST if before is None else before
    if which.until is not None:
        last = min(last, await _find_time(rows, which.until + SLACK_S))
    found: list[NumberedAttempt] = []
    for _ in range(SLICES):
        wanted = limit + 1 - len(found)
        fitting = await rows.read_slice(last, wanted)
        tries = [NumberedAttempt(id=row[0], **asdict(attempt_of(row[1:]))) for row in fitting]
        found += [tried for tried in tries if not which.host or urls.host_key(tried.url) == which.host]
        if len(found) > limit:
            return AttemptRows(attempts=tuple(found[:limit]), next_before=found[limit - 1].id)
        if len(fitting) == wanted:
            last = fitting[-1][0]
            continue
        edge = await rows.find_edge(last)
        if edge is None or (which.since is not None and edge[1] < which.since - SLACK_S):
            return AttemptRows(attempts=tuple(found))
        last = edge[0]
    return AttemptRows(attempts=tuple(found), next_before=last)


async def _find_time(rows: LedgerRows, at: float) -> int:
    """Return an id such that all rows below it began before a time, and few above: ids ascend with time."""
    newest = await rows.find_below(NEWEST)
    if newest is None or newest[1] < at:
        return NEWEST
    low, high = 0, newest[0] + 1
    while low < high:
        middle = (low + high) // 2
        row = await rows.find_below(middle + 1)
        if row is not None and row[1] >= at:
            high = row[0]
        else:
            low = middle + 1
    return low
