"""The hosts of a job: waiting requests, pace, and failures to answer."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import HostReport, Job
from gossamer.core.record import FieldMeaning, Record, Time
from gossamer.observe.sentences import formatter_at
from gossamer.observe.silent_hosts import waiting_for
from gossamer.observe.text import one_line
from gossamer.policy.domains import adopt_domain
from gossamer.policy.politeness import delay_in_force, is_silent
from gossamer.policy.robots import RobotsAccess
from gossamer.wiring.backends import Backends
from gossamer.wiring.robots import find_robots

MOST_CLOSED = 5
"""Hosts in trouble whose robots.txt is looked at."""


class HostStatus(Record, frozen=True, kw_only=True):
    """One host of a job."""

    host: str
    pending: int  # requests that wait for its turn
    in_flight: int
    delay_s: float  # in force: the job's own and that of robots.txt count too
    next_at: Time  # its next turn
    pages: int
    silent_since: Time | None  # None: it answers


class HostPage(Record, frozen=True, kw_only=True):
    """The busiest hosts of a job."""

    hosts: tuple[HostStatus, ...] = ()
    has_more: bool = False  # hosts for which requests wait
    silent: Annotated[str, FieldMeaning.ASIDE] = ""  # which of them is closed, or does not answer; "": none


async def list_hosts(backends: Backends, job: Job, limit: int) -> HostPage:
    """The hosts for which most requests wait, busiest first. Raises ``LostRequestsError``."""
    rules = await backends.read_rules(job)
    found = await backends.open_frontier(job).busiest_hosts(limit + 1)
    reports = [_with_delay(report, rules) for report in found[:limit]]
    now = backends.clock.now()
    return HostPage(
        hosts=tuple(_status_of(report) for report in reports),
        has_more=len(found) > limit,
        silent=await _find_closed(backends, reports, now) or waiting_for(reports, now),
    )


async def find_closed(backends: Backends, job: Job) -> str:
    """The first of the busiest hosts that is closed by an error of its robots.txt: until when, and why."""
    return await _find_closed(
        backends, await backends.open_frontier(job).busiest_hosts(MOST_CLOSED), backends.clock.now()
    )


async def _find_closed(backends: Backends, reports: list[HostReport], now: float) -> str:
    """The first host in trouble that is closed by an error of its robots.txt: until when, and why."""
    for report in [report for report in reports if report.state.troubled_since][:MOST_CLOSED]:
        found = await find_robots(backends, report.host)
        if found is not None and found.access is RobotsAccess.CLOSED:
            until = formatter_at(now).time(found.expires_at)
            why = ": ".join(filter(None, (found.fault, one_line(found.detail, 100))))
            return f"{one_line(report.host, 60)} is closed until {until}: its robots.txt gives {why}"
    return ""


def _with_delay(report: HostReport, rules: FrontierRules) -> HostReport:
    """A host with the delay that is in force."""
    state = adopt_domain(report.state, report.host, rules)
    return replace(report, state=replace(state, delay_s=delay_in_force(state, rules)))


def _status_of(report: HostReport) -> HostStatus:
    state = report.state
    return HostStatus(
        host=report.host,
        pending=report.pending,
        in_flight=state.in_flight,
        delay_s=state.delay_s,
        next_at=state.next_at,
        pages=state.pages,
        silent_since=state.troubled_since if is_silent(state) else None,
    )
