"""A server that is away is named at once, and the answers come back with it."""

import asyncio

import pytest

from gossamer.core.hosts import FrontierRules
from gossamer.targets.plan import JobPlan, pack_plan, settings_to_keep
from gossamer.testing.contracts.frontier_harness import make_entry
from kit.web import open_web

PARTS = {"/jobs": ("Redis", "PostgreSQL"), "/jobs/shop/items": (None, "PostgreSQL"), "/healthz": (None, None)}
"""Of some questions the parts that they need of both servers."""


@pytest.mark.long
async def test_who_is_away_is_named(redis_server, postgres_server, tmp_path):
    redis, postgres = redis_server.start(), postgres_server.start()
    places = {"frontier": {"url": redis.url}, "store": {"url": postgres.url_of("postgres")}}
    async with open_web(tmp_path, **places) as web:
        await web.backends.book.create("shop", "shop.py")

        async def ask_all(which):
            for path, parts in PARTS.items():
                where = path if path == "/healthz" else f"/api/v1{path}"
                answer = await web.client.get(where, params={"_": str(which)})  # another question each time
                part = None if which is None else parts[which]
                assert answer.status_code == (503 if part else 200), f"{path}: {answer.text}"
                if part:
                    assert answer.json()["error"]["what"] == f"{part} cannot be read."
                    fleet = f"While {part} does not answer, the fleet waits, and loses nothing"
                    assert answer.json()["error"]["way"].startswith(fleet)
                    assert answer.headers["retry-after"] == "5"

        for number, server in enumerate((redis, postgres)):
            server.kill()
            async with asyncio.timeout(20):
                await ask_all(number)
            server.start()
        async with asyncio.timeout(20):
            await ask_all(None)


async def test_a_redis_that_takes_no_changes_is_named_first(redis_server, tmp_path):
    """Its supervisors and workers are there, and can do nothing: that they are missing would be wrong."""
    redis = redis_server.start()
    async with open_web(tmp_path, frontier={"url": redis.url}) as web:
        backends = web.backends
        plan = pack_plan(JobPlan(target="shop.py", settings=settings_to_keep(backends.settings)))
        job = await backends.book.create("shop", "shop.py", plan=plan)
        await backends.requests.create_frontier(job, FrontierRules())
        await backends.open_frontier(job).add([make_entry(1)])
        assert "takes no changes" not in (await web.get("/overview"))["say"][0]
        await backends.requests.server.run_command("REPLICAOF", "127.0.0.1", "1")
        try:
            said = await web.get("/overview", params={"limit": 1})
            shop = await web.get(f"/jobs/{job.id}")
        finally:  # other tests share the server
            await backends.requests.server.run_command("REPLICAOF", "NO", "ONE")
    first = "Redis takes no changes: the one job that runs waits, and nothing is lost."
    assert said["say"][0] == first
    assert "is a replica" in said["troubles"][0]["text"]
    assert [one["kind"] for one in shop["troubles"]] == ["away"]
    assert shop["say"][0] == f"{job.id} waits: nothing can be stored now."
    assert "is a replica, which takes no changes" in shop["say"][1]
