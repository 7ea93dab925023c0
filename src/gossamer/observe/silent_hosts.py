"""Hosts that have stopped answering, each told once: a crawl that waits for one would else only look slow."""

from __future__ import annotations

from gossamer.observe.text import headline, one_line
from gossamer.observe.units import duration
from gossamer.policy.retry import UNREACHABLE
from gossamer.words.events import PageDone
from gossamer.words.model import Attempt, Record, Verdict

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
