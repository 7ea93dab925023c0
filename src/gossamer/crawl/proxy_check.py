"""Tries every proxy of the settings once, on one page, and compares the results."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import FetchError, UsageError
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import Proxy, Route
from gossamer.policy.answer_looks import AnswerLook, find_different, look_at_answer
from gossamer.policy.urls import canonicalise_url, hostname_of
from gossamer.ports.fetcher import Fetcher
from gossamer.runtime.clock import SystemClock
from gossamer.wiring.proxies import open_trial_fetcher, read_listed

AT_ONCE = 20
"""Proxies that are tried at the same time."""
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]{3,45}")
LOOKED_AT = 2048
"""Bytes of a page in which an address is looked for."""


class ProxyCheck(Record, frozen=True, kw_only=True):
    """The result of one page through one proxy."""

    name: str
    provider: str
    kind: str
    country: str
    works: bool  # the page came with a status below 400
    status: int = 0  # 0: no answer
    elapsed_ms: float = 0.0
    address: str = ""  # the address that the page says it was asked from, where it says one
    error: str = ""  # why the proxy gave no answer
    differs: bool | None = False  # it gave another page than most of those that work; None: none has most


async def check_proxies(
    settings: Settings, url: str | None, tell: Callable[[int, int], None]
) -> list[ProxyCheck]:
    """Fetch a page once through every proxy, and mark those that differ; ``tell`` receives the progress."""
    page = canonicalise_url(url or settings.proxies.test_url or "")
    if page is None or not page.startswith("http"):
        raise UsageError("say which page to fetch: `gossamer proxies test URL`, or set proxies.test_url")
    clock = SystemClock()
    proxies = await read_listed(settings, clock)
    fetcher = open_trial_fetcher(settings, hostname_of(page), clock)
    slots, done = asyncio.Semaphore(AT_ONCE), 0

    async def check(proxy: Proxy) -> tuple[ProxyCheck, AnswerLook | None]:
        nonlocal done
        async with slots:
            found = await _check_proxy(fetcher, proxy, page)
        done += 1
        tell(done, len(proxies))
        return found

    try:
        return _compare_checks(await asyncio.gather(*map(check, proxies)))
    finally:
        await fetcher.close()


def _compare_checks(found: Sequence[tuple[ProxyCheck, AnswerLook | None]]) -> list[ProxyCheck]:
    """Return the checks, with ``differs`` set for working proxies whose page is unlike the others."""
    compared = [
        (place, look) for place, (check, look) in enumerate(found) if check.works and look is not None
    ]
    different = find_different([look for _, look in compared])
    differs = {
        place: None if different is None else at in different for at, (place, _) in enumerate(compared)
    }
    return [replace(check, differs=differs.get(place, False)) for place, (check, _) in enumerate(found)]


async def _check_proxy(fetcher: Fetcher, proxy: Proxy, url: str) -> tuple[ProxyCheck, AnswerLook | None]:
    untried = ProxyCheck(
        name=proxy.name, provider=proxy.provider, kind=proxy.kind, country=proxy.country, works=False
    )
    try:
        fetched = await fetcher.fetch(Request(url), Route(proxy=proxy))
    except FetchError as error:
        return replace(untried, error=str(error)), None
    check = replace(
        untried,
        works=fetched.status < 400,
        status=fetched.status,
        elapsed_ms=round(fetched.elapsed_s * 1000, 1),
        address=find_address(fetched),
    )
    return check, look_at_answer(fetched)


def find_address(fetched: FetchResult) -> str:
    """Return the first IP address in a short page, as pages return that show the client's address."""
    for word in _ADDRESS.findall(fetched.body[:LOOKED_AT].decode("latin-1")):
        try:
            return str(ip_address(word))
        except ValueError:
            continue
    return ""
