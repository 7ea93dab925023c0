"""Which alerts are on: until the next check is overdue, and no longer than what they are about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.jobs import Job
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.shifts import RosterView
from gossamer.policy.alerts import AlertState
from gossamer.policy.alerts_on import alerts_of_job, alerts_of_place
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.look_times import GRACE_S, LookPace
from gossamer.policy.troubles import Trouble, TroubleKind

NOW = 1_000_000.0
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
    before = alerts_of_job(JOB, kept, NOW + 19.9)
    assert kinds(before.troubles) == ["stalled", "growing"]
    assert kinds(before.need_you) == ["stalled"]
    assert before.is_known
    after = alerts_of_job(JOB, kept, NOW + 20)
    assert (after.troubles, after.is_known, after.checked_at) == ((), False, NOW - 10)
    never = alerts_of_job(JOB, JobMemory(), NOW)
    assert (never.troubles, never.is_known, never.checked_at) == ((), False, 0.0)


def test_what_has_not_lasted_yet_is_not_on() -> None:
    kept = replace(memory(), alerts=(state(TroubleKind.STALLED, is_active=False),))
    assert alerts_of_job(JOB, kept, NOW).troubles == ()


@pytest.mark.parametrize("kind", TroubleKind)
def test_an_alert_about_a_run_ends_with_the_run(kind: TroubleKind) -> None:
    """Also where nobody watched the end: the process was killed, or the job was cancelled from elsewhere."""
    stays = {TroubleKind.FAILED, TroubleKind.TRAP, TroubleKind.UNREADABLE}
    ended = replace(JOB, end_reason=FinishReason.ERROR, finished_at=NOW - 5)
    for job in (replace(JOB, state=JobState.PAUSED), ended):
        on = alerts_of_job(job, memory(kind, due_at=NOW - 900), NOW)
        assert (kinds(on.troubles), on.is_known) == ([kind.value] if kind in stays else [], True)


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
