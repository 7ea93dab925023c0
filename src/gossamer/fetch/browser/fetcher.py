"""The rung ``browser``: pages as a browser shows them, after their scripts have run.

The body of HTML is the page's tree after loading; any other body is the bytes received. Every fetch ends in
bounded time, connects to no private address except those that the operator named, and follows no redirect.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import SystemRandom

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.media_type import essence_of
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.fetch.browser.cookies import TabCookies
from gossamer.fetch.browser.dialers import GuardedDialer
from gossamer.fetch.browser.faults import ABORTED, NO_PAGE, error_code, translate_code
from gossamer.fetch.browser.limits import CLOSE_S, BrowserOptions
from gossamer.fetch.browser.navigation import SCRIPT_REDIRECT, Navigation
from gossamer.fetch.browser.pool import BrowserPool
from gossamer.fetch.browser.saved_state import SavedState
from gossamer.fetch.browser.shown_page import ShownPage
from gossamer.fetch.browser.tab import BrowserTab, TabKey
from gossamer.fetch.browser.task import PageTask, TaskOptions, TaskReport
from gossamer.fetch.browser.web_storage import StorageRecord, TabStore
from gossamer.fetch.guard import AddressGuard, refusal_for
from gossamer.fetch.http.faults import RAISED, translate_error
from gossamer.fetch.http.fields import is_told_from, own_headers_of
from gossamer.fetch.http.target import Origin, parse_target
from gossamer.fetch.resolver import Resolver
from gossamer.fetch.sessions.request_cookies import put_cookies
from gossamer.policy import urls
from gossamer.policy.redirects import is_credential
from gossamer.policy.url_parser import normalise_url
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore
from gossamer.ports.page_guide import PageGuide
from gossamer.runtime.cancelling import end_tasks

_GONE = ("has been closed", "Target closed", "Connection closed")
_UNSENT = frozenset({"content-length", "transfer-encoding", "host", "connection"})
"""Headers that the browser says itself."""

_RESERVE = 0.2
"""The share of a page's time that is left for its picture and its content when its steps must have ended."""


