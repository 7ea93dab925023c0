"""One fetcher over all ways: each request takes the way of its route, and each way is opened once."""

import pytest

from gossamer.config.settings import Settings
from gossamer.core.errors import MissingServiceError, SettingError, UsageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import Route
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.replay import ReplayFetcher
from gossamer.fetch.routing.dispatch import RoutedFetcher
from gossamer.testing.clock import ManualClock
from gossamer.wiring.fetchers import fetcher_of, find_way

PAGE = Request("http://one.example/")


class NamedFetcher:
    """Answers with the name of its way."""

    touches_network = True

    def __init__(self, way: str, closed: list[str]) -> None:
        self.way, self._closed = way, closed

    async def fetch(self, request: Request, route: Route) -> FetchResult:
        numbers = {"status": 200, "started_at": 0.0, "latency_s": 0.0, "elapsed_s": 0.0}
        return FetchResult(
            url=request.url, headers=(), body=route.rung.encode(), rung=self.way, **numbers
        )  # fmt: skip

    async def close(self) -> None:
        self._closed.append(self.way)
        if self.way == "broken":
            raise OSError("it does not close")


@pytest.fixture
def world():
    class World:
        opened: list[str] = []
        closed: list[str] = []

        def open_way(self, way: str) -> NamedFetcher:
            if way == "absent":
                raise MissingServiceError("it is not installed")
            self.opened.append(way)
            return NamedFetcher(way, self.closed)

    World.opened, World.closed = [], []
    return World()


async def test_each_request_takes_the_way_of_its_route(world):
    fetcher = RoutedFetcher(world.open_way, ["http"])
    assert world.opened == ["http"]
    rungs = ["http", "impersonate", "http+datacenter", "gateway:one", "gateway:two", "impersonate"]
    results = [await fetcher.fetch(PAGE, Route(rung=rung)) for rung in rungs]
    assert [result.rung for result in results] == [
        "http", "impersonate", "http", "gateway", "gateway", "impersonate",
    ]  # fmt: skip
    assert results[4].body == b"gateway:two", "the whole rung reaches the fetcher"
    assert world.opened == ["http", "impersonate", "gateway"], "each way is opened once"


async def test_every_way_is_closed_even_if_one_raises(world):
    fetcher = RoutedFetcher(world.open_way, ["http", "broken", "browser"])
    with pytest.raises(OSError, match="does not close"):
        await fetcher.close()
    assert sorted(world.closed) == ["broken", "browser", "http"]


async def test_a_way_that_cannot_be_opened_stops_the_crawl_at_its_start_or_where_it_is_asked_for(world):
    with pytest.raises(MissingServiceError):
        RoutedFetcher(world.open_way, ["absent"])
    fetcher = RoutedFetcher(world.open_way)
    for _ in range(2):
        with pytest.raises(MissingServiceError):
            await fetcher.fetch(PAGE, Route(rung="absent"))


def test_an_unknown_way_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="'htpp' is not a way to fetch; did you mean 'http'\\?"):
        find_way("htpp")
    with pytest.raises(UsageError, match=r"there are .*http, "):
        find_way("quux")


def test_saved_pages_replace_every_way(tmp_path):
    settings = Settings.model_validate({"replay": {"folder": str(tmp_path)}})
    fetcher = fetcher_of(settings, AddressGuard(), ManualClock(), ways=["http"])
    assert isinstance(fetcher, ReplayFetcher)


async def test_without_saved_pages_there_is_no_replay():
    fetcher = fetcher_of(Settings(), AddressGuard(), ManualClock(), ways=())
    with pytest.raises(SettingError, match=r"replay\.folder"):
        await fetcher.fetch(PAGE, Route(rung="replay"))
