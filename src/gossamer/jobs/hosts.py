"""Hosts of a job that are paced, held or skipped by a person."""

from __future__ import annotations

from typing import Annotated

from gossamer.core.errors import UsageError
from gossamer.core.hosts import HostCommand, HostOrder
from gossamer.core.jobs import HostReport, Job
from gossamer.core.lifecycle import OVER, FinishReason
from gossamer.core.record import FieldMeaning, Record, Time
from gossamer.core.text import format_count
from gossamer.jobs.control import reopen_job
from gossamer.observe.units import format_duration
from gossamer.policy.domains import adopt_domain
from gossamer.policy.politeness import delay_in_force
from gossamer.wiring.backends import Backends

LONGEST_HOLD_S = 366 * 86_400.0


class SteeredHost(Record, frozen=True, kw_only=True):
    """How a host of a job is asked."""

    host: str
    pending: int  # requests that wait for its turn
    delay_s: float  # in force: that of robots.txt, or of a host that throttles, may be the longer one
    next_at: Time
    hold_until: Time
    is_paced: bool
    is_skipped: bool
    text: Annotated[str, FieldMeaning.ASIDE] = ""  # the meaning, in a sentence


async def steer_host(backends: Backends, job: Job, host: str, order: HostOrder) -> None:
    """Change how one host of a job that is not over is asked; running workers follow at once.

    Raises ``UsageError`` for a host that the job has not, and for values that do not do.
    """
    if job.state in OVER:
        raise UsageError(f"{job.id} is {job.state}: no host of it is asked any more")
    now = backends.clock.now()
    if order.command is HostCommand.HOLD and not now < order.until <= now + LONGEST_HOLD_S:
        raise UsageError("a host is held until a time to come, within a year")
    if order.delay_s is not None and not 0 <= order.delay_s <= LONGEST_HOLD_S:
        raise UsageError("a delay is a number of seconds, 0 or more")
    if await backends.open_frontier(job).steer_host(host, order) is None:
        raise UsageError(f"{job.id} has no host {host!r}")
    if order.command is HostCommand.TAKE and job.end_reason is FinishReason.SKIPPED:
        await reopen_job(backends, job)  # there is work again
    if job.is_fleet and backends.requests.fleet is not None:
        await backends.requests.fleet.roster_of(job).notify_supervisor()


async def read_host(backends: Backends, job: Job, host: str) -> SteeredHost:
    """Return the present politeness of a host. Raises ``UsageError`` if the job does not have the host."""
    frontier = backends.open_frontier(job)
    found = await frontier.find_host(host)
    if found is None:
        raise UsageError(f"{job.id} has no host {host!r}")
    rules = await frontier.read_rules()
    delay_s = delay_in_force(adopt_domain(found.state, host, rules), rules)
    return SteeredHost(
        host=host,
        pending=found.pending,
        delay_s=delay_s,
        next_at=found.state.next_at,
        hold_until=found.state.hold_until,
        is_paced=found.state.is_paced,
        is_skipped=found.state.is_skipped,
        text=describe_steering(found, delay_s, backends.clock.now()),
    )


def describe_steering(found: HostReport, delay_s: float, now: float) -> str:
    """Describe in a sentence the present politeness of a host, and how many of its requests wait."""
    host, state, waiting = found.host, found.state, format_count(found.pending, "request")
    wait, stay = ("waits", "stays where it is") if found.pending == 1 else ("wait", "stay where they are")
    if state.is_skipped:
        return f"nothing more of {host} is fetched; {waiting} of it {stay}"
    if state.hold_until > now:
        return f"{host} is left alone for {format_duration(state.hold_until - now)}; {waiting} of it {wait}"
    longer = " since it asks for that itself" if state.is_paced and delay_s > state.delay_s else ""
    own = ", a pace of its own" if state.is_paced and not longer else ""
    pace = f"{format_duration(delay_s)} between two starts{longer}{own}"
    return f"{host} is asked with {pace}; {waiting} {wait}"
