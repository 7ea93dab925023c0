"""Choose the identity of a request: its proxy, cookies and browser profile.

After a refusal, the next request has another identity: the proxy rests at that host, and the identity is
retired with its cookies. A possible refusal is attributed to the proxy only if the same page loads through
another one; otherwise a page that refuses everyone would put all proxies to rest.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple, TypeVar

from gossamer.core.errors import MissingServiceError
from gossamer.core.requests import Request
from gossamer.core.results import Verdict
from gossamer.core.routes import Advice, Detour, Proxy, Route, RouteReport
from gossamer.core.rungs import GATEWAY_WAY, explain_missing_proxies, kind_of, way_of
from gossamer.fetch.routing.proxies import ProxyPool
from gossamer.fetch.sessions.pool import SessionPool
from gossamer.policy.proxies import ProxyOutcome
from gossamer.policy.sessions import Identity

MOST_IDENTITIES = 3
"""A refused page is retried with up to this number of further identities, if the first had been welcome."""
MOST_AVOIDED = 3
"""The latest proxies that failed a page, up to this number, are the last choice for it."""
MAX_KEPT = 10_000
"""Requests in flight whose identity is remembered, and URLs whose last proxy is."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _DoubtedProxy(NamedTuple):
    """The proxy by which a page was not had the last time, and when that began."""

    proxy: Proxy
    rung: str
    started_at: float
    is_suspect: bool  # it looked refused
    names: tuple[str, ...]  # of it, after those before it


