"""Hosts that have stopped answering: a crawl that waits for one would else only look slow.

The log tells each once (:class:`SilentHosts`); views of a crawl say how it stands (:func:`waiting_for`).
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.events import PageDone
from gossamer.core.jobs import HostReport
from gossamer.core.record import Record
from gossamer.core.results import Attempt, Verdict
from gossamer.core.text import quantity
from gossamer.observe.text import headline, one_line
from gossamer.observe.units import duration
from gossamer.policy.politeness import is_silent
from gossamer.policy.retry import UNREACHABLE

FAILURES = 3
"""Attempts in a row without an answer from which on a host is named."""
MOST_HOSTS = 10_000
"""Silent hosts that are remembered; a crawl of more is not told of the others."""


class _Silence(Record, frozen=True):
    since: float
    failures: int


class SilentHosts:
    """Says when a host has stopped answering, and when it answers again."""

    def __init__(self) -> None:
        self._silences: dict[str, _Silence] = {}

    def remark(self, event: PageDone) -> str:
        """What is new about the host of this attempt, in one sentence; mostly nothing."""
        attempt = event.attempt
        if attempt.reason in UNREACHABLE and attempt.verdict is Verdict.RETRY:
            return self._unanswered(event.host, attempt)
        if attempt.status and event.host in self._silences:
            return self._answered(event.host, attempt)
        return ""

    def _unanswered(self, host: str, attempt: Attempt) -> str:
        known = self._silences.get(host)
        if known is None:
            if len(self._silences) < MOST_HOSTS:
                self._silences[host] = _Silence(attempt.at, 1)
            return ""
        self._silences[host] = _Silence(known.since, known.failures + 1)
        if known.failures + 1 != FAILURES:
            return ""
        why = one_line(headline(attempt.detail) or attempt.reason)
        return f"{host} does not answer ({why}): it is asked again with growing pauses, its requests wait"

    def _answered(self, host: str, attempt: Attempt) -> str:
        known = self._silences.pop(host)
        if known.failures < FAILURES:
            return ""
        return f"{host} answers again, after {duration(attempt.at - known.since)}"


def waiting_for(reports: Iterable[HostReport], now: float) -> str:
    """The host that has been silent for longest and its next try, in one line; ``""`` when all answer."""
    silent = sorted(
        (report for report in reports if is_silent(report.state)), key=lambda r: r.state.troubled_since
    )
    if not silent:
        return ""
    host, state = one_line(silent[0].host, 60), silent[0].state
    wait_s = max(state.next_at, state.hold_until) - now
    next_try = "it is asked now" if state.in_flight or wait_s <= 0 else f"next try in {duration(wait_s)}"
    others = len(silent) - 1
    more = f"; nor {'has' if others == 1 else 'have'} {quantity(others, 'other host')}" if others else ""
    return f"{host} has not answered for {duration(now - state.troubled_since)}; {next_try}{more}"
