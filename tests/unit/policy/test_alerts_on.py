"""Which alerts are on: until the next check is overdue, and no longer than what they are about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.jobs import Job
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.shifts import RosterView
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alerts import AlertState
from gossamer.policy.alerts_on import alerts_of_job, alerts_of_place
from gossamer.policy.drift import DriftFinding, FindingKind
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.job_profile import JobProfile
from gossamer.policy.look_times import GRACE_S, LookPace
from gossamer.policy.troubles import Trouble, TroubleKind

NOW = 1_000_000.0
SHOW = formatter_at(NOW)
JOB = Job(id="shop-1", name="shop", target="shop.py", created_at=NOW - 3600)


def state(kind: TroubleKind, *, is_active: bool = True) -> AlertState:
    began_at = NOW - 30 if is_active else None
    return AlertState(kind=kind, who=JOB.id, job=JOB.id, text="Bad.", bad_since=NOW - 60, began_at=began_at)


def memory(*kinds: TroubleKind, due_at: float = NOW + 20) -> JobMemory:
    return JobMemory(at=NOW - 10, due_at=due_at, alerts=tuple(map(state, kinds)))


def kinds(troubles: tuple[Trouble, ...]) -> list[str]:
    return [one.kind.value for one in troubles]


def test_alerts_count_until_the_next_check_is_overdue_and_then_nothing_is_known() -> None:
    kept = memory(TroubleKind.GROWING, TroubleKind.STALLED)
    before = alerts_of_job(JOB, kept, NOW + 19.9, SHOW)
    assert kinds(before.troubles) == ["stalled", "growing"]
    assert kinds(before.need_you) == ["stalled"]
    assert before.is_known
    after = alerts_of_job(JOB, kept, NOW + 20, SHOW)
    assert (after.troubles, after.is_known, after.checked_at) == ((), False, NOW - 10)
    never = alerts_of_job(JOB, JobMemory(), NOW, SHOW)
    assert (never.troubles, never.is_known, never.checked_at) == ((), False, 0.0)


def test_what_has_not_lasted_yet_is_not_on() -> None:
    kept = replace(memory(), alerts=(state(TroubleKind.STALLED, is_active=False),))
    assert alerts_of_job(JOB, kept, NOW, SHOW).troubles == ()


@pytest.mark.parametrize("kind", TroubleKind)
def test_an_alert_about_a_run_ends_with_the_run(kind: TroubleKind) -> None:
    """Also where nobody watched the end: the process was killed, or the job was cancelled from elsewhere."""
    stopped = replace(JOB, end_reason=FinishReason.SIGNAL, finished_at=NOW - 5)
    for job in (replace(JOB, state=JobState.PAUSED), stopped, replace(stopped, state=JobState.CANCELLED)):
        on = alerts_of_job(job, memory(kind, due_at=NOW - 900), NOW, SHOW)
        stays = [kind.value] if kind is TroubleKind.TRAP else []
        assert (kinds(on.troubles), on.is_known) == (stays, True)


def test_an_error_is_on_until_the_job_runs_again_or_is_cancelled_whoever_watched() -> None:
    failed = replace(JOB, end_reason=FinishReason.ERROR, end_error="boom", finished_at=NOW - 5)
    (alert,) = alerts_of_job(failed, JobMemory(), NOW, SHOW).troubles
    assert (alert.text, alert.since) == ("shop-1 ended with an error: boom.", NOW - 5)
    for job in (JOB, replace(failed, state=JobState.CANCELLED)):
        assert alerts_of_job(job, memory(), NOW, SHOW).troubles == ()


def test_what_the_items_of_an_ended_job_lack_is_on_for_a_week_or_until_it_is_accepted() -> None:
    lost = DriftFinding(kind=FindingKind.FILL, field="Product.price", now=0.0, usual=1.0, jobs=2)
    profile = JobProfile(job=JOB.id, at=NOW - 9, pages=9, items=9, sampled=9, findings=(lost,))
    ended = replace(JOB, state=JobState.FINISHED, end_reason=FinishReason.FINISHED, finished_at=NOW - 9)

    def found(now: float, job: Job = ended) -> list[str]:
        return kinds(alerts_of_job(job, memory(), now, SHOW, profile=profile).troubles)

    assert found(NOW) == ["drift"]
    assert found(NOW + 7 * 86_400) == []
    accepted = replace(profile, accepted_at=NOW)
    assert alerts_of_job(ended, memory(), NOW, SHOW, profile=accepted).troubles == ()
    assert found(NOW, job=JOB) == [], "it runs again"


def test_a_place_is_known_by_the_latest_check_and_tells_that_no_supervisor_leads() -> None:
    away = replace(state(TroubleKind.AWAY), job="", who="Redis")
    old = PlaceMemory(at=NOW - 900, due_at=NOW - 800, alerts=(away,))
    fresh = PlaceMemory(at=NOW - 1, due_at=NOW + 9, alerts=(away,))
    assert kinds(alerts_of_place([fresh, fresh, old], NOW).troubles) == ["away"]
    assert alerts_of_place([old], NOW).troubles == ()
    assert not alerts_of_place([old], NOW).is_known
    without = RosterView(at=NOW)
    (alert,) = alerts_of_place([old], NOW, view=without, running=2).troubles
    assert (alert.kind, alert.text) == (
        TroubleKind.NO_SUPERVISOR,
        "No supervisor leads the fleet, and 2 jobs run.",
    )
    assert alerts_of_place([], NOW, view=without).troubles == ()
    assert alerts_of_place([], NOW, view=RosterView(at=NOW, leader="s1"), running=2).troubles == ()


@given(st.lists(st.floats(0.0, 30.0), min_size=1, max_size=30))
def test_a_look_that_takes_no_longer_than_the_grace_more_than_the_one_before_is_never_overdue(
    lengths: list[float],
) -> None:
    """Bug it would catch: a look of 2.25 s was followed by 45 s of rest, and its memory counted for 45 s."""
    pace, now, promised = LookPace(every_s=5.0), NOW, [NOW + GRACE_S]
    before_s = 0.0
    for length_s in lengths:
        took_s = min(length_s, before_s + GRACE_S / 2)
        began, ended = now, now + took_s
        assert began <= promised[0], "what was looked at first is looked at first again"
        assert ended <= promised[-1]
        promised = [pace.due_at(began, began), pace.due_at(began, ended)]
        now = ended + pace.rest_after(began, ended)
        pace, before_s = pace.expect(took_s), took_s
    usual = LookPace(every_s=5.0, expected_s=2.25)
    assert usual.rest_after(NOW, NOW + 2.25) == pytest.approx(45.0), "it costs a twentieth"


def test_an_acknowledged_alert_is_on_no_longer_until_it_begins_anew() -> None:
    on = alerts_of_job(JOB, memory(TroubleKind.GROWING, TroubleKind.STALLED), NOW, SHOW)
    (stalled, growing) = on.troubles
    known = on.acknowledge({stalled.id: NOW - 10, growing.id: growing.since - 1, "other:shop-1:": NOW})
    assert (kinds(known.troubles), kinds(known.acknowledged)) == (["growing"], ["stalled"])
    assert known.need_you == ()


@pytest.mark.parametrize(("began", "is_known"), [(NOW - 60, True), (NOW - 20, False)])
def test_an_alert_acknowledged_while_the_job_ran_stays_so_when_it_ends(began: float, is_known: bool) -> None:
    """Bug it would catch: the end gave the same loss a later beginning, so that it needed a person again."""
    lost = DriftFinding(kind=FindingKind.FILL, field="Product.price", now=0.0, usual=1.0, jobs=2)
    drift = replace(state(TroubleKind.DRIFT), who="Product.price", bad_since=began)
    kept = replace(memory(), alerts=(drift,))
    (running,) = alerts_of_job(JOB, kept, NOW, SHOW).troubles
    acknowledged = {running.id: NOW - 30}
    ended = replace(JOB, state=JobState.FINISHED, end_reason=FinishReason.FINISHED, finished_at=NOW - 9)
    profile = JobProfile(job=JOB.id, at=NOW - 9, pages=9, items=9, sampled=9, findings=(lost,))
    on = alerts_of_job(ended, kept, NOW, SHOW, profile=profile).acknowledge(acknowledged)
    assert (kinds(on.acknowledged), kinds(on.troubles)) == ((["drift"], []) if is_known else ([], ["drift"]))


def test_each_alert_can_be_acknowledged_but_a_missing_supervisor() -> None:
    """Nobody would report anything else without one."""
    on = alerts_of_job(JOB, memory(*TroubleKind), NOW, SHOW)
    assert all(one.ways[-1].action == "acknowledge" for one in on.troubles)
    (missing,) = alerts_of_place([], NOW, view=RosterView(at=NOW), running=1).troubles
    assert [way.action for way in missing.ways] == [""]
