"""Schedules on a fleet: its leading supervisor submits what is due, once, whoever is killed."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import asyncpg
import pytest

from acceptance.fleet.conftest import Known
from kit.fleet.processes import Fleet, Servers
from kit.fleet.steps import until

PATIENCE_S = 60.0


def asked(servers: Servers, query: str) -> list[tuple[object, ...]]:
    """What a query gives on the fleet's database."""

    async def ask() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(servers.database)
        try:
            return [tuple(row) for row in await connection.fetch(query)]
        finally:
            await connection.close()

    return asyncio.run(ask())


@pytest.mark.long
def test_what_is_due_is_submitted_once_though_supervisors_are_killed(
    tmp_path: Path, servers: Servers, big: Known
) -> None:
    with Fleet(tmp_path, servers, workers=1, supervisors=2) as fleet:
        target = (str(big.spider), "--max-pages", "60")
        done = fleet.run("schedule", "add", "often", "* * * * *", *target)
        assert done.returncode == 0, done.stderr
        asked(servers, "UPDATE schedule SET since = since - 120")
        due_at = time.time()
        until(lambda: asked(servers, "SELECT 1 FROM schedule_run"), PATIENCE_S, "the claim")
        late_s = time.time() - due_at
        for supervisor in fleet.supervisors:  # whichever leads, and wherever it is with the submission
            supervisor.kill()
        for supervisor in fleet.supervisors:
            supervisor.start()
        over = 'SELECT 1 FROM schedule_run WHERE NOT is_open AND record LIKE \'%"outcome":"finished"%\''
        until(lambda: asked(servers, over), PATIENCE_S, "the end of the first run")
        assert late_s < 20.0
    runs = asked(servers, "SELECT due_at, key, record FROM schedule_run ORDER BY due_at")
    jobs = asked(servers, "SELECT encode(key, 'hex') FROM job ORDER BY id")
    keys = [key for (key,) in jobs]
    assert len(keys) == len(set(keys))
    assert set(keys) <= {key for _, key, _ in runs}
    begun = [key for _, key, record in runs if '"job":' in str(record)]
    assert keys == begun, "each run that began has one job, and no other job is there"
    assert len({due_at for due_at, _, _ in runs}) == len(runs)
