"""Redis, with requests and messages in it, is killed again and again: nothing is lost, and no worker ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.fleet.conftest import Known
from acceptance.fleet.test_fleet_nemesis import LONG_S, check
from kit.fleet import nemesis
from kit.fleet.processes import FULL, Fleet, Servers


@pytest.mark.long
@pytest.mark.timeout(LONG_S + 120)
@pytest.mark.parametrize("seed", range(3 if FULL else 1))
def test_redis_comes_back_from_its_file(
    seed: int, catalogue: Known, servers: Servers, tmp_path: Path
) -> None:
    with Fleet(tmp_path, servers, workers=2) as fleet:
        check(nemesis.kill_redis, catalogue, fleet, seed=seed)
