"""One pace per host for all jobs of a place: whose turn it is, and how many slots each has. Pure.

The state of a host (next turn, trouble, pace) is one :class:`SharedPace` for all jobs. A frontier joins it
with its own job's state (:func:`join_host`) before it decides by ``policy.politeness``, and stores the result
(:func:`split_host`), in one transaction.

Several jobs may have different rules. Each start keeps the distance that the latest turn of any job asked
for, and the distance that the rules of its own job ask for; of the slots no more are used than the strictest
of the jobs that ask the host now allows. So together they are as polite as the strictest of them.

Turns go round: a job whose turn comes too early, since another one has taken it, looks again when the host
may be asked next, and announces it; a job that had a turn since then leaves the next one to it for a moment.
A job that does not take its turn in that moment loses it, so a job that stands still delays no other. Where a
host has no delay and enough slots, each job has its share of them.
"""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostState, JobClaim, SharedPace
from gossamer.policy.politeness import KEPT_SHARE, UNBOUNDED, delay_in_force, slots_for

SHORTEST_LOOK_S, LONGEST_LOOK_S, LOOK_SHARE = 0.02, 0.2, 0.125
"""How soon a job looks again that found all slots taken: a share of the host's delay, within bounds."""
LATE_S = 0.03
"""A job that waits for a turn may come so much later than it said, and a look later."""
UNTOLD_S = 60.0
"""So long requests in flight count of which their job has not said until when."""
KEPT_S = 60.0
"""So long it is remembered when a job had its latest turn."""


def merge_pace(own: HostState, pace: SharedPace, now: float) -> HostState:
    """Merge the job's own state of a host with the shared one, without deciding whose turn it is."""
    is_held = own.is_held and own.hold_until > now  # by a person, for this job alone
    return replace(
        own,
        next_at=max(pace.next_at, own.hold_until) if is_held else pace.next_at,
        delay_s=own.delay_s if own.is_paced else pace.delay_s,
        crawl_delay_s=pace.crawl_delay_s,
        incidents=pace.incidents,
        silences=pace.silences,
        incident_at=pace.incident_at,
        last_at=pace.last_at,
        hold_until=max(own.hold_until, pace.hold_until) if is_held else pace.hold_until,
        answered_at=pace.answered_at,
        troubled_since=pace.troubled_since,
        troubled_by=pace.troubled_by,
        pace_s=pace.pace_s,
        limit_s=pace.limit_s,
        taken=0,
        look_at=0.0,
    )


def join_host(own: HostState, pace: SharedPace, job: str, rules: FrontierRules, now: float) -> HostState:
    """Return a host from one job's view: its state, the slots of others, and when others have their turn."""
    host = merge_pace(own, pace, now)
    delay_s = delay_in_force(host, rules)
    look_at = 0.0
    if pace.turn_by not in (job, ""):
        look_at = pace.turn_at + delay_s
        if max(look_at, host.next_at) < pace.last_at + delay_s * KEPT_SHARE:
            look_at = pace.last_at + delay_s
    others = [claim for claim in pace.claims if claim.job != job and _is_current(claim, now)]
    if not others:
        return replace(host, look_at=look_at)
    slots = slots_for(host, rules)
    limit = min(slots, *(claim.slots for claim in others))
    room = limit - sum(claim.in_flight for claim in others if claim.until > now)
    if delay_s <= 0 and limit > len(others):
        room = min(room, limit // (len(others) + 1))
    else:
        latest_at = claim_of(pace, job).started_at
        look_at = max(look_at, *(claim.waits_until for claim in others if claim.started_at < latest_at), 0.0)
    return replace(host, look_at=look_at, taken=slots - room)


def is_alone(pace: SharedPace, job: str) -> bool:
    """Whether no other job used the host lately, so that the job's own state is complete."""
    return pace.turn_by in (job, "") and all(claim.job == job for claim in pace.claims)


def first_pace(host: HostState, job: str, now: float) -> SharedPace:
    """Return the shared state of a host from the state of the only job that has used it."""
    until = now + UNTOLD_S if host.in_flight else 0.0
    claim = JobClaim(job=job, in_flight=host.in_flight, until=until, slots=UNBOUNDED, started_at=host.last_at)
    return split_host(host, SharedPace(), claim, host.last_at, now)


def _is_current(claim: JobClaim, now: float) -> bool:
    return claim.waits_until > now or (claim.in_flight > 0 and claim.until > now)


def claim_of(pace: SharedPace, job: str) -> JobClaim:
    """Return a job's claim on a host; an empty one if it was not there lately."""
    return next((claim for claim in pace.claims if claim.job == job), JobClaim(job=job))


def withdraw_claim(pace: SharedPace, job: str) -> SharedPace:
    """Return the shared state after a job has stopped working: only its visit is remembered."""
    ended = replace(claim_of(pace, job), in_flight=0, until=0.0, waits_until=0.0)
    return replace(pace, claims=(*(claim for claim in pace.claims if claim.job != job), ended))


def wait_for_turn(host: HostState, rules: FrontierRules, now: float) -> HostState:
    """The host after its turn has come for the job, and it may not be asked: when to look again."""
    at = max(host.next_at, host.look_at)
    return replace(host, look_at=at if at > now else now + _look_s(host, rules))


def left_until(host: HostState, rules: FrontierRules) -> float:
    """How long others leave a job the turn that it waits for."""
    return max(host.next_at, host.look_at) + _look_s(host, rules) + LATE_S


def _look_s(host: HostState, rules: FrontierRules) -> float:
    return min(max(delay_in_force(host, rules) * LOOK_SHARE, SHORTEST_LOOK_S), LONGEST_LOOK_S)


def split_host(
    host: HostState, before: SharedPace, claim: JobClaim, turn_at: float, now: float
) -> SharedPace:
    """Return the shared state of a host after one job has changed it.

    ``claim`` is that job's present use of the host, ``turn_at`` the start of the turn it took; 0: none.
    """
    is_held = host.is_held and host.hold_until > now
    others = [
        other
        for other in before.claims
        if other.job != claim.job and max(other.until, other.waits_until, other.started_at + KEPT_S) > now
    ]
    return SharedPace(
        next_at=before.next_at if is_held else host.next_at,
        delay_s=before.delay_s if host.is_paced else host.delay_s,
        crawl_delay_s=host.crawl_delay_s,
        incidents=host.incidents,
        silences=host.silences,
        incident_at=host.incident_at,
        last_at=host.last_at,
        hold_until=before.hold_until if is_held else host.hold_until,
        answered_at=host.answered_at,
        troubled_since=host.troubled_since,
        troubled_by=host.troubled_by,
        pace_s=host.pace_s,
        limit_s=host.limit_s,
        turn_at=turn_at or before.turn_at,
        turn_by=claim.job if turn_at else before.turn_by,
        claims=(*others, claim),
    )
