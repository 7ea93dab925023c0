"""How well proxies do, and which are left alone for a time.

Two things are kept apart. A proxy that is out of order is left alone altogether; one that a site blocks is
left alone for that site only. Each such *quarantine* is longer than the one before it when the trouble comes
back soon, and ends with a *canary*: one request alone, whose answer lets the others in again. Trouble of
requests that were started before a quarantine began belongs to it, however many they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.record import Record, Time
from gossamer.core.routes import RouteReport
from gossamer.policy.faults import UNREACHABLE

OTHER_KIND = "other"
"""The kind of proxies without a stated kind."""
BLOCK_S = {"datacenter": 1800.0, "residential": 120.0, "mobile": 60.0, OTHER_KIND: 600.0}
"""The first quarantine of a proxy from a host that blocks it. Behind an address of a home or a phone are many
people, one after the other; that of a server stays the same."""
FAILURE_S = {"datacenter": 30.0, "residential": 15.0, "mobile": 15.0, OTHER_KIND: 30.0}
"""The first quarantine of a proxy that is out of order."""
CANARY_S = 30.0
"""For so long a request that tries a proxy out keeps others away from it, unless it ends sooner."""
LOOK_AGAIN_S = 5.0
"""When to ask again for a proxy that is just being tried out, in seconds."""
MOST_DOUBLINGS = 6
"""A quarantine grows to 64 times its first length."""
MAX_HOSTS = 100
"""Maximum number of hosts remembered as blocking a proxy; those whose quarantine ends first are dropped."""
FAILURES_OF_THE_DEAD = 3
"""A proxy that was out of order so often in a row is not waited for where a host refuses all others."""
MAX_SILENCES = 3
"""Number of requests in a row without an answer after which the proxy is blamed."""


class ProxyOutcome(StrEnum):
    """The evidence of a request about its proxy."""

    ANSWERED = "answered"  # the host answered through it, and let us in
    BLOCKED = "blocked"  # the host answered through it, and refuses us
    FAILED = "failed"  # the proxy itself is out of order, or refuses us
    STALLED = "stalled"  # this host does not answer through it
    SILENT = "silent"  # no answer, which may be the fault of either
    DOUBTED = "doubted"  # an error, which may be of either


class QuarantineRules(Record, frozen=True, kw_only=True):
    """For how long proxies are left alone the first time, by their kind, where it is not as in the table."""

    block_s: dict[str, float] = {}
    failure_s: dict[str, float] = {}
    max_s: float = 86_400.0  # the longest that any of them is left alone

    def length_s(self, outcome: ProxyOutcome, kind: str, strikes: int) -> float:
        """The length of a quarantine, the ``strikes``-th in a row."""
        is_block = outcome is ProxyOutcome.BLOCKED
        lengths = BLOCK_S | self.block_s if is_block else FAILURE_S | self.failure_s
        first_s = lengths.get(kind, lengths[OTHER_KIND])
        return min(first_s * 2.0 ** min(strikes - 1, MOST_DOUBLINGS), self.max_s)


class Quarantine(Record, frozen=True, kw_only=True):
    """A time during which a proxy is left alone, for one host or altogether."""

    strikes: int  # how many there were in a row, this one included
    began_at: Time
    until: Time  # from then on a canary may try
    claimant: str = ""  # whose request is the canary
    claimed_until: Time = 0.0
    ended_at: Time = 0.0  # when an answer ended it; 0: it has not ended
    is_block: bool = False  # a host refuses the proxy; else it does not work, or not for the host


class ProxyHealth(Record, frozen=True, kw_only=True):
    """The shared state of one proxy across all workers."""

    answers: int = 0  # requests that were answered through it, blocks not included
    blocks: int = 0  # requests that a host refused
    failures: int = 0  # requests that the proxy failed
    latency_s: float = 0.0  # a moving average, up to the end of the header
    quarantines: int = 0  # how many there were so far, at single hosts too
    whole: Quarantine | None = None  # the latest one from all hosts
    hosts: dict[str, Quarantine] = {}  # the latest one from each host

    @property
    def uses(self) -> int:
        """How many requests went through it."""
        return self.answers + self.blocks + self.failures


UNKNOWN = ProxyHealth()
"""The health of an unused proxy."""


# --------------------------------------------------------------------------- what came of a request


def outcome_of(report: RouteReport) -> ProxyOutcome | None:
    """Return the evidence of a visit about its proxy; ``None`` without any."""
    reason = report.result.outcome.reason
    if report.route.proxy is None:
        return None
    if reason == Fault.PROXY:
        return ProxyOutcome.FAILED
    if reason == Fault.PROXY_ANSWER:
        return ProxyOutcome.DOUBTED
    if report.block is not None or reason == Fault.BLOCKED:
        return ProxyOutcome.BLOCKED
    if report.fetched is not None:
        return ProxyOutcome.ANSWERED if report.fetched.status < 500 else None
    return ProxyOutcome.SILENT if reason in UNREACHABLE or reason == Fault.TIMEOUT_BODY else None


def judge_silence(hosts: Collection[str]) -> ProxyOutcome:
    """Judge requests in a row without an answer by their hosts."""
    if len(hosts) < MAX_SILENCES:
        return ProxyOutcome.SILENT
    return ProxyOutcome.STALLED if len(set(hosts)) == 1 else ProxyOutcome.FAILED


def changes_quarantine(health: ProxyHealth, host: str, outcome: ProxyOutcome) -> bool:
    """Whether an outcome does more than to be counted."""
    if outcome in (ProxyOutcome.SILENT, ProxyOutcome.DOUBTED):
        return False
    return outcome is not ProxyOutcome.ANSWERED or bool(_in_force(health, host))


def apply_outcome(
    health: ProxyHealth,
    host: str,
    outcome: ProxyOutcome,
    *,
    kind: str,
    started_at: float,
    now: float,
    rules: QuarantineRules,
) -> ProxyHealth:
    """The quarantines after a request of ``host`` that was started at ``started_at``. Counts nothing."""
    if outcome in (ProxyOutcome.SILENT, ProxyOutcome.DOUBTED):
        return health
    is_whole = outcome is ProxyOutcome.FAILED
    whole, at_host = health.whole, health.hosts.get(host)
    if outcome in (ProxyOutcome.ANSWERED, ProxyOutcome.BLOCKED) and whole is not None:
        whole = _end(whole, started_at, now)  # whatever the host said, it came through
    if outcome is ProxyOutcome.ANSWERED:
        at_host = at_host and _end(at_host, started_at, now)
        return _with_quarantines(health, whole, host, at_host)
    strikes = _next_strike(whole if is_whole else at_host, started_at, now)
    if strikes:
        length_s = rules.length_s(outcome, kind, strikes)
        is_block = outcome is ProxyOutcome.BLOCKED
        struck = Quarantine(strikes=strikes, began_at=now, until=now + length_s, is_block=is_block)
        whole, at_host = (struck, at_host) if is_whole else (whole, struck)
        health = replace(health, quarantines=health.quarantines + 1)
    return _with_quarantines(health, whole, host, at_host)


def pardon_host(health: ProxyHealth, host: str, now: float) -> ProxyHealth:
    """The same without a quarantine from a host, which was not the proxy's fault."""
    at_host = health.hosts.get(host)
    if at_host is None or at_host.ended_at:
        return health
    ended = replace(at_host, strikes=0, ended_at=now, claimant="", claimed_until=0.0)
    return replace(health, hosts={**health.hosts, host: ended})


