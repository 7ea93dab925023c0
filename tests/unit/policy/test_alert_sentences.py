"""The sentences about all alerts: true, and silent about what is not known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.observe.sentences import formatter_at
from gossamer.policy.sentences.alerts import AlertFacts, describe_alerts

NOW = 1_700_000_000.0
SHOW = formatter_at(NOW)
COUNT = st.integers(0, 3)


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        (AlertFacts(), "No alert is on, and no crawl runs."),
        (AlertFacts(running=2), "No alert is on."),
        (AlertFacts(running=2, acknowledged=1), "No alert is on. 1 alert acknowledged."),
        (AlertFacts(running=1, need_you=1), "1 problem needs you."),
        (AlertFacts(running=1, need_you=2, others=1), "2 problems need you. 1 more alert."),
        (AlertFacts(running=1, others=1), "1 alert, which does not need you."),
        (AlertFacts(running=1, others=2), "2 alerts, none of which needs you."),
        (
            AlertFacts(running=3, unchecked=1),
            "Whether anything is wrong with 1 running job is not known: it has not been checked lately.",
        ),
        (
            AlertFacts(running=3, unchecked=2),
            "Whether anything is wrong with 2 running jobs is not known: they have not been checked lately.",
        ),
        (
            AlertFacts(running=3, is_place_checked=False, unchecked=3),
            "Whether anything is wrong is not known: no check takes place.",
        ),
    ],
)
def test_each_state_has_its_sentence(facts: AlertFacts, answer: str) -> None:
    assert describe_alerts(facts, SHOW).answer == answer


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (AlertFacts(), "No target is notified: the settings have no [alerts.targets.NAME]."),
        (AlertFacts(targets=1), "1 target is notified."),
        (AlertFacts(targets=2, waiting=1), "1 notification waits."),
        (
            AlertFacts(targets=2, waiting=3, refusing=("ops",)),
            "ops does not take notifications: 3 notifications wait.",
        ),
        (
            AlertFacts(targets=2, waiting=2, refusing=("ops", "night")),
            "ops and night do not take notifications: 2 notifications wait.",
        ),
    ],
)
def test_whether_anybody_hears_of_it_is_said(facts: AlertFacts, reason: str) -> None:
    assert describe_alerts(facts, SHOW).reason == reason


@given(
    st.builds(
        AlertFacts,
        need_you=COUNT,
        others=COUNT,
        acknowledged=COUNT,
        running=COUNT,
        unchecked=COUNT,
        is_place_checked=st.booleans(),
        checked_at=st.sampled_from([None, NOW]),
    )
)
def test_that_no_alert_is_on_is_said_only_where_all_is_checked_and_no_alert_is_on(facts: AlertFacts) -> None:
    said = describe_alerts(facts, SHOW).answer
    is_well = facts.is_place_checked and not (facts.need_you or facts.others or facts.unchecked)
    assert ("No alert is on." in said) == (is_well and facts.running > 0)
