"""Servers of the fleet's tests, and the sites that its crawls are held against."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from kit.fleet import spiders
from kit.fleet.processes import FULL, Fleet, Servers
from kit.fleet.serving import ServedSite
from kit.fleet.site import Catalogue, Truth
from kit.fleet.steps import SLOW_S
from kit.servers import PostgresProcess, RedisProcess

PAGES = 20_000 if FULL else 1_200
LATENCY_S = 0.01
"""How long the site takes for a page, so that there are always some in flight."""


@dataclass(frozen=True)
class Known:
    """A site, a spider for it, and what a crawl has to come to."""

    site: ServedSite
    spider: Path
    truth: Truth


@pytest.fixture
def servers(redis_server: RedisProcess, postgres_server: PostgresProcess, postgres_url: str) -> Servers:
    """A Redis, a PostgreSQL and an empty database in it, to be killed as one likes."""
    found = Servers(redis_server.start(), postgres_server.start(), postgres_url)
    found.empty()
    return found


@pytest.fixture(scope="module")
def served_catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Known]:
    """The catalogue, served as long as the module's tests run."""
    folder = tmp_path_factory.mktemp("catalogue")
    with ServedSite(folder / "site", "catalogue", PAGES, LATENCY_S) as site:
        spider = spiders.write(folder, "catalogue", spiders.CATALOGUE, url=site.url)
        yield Known(site, spider, Catalogue(PAGES).truth(site.url))


@pytest.fixture
def catalogue(served_catalogue: Known) -> Known:
    """The catalogue, as if nobody had been there."""
    served_catalogue.site.begin()
    return served_catalogue


# --------------------------------------------------------------------------- sites


def known(folder: Path, name: str, pages: int, latency_s: float) -> Iterator[Known]:
    """A catalogue of so many pages, and its spider by a name of its own."""
    with ServedSite(folder / name, "catalogue", pages, latency_s) as site:
        text = spiders.CATALOGUE.replace('name = "catalogue"', f'name = "{name}"')
        yield Known(site, spiders.write(folder, name, text, url=site.url), Catalogue(pages).truth(site.url))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("processes")


@pytest.fixture(scope="module")
def big_site(folder: Path) -> Iterator[Known]:
    yield from known(folder, "big", 3_000, 0.05)


@pytest.fixture(scope="module")
def slow_site(folder: Path) -> Iterator[Known]:
    yield from known(folder, "slow", 150, SLOW_S)


@pytest.fixture(scope="module")
def small_site(folder: Path) -> Iterator[Known]:
    yield from known(folder, "small", 50, 0.02)


@pytest.fixture
def big(big_site: Known) -> Known:
    big_site.site.begin()
    return big_site


@pytest.fixture
def slow(slow_site: Known) -> Known:
    slow_site.site.begin()
    return slow_site


@pytest.fixture
def small(small_site: Known) -> Known:
    small_site.site.begin()
    return small_site


# --------------------------------------------------------------------------- fleets


@pytest.fixture(scope="module")
def places(redis_server: RedisProcess, postgres_server: PostgresProcess) -> Servers:
    """The servers of the fleet that a module's tests share, and a database for all of them."""
    name = f"crew_{secrets.token_hex(4)}"
    asyncio.run(made(postgres_server.start().url, name))
    found = Servers(redis_server.start(), postgres_server, postgres_server.url_of(name))
    found.empty()
    return found


async def made(url: str, database: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"CREATE DATABASE {database}")
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def crew(folder: Path, places: Servers) -> Iterator[Fleet]:
    with Fleet(folder, places, workers=2, supervisors=2) as fleet:
        yield fleet


@pytest.fixture
def fleet(crew: Fleet) -> Iterator[Fleet]:
    """Two supervisors and two workers, all of them at work."""
    for member in crew.members:
        member.start()
    crew.ready()
    yield crew
    for job in json.loads(crew.run("jobs", "--json").stdout or "[]"):  # of a test that failed
        if job["state"] in ("running", "paused", "unfinished"):
            crew.run("cancel", job["job"])
