"""Deferred extraction, which only a fleet has, with each other feature: one process is the truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.environment import SEED_VARIABLE, draw_seed
from kit.fleet.processes import Servers
from kit.pairs.crawls import served_crawl
from kit.pairs.features import DEFERRED, FEATURES, FLEET_REFUSALS
from kit.pairs.lots import kill_at
from kit.pairs.on_fleet import fleet_crawl
from kit.pairs.outcome import Outcome

SEED = draw_seed()
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(400)]  # a crawl may wait for proxies that rest


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """What a crawl of one process without any of the features comes to."""
    with served_crawl(tmp_path_factory.mktemp("plain")) as crawl:
        return crawl.outcome()


@pytest.mark.parametrize("name", FEATURES)
def test_deferred_extraction_and(name: str, plain: Outcome, servers: Servers, tmp_path: Path) -> None:
    at = kill_at(SEED, (DEFERRED.name, name))
    how = f"killed at request {at}" if at else "not killed"
    said = f"{SEED_VARIABLE}={SEED}: {DEFERRED.name} and {name}, {how}"
    with fleet_crawl(tmp_path, servers, DEFERRED, FEATURES[name], kill_at=at) as crawl:
        if refusal := FLEET_REFUSALS.get(name):
            done = crawl.fleet.run(*crawl.command())
            assert (done.returncode, crawl.crawl.site.hits) == (2, [])
            assert refusal.words in done.stderr
            return
        found = crawl.outcome()
        expected = crawl.crawl.expected(plain)
        lines = [line for line in found.differences(expected) if not crawl.crawl.may_differ(line)]
        assert not lines, "\n".join([said, *lines])