def _with_quarantines(
    health: ProxyHealth, whole: Quarantine | None, host: str, at_host: Quarantine | None
) -> ProxyHealth:
    if at_host is health.hosts.get(host):
        return replace(health, whole=whole)
    hosts = health.hosts if at_host is None else {**health.hosts, host: at_host}
    return replace(health, whole=whole, hosts=_trim_hosts(hosts))


def _next_strike(quarantine: Quarantine | None, started_at: float, now: float) -> int:
    """The number of a quarantine that begins now; 0: the trouble belongs to the one there is or was."""
    if quarantine is None:
        return 1
    if not quarantine.ended_at:
        return quarantine.strikes + 1 if started_at >= quarantine.until else 0
    if started_at < quarantine.ended_at:
        return 0
    is_relapse = now - quarantine.ended_at < quarantine.until - quarantine.began_at
    return quarantine.strikes + 1 if is_relapse else 1


def _end(quarantine: Quarantine, started_at: float, now: float) -> Quarantine:
    """The same, ended by the answer to a request that was started while it lasted, or after it."""
    if quarantine.ended_at or started_at < quarantine.began_at:
        return quarantine
    return replace(quarantine, ended_at=now, claimant="", claimed_until=0.0)


def _trim_hosts(hosts: dict[str, Quarantine]) -> dict[str, Quarantine]:
    """The hosts that are remembered: those where a quarantine lasts longest."""
    if len(hosts) <= MAX_HOSTS:
        return hosts
    last = sorted(hosts, key=lambda host: (not hosts[host].ended_at, hosts[host].until))
    return {host: hosts[host] for host in last[-MAX_HOSTS:]}