class GuisePlanner:
    """Adds proxies and sessions to routes.

    ``always``: every request uses a proxy, except through gateways; otherwise those whose rung names a kind
    of proxy. ``is_sticky``: an identity keeps its proxy, and ends with it.
    """

    def __init__(
        self,
        sessions: SessionPool | None = None,
        proxies: ProxyPool | None = None,
        *,
        always: bool = False,
        is_sticky: bool = False,
    ) -> None:
        self._sessions = sessions
        self._proxies = proxies
        self._always = always
        self._is_sticky = is_sticky
        self._identities: OrderedDict[tuple[str, str], Identity] = OrderedDict()  # by host and session
        self._doubted: OrderedDict[str, _DoubtedProxy] = OrderedDict()  # by URL

    def __repr__(self) -> str:
        return f"GuisePlanner({self._sessions!r}, {self._proxies!r})"

    def can_take(self, rung: str) -> bool:
        """Return whether the crawl has a proxy of the rung's kind."""
        kind = kind_of(rung)
        return not kind or (self._proxies is not None and self._proxies.has_kind(kind))

    async def complete_route(self, request: Request, host: str, rung: str) -> Route | Detour:
        """Return the whole route of a request on a rung, or a wait for a proxy.

        Raises ``StorageError``, and ``MissingServiceError`` without a proxy of the rung's kind.
        """
        identity = await self._open_identity(request, host, rung)
        proxy = await self._choose_proxy(request, host, rung, identity)
        if identity and isinstance(proxy, Proxy) and self._is_sticky and self._sessions:
            if identity.proxy and identity.proxy != proxy.name:  # its own proxy is out of order
                await self.release_route(Route(rung=rung, proxy=proxy), host)
                await self._sessions.retire_session(identity)
                identity = await self._sessions.open_session(request, host, rung)
                proxy = await self._choose_proxy(request, host, rung, identity)  # that its successor prefers
            if isinstance(proxy, Proxy) and not identity.proxy:
                identity = await self._sessions.bind_proxy(identity, proxy.name)
        if isinstance(proxy, Detour):
            return proxy
        if identity is None:
            return Route(rung=rung, proxy=proxy)
        _keep_latest(self._identities, (host, identity.session), identity)
        return Route(rung=rung, proxy=proxy, session=identity.session, profile=identity.profile)

    async def learn_from(self, report: RouteReport, *, is_blamed: bool) -> Advice | None:
        """Learn from a route's result; advise a retry if its proxy or identity is used up.

        ``is_blamed``: a refusal is attributed to the proxy. Raises ``StorageError``.
        """
        identity = self._identities.get((report.host, report.route.session or ""))
        is_known = False
        if self._sessions is not None and identity is not None:
            is_known = await self._sessions.record_report(identity, report)
        proxy = report.route.proxy
        if self._proxies is None or proxy is None:
            is_again = is_known and report.result.attempts[0].attempt <= MOST_IDENTITIES
            return Advice(detail="retried with another identity and new cookies") if is_again else None
        is_suspect = report.block is not None and not is_blamed
        former = await self._judge_former(report)
        if is_suspect:
            self._doubt_proxy(report, proxy, former, is_suspect=True)
            await self._proxies.release_proxy(proxy, report.host, report.result.attempts[0].at)
            return None
        if report.result.outcome.verdict is not Verdict.SUCCESS:
            self._doubt_proxy(report, proxy, former, is_suspect=False)
        return await self._proxies.learn_from(report)

    async def release_route(self, route: Route, host: str) -> None:
        """Nothing came of a route: another request may try its proxy out. Raises ``StorageError``."""
        if self._proxies is not None and route.proxy is not None:
            await self._proxies.release_proxy(route.proxy, host)

    async def begin_rung(self, host: str) -> None:
        """Pardon the proxies of a host that has climbed: the rung was refused. Raises ``StorageError``."""
        if self._proxies is not None:
            await self._proxies.pardon_host(host)

    async def close(self) -> None:
        """Save unsaved changes. Idempotent."""
        if self._sessions is not None:
            await self._sessions.close()
        if self._proxies is not None:
            await self._proxies.close()

    # ------------------------------------------------------------------ before a request

    async def _open_identity(self, request: Request, host: str, rung: str) -> Identity | None:
        return await self._sessions.open_session(request, host, rung) if self._sessions else None

    async def _choose_proxy(
        self, request: Request, host: str, rung: str, identity: Identity | None
    ) -> Proxy | Detour | None:
        kind = kind_of(rung)
        is_always = self._always and way_of(rung).partition(":")[0] != GATEWAY_WAY
        if not kind and not (is_always and self._proxies):
            return None
        if self._proxies is None:
            raise MissingServiceError(explain_missing_proxies(rung))
        if identity and self._is_sticky:  # repeated failures end the identity with its proxy
            former = () if identity.proxy or not identity.former_proxy else (identity.former_proxy,)
            return await self._proxies.choose_proxy(
                host, kind=kind, session=identity.session, preferred=identity.proxy, avoid=former
            )
        doubted = self._doubted.get(request.url)
        avoid = doubted.names if doubted else ()
        return await self._proxies.choose_proxy(host, kind=kind, avoid=avoid)

    # ------------------------------------------------------------------ after it

    def _doubt_proxy(
        self, report: RouteReport, proxy: Proxy, former: _DoubtedProxy | None, *, is_suspect: bool
    ) -> None:
        started_at = report.result.attempts[0].at
        names = (*(former.names if former else ()), proxy.name)[-MOST_AVOIDED:]
        doubted = _DoubtedProxy(proxy, report.route.rung, started_at, is_suspect, names)
        _keep_latest(self._doubted, report.request.url, doubted)

    async def _judge_former(self, report: RouteReport) -> _DoubtedProxy | None:
        """Return the former proxy of a page. A page that loads through another one was refused to that
        one."""
        former = self._doubted.pop(report.request.url, None)
        is_had = report.result.outcome.verdict is Verdict.SUCCESS and report.block is None
        if former is None or not former.is_suspect or not is_had or self._proxies is None:
            return former
        if former.rung == report.route.rung and former.proxy != report.route.proxy:
            await self._proxies.record_outcome(
                former.proxy, report.host, ProxyOutcome.BLOCKED, started_at=former.started_at
            )
        return former


def _keep_latest(kept: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Remember a value as the latest, and drop the oldest over the limit."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MAX_KEPT:
        kept.popitem(last=False)
