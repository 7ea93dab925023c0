"""The canary on a fleet: nothing that its processes write or answer has one of their secrets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import asyncpg
import pytest

from gossamer.testing.site import serve_in_thread
from kit.canary import SECRETS, CanarySite, leaks_of, variables, write_project
from kit.fleet.processes import Fleet, Servers
from kit.servers import PostgresProcess, RedisProcess

LINES = (
    "fleet", "fleet --json", "jobs", "status canary", "status canary --json", "attempts canary --json",
    "dead list canary --json", "settings", "doctor", "export canary",
)  # fmt: skip
pytestmark = [pytest.mark.thorough, pytest.mark.server]


async def stored_text(url: str) -> str:
    """Every row of every table."""
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch("select tablename from pg_tables where schemaname = 'gossamer'")
        rows = [await connection.fetch(f'select * from gossamer."{name}"') for (name,) in tables]
        return repr([[tuple(row) for row in found] for found in rows])
    finally:
        await connection.close()


def test_no_process_of_a_fleet_tells_a_secret(
    tmp_path: Path, postgres_server: PostgresProcess, postgres_url: str
) -> None:
    app = CanarySite()
    settings = {"log.format": "json", "log.level": "debug"}
    database = postgres_url.replace("@", f":{SECRETS['postgres']}@")
    with serve_in_thread(app) as site, RedisProcess(password=SECRETS["redis"]) as redis:
        app.host = site.host
        write_project(tmp_path, site.host)
        servers = Servers(redis, postgres_server, database)
        with Fleet(tmp_path, servers, workers=2, settings=settings, env=variables(site.host)) as fleet:
            job = fleet.submit(tmp_path / "canary.py", "-a", f"password={SECRETS['argument']}")
            fleet.wait(job)
            seen = b"".join(Path(f"/proc/{member.pid}/cmdline").read_bytes() for member in fleet.members)
            answers = [fleet.run(*line.split()) for line in LINES]
            logs = "".join(member.log.read_text() for member in fleet.members)
        stored = asyncio.run(stored_text(postgres_url))
    assert {"cookie", "api_key", "gateway", "proxy", "log_in"} <= set(leaks_of(" ".join(app.told)))
    lines = [json.loads(line) for line in logs.splitlines()]
    assert {"page_done", "shift_ended", "job_finished"} <= {line["event"] for line in lines}
    assert leaks_of(logs) == []
    assert leaks_of(seen) == []
    assert leaks_of(stored) == []
    for done in answers:
        assert leaks_of(done.stdout + done.stderr) == [], done.args
