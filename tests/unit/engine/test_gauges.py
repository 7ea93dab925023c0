"""How many requests wait is noted once in each bucket, at no risk to the crawl."""

from __future__ import annotations

import asyncio
from typing import Any

from gossamer.core.errors import StorageError
from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.engine.gauges import PATIENCE_S, GaugeRecorder
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.store.memory.series import MemorySeries
from kit.engine import JOB, URL, Kit, virtually

STATS = FrontierStats(state=JobState.RUNNING, pending=4, delayed=3, leased=2, dead=1, hosts=5)


class Notes:
    """A ``Series`` that remembers what it was told, and fails or hangs as it is told to."""

    def __init__(self, error: Exception | None = None, *, hangs: bool = False) -> None:
        self.error, self.hangs = error, hangs
        self.noted: list[tuple[float, dict[str, int]]] = []
        self.folded: list[float] = []

    async def set_gauges(self, job: Any, at: float, gauges: dict[str, int]) -> None:
        assert job == JOB
        self.noted.append((at, gauges))
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error

    async def fold_buckets(self, now: float) -> None:
        self.folded.append(now)


def record(series: Any, *times: float, **options: Any) -> None:
    async def main() -> None:
        recorder = GaugeRecorder(series, JOB, **options)
        for now in times:
            await recorder.record_stats(STATS, now)

    virtually(main)


def test_a_bucket_has_one_note() -> None:
    series = Notes()
    record(series, 100.0, 100.5, 119.9, 120.0, 139.0, 181.0)
    assert [at for at, _ in series.noted] == [100.0, 120.0, 181.0]
    assert series.noted[0][1] == {"pending": 4, "delayed": 3, "leased": 2, "dead": 1, "hosts": 5}
    assert series.folded == []


def test_old_buckets_are_folded_at_first_and_every_hour_where_no_duty_does() -> None:
    series = Notes()
    record(series, *(1000.0 + 20 * number for number in range(400)), folds=True)
    assert series.folded == [1000.0, 4600.0, 8200.0]


def test_a_store_that_is_away_holds_nothing_up() -> None:
    record(Notes(StorageError("gone")), 100.0, 120.0)
    record(None, 100.0)
    slow = Notes(hangs=True)

    async def main() -> float:
        began = asyncio.get_running_loop().time()
        await GaugeRecorder(slow, JOB).record_stats(STATS, 100.0)  # type: ignore[arg-type]
        return asyncio.get_running_loop().time() - began

    assert virtually(main) == PATIENCE_S


def test_a_run_notes_how_its_requests_stand_until_the_end() -> None:
    async def main() -> tuple[Any, list[Any]]:
        kit = Kit(latency_s=50.0)
        series = MemorySeries()
        parts = kit.with_parts(series=series)
        ran = await Supervisor(parts, Worker(parts, kit.shift)).run(kit.seeds_of(URL))
        began = int(ran.started_at // 20) * 20
        return ran, await series.read_steps(JOB, began, began + 200, 20)

    ran, steps = virtually(main)
    assert ran.reason is FinishReason.FINISHED
    assert [step.values["now:leased"] for step in steps] == [0, *[1] * (len(steps) - 2), 0]
    assert len(steps) in (3, 4), "one in each bucket of the 50 seconds"
