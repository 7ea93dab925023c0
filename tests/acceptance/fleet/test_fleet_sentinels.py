"""Sentinels put a replica in the place of a Redis that is gone, in the middle of a crawl: nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.fleet.conftest import Known
from kit.fleet.history import judge
from kit.fleet.processes import Fleet, Servers
from kit.fleet.upset import clean
from kit.redis_groups import SentinelGroup
from kit.servers import PostgresProcess

PASSWORD, OTHER = "hush-hush", "other-secret"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.mark.long
def test_a_crawl_outlasts_a_fail_over(
    catalogue: Known, postgres_server: PostgresProcess, postgres_url: str, tmp_path: Path
) -> None:
    with SentinelGroup(password=PASSWORD, sentinel_password=OTHER) as group:
        servers = Servers(
            group.primary,
            postgres_server.start(),
            postgres_url,
            broker=group.url_of(1),
            requests=group.url_of(0),
        )
        with Fleet(tmp_path, servers, workers=2) as fleet:
            job = fleet.submit(catalogue.spider)
            catalogue.site.wait_for(300)
            group.fail_over()
            result = fleet.wait(job, timeout_s=120)
            stored = fleet.stored(job)
            fleet.all_alive()
            for member in fleet.members:
                said = member.log.read_text()
                clean(said)
                assert PASSWORD not in said
                assert OTHER not in said
    # What the replica had not been sent is done again: the requests of the last moment.
    judge(catalogue.truth, catalogue.site.hits(), stored, refetched=10 * fleet.in_flight)
    assert (result["finish_reason"], result["dead"]) == ("finished", 0)
