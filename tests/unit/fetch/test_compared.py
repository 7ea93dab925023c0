"""Errors that come through proxies, at the place through which every request goes."""

import pytest

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Proxy, Route
from gossamer.fetch.routing.compared import ComparingFetcher
from gossamer.fetch.routing.proxies import ProxyPool
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock

PROXIES = [Proxy(scheme="http", host=f"p{n}", port=1) for n in range(2)]
URL = "http://a.example/"


class Answering:
    """Fetches nothing: ``answer`` is the status of what comes, or the error."""

    touches_network = True

    def __init__(self, answer):
        self.answer = answer

    async def fetch(self, request, route=DIRECT):
        if isinstance(self.answer, FetchError):
            raise self.answer
        return FetchResult(
            url=request.url, status=self.answer, headers=(), body=b"", started_at=0.0, latency_s=0.0,
            elapsed_s=0.0, rung=route.rung, cost=0.25, browser_s=2.0,
        )  # fmt: skip

    async def close(self):
        pass


def fetcher_over(answer, *, proxies=PROXIES, is_block=False):
    clock = ManualClock()
    pool = ProxyPool(proxies, MemorySharedState(clock), clock)
    for proxy in proxies:  # each has given other answers before
        pool.note_answer(proxy, "b.example", "http://b.example/")
    return ComparingFetcher(Answering(answer), pool, lambda fetched: is_block)


async def outcome(fetcher, request=URL, route=None):
    """The status that came, or the error."""
    request = request if isinstance(request, Request) else Request(request)
    try:
        return (await fetcher.fetch(request, route or Route(proxy=PROXIES[0]))).status
    except FetchError as error:
        return error


@pytest.mark.parametrize("rung", ["http", "impersonate", "browser"])
@pytest.mark.parametrize("status", [500, 502, 503, 590])
async def test_an_error_is_doubted_once_by_every_rung(rung, status):
    fetcher = fetcher_over(status)
    error = await outcome(fetcher, route=Route(rung=rung, proxy=PROXIES[0]))
    assert (error.fault, error.rung, error.proxy) == (Fault.PROXY_ANSWER, rung, PROXIES[0].name)
    assert (error.cost, error.browser_s) == (0.25, 2.0), "it was paid for"
    assert f"status {status}" in error.detail
    assert await outcome(fetcher, route=Route(rung=rung, proxy=PROXIES[1])) == status


async def test_what_a_proxy_says_of_the_host_is_doubted_too():
    """A bug it would catch: a proxy that reaches nothing makes every host of HTTPS one that is down."""
    said = FetchError(Fault.CONNECT, "cannot reach the host (502)", status=502)
    fetcher = fetcher_over(said)
    assert (await outcome(fetcher, "https://a.example/")).fault is Fault.PROXY_ANSWER
    assert await outcome(fetcher, "https://a.example/", Route(proxy=PROXIES[1])) is said
    unclear = FetchError(Fault.CONNECT, "makes no connection to the host").with_detail("a.example: none")
    unclear.is_unclear = True
    doubted = await outcome(fetcher_over(unclear), "https://a.example/")
    assert (doubted.fault, "no connection to the host through the proxy" in doubted.detail) == (
        *(Fault.PROXY_ANSWER, True),
    )
    for other in (FetchError(Fault.CONNECT), FetchError(Fault.PROXY, status=502)):
        assert await outcome(fetcher_over(other)) is other


@pytest.mark.parametrize(
    ("request_", "route", "more"),
    [
        (URL, DIRECT, {}),
        (URL, Route(proxy=Proxy(scheme="http", host="a-spiders-own", port=1)), {}),
        (URL, Route(proxy=PROXIES[0]), {"proxies": PROXIES[:1]}),
        (URL, Route(proxy=PROXIES[0]), {"is_block": True}),
        (Request(URL, method="POST"), Route(proxy=PROXIES[0]), {}),
    ],
    ids=["no proxy", "a proxy of the spider", "the only proxy", "a refusal", "what must not be sent twice"],
)
async def test_errors_that_stand(request_, route, more):
    assert await outcome(fetcher_over(503, **more), request_, route) == 503
