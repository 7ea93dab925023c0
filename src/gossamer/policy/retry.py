"""What becomes of a request after a fault. Pure; the numbers are in :class:`Rules`.

Faults fall into classes by what helps: *later* (the host asked for time, or this machine has trouble of its
own: not the request's fault),
*again* (transient: charged to the request, with back-off), *never* (give up at once), and *settled*
(an answer that will not change and is nobody's failure: gone, robots, out of scope).
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime

from gossamer.words.errors import Fault
from gossamer.words.model import Lease, Record, Rules, SignalKind, Verdict

LATER = frozenset({Fault.THROTTLED, Fault.LOCAL})
AGAIN = frozenset(
    {
        Fault.DNS_TEMPORARY,
        Fault.CONNECT,
        Fault.TIMEOUT_CONNECT,
        Fault.TIMEOUT_HEADERS,
        Fault.TIMEOUT_BODY,
        Fault.INCOMPLETE,
        Fault.PROTOCOL,
        Fault.SERVER,
        Fault.MISSING,
        Fault.PIPELINE,
        Fault.ROBOTS_UNREACHABLE,
        Fault.PARSE_INTERRUPTED,
    }
)
SETTLED = frozenset({Fault.GONE, Fault.ROBOTS, Fault.OUT_OF_SCOPE})
UNREACHABLE = frozenset(
    {Fault.DNS, Fault.DNS_TEMPORARY, Fault.CONNECT, Fault.TIMEOUT_CONNECT, Fault.TIMEOUT_HEADERS}
)
"""Faults of the host, not of the page: its other pages wait, and are given up when it stays silent."""

UNTOUCHED = frozenset(
    {
        Fault.LOCAL,
        Fault.GUARD,
        Fault.BAD_URL,
        Fault.NOT_ARCHIVED,
        Fault.OUT_OF_SCOPE,
        Fault.ROBOTS,
        Fault.HOST_DOWN,
        Fault.PIPELINE,
    }
)
"""Faults that say nothing of the host: found before it was spoken to, or after it had done its part."""


class Decision(Record, frozen=True, kw_only=True):
    """What is to be done: the verdict, and for a retry its time and whether it is charged."""

    verdict: Verdict
    due_at: float = 0.0
    charged: bool = True


def backoff_s(nth: int, rules: Rules, jitter: float) -> float:
    """Exponential back-off before the ``nth`` retry (1 = first), spread over its upper half.

    Equal jitter: between half and the whole of ``base * 2 ** (nth - 1)``, capped
    (Brooker, "Exponential Backoff And Jitter", 2015).
    """
    whole = min(rules.backoff_base_s * 2.0 ** min(nth - 1, 60), rules.backoff_cap_s)
    return whole / 2 + whole / 2 * jitter


def due_after_expiry(fingerprint: int, expiries: int, rules: Rules, now: float) -> float:
    """When a request may go again whose worker never came back with it, for the ``expiries``-th time.

    It may be what takes workers down, so it waits longer each time; and the requests that were lost with it
    are spread apart (by their fingerprints), so that innocent ones do not share its fate again and again.
    """
    return now + backoff_s(expiries, rules, (fingerprint & 0xFFFF) / 0x10000)


def decide(
    fault: Fault,
    lease: Lease,
    rules: Rules,
    *,
    now: float,
    jitter: float,
    retry_after_s: float | None = None,
) -> Decision:
    """What becomes of the lease's request. ``jitter`` is uniform in [0, 1)."""
    if fault in SETTLED:
        return Decision(verdict=Verdict.SKIPPED)
    if fault in LATER:
        if lease.throttled >= rules.max_throttled:
            return Decision(verdict=Verdict.DEAD)
        wait = (
            backoff_s(lease.throttled + 1, rules, jitter)
            if retry_after_s is None
            else max(retry_after_s, 0.0)
        )
        return Decision(verdict=Verdict.RETRY, due_at=now + min(wait, rules.retry_after_cap_s), charged=False)
    if fault in AGAIN and lease.failures < rules.max_retries:
        wait = backoff_s(lease.failures + 1, rules, jitter)
        if retry_after_s is not None:
            wait = max(wait, min(max(retry_after_s, 0.0), rules.retry_after_cap_s))
        return Decision(verdict=Verdict.RETRY, due_at=now + wait)
    return Decision(verdict=Verdict.DEAD)


def signal_kind(fault: Fault) -> SignalKind:
    """What a fault says of the host."""
    if fault in UNTOUCHED:
        return SignalKind.UNUSED
    if fault in LATER:
        return SignalKind.THROTTLED
    return SignalKind.UNREACHABLE if fault in UNREACHABLE else SignalKind.FAULT


def fault_of_status(status: int, *, has_retry_after: bool) -> Fault | None:
    """The fault that an HTTP status means, ``None`` for a success or a redirect (RFC 9110, 6585)."""
    if status < 400:
        return None
    if status == 429 or (status == 503 and has_retry_after):
        return Fault.THROTTLED
    if status in (404, 410):
        return Fault.GONE
    if status in (408, 425) or status >= 500:
        return Fault.SERVER
    return Fault.CLIENT


def parse_retry_after(value: str, now: float) -> float | None:
    """Seconds to wait by a Retry-After header (RFC 9110, 10.2.3): seconds or an HTTP date.

    ``None`` for junk. Negative waits are zero; the cap is the caller's.
    """
    value = value.strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        return max(parsedate_to_datetime(value).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
