"""A worker in which a shift hangs ends itself, says why, and the fleet continues."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.fleet import spiders
from kit.fleet.processes import Fleet, Servers
from kit.fleet.serving import ServedSite
from kit.fleet.steps import ended

SHORT = """
from gossamer.policy import shift_deadlines

shift_deadlines.GRACE_S = shift_deadlines.KILL_S = 2.0
shift_deadlines.MORE_S = 1.0
"""
"""Read by each process as it starts: the deadlines of shifts, made short for the test."""

HANGING = """
import os, time
from pathlib import Path
from gossamer import Spider


class Hanging(Spider):
    name = "hanging"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        try:
            Path("{mark}").touch(exist_ok=False)
        except FileExistsError:
            return
        time.sleep(600)
"""


@pytest.mark.long
def test_a_worker_whose_callback_never_returns_ends_and_another_one_does_the_job(
    tmp_path: Path, servers: Servers
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SHORT)
    settings = {"cluster.shift": 2, "cluster.drain": 1, "frontier.lease_ttl": 2, "store.patience": 1}
    env = {"PYTHONPATH": str(tmp_path)}
    with (
        ServedSite(tmp_path / "site", "catalogue", 10, 0.0) as site,
        Fleet(tmp_path, servers, workers=1, settings=settings, env=env) as fleet,
    ):
        spider = spiders.write(tmp_path, "hanging", HANGING, url=site.url, mark=str(tmp_path / "mark"))
        job = fleet.submit(spider)
        code, _ = ended(fleet.workers[0], 40)
        assert code == 70
        log = fleet.workers[0].log.read_text()
        assert f"a shift of {job} on http is past its deadline and ends now. It is at:" in log
        assert "time.sleep(600)" in log, "the line that hangs"
        assert f"a shift of {job} on http does not end" in log
        assert "This process ends now" in log
        fleet.workers[0].start()
        fleet.wait(job)
