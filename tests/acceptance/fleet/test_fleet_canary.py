"""The canary on a fleet: nothing that its processes write or answer has one of their secrets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import asyncpg
import httpx2
import pytest

from gossamer.testing.site import serve_in_thread
from kit.canary import SECRETS, CanarySite, leaks_of, variables, write_project
from kit.fleet.processes import Fleet, Servers
from kit.scraping import scrape
from kit.server_process import free_port
from kit.servers import PostgresProcess, RedisProcess

LINES = (
    "fleet", "fleet --json", "jobs", "status canary", "status canary --json", "attempts canary --json",
    "dead list canary --json", "settings", "doctor", "export canary", "top", "top canary --json",
    "alerts", "alerts --json", "alerts test", "proxies --json", "list",
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


async def ask_dashboard(place: str, token: str, job: str) -> dict[str, str]:
    """Every question that the API knows, and the metrics; of the paths that were answered."""
    told: dict[str, str] = {}
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=place, headers=headers, timeout=30) as client:
        asked = (await client.get("/api/v1/openapi.json")).json()["paths"]
        letters = (await client.get(f"/api/v1/jobs/{job}/dead")).json()["letters"]
        url = letters[0]["url"]
        found = {"job": job, "host": url.split("/")[2].replace(":", "%3A"), "number": letters[0]["id"]}
        for path in (*(path for path, ways in asked.items() if "get" in ways), "/metrics"):
            if not path.endswith(("/stream", "/actions/{action}")):
                options = {"url": url} if path.endswith("/explain") else {}
                answer = await client.get(path.format(**found), params=options)
                told[path] = answer.text
                assert answer.status_code == 200 or path.endswith("/{host}"), (path, answer.text)
    return told


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
        with Fleet(tmp_path, servers, workers=0, settings=settings, env=variables(site.host)) as fleet:
            ports = [free_port(), free_port()]
            for number in ports:
                fleet.add_worker("--metrics-port", str(number))
            fleet.ready()
            job = fleet.submit(tmp_path / "canary.py", "-a", f"password={SECRETS['argument']}")
            fleet.wait(job)
            made = fleet.run("token", "create", "ann", "--role", "admin")
            assert made.returncode == 0, made.stderr
            token, port = made.stdout.strip(), free_port()
            page = fleet._member("dashboard", ("--port", str(port)), "the dashboard is at").start()
            fleet.supervisors.append(page)
            fleet.ready()
            told = asyncio.run(ask_dashboard(f"http://127.0.0.1:{port}", token, job))
            told |= {f"metrics of {number}": scrape(number).text for number in ports}
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
    assert token not in logs + stored + " ".join(done.stdout for done in answers)
    assert len(told) > 15
    assert "ValueError: <Request http" in told["/api/v1/jobs/{job}/attempts"]
    assert f'job="{job}"' in told["/metrics"]
    assert {path: leaks_of(text) for path, text in told.items() if leaks_of(text) or token in text} == {}