# --------------------------------------------------------------------------- who may be asked


def _in_force(health: ProxyHealth, host: str) -> list[Quarantine]:
    """The quarantines that keep a proxy from a host, or wait for a canary."""
    both = (health.whole, health.hosts.get(host))
    return [quarantine for quarantine in both if quarantine is not None and not quarantine.ended_at]


def wait_s_of(health: ProxyHealth, host: str, now: float) -> float:
    """For how long a proxy may not be used for a host; 0: it may, though perhaps by a canary only."""
    waits = [0.0]
    for quarantine in _in_force(health, host):
        if now < quarantine.until:
            waits.append(quarantine.until - now)
        elif now < quarantine.claimed_until:
            waits.append(min(quarantine.claimed_until - now, LOOK_AGAIN_S))
    return max(waits)


def is_on_trial(health: ProxyHealth, host: str) -> bool:
    """Whether the next request of a host through this proxy is a canary."""
    return bool(_in_force(health, host))


def count_refusals(healths: Iterable[ProxyHealth], host: str, now: float) -> int:
    """How often in a row a host has refused every proxy that works; 0: one may be welcome, or none works."""
    refusals = []
    for health in healths:
        refused = _strikes_of_host(health, host, now)
        if refused:
            refusals.append(refused)
        elif not _is_dead(health, host, now):
            return 0
    return min(refusals, default=0)


def count_refused(healths: Iterable[ProxyHealth], host: str, now: float) -> int:
    """How many proxies the host refuses, as far as is known."""
    return sum(_strikes_of_host(health, host, now) > 0 for health in healths)


def _strikes_of_host(health: ProxyHealth, host: str, now: float) -> int:
    """How often in a row a host has refused a proxy; 0: it may be welcome, as one that is being tried out."""
    resting = (one.strikes for one in _in_force(health, host) if one.is_block and now < one.until)
    return next(resting, 0)


def _is_dead(health: ProxyHealth, host: str, now: float) -> bool:
    """Whether a proxy rests that was out of order several times in a row."""
    in_force = _in_force(health, host)
    return any(one.strikes >= FAILURES_OF_THE_DEAD and now < one.until for one in in_force)


def claim_canary(health: ProxyHealth, host: str, claimant: str, now: float) -> ProxyHealth:
    """The same, with the canary claimed; unchanged where it may not be tried."""
    if wait_s_of(health, host, now):
        return health

    def claim(quarantine: Quarantine) -> Quarantine:
        if quarantine.ended_at:
            return quarantine
        return replace(quarantine, claimant=claimant, claimed_until=now + CANARY_S)

    whole = None if health.whole is None else claim(health.whole)
    hosts = {name: claim(one) if name == host else one for name, one in health.hosts.items()}
    return replace(health, whole=whole, hosts=hosts)


def has_canary(health: ProxyHealth, host: str, claimant: str) -> bool:
    """Whether the request of this claimant may go through: it is the canary, or none is needed."""
    return all(quarantine.claimant == claimant for quarantine in _in_force(health, host))


def release_canary(health: ProxyHealth, claimant: str) -> ProxyHealth:
    """Return the health without the claims of a claimant whose request had no result."""

    def release(quarantine: Quarantine) -> Quarantine:
        is_held = claimant and quarantine.claimant == claimant
        return replace(quarantine, claimant="", claimed_until=0.0) if is_held else quarantine

    whole = None if health.whole is None else release(health.whole)
    return replace(health, whole=whole, hosts={name: release(one) for name, one in health.hosts.items()})
