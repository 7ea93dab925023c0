"""Decision about a request after a fault. Pure; the numbers are in :class:`FrontierRules`.

The remedy for a fault, and its meaning for the host, are in the table of ``policy.faults``. A missing answer
counts against the host while it answers no request, and against the request otherwise.
"""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime

from gossamer.core.errors import Fault
from gossamer.core.hosts import FrontierRules, HostSignalKind
from gossamer.core.record import Record
from gossamer.core.requests import IDEMPOTENT, Entry, Lease
from gossamer.core.results import Verdict
from gossamer.policy.domains import find_domain
from gossamer.policy.faults import FAULTS, FaultKind

REFUSALS_OF_A_PAGE = 3
"""Refusals of one page from which on they are not the host's way of slowing a crawl down."""
MOST_PAUSES = 30
"""Pauses of its host for which a request that keeps failing as a probe lets others go first."""
LONGEST_PAUSE_S = 60.0
"""Most seconds between two looks at a host that is in trouble, unless it names a time."""
_MAYBE_RECEIVED = frozenset({Fault.CONNECT, Fault.TIMEOUT_HEADERS})
"""Faults after which the server may have performed the request."""
_MAY_PASS = frozenset({FaultKind.TRANSIENT, FaultKind.STEP, FaultKind.OVERLOAD})


class RetryDecision(Record, frozen=True, kw_only=True):
    """The verdict, and for a retry its time and the account it is charged to (``Outcome``)."""

    verdict: Verdict
    due_at: float = 0.0
    charged: bool = True
    is_excused: bool = False


def backoff_s(nth: int, rules: FrontierRules, jitter: float) -> float:
    """Exponential back-off before the ``nth`` retry (1 = first), spread over its upper half."""
    return growing_pause_s(nth, rules.backoff_base_s, rules.backoff_cap_s, jitter)


def growing_pause_s(nth: int, base_s: float, cap_s: float, jitter: float) -> float:
    """The ``nth`` of pauses that double from ``base_s`` up to ``cap_s``.

    Equal jitter: between half and the whole of ``base_s * 2 ** (nth - 1)``, capped
    (Brooker, "Exponential Backoff And Jitter", 2015).
    """
    whole = min(base_s * 2.0 ** min(nth - 1, 60), cap_s)
    return whole / 2 + whole / 2 * jitter


def due_after_expiry(fingerprint: int, expiries: int, rules: FrontierRules, now: float) -> float:
    """When a request may go again whose worker never came back with it, for the ``expiries``-th time.

    It may be what takes workers down, so it waits longer each time; and the requests that were lost with it
    are spread apart (by their fingerprints), so that innocent ones do not share its fate again and again.
    """
    return now + backoff_s(expiries, rules, (fingerprint & 0xFFFF) / 0x10000)


def decide_retry(
    fault: Fault,
    lease: Lease,
    rules: FrontierRules,
    *,
    now: float,
    jitter: float,
    retry_after_s: float | None = None,
) -> RetryDecision:
    """Decide about the lease's request. ``jitter`` is uniform in [0, 1)."""
    kind = FAULTS[fault].kind
    if kind is FaultKind.SETTLED:
        return RetryDecision(verdict=Verdict.SKIPPED)
    if kind is FaultKind.MACHINE:
        return _when_machine_can(lease, rules, now=now, jitter=jitter, retry_after_s=retry_after_s)
    if fault in _MAYBE_RECEIVED and _is_for_once(lease, rules):
        return RetryDecision(verdict=Verdict.DEAD)
    if _is_hosts(fault, lease, rules):
        return _retry_later(fault, lease, rules, now=now, jitter=jitter, retry_after_s=retry_after_s)
    may_pass = kind in _MAY_PASS or kind is FaultKind.THROTTLED or is_unanswered(fault, lease)
    if may_pass and lease.failures < most_retries(lease.entry, rules):
        nth = lease.failures + 1 + is_unanswered(fault, lease)  # others go before it: see `_later`
        wait = backoff_s(nth, rules, jitter)
        if retry_after_s is not None:
            wait = max(wait, min(max(retry_after_s, 0.0), rules.retry_after_cap_s))
        return RetryDecision(verdict=Verdict.RETRY, due_at=now + wait)
    return RetryDecision(verdict=Verdict.DEAD)


def _is_for_once(lease: Lease, rules: FrontierRules) -> bool:
    """Whether a request must not be sent twice: it says so, and does something by its method."""
    return lease.entry.request.method not in IDEMPOTENT and not most_retries(lease.entry, rules)


def most_retries(entry: Entry, rules: FrontierRules) -> int:
    """How many failures may be charged to a request: by itself, else the rules of its domain, or of all."""
    if entry.request.max_retries is not None:
        return entry.request.max_retries
    own = find_domain(rules.domains, entry.host) if rules.domains else None
    return rules.max_retries if own is None or own.max_retries is None else own.max_retries


