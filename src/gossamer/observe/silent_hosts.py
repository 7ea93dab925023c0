"""Hosts that have stopped answering: a crawl that waits for one would else only look slow.

The log tells each once (:class:`HostMonitor`); views of a crawl say how it stands (:func:`waiting_for`).
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.errors import Fault
from gossamer.core.events import PageDoneEvent
from gossamer.core.jobs import HostReport
from gossamer.core.record import Record
from gossamer.core.results import Attempt, Verdict
from gossamer.core.text import format_count
from gossamer.observe.text import error_headline, one_line
from gossamer.observe.units import format_duration
from gossamer.policy.faults import UNREACHABLE
from gossamer.policy.politeness import is_silent

FAILURES = 3
"""Attempts in a row without an answer until a host is reported."""
MOST_HOSTS = 10_000
"""Maximum silent hosts that are remembered; others are not reported."""

_SILENT = UNREACHABLE | {Fault.ROBOTS_UNREACHABLE}


class _SilentHost(Record, frozen=True):
    since: float
    failures: int


class HostMonitor:
    """Reports when a host has stopped answering, and when it answers again."""

    def __init__(self) -> None:
        self._silences: dict[str, _SilentHost] = {}

    def describe_change(self, event: PageDoneEvent) -> str:
        """Return a sentence if the state of the attempt's host has changed; usually empty."""
        attempt = event.attempt
        if attempt.reason in _SILENT and attempt.verdict is Verdict.RETRY:
            return self._note_failure(event.host, attempt)
        if attempt.status and event.host in self._silences:
            return self._note_answer(event.host, attempt)
        return ""

    def _note_failure(self, host: str, attempt: Attempt) -> str:
        known = self._silences.get(host) or _SilentHost(attempt.at, 0)
        if not known.failures and len(self._silences) >= MOST_HOSTS:
            return ""
        failures = known.failures + 1
        if attempt.reason == Fault.ROBOTS_UNREACHABLE and not known.failures:
            failures = FAILURES  # one is enough: nothing else may be requested of the host
        self._silences[host] = _SilentHost(known.since, failures)
        if failures != FAILURES:
            return ""
        why = one_line(error_headline(attempt.detail) or attempt.reason)
        lacks = "does not answer"
        if attempt.reason == Fault.ROBOTS_UNREACHABLE:
            lacks, why = "gives no robots.txt", why.removeprefix("robots.txt: ")
        return f"{host} {lacks} ({why}): it is tried again after pauses that grow, and its requests wait"

    def _note_answer(self, host: str, attempt: Attempt) -> str:
        known = self._silences.pop(host)
        if known.failures < FAILURES:
            return ""
        return f"{host} answers again, after {format_duration(attempt.at - known.since)}"


def waiting_for(reports: Iterable[HostReport], now: float) -> str:
    """Return the host that has been silent for longest and its next try; ``""`` if all answer."""
    silent = sorted(
        (report for report in reports if is_silent(report.state)), key=lambda r: r.state.troubled_since
    )
    if not silent:
        return ""
    host, state = one_line(silent[0].host, 60), silent[0].state
    wait_s = max(state.next_at, state.hold_until) - now
    next_try = (
        "it is being tried now"
        if state.in_flight or wait_s <= 0
        else f"next try in {format_duration(wait_s)}"
    )
    others = len(silent) - 1
    more = f"; nor {'has' if others == 1 else 'have'} {format_count(others, 'other host')}" if others else ""
    return f"{host} has not answered for {format_duration(now - state.troubled_since)}; {next_try}{more}"
