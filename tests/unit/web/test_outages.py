"""A server that is away is named at once, and the answers come back with it."""

import asyncio

from kit.web import open_web

PARTS = {"/jobs": ("Redis", "PostgreSQL"), "/jobs/shop/items": (None, "PostgreSQL"), "/healthz": (None, None)}
"""Of some questions the parts that they need of both servers."""


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
