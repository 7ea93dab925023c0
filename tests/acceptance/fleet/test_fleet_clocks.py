"""Machines whose clocks are wrong work as those whose clocks are right, and the fleet says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acceptance.fleet.conftest import Known
from kit.fleet.history import judge
from kit.fleet.processes import Fleet, Servers

pytestmark = pytest.mark.timeout(180)


@pytest.mark.long
def test_workers_an_hour_behind_and_an_hour_ahead_work_as_any(
    catalogue: Known, servers: Servers, tmp_path: Path
) -> None:
    with Fleet(tmp_path, servers, clocks=(-3_600.0, 0.0, 3_600.0)) as fleet:
        job = fleet.submit(catalogue.spider)
        result = fleet.wait(job)
        shown = fleet.run("fleet")
        workers = json.loads(fleet.run("fleet", "--json").stdout)["workers"]
        stored = fleet.stored(job)
        fleet.all_alive()
    judge(catalogue.truth, catalogue.site.hits(), stored)
    assert (result["finish_reason"], result["dead"]) == ("finished", 0)
    at_work = {row.worker for row in stored.ledger}
    assert at_work == {worker["id"] for worker in workers}, "each of them was given shifts"
    assert sorted(round(worker["ahead_s"] / 3_600) for worker in workers) == [-1, 0, 1]
    assert "1h 00m ahead of Redis" in shown.stdout
    assert "1h 00m behind Redis" in shown.stdout
