"""Workers as they describe themselves."""

from __future__ import annotations

from gossamer.core.shifts import WorkerInfo


def test_a_worker_is_silent_when_its_beats_stay_away_for_ten_seconds() -> None:
    """Bug it would catch: a worker that is frozen is listed as working."""
    worker = WorkerInfo(id="w1", slots=1, lanes=("http",), beat_at=100.0)
    assert not worker.is_silent(109.9)
    assert worker.is_silent(110.0)
