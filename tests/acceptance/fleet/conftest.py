"""Servers of the fleet's tests, and the sites that its crawls are held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from acceptance.fleet import spiders
from acceptance.fleet.kit import FULL, Servers
from acceptance.fleet.serving import ServedSite
from acceptance.fleet.site import Catalogue, Truth
from servers import PostgresProcess, RedisProcess

PAGES = 20_000 if FULL else 2_000
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
