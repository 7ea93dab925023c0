"""Hosts: the rules for requests to them, and their state."""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.record import Record

FREE = "/"
"""Marks the name of a queue without a host: its requests need no politeness."""

# --------------------------------------------------------------------------- hosts and rules


class DomainRules(Record, frozen=True, kw_only=True):
    """Rules for the hosts of one domain that replace the general ones."""

    delay_s: float | None = None
    per_host: int | None = None
    max_retries: int | None = None


class FrontierRules(Record, frozen=True, kw_only=True):
    """A job's rules for its frontier, stored with its requests; ``change_rules`` changes them."""

    delay_s: float | None = None  # None: follow the host's response time
    min_delay_s: float = 0.1  # bounds of the adaptive delay
    max_delay_s: float = 30.0
    initial_delay_s: float = 0.2  # adaptive delay before anything is known of the host
    per_host: int = 1  # requests in flight per host
    crawl_delay_cap_s: float = 30.0
    retry_after_cap_s: float = 3600.0
    backoff_base_s: float = 1.0  # first back-off of a failing request or host
    backoff_cap_s: float = 300.0
    max_retries: int = 3  # failures charged to a request before it is given up
    max_throttled: int = 20  # "later" answers to one request before it is given up
    max_expiries: int = 10  # workers that one request may take down before it is given up
    host_patience_s: float = 21_600.0  # how long a host that has answered before may be in trouble
    max_silences: int = 8  # incidents in a row after which a host that has never answered is given up
    max_pages: int | None = None  # pages of the job (responses parsed)
    max_pages_per_host: int | None = None
    max_depth: int | None = None
    random_delay: bool = False  # spread each configured delay over 0.5 to 1.5 times its length
    domains: dict[str, DomainRules] = {}  # by domain, for the hosts in it; the longest one counts


class HostState(Record, frozen=True, kw_only=True):
    """A frontier's state of one host; changed only by ``policy.politeness``."""

    next_at: float = 0.0  # the next allowed start (the theoretical arrival time of GCRA, ITU-T I.371)
    delay_s: float = 0.0  # the delay in force now
    in_flight: int = 0
    crawl_delay_s: float | None = None  # from robots.txt, capped
    incidents: int = 0  # consecutive troubles of the host; 0 when it is well
    silences: int = 0  # consecutive incidents in which the host did not answer at all; 0 when it refuses
    incident_at: float = 0.0  # when the last one began: failures started before it belong to it
    pages: int = 0  # pages of this host that count against its budget
    last_at: float = 0.0  # the latest start that is known to have been made
    hold_until: float = 0.0  # no start before this, whatever turns are given back
    answered_at: float = 0.0  # when its latest answer was settled; 0: it has never answered
    troubled_since: float = 0.0  # since when the host has only refused; 0: it answers
    troubled_by: int = 0  # the mark of the one request that has met this trouble; 0: several, 1: no witness
    pace_s: float = 0.0  # seconds between two starts while it throttles, if that is more than the delay
    limit_s: float = 0.0  # the spacing at which it throttled last
    is_paced: bool = False  # a person set ``delay_s``; it does not adapt
    is_held: bool = False  # a person set ``hold_until``
    is_skipped: bool = False  # a person skips the host: its requests stay queued
    waiting_since: float = 0.0  # since when something waits for it without a break; decides nothing
    is_free: bool = False  # a queue without a host (``FREE`` is in its name): no delay, slots or page budget
    taken: int = 0  # slots that other jobs have, or are to have
    look_at: float = 0.0  # no turn before this time, because other jobs share the host
    own_delay_s: float | None = None  # the delay that the rules have for its domain
    own_slots: int | None = None  # the slots that the rules have for its domain
    failed_in_row: int = 0  # pages without a proper answer since the latest one, up to ``MOST_IN_ROW``
    blamed: int = 0  # proofs that failures are the pages' own, less those that they are not (``PROVEN``)


class JobClaim(Record, frozen=True, kw_only=True):
    """One job's share of a host that several jobs crawl."""

    job: str  # the frontier's identity
    in_flight: int = 0
    until: float = 0.0  # so long its requests in flight count; later on their leases have run out
    slots: int = 1  # requests at once that the job allows
    started_at: float = 0.0  # when it took its latest turn
    waits_until: float = 0.0  # so long others leave it the next turn; 0: it does not wait for one


class SharedPace(Record, frozen=True, kw_only=True):
    """The shared state of one host across jobs; changed only by ``policy.host_sharing``.

    Fields that :class:`HostState` also has mean the same.
    """

    next_at: float = 0.0
    delay_s: float = 0.0  # that follows the response time
    crawl_delay_s: float | None = None
    incidents: int = 0
    silences: int = 0
    incident_at: float = 0.0
    last_at: float = 0.0
    hold_until: float = 0.0
    answered_at: float = 0.0
    troubled_since: float = 0.0
    troubled_by: int = 0
    pace_s: float = 0.0
    limit_s: float = 0.0
    turn_at: float = 0.0  # when the latest turn began
    turn_by: str = ""  # the job that took it
    claims: tuple[JobClaim, ...] = ()


class HostCommand(StrEnum):
    """A command for one host of a job."""

    PACE = "pace"  # another delay than the job's; without one, the job's again
    HOLD = "hold"  # nothing before a certain time
    ASK = "ask"  # ends a hold, and the host's own pause: its next turn is as soon as its delay allows
    SKIP = "skip"  # nothing at all; its requests stay where they are
    TAKE = "take"  # ends that


class HostOrder(Record, frozen=True, kw_only=True):
    """A command for one host with its arguments."""

    command: HostCommand
    delay_s: float | None = None  # of PACE
    until: float = 0.0  # of HOLD: seconds since the epoch, by the frontier's clock


class HostSignalKind(StrEnum):
    """The kind of evidence about a host that a lease gives at its end."""

    UNUSED = "unused"  # no request was started: the turn is given back
    OK = "ok"
    FAULT = "fault"  # an answer that is not a success: never makes the delay shorter
    THROTTLED = "throttled"  # 429, 502, 503, 504: the host asks for time, or has more to do than it can
    UNREACHABLE = "unreachable"  # no answer: DNS, connect, timeout


class HostSignal(Record, frozen=True, kw_only=True):
    """Evidence about a host from one lease."""

    kind: HostSignalKind = HostSignalKind.UNUSED
    started_at: float = 0.0  # when the last request to the host was really started
    latency_s: float | None = None  # start to end of the response's header
    retry_after_s: float | None = None
    crawl_delay_s: float | None = None  # a robots.txt that was just read asks for this
    robots_read: bool = False  # a robots.txt was just read: ``crawl_delay_s`` is the news, None included
