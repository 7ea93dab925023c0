"""The contract of a target of alerts, as named checks.

Use: ``await check_alert_target(make)``, or one by one from ``ALERT_TARGET_CHECKS``; ``make(clock)`` is an
async context manager that gives an :class:`AlertTargetSubject` with a new target, which waits for less than a
second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from gossamer.core.alerts import AlertChange, AlertNotice
from gossamer.core.errors import MissingServiceError
from gossamer.ports.alert_target import AlertTarget
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["ALERT_TARGET_CHECKS", "AlertTargetSubject", "ServiceState", "check_alert_target"]

LONGEST_S = 5.0
"""A delivery to a service that never answers ends within this time."""


class ServiceState(StrEnum):
    """How the service at the other end does."""

    WELL = "well"
    REFUSING = "refusing"  # it answers, and takes nothing
    STUCK = "stuck"  # it never answers
    AWAY = "away"  # the service is unreachable


@dataclass
class AlertTargetSubject:
    """The target under test and the service that receives its alerts."""

    target: AlertTarget
    received: Callable[[], list[str]]  # the texts that have arrived
    set_state: Callable[[ServiceState], None]
    secret: str  # in the URL of the service


ALERT_TARGET_CHECKS: ContractSuite[AlertTargetSubject] = ContractSuite()
"""The checks by name."""


async def check_alert_target(make: Make[AlertTargetSubject]) -> None:
    """Run every check on a fresh target each. Raises ``AssertionError`` for a broken promise."""
    await ALERT_TARGET_CHECKS.run(make)


def make_notice(text: str = "shops-7 has 40 new dead letters.", **more: str) -> AlertNotice:
    """News of an alert."""
    fields = {
        "alert": "dead_letters",
        "severity": "needs_you",
        "place": "the fleet default",
        "job": "shops-7",
    }
    return AlertNotice(
        id="dead_letters:shops-7",
        change=AlertChange.BEGUN,
        text=text,
        since=1_000_000.0,
        at=1_000_300.0,
        ways=("gossamer dead list shops-7",),
        **{**fields, **more},
    )


@ALERT_TARGET_CHECKS.register
async def news_arrive_once_with_their_sentence(subject: AlertTargetSubject) -> None:
    await subject.target.deliver(make_notice())
    (text,) = subject.received()
    assert_holds("shops-7 has 40 new dead letters." in text, f"the sentence arrives: {text}")


@ALERT_TARGET_CHECKS.register
async def news_that_are_not_taken_raise_and_show_no_secret(subject: AlertTargetSubject) -> None:
    for state in (ServiceState.REFUSING, ServiceState.AWAY):
        subject.set_state(state)
        try:
            await subject.target.deliver(make_notice())
        except MissingServiceError as error:
            shown = f"{error!r} {error} {error.__cause__!r} {subject.target!r} {subject.target.name}"
            assert_holds(subject.secret not in shown, "no secret is shown")
        else:
            raise AssertionError(f"{state}: nothing was taken, and nothing was raised")
    assert_equal(subject.received(), [], "a refused alert has not arrived")


@ALERT_TARGET_CHECKS.register
async def a_service_that_never_answers_holds_nobody_up(subject: AlertTargetSubject) -> None:
    subject.set_state(ServiceState.STUCK)
    began, turns = time.monotonic(), 0
    delivering = asyncio.create_task(subject.target.deliver(make_notice()))
    while not delivering.done():
        await asyncio.wait({delivering}, timeout=0.02)
        turns += 1
        assert_holds(time.monotonic() - began < LONGEST_S, "a delivery ends in time")
    assert_holds(
        isinstance(delivering.exception(), MissingServiceError), "an alert that was not accepted raises"
    )
    assert_holds(turns > 3, "the event loop is not blocked")


@ALERT_TARGET_CHECKS.register
async def what_strangers_wrote_stays_text(subject: AlertTargetSubject) -> None:
    hostile = "a.example\r\nBcc: all@example.org\r\n\r\n<script>alert(1)</script>\x1b[31m \u202eevil fails."
    await subject.target.deliver(make_notice(hostile))
    assert_equal(len(subject.received()), 1, "whatever the text, it is one piece of news")
