"""What a look at a job says of the slots of its workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import JobState
from gossamer.core.shifts import EndReason, LaneHealth, RosterView, Shift, ShiftState, WorkerInfo
from gossamer.watch.job_look import find_common_refusal, is_slot_free

NOW = 1000.0
WORKERS = tuple(
    WorkerInfo(id=lane, slots=1, lanes=("seed", lane), beat_at=NOW) for lane in ("http", "browser")
)


@dataclass
class Watched:
    lanes: tuple[str, ...] = ("http", "browser")
    concurrency: int | None = None


def free(*busy: str, due: tuple[str, ...]) -> bool:
    shifts = tuple(
        Shift(id=lane, job="a", lane=lane, state=ShiftState.WORKING, worker=lane, beat_at=NOW)
        for lane in busy
    )
    view = RosterView(at=NOW, workers=WORKERS, shifts=shifts)
    stats = FrontierStats(state=JobState.RUNNING, next_by_lane=dict.fromkeys(due, NOW))
    watched: Any = Watched()
    return is_slot_free(watched, stats, view, NOW)


def test_a_slot_is_free_where_something_waits() -> None:
    """Bug it would catch: all waits for a busy browser, and an idle http worker counts."""
    assert not free("browser", due=("browser",))
    assert free("browser", due=("http",))
    assert not free("browser", due=("browser", "http"))
    assert free(due=("browser", "http"))
    assert free("browser", due=()), "nothing is due: any slot"


def test_a_job_is_refused_where_none_of_its_workers_can_do_it() -> None:
    """A worker that is left, or of another lane, neither can nor cannot."""

    def refusal(*refused_by: str, lanes: tuple[str, ...] = ("seed", "http")) -> str | None:
        health = LaneHealth(
            job="a", lane="http", why=EndReason.REFUSED, detail="no spider", refused_by=refused_by
        )
        return find_common_refusal(RosterView(at=NOW, workers=WORKERS, standings=(health,)), "a", lanes)

    assert refusal("http", "browser") == "no spider"
    assert refusal("http", "gone") is None
    assert refusal("http", "gone", lanes=("http",)) == "no spider"
    assert refusal("gone", lanes=("other",)) is None