class BrowserFetcher:
    """A :class:`~gossamer.ports.fetcher.Fetcher`. Belongs to the event loop of the first fetch.

    ``guide`` knows the actions of spiders on their pages. Raises ``MissingServiceError`` without a browser
    or a driver.
    """

    rung = "browser"
    touches_network = True

    def __init__(
        self,
        options: BrowserOptions,
        *,
        clock: Clock,
        guard: AddressGuard,
        cookies: CookieStore,
        resolver: Resolver | None = None,
        guide: PageGuide | None = None,
        tasks: TaskOptions | None = None,
    ) -> None:
        self._options = options
        self._guide = guide
        self._tasks = tasks or TaskOptions()
        self._random = SystemRandom()
        self._clock = clock
        self._guard = guard
        self._cookies = cookies
        self._pool = BrowserPool(options)
        self._state = SavedState(options.storage_state) if options.storage_state else None
        self._dialer = GuardedDialer(
            guard, connect_s=options.connect_s, insecure_hosts=options.insecure_hosts, resolver=resolver
        )

    def __repr__(self) -> str:
        return f"BrowserFetcher({self._pool!r})"

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """Fetch one page. The wait for a free tab is unbounded, since the number of tabs is limited."""
        try:
            origin = parse_target(request.url).origin
            self._check_host(request.url, origin)
            return await self._fetch_in_tab(request, route, origin)
        except FetchError as error:
            error.rung = self.rung
            error.proxy = route.proxy.name if route.proxy is not None else ""
            raise

    async def close(self) -> None:
        """Close the browsers. Idempotent."""
        await self._pool.close()

    def _check_host(self, url: str, origin: Origin) -> None:
        """Refuse an address in disguise (``0x7f.1``): a browser reads it as the one that may be named."""
        read = urls.hostname_of(normalise_url(url) or url).strip("[]")
        refusal = refusal_for(read) if read != origin.host else ""
        if refusal not in ("", "no address") and not self._guard.is_trusted(origin.host, origin.port):
            raise FetchError(Fault.GUARD, f"{origin.host}: not a public address ({refusal})")

    async def _fetch_in_tab(
        self, request: Request, route: Route, origin: Origin, *, may_follow: bool = True
    ) -> FetchResult:
        """Fetch the page in a tab; in a blank one unless it ``may_follow`` another page."""
        dial = self._dialer.dial_by(route.proxy)
        task = PageTask(request, self._guide, self._tasks, random=self._random)
        next_url = request.url if may_follow and task.may_follow_page else ""
        keeps = "cookie" not in (request.omit_headers or ())
        tab = await self._pool.take_tab(self._key_for(request, route, origin), next_url, dial)
        fault: Fault | None = Fault.LOCAL  # this visit's own end
        loop = asyncio.get_running_loop()
        held_from = loop.time()
        result: FetchResult | None = None
        try:
            if tab.cookies is None:
                tab.cookies = TabCookies(tab.context, self._cookies, tab.key.session)
                tab.storage = TabStore(self._cookies, tab.key.session)
            self._begin_session(tab.key.session, request)
            async with _cookies_moved(origin):
                await (
                    tab.cookies.bring(request.url, self._clock.now()) if keeps else tab.cookies.leave_out()
                )
                await self._bring_storage(tab, request.url)
            result = await self._visit_page(tab, request, origin, task)
            async with _cookies_moved(origin):
                for url in dict.fromkeys((request.url, tab.page.url)) if keeps else ():
                    await tab.cookies.take(url, self._clock.now())
            fault = None
            tab.end_page(may_stay=task.is_left_alone)
        except FetchError as error:
            fault = error.fault
            error.browser_s = loop.time() - held_from
            if fault is Fault.BROWSER or not tab.is_hindered:
                raise
        finally:
            self._pool.give_back(tab, fault)
        if result is None:
            return await self._fetch_in_tab(request, route, origin, may_follow=False)
        return replace(result, browser_s=loop.time() - held_from)

    def _key_for(self, request: Request, route: Route, origin: Origin) -> TabKey:
        is_own = not self._options.is_open or bool(route.profile)
        return TabKey(
            session=route.session_for(request),
            proxy=route.proxy,
            is_open=not is_own,
            is_insecure=origin.host in self._options.insecure_hosts,
        )

    def _fields_for(self, request: Request, origin: Origin) -> dict[str, str]:
        """Return the headers of the page's own request, besides the browser's."""
        is_named = self._guard.is_named(origin.host)
        fields = {
            name: value
            for name, value in self._options.headers.items()
            if is_named or not is_credential(name)
        }
        if value := self._options.authorizations.get(urls.origin_of(request.url)) or origin.credentials:
            fields["Authorization"] = value
        own = own_headers_of(request)
        taken = {*(name.lower() for name in own), *(request.omit_headers or ())}
        fields = {name: value for name, value in fields.items() if name.lower() not in taken}
        return {name: value for name, value in (fields | own).items() if name.lower() not in _UNSENT}

    # ------------------------------------------------------------------ the visit

    async def _visit_page(
        self, tab: BrowserTab, request: Request, origin: Origin, task: PageTask
    ) -> FetchResult:
        loop = asyncio.get_running_loop()
        started_at, start = self._clock.now(), loop.time()
        navigation = Navigation(
            request,
            self._fields_for(request, origin),
            max_body_bytes=request.max_size or self._options.max_body_bytes,
        )
        await self._begin_visit(tab, navigation)
        timeout_s = request.timeout or self._options.timeout_s
        deadline = start + timeout_s
        task.start(tab.page)
        try:
            async with asyncio.timeout_at(deadline):
                until = deadline - _RESERVE * timeout_s
                body, shown, report = await self._load_page(tab, navigation, origin, (task, until))
        except TimeoutError:
            told = f"{origin.host}: the page took longer than {timeout_s:g} s"
            error = FetchError(Fault.TIMEOUT_BODY if navigation.status else Fault.TIMEOUT_HEADERS, told)
            if navigation.status and not navigation.follows_page:
                error.screenshot = await task.picture_failure()
            raise error from None
        finally:
            task.stop()
        now = loop.time()
        return FetchResult(
            url=navigation.url_of(shown.url),
            status=navigation.status,
            headers=navigation.headers if navigation.body is not None else _as_utf8(navigation.headers),
            body=body,
            started_at=started_at,
            latency_s=(navigation.answered_at or now) - start,
            elapsed_s=now - start,
            rung=self.rung,
            wire_bytes=tab.relay.received_bytes,
            flags=(*navigation.flags, *report.flags, *shown.flags),
            address=tab.relay.addresses.get((origin.host, origin.port), ""),
            proxy=tab.key.proxy.name if tab.key.proxy is not None else "",
            captured=report.captured,
            screenshot=report.screenshot,
            pdf=report.pdf,
            failure=report.failure,
        )

    async def _begin_visit(self, tab: BrowserTab, navigation: Navigation) -> None:
        navigation.is_linked = await self._stand_on_referrer(tab, navigation)
        tab.begin_visit(navigation)

    async def _stand_on_referrer(self, tab: BrowserTab, navigation: Navigation) -> bool:
        """Have an empty page of the referrer in the tab, so that the browser itself says where it comes from.

        A ``Referer`` that is only put in contradicts ``Sec-Fetch-Site`` and ``document.referrer``.
        """
        request = navigation.request
        given = {name.lower(): value for name, value in navigation.fields.items()}
        referrer = given.get("referer", "")
        if not given.keys() & {"referer"} and self._options.says_referer:
            is_told = is_told_from(request.via, request.url) and "referer" not in (request.omit_headers or ())
            referrer = request.via if is_told else ""
        referrer = referrer.partition("#")[0]
        is_page = referrer.startswith(("http://", "https://"))
        if not is_page or referrer == request.url.partition("#")[0]:
            return False
        async with _cookies_moved(parse_target(request.url).origin):
            return await tab.stand_on(referrer)

    async def _load_page(
        self,
        tab: BrowserTab,
        navigation: Navigation,
        origin: Origin,
        work: tuple[PageTask, float],
    ) -> tuple[bytes, ShownPage, TaskReport]:
        """Load the page; return its body, its final state and the report of its task.

        ``work`` is the task and its deadline.
        """
        showing = asyncio.ensure_future(self._show_page(tab, navigation, origin, *work))
        try:
            await asyncio.wait((showing, navigation.end, tab.crash), return_when=asyncio.FIRST_COMPLETED)
            if navigation.end.done():  # known before the browser stops for it, so it takes precedence
                navigation.end.result()
                url = tab.page.url if navigation.has_left else ""
                if SCRIPT_REDIRECT in navigation.flags:  # the page that wants to go is still there
                    self._take_storage(tab, await tab.read_storage())
                return navigation.body or b"", ShownPage(url), TaskReport()
            if tab.crash.done():
                tab.crash.result()
            shown, report = showing.result()
            self._take_storage(tab, shown.stored)
            return _check_size(shown.text, origin, navigation.max_body_bytes), shown, report
        except FetchError as error:
            detail = error.detail.removeprefix(f"{origin.host}: ")
            raise error.with_detail(f"{origin.host}: {detail}") from error
        finally:
            await end_tasks(showing)

    def _begin_session(self, session: str, request: Request) -> None:
        """Load the session's cookies before the page, with saved ones and those of the request."""
        now = self._clock.now()
        if self._state is not None:
            self._state.begin(self._cookies, session, request.url, now)
        put_cookies(self._cookies, session, request, now)

    async def _bring_storage(self, tab: BrowserTab, url: str) -> None:
        assert tab.storage is not None
        if script := tab.storage.missing(url, self._clock.now()):
            await tab.change_storage(url, script)

    def _take_storage(self, tab: BrowserTab, stored: StorageRecord | None) -> None:
        if stored is not None and tab.storage is not None:
            tab.storage.take(stored, self._clock.now())

    async def _show_page(
        self, tab: BrowserTab, navigation: Navigation, origin: Origin, task: PageTask, until: float
    ) -> tuple[ShownPage, TaskReport]:
        """Load the page and do its task; return its state afterwards. Raises ``FetchError``."""
        try:
            await tab.open_page(navigation)
            await tab.finish_loading(task.load_state)
            if not task.is_empty:
                navigation.may_leave = task.may_leave
                await task.perform(until, tab.gate.see)
                await tab.finish_loading(task.load_state)
            report = await task.finish(until, navigation.status)
            most = navigation.max_body_bytes
            if tab.page.is_closed():
                return ShownPage(), report
            return await tab.read_content(most, task.collected), report
        except FetchError:
            raise
        except Exception as error:
            code = error_code(str(error))
            if not code or code in ABORTED:
                await tab.gate.hear_answer()
            await tab.gate.settle()  # a browser reports a download as a failed page
            if code == NO_PAGE:
                return ShownPage(), TaskReport()
            raise self._explain(tab, str(error), origin) from error

    def _explain(self, tab: BrowserTab, said: str, origin: Origin) -> FetchError:
        """Return the reason for a missing page."""
        if code := error_code(said):
            return self._explain_code(tab, code, origin)
        if "crashed" in said:
            return FetchError(Fault.PAGE_CRASH, f"{origin.host}: the page crashed its tab")
        if any(words in said for words in _GONE):
            return FetchError(Fault.BROWSER, f"{origin.host}: the browser ended")
        return FetchError(Fault.PROTOCOL, f"{origin.host}: the browser could not show the page")

    def _explain_code(self, tab: BrowserTab, code: str, origin: Origin) -> FetchError:
        """Explain a net error by the relay's reason, else by the browser's."""
        told = translate_code(code, origin.host)
        if told.fault is Fault.TLS:  # it was connected: what failed besides is something else
            return told
        failures = tab.relay.failures
        reason = failures.get((origin.host, origin.port))
        is_answered = tab.navigation is not None and tab.navigation.status > 0
        if reason is None and len(failures) == 1 and not is_answered:
            ((_, port),) = failures
            if port == origin.port:  # the browser writes the host its own way; else it is of another page
                (reason,) = failures.values()
        if isinstance(reason, FetchError):
            return reason
        return translate_error(reason, host=origin.host) if isinstance(reason, RAISED) else told


def _check_size(text: str, origin: Origin, most: int) -> bytes:
    body = text.encode("utf-8", "surrogatepass")
    if len(body) > most:
        raise FetchError(Fault.TOO_LARGE, f"{origin.host}: the page grew beyond {most} bytes")
    return body


@asynccontextmanager
async def _cookies_moved(origin: Origin) -> AsyncIterator[None]:
    """Bound a transfer of cookies or storage. A slow one is a fault of the browser."""
    try:
        async with asyncio.timeout(CLOSE_S):
            yield
    except Exception as error:
        raise FetchError(Fault.BROWSER, f"{origin.host}: the browser ended, or was stuck") from error


def _as_utf8(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a page whose tree was serialised in UTF-8."""
    return tuple(
        (name, f"{essence_of(value) or 'text/html'}; charset=utf-8")
        if name == "content-type"
        else (name, value)
        for name, value in headers
    )