def is_unanswered(fault: Fault, lease: Lease) -> bool:
    """Whether nothing came back and something may later; a name that was never found is hopeless."""
    kind = FAULTS[fault].kind
    return kind is FaultKind.UNANSWERED or (kind is FaultKind.NAMELESS and lease.host_answered)


def _is_hosts(fault: Fault, lease: Lease, rules: FrontierRules) -> bool:
    """Whether a failure is the host's, and not charged to the page.

    Where pages are known to be the cause it is not, but for the first one of a page that has only that.

    A page whose host was well when it was handed out meets, the first time, maybe the beginning of an outage.
    A host that has never answered has no outage: most of those are dead links.
    """
    kind = FAULTS[fault].kind
    if lease.blames_pages and (lease.throttled or lease.failures or most_retries(lease.entry, rules)):
        return False
    if kind is FaultKind.OVERLOAD:
        is_overload = lease.is_probe and not lease.is_suspect
        return is_overload or lease.throttled < REFUSALS_OF_A_PAGE
    if is_unanswered(fault, lease):
        is_outage = lease.is_probe and not (lease.is_suspect and lease.failures)
        return lease.host_answered and (is_outage or lease.throttled == 0)
    return kind is FaultKind.THROTTLED


def _when_machine_can(
    lease: Lease, rules: FrontierRules, *, now: float, jitter: float, retry_after_s: float | None
) -> RetryDecision:
    """Again at no charge, with pauses that grow, for as long as a host has to come back."""
    cap_s = min(rules.backoff_cap_s, LONGEST_PAUSE_S)
    wait = growing_pause_s(lease.attempt, rules.backoff_base_s, cap_s, jitter)
    if retry_after_s is not None:
        wait = max(wait, min(max(retry_after_s, 0.0), rules.retry_after_cap_s))
    is_excused = lease.attempt * max(cap_s, 1.0) < rules.host_patience_s
    return _at_no_charge(lease, rules, due_at=now + wait, is_excused=is_excused)


def _at_no_charge(lease: Lease, rules: FrontierRules, *, due_at: float, is_excused: bool) -> RetryDecision:
    """Again, unless the page was put off too often without an excuse."""
    if not is_excused and lease.throttled >= rules.max_throttled:
        return RetryDecision(verdict=Verdict.DEAD)
    return RetryDecision(verdict=Verdict.RETRY, due_at=due_at, charged=False, is_excused=is_excused)


def _retry_later(
    fault: Fault,
    lease: Lease,
    rules: FrontierRules,
    *,
    now: float,
    jitter: float,
    retry_after_s: float | None,
) -> RetryDecision:
    """Again at no charge; bounded, unless other requests have met the same trouble of the host.

    The request waits longer than its host, and longer each time, so that others are the next probes: were it
    one of the pages that always fail, the host would never be seen well again.
    """
    is_probe = lease.is_probe and not lease.is_suspect
    has_asked = FAULTS[fault].kind is FaultKind.THROTTLED
    nth, base_s = lease.throttled + 1 + (not has_asked), rules.backoff_base_s
    cap_s = min(rules.backoff_cap_s, LONGEST_PAUSE_S)
    if is_probe:
        times = min(lease.attempt, MOST_PAUSES)
        nth, base_s, cap_s = 1, lease.host_pause_s * 2 * times, cap_s * max(2, times)
    after_host_s = min(lease.host_pause_s * (1.0 + jitter), max(cap_s, lease.host_pause_s))
    wait = growing_pause_s(nth, base_s, cap_s, jitter)
    if retry_after_s is not None:
        asked_s = min(max(retry_after_s, 0.0), rules.retry_after_cap_s)
        wait = asked_s if has_asked and not lease.throttled else max(wait, asked_s)
    wait = max(wait, after_host_s)
    return _at_no_charge(lease, rules, due_at=now + wait, is_excused=is_probe and not has_asked)


def signal_kind(fault: Fault) -> HostSignalKind:
    """Return the evidence of a fault about the host."""
    return FAULTS[fault].signal


def fault_of_status(status: int) -> Fault | None:
    """The fault that an HTTP status means, ``None`` for a success or a redirect (RFC 9110, 6585).

    503 is what servers say that limit the rate of requests (nginx's ``limit_req`` by default, without a
    Retry-After), as much as those that are down for maintenance: the same is right for both.
    """
    if status < 400:
        return None
    if status in (429, 503):
        return Fault.THROTTLED
    if status in (404, 410):
        return Fault.GONE
    if status in (502, 504):
        return Fault.GATEWAY
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
        at = parsedate_to_datetime(value)
        # Without a zone it is asctime's form, or says `-0000`: both are UTC.
        return max((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
