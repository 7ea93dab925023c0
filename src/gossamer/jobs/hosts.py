"""Hosts of a job that are paced, held or skipped by a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from gossamer.core.errors import ConflictError, UsageError
from gossamer.core.hosts import HostCommand, HostOrder, HostState
from gossamer.core.jobs import HostReport, Job
from gossamer.core.lifecycle import OVER
from gossamer.core.record import FieldMeaning, Record, Time
from gossamer.core.text import format_count
from gossamer.observe.units import format_duration
from gossamer.policy.politeness import delay_in_force
from gossamer.wiring.backends import Backends

LONGEST_HOLD_S = 366 * 86_400.0


class ChangedHost(Record, frozen=True, kw_only=True):
    """A host of a job after somebody changed how it is asked."""

    host: str
    pending: int  # requests that wait for its turn
    delay_s: float  # in force: that of robots.txt, or of a host that throttles, may be the longer one
    next_at: Time
    hold_until: Time
    is_paced: bool
    is_skipped: bool
    text: Annotated[str, FieldMeaning.ASIDE] = ""  # what it means, in a sentence
    before: Annotated[HostState, FieldMeaning.ASIDE] = HostState()


async def steer_host(
    backends: Backends,
    job: Job,
    host: str,
    order: HostOrder,
    *,
    expected: Mapping[str, Any] | None = None,
) -> ChangedHost:
    """Change how one host of a job that is not over is asked; running workers follow at once.

    ``expected`` is what its caller saw: fields of :class:`~gossamer.core.hosts.HostState`. Raises
    ``UsageError`` for a host that the job has not, and ``ConflictError`` where it is not as it was seen.
    """
    if job.state in OVER:
        raise UsageError(f"{job.id} is {job.state}: no host of it is asked any more")
    now = backends.clock.now()
    if order.command is HostCommand.HOLD and not now < order.until <= now + LONGEST_HOLD_S:
        raise UsageError("a host is held until a time to come, within a year")
    if order.delay_s is not None and not 0 <= order.delay_s <= LONGEST_HOLD_S:
        raise UsageError("a delay is a number of seconds, 0 or more")
    frontier = backends.open_frontier(job)
    if expected:
        _check_expected(await frontier.find_host(host), host, expected)
    before = await frontier.steer_host(host, order)
    found = await frontier.find_host(host)
    if before is None or found is None:
        raise UsageError(f"{job.id} has no host {host!r}")
    delay_s = delay_in_force(found.state, await frontier.read_rules())
    if job.is_fleet and backends.requests.fleet is not None:
        await backends.requests.fleet.notify_supervisor(job)
    return ChangedHost(
        host=host,
        pending=found.pending,
        delay_s=delay_s,
        next_at=found.state.next_at,
        hold_until=found.state.hold_until,
        is_paced=found.state.is_paced,
        is_skipped=found.state.is_skipped,
        text=_sentence_of(host, order, delay_s, found, now),
        before=before,
    )


def _check_expected(found: HostReport | None, host: str, expected: Mapping[str, Any]) -> None:
    """Raise ``ConflictError`` where a host is not as somebody saw it."""
    if found is None:
        return
    now = {name: getattr(found.state, name, None) for name in expected}
    if now != dict(expected):
        raise ConflictError(f"{host} is not as it was: somebody else has changed it", now=now)


def _sentence_of(host: str, order: HostOrder, delay_s: float, found: HostReport, now: float) -> str:
    waiting = format_count(found.pending, "request")
    match order.command:
        case HostCommand.PACE if order.delay_s is None:
            return (
                f"{host} is asked at the pace of the job again, {format_duration(delay_s)} between two starts"
            )
        case HostCommand.PACE:
            longer = "" if delay_s == order.delay_s else ", since it asks for that itself"
            return f"{host} is asked with {format_duration(delay_s)} between two starts{longer}"
        case HostCommand.HOLD:
            return f"{host} is left alone for {format_duration(order.until - now)}; {waiting} of it wait"
        case HostCommand.ASK:
            return f"{host} is asked as soon as its delay of {format_duration(delay_s)} allows"
        case HostCommand.SKIP:
            return f"nothing more of {host} is fetched; {waiting} of it stay where they are"
        case HostCommand.TAKE:
            return f"{host} is asked again; {waiting} of it wait"
