"""Every pair of back ends gives the same answers."""

from contextlib import asynccontextmanager

import pytest

from gossamer.config.layers import load_settings
from gossamer.testing.contracts.queries import check_queries, query_checks
from gossamer.wiring.backends import open_backends
from kit.servers import on_servers

MONGO = pytest.param("mongo", marks=[pytest.mark.server, pytest.mark.thorough])
PLAIN = {"delay": 0.0, "per_host": 100}


def opened_at(folder, **places):
    count = iter(range(1000))

    @asynccontextmanager
    async def make():
        given = {**PLAIN, "data": str(folder / str(next(count))), **places}
        backends = await open_backends(load_settings(env={}, spider=given).settings, create=True)
        try:
            yield backends
        finally:
            await backends.close()

    return make


@pytest.mark.parametrize("name", query_checks())
@pytest.mark.parametrize("kind", ["sqlite", *on_servers("servers"), MONGO])
async def test_contract(kind, name, tmp_path, request):
    places = {}
    if kind == "servers":
        places["frontier"] = {"url": request.getfixturevalue("redis_url")}
        places["store"] = {"url": request.getfixturevalue("postgres_url")}
    if kind == "mongo":
        places["store"] = {"url": request.getfixturevalue("mongo_url")}
    await query_checks()[name](opened_at(tmp_path, **places))


@pytest.mark.long
async def test_the_suite_runs_every_check(tmp_path):
    await check_queries(opened_at(tmp_path))
    assert len(query_checks()) > 10
