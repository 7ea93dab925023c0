"""The rows of any ledger as records, and how it is read: in rounds, so that it need not fit into memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from gossamer.core.requests import RequestPreview
from gossamer.core.results import Attempt, Verdict
from gossamer.policy import urls

ROUND = 1000
"""Rows read at a time."""
LATEST = 100_000
"""Rows among which one is looked for that was written a moment ago: a large ledger is not searched."""
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
    """What the ledger keeps of an attempt's request, as the text of its column."""
    return "" if attempt.request is None else _encode(attempt.request).decode("utf-8", "replace")


async def latest_attempts(
    older_than: Callable[[int, int], Awaitable[Sequence[Any]]], limit: int, host: str
) -> list[Attempt]:
    """The latest tries at a host (empty: any), newest first.

    ``older_than(id, count)`` reads so many rows below an id, newest first, each with its own id before the
    columns of :func:`attempt_of`.
    """
    found: list[Attempt] = []
    last = NEWEST
    while len(found) < limit:
        rows = await older_than(last, ROUND)
        tries = (attempt_of(row[1:]) for row in rows)
        found += [tried for tried in tries if not host or urls.host_key(tried.url) == host]
        if len(rows) < ROUND:
            break
        last = rows[-1][0]
    return found[:limit]
