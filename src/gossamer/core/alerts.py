"""Notifications of alerts: an alert began, or it ended."""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.record import Record, Time


class AlertChange(StrEnum):
    """The kind of notification."""

    BEGUN = "begun"
    ENDED = "ended"
    TESTED = "tested"  # a trial: no alert began or ended


class AlertNotice(Record, frozen=True, kw_only=True):
    """One piece of news for one target, in words and in fields."""

    id: str  # the same however often it is sent
    change: AlertChange
    alert: str  # its kind, in a word
    severity: str  # ``needs_you``, ``takes_care``, ``know``
    text: str  # the problem in one sentence
    place: str  # of which fleet, or in which data directory
    who: str = ""  # the job, host, worker or service that it is about
    job: str = ""  # "": the alert concerns no job
    since: Time  # when it became bad
    at: Time  # when this was found
    ways: tuple[str, ...] = ()  # suggested commands

    @property
    def headline(self) -> str:
        """The news in one line."""
        if self.change is AlertChange.ENDED:
            return f"Over: {self.text}"
        return self.text if self.change is AlertChange.BEGUN else f"A trial: {self.text}"
