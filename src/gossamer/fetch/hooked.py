"""Call the hooks of users' code around a fetch, by two fetchers around the fetcher.

The inner one is next to the transport: its changes go over the wire and nowhere else. Every layer around it
(the cache, the archive, the ledger, robots.txt) knows the request that is stored. The outer one sees
answers last, so that archives have them as received.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.hooks import HookError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.policy.proxy_list import FORMS, parse_proxy
from gossamer.policy.sent_requests import list_changed_values
from gossamer.ports.exchange_hooks import ExchangeHooks
from gossamer.ports.fetcher import Fetcher
from gossamer.runtime.known_secrets import hide_secrets, remember_secrets


class RequestHookFetcher:
    """A fetcher that sends what hooks make of a request; its answer is that of the request that is stored."""

    def __init__(self, fetcher: Fetcher, hooks: ExchangeHooks) -> None:
        self._fetcher = fetcher
        self._hooks = hooks
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`. Also raises ``HookError``."""
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        sent = await self._hooks.prepare_request(request)
        held_s = loop.time() - began_at
        if isinstance(sent, FetchResult):
            return sent
        if "proxy" in sent.meta:
            route = _through_proxy(route, sent.meta["proxy"])
        if sent is request:
            return replace(await self._fetcher.fetch(request, route), held_s=held_s)
        try:
            fetched = await self._fetcher.fetch(sent, route)
        except FetchError as error:
            error.detail = hide_secrets(error.detail, list_changed_values(request, sent))
            raise
        # The header as sent contains a hook's additions: the archive writes one of the stored request.
        raw = None if fetched.raw is None else replace(fetched.raw, request_header=b"")
        return replace(fetched, url=request.url, raw=raw, held_s=held_s)

    async def close(self) -> None:
        """Let go of connections."""
        await self._fetcher.close()


class ResponseHookFetcher:
    """A fetcher whose answers and failures pass the hooks first."""

    def __init__(self, fetcher: Fetcher, hooks: ExchangeHooks) -> None:
        self._fetcher = fetcher
        self._hooks = hooks
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`. Also raises ``HookError``."""
        try:
            fetched = await self._fetcher.fetch(request, route)
        except HookError:  # it is about a hook, not about the host
            raise
        except FetchError as error:
            found = await self._hooks.pass_failure(request, error)
            if found is None:
                raise
            fetched = found
        return await self._hooks.pass_answer(request, fetched)

    async def close(self) -> None:
        """Let go of connections."""
        await self._fetcher.close()


def _through_proxy(route: Route, proxy: object) -> Route:
    """Return the route through the proxy in ``meta["proxy"]``; ``None`` there means no proxy."""
    if not proxy:
        return replace(route, proxy=None)
    try:
        found = parse_proxy(str(proxy))
    except ValueError as error:
        raise HookError(Fault.HOOK, f'meta["proxy"] of a request: {error}. Write {FORMS}') from None
    remember_secrets([found.password])
    return replace(route, proxy=found)
