"""The gate of robots.txt: fetched once per origin, shared by all workers, answered from memory.

One of all workers (``SharedState.claim``), and one of its tasks, fetches an origin's file; that worker's
other tasks wait for it, and other workers come back later. Nothing here sleeps. A failed fetch closes the
origin (RFC 9309, 2.3.1.4) for a time that doubles with each failure in a row, up to :data:`LONGEST_WAIT_S`;
the frontier treats the host as unresponsive. If robots.txt was read before, this outage has no limit.
Otherwise the origin's pages are given up after errors for :data:`LONGEST_CLOSED_S`.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from gossamer.core.errors import Fault, FetchError
from gossamer.core.hooks import HOOK_RUNG, HookError
from gossamer.core.hosts import HostSignal, HostSignalKind
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult, RobotsDecision
from gossamer.core.routes import DIRECT, Route
from gossamer.policy import redirects, retry
from gossamer.policy.faults import OTHER_VERSION
from gossamer.policy.robots import MAX_BYTES, RobotsAccess, RobotsRecord, RobotsRules, interpret_response
from gossamer.policy.urls import origin_of
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.shared_state import SharedState

DAY_S = 86_400.0
SHORTEST_TTL_S = 3600.0
"""Below this, a Cache-Control of robots.txt is not followed: it would double the load of small sites."""

LONGEST_TTL_S = DAY_S  # RFC 9309, 2.4
FIRST_WAIT_S = 1.0
"""First wait after an error, or without an answer. A Retry-After of at least this length replaces it."""
LONGEST_WAIT_S = 60.0
LONGEST_CLOSED_S = 600.0
"""Seconds of errors after which an origin whose robots.txt was never read is given up ..."""
LEAST_TRIES = 3
"""... if at least this number of errors occurred, since servers may ask for long waits."""
GIVEN_UP_S = 3600.0
"""Seconds for which pages of an origin that was given up become dead letters without another request."""
READ_S = 7 * DAY_S
"""Seconds for which it counts that robots.txt was read, or was missing."""
CLAIM_S = 120.0
"""Seconds that one worker may take to fetch a file before another one may try."""

COME_BACK_S = 1.0
MAX_REDIRECTS = 5  # RFC 9309, 2.3.1.2
MAX_ORIGINS = 20_000
MAX_CACHED_CHARACTERS = 8_000_000

MOST_BYTES = 8 * MAX_BYTES
"""Limit of the file's size. The limit of pages does not apply: a small one would close the origin."""

SPACE = "robots"
_TRIES = "robots-tries"  # (when the first of the errors in a row came, how many there are)
_READ = "robots-read"  # that it was read once
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=(\d{1,9})", re.ASCII)
_NOT_THE_ORIGINS = frozenset(
    {
        *(Fault.LOCAL, Fault.PROXY, Fault.PROXY_ANSWER, Fault.BROWSER, Fault.SERVICE, Fault.SERVICE_FAILED),
        *(Fault.HOOK, Fault.IGNORED),
    }
)
"""Trouble on the way to an origin, or of the spider's own code, which says nothing of it."""
_HOPELESS = frozenset({Fault.DNS, Fault.GUARD, Fault.BAD_URL, Fault.TLS})
"""Faults of robots.txt that also stop every page of the origin; the reason is given unchanged."""


_ERRORS = frozenset({Fault.SERVER, Fault.THROTTLED, Fault.INCOMPLETE, Fault.TIMEOUT_BODY})
"""Faults of a host that answers with an error, or only a part: its pages are not lost."""


ALLOWED = RobotsDecision(allowed=True)
_RECORD = msgspec.msgpack.Decoder(RobotsRecord)
_ROW = msgspec.msgpack.Decoder(tuple[float, int])


class _OriginRules:
    """One origin's rules, with prepared answers."""

    __slots__ = ("crawl_delay_s", "deny", "expires_at", "free", "rules", "rung", "size", "user_agent")

    def __init__(self, record: RobotsRecord, user_agent: str) -> None:
        self.user_agent = user_agent
        self.rules = RobotsRules(record)
        self.crawl_delay_s = self.rules.crawl_delay(user_agent)
        self.expires_at = record.expires_at
        self.rung = record.rung
        self.size = len(record.text)
        self.free = self.rules.may_fetch_all(user_agent)
        self.deny = RobotsDecision(allowed=False, reason=Fault.ROBOTS.value)
        if record.access is RobotsAccess.CLOSED:
            hopeless = record.fault in _HOPELESS
            self.deny = RobotsDecision(
                allowed=False,
                reason=record.fault if hopeless else Fault.ROBOTS_UNREACHABLE.value,
                retry_at=None if hopeless and record.fault != Fault.DNS else record.expires_at,
                detail=_closed_reason(record, hopeless=hopeless),
                is_answered=record.fault in _ERRORS,
                is_final=record.is_final,
            )

    def count_for(self, rung: str, now: float) -> bool:
        """Return whether the rules are still valid for a rung."""
        return now < self.expires_at and self.rung in ("", rung)


class RobotsCache:
    """A :class:`~gossamer.ports.robots_gate.RobotsGate`.

    ``user_agent`` is one name for all hosts, or a function of the origin. ``obey=False`` allows everything;
    ``obey`` may also be a function of the URL.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        shared: SharedState,
        clock: Clock,
        *,
        user_agent: str | Callable[[str], str],
        obey: bool | Callable[[str], bool] = True,
        retry_after_cap_s: float = 3600.0,
    ) -> None:
        self._fetcher = fetcher
        self._shared = shared
        self._clock = clock
        self._user_agent = user_agent
        self._obey = obey
        self._retry_after_cap_s = retry_after_cap_s
        self._origins: OrderedDict[str, _OriginRules] = OrderedDict()
        self._characters = 0
        self._flights: dict[str, asyncio.Future[None]] = {}

    def __repr__(self) -> str:
        return f"RobotsCache({len(self._origins)} origins, {len(self._flights)} being fetched)"

    async def check_request(self, request: Request, route: Route = DIRECT) -> RobotsDecision:
        """Return whether the request may be fetched; robots.txt is fetched by ``route``."""
        if not (self._obey(request.url) if callable(self._obey) else self._obey):
            return ALLOWED
        url = request.url.partition("#")[0]
        site = origin_of(url)
        known = self._origins.get(site)
        if known is None or not known.count_for(route.rung, self._clock.now()):
            if not site.startswith("http"):
                return ALLOWED  # no robots.txt speaks for it; the fetcher will refuse it
            found = await self._find_rules(site, route)
            if isinstance(found, RobotsDecision):
                return found
            known, signal = found
            if signal is not None:
                return msgspec.structs.replace(self._answer_for(known, url), signal=signal)
        return self._answer_for(known, url)

    def crawl_delay_for(self, url: str) -> float | None:
        """Return the Crawl-delay of a URL that was just allowed."""
        known = self._origins.get(origin_of(url))
        return None if known is None else known.crawl_delay_s

    def _answer_for(self, known: _OriginRules, url: str) -> RobotsDecision:
        if known.free or known.rules.may_fetch(url, known.user_agent):
            return ALLOWED
        return known.deny

    async def _find_rules(
        self, site: str, route: Route
    ) -> tuple[_OriginRules, HostSignal | None] | RobotsDecision:
        """Return the rules of an origin that memory lacks; one task looks, the others wait for it."""
        flight = self._flights.get(site)
        while flight is not None:
            await asyncio.shield(flight)
            known = self._origins.get(site)
            if known is not None and known.count_for(route.rung, self._clock.now()):
                return known, None
            flight = self._flights.get(site)
        self._flights[site] = flight = asyncio.get_running_loop().create_future()
        try:
            return await self._load_or_fetch(site, route)
        finally:  # cancelled or failed as well: waiting tasks look for themselves
            del self._flights[site]
            flight.set_result(None)

    async def _load_or_fetch(
        self, site: str, route: Route
    ) -> tuple[_OriginRules, HostSignal | None] | RobotsDecision:
        record = await self._load_record(site, route.rung)
        if record is None and not await self._shared.claim(SPACE, site, CLAIM_S):
            return RobotsDecision(
                allowed=False,
                reason=Fault.ROBOTS.value,
                signal=HostSignal(retry_after_s=COME_BACK_S),
                detail="another worker is fetching robots.txt",
            )
        # Another worker may have put the record between the look and the claim.
        record = record or await self._load_record(site, route.rung)
        if record is not None:
            known = self._remember_rules(site, record)
            delay_s = known.crawl_delay_s
            news = HostSignal(crawl_delay_s=delay_s, robots_read=True)
            return known, news if delay_s is not None else None
        try:
            return await self._fetch_rules(site, route)
        except FetchError as error:
            await self._shared.put(SPACE, site, b"", 0.0)
            asked_s = error.retry_after_s
            return RobotsDecision(
                allowed=False,
                reason=error.fault.value,
                detail=_explain_failure(error),
                retry_at=None if asked_s is None else self._clock.now() + asked_s,
                signal=_signal_before(error),
            )
        except BaseException:  # cancelled, mostly: the next task need not wait for the claim to lapse
            await self._shared.put(SPACE, site, b"", 0.0)
            raise

    async def _load_record(self, site: str, rung: str) -> RobotsRecord | None:
        stored = await self._shared.get(SPACE, site)
        if stored is None:
            return None
        try:
            record = _RECORD.decode(stored)
        except msgspec.DecodeError:
            return None  # written by another version, or damaged: fetched again
        if record.rung not in ("", rung):
            await self._shared.put(SPACE, site, b"", 0.0)  # another rung's answer: fetched again
            return None
        return record if self._clock.now() < record.expires_at else None

    async def _fetch_rules(self, site: str, route: Route) -> tuple[_OriginRules, HostSignal | None]:
        started_at = self._clock.now()
        fetched: FetchResult | None = None
        fault: Fault | None = None
        retry_after_s: float | None = None
        try:
            fetched = await self._follow_redirects(f"{site}/robots.txt", route)
            record = interpret_response(fetched.status, fetched.body, fetched.header("content-type"))
            told_on = route.rung if fetched.status in OTHER_VERSION else ""
            record = msgspec.structs.replace(record, url=fetched.url, rung=told_on)
            retry_after_s = retry.parse_retry_after(fetched.header("retry-after"), self._clock.now())
        except FetchError as error:
            if error.fault in _NOT_THE_ORIGINS:
                raise
            fault = error.fault
            record = _without_answer(error)
        record = msgspec.structs.replace(record, fetched_at=self._clock.now())
        if record.access is RobotsAccess.CLOSED:
            record = await self._close_origin(site, record, retry_after_s)
        else:
            record = await self._open_origin(site, record, fetched)
        ttl_s = record.expires_at - record.fetched_at
        await self._shared.put(SPACE, site, msgspec.msgpack.encode(record), ttl_s)
        known = self._remember_rules(site, record)
        if not self._fetcher.touches_network:
            return known, None
        signal = HostSignal(
            kind=HostSignalKind.FAULT if record.is_final else _signal_kind(fetched, fault),
            started_at=fetched.started_at if fetched else started_at,
            latency_s=fetched.latency_s if fetched else None,
            retry_after_s=retry_after_s,
            crawl_delay_s=known.crawl_delay_s,
            robots_read=record.access is not RobotsAccess.CLOSED,
        )
        return known, signal if signal.kind is not HostSignalKind.UNUSED else None

    async def _follow_redirects(self, url: str, route: Route) -> FetchResult:
        """Return the answer at the end of the redirects, or a redirect that leads nowhere."""
        request = Request(url, max_size=MOST_BYTES)
        while True:
            try:
                fetched = await self._fetcher.fetch(request, route)
            except FetchError as error:
                if request.redirects and error.fault in _HOPELESS:
                    # Another place is out of reach, not this origin.
                    raise FetchError(Fault.CONNECT, f"redirected, then {error}") from error
                raise
            is_part = TRUNCATED in fetched.flags and 200 <= fetched.status < 300
            if is_part and self._fetcher.touches_network:  # a part of the rules may allow forbidden pages
                raise FetchError(Fault.INCOMPLETE, "its compressed body ends before its compression does")
            location = fetched.header("location")
            if fetched.status not in redirects.STATUSES or not location:
                return fetched
            try:
                request = redirects.follow_redirect(
                    request, fetched.url, fetched.status, location, limit=MAX_REDIRECTS
                )
            except FetchError:
                return fetched

    async def _open_origin(
        self, site: str, record: RobotsRecord, fetched: FetchResult | None
    ) -> RobotsRecord:
        """Return the record with its end; clear the errors in a row, and note that robots.txt was read."""
        if await self._shared.get(_TRIES, site):
            await self._shared.put(_TRIES, site, b"", DAY_S)
        await self._shared.put(_READ, site, b"x", READ_S)
        cache_control = fetched.header("cache-control") if fetched else ""
        max_age = _MAX_AGE.search(cache_control)
        wanted_s = float(max_age[1]) if max_age else LONGEST_TTL_S
        ttl_s = min(max(wanted_s, SHORTEST_TTL_S), LONGEST_TTL_S)
        return msgspec.structs.replace(record, expires_at=record.fetched_at + ttl_s)

    async def _close_origin(
        self, site: str, record: RobotsRecord, retry_after_s: float | None
    ) -> RobotsRecord:
        """Return the record with its end, after one more error in a row; a final one if that lasts too
        long."""
        now = record.fetched_at
        since, tries = _read_row(await self._shared.get(_TRIES, site)) or (now, 0)
        is_long = now - since >= LONGEST_CLOSED_S and tries + 1 >= LEAST_TRIES
        is_final = is_long and record.fault in _ERRORS and not await self._shared.get(_READ, site)
        wait_s = min(FIRST_WAIT_S * 2.0 ** min(tries, 30), LONGEST_WAIT_S)
        if retry_after_s is not None and retry_after_s >= FIRST_WAIT_S:
            wait_s = min(retry_after_s, self._retry_after_cap_s)
        if is_final:
            wait_s = max(wait_s, GIVEN_UP_S)
        row = msgspec.msgpack.encode((since, tries + 1))
        await self._shared.put(_TRIES, site, row, wait_s + SHORTEST_TTL_S)  # a later error is not of this row
        return msgspec.structs.replace(record, expires_at=now + wait_s, is_final=is_final)

    def _remember_rules(self, site: str, record: RobotsRecord) -> _OriginRules:
        agent = self._user_agent(site) if callable(self._user_agent) else self._user_agent
        known = _OriginRules(record, agent)
        self._forget_rules(site)
        self._origins[site] = known
        self._characters += known.size
        while len(self._origins) > MAX_ORIGINS or (
            self._characters > MAX_CACHED_CHARACTERS and len(self._origins) > 1
        ):
            self._forget_rules(next(iter(self._origins)))
        return known

    def _forget_rules(self, site: str) -> None:
        known = self._origins.pop(site, None)
        self._characters -= known.size if known else 0


def _closed_reason(record: RobotsRecord, *, hopeless: bool) -> str:
    """Return why the origin is closed; a fault that also stops its pages is stated as theirs."""
    if hopeless and record.detail:
        return record.detail
    why = f"{record.fault}: {record.detail}" if record.detail else record.fault
    if record.is_final:
        return f"robots.txt: {why}; it was not readable for at least {LONGEST_CLOSED_S / 60:.0f} minutes"
    return f"robots.txt: {why}; requested again after {record.expires_at - record.fetched_at:.0f} s"


def _read_row(stored: bytes | None) -> tuple[float, int] | None:
    """Return the start and the number of errors in a row; ``None`` without any, or if damaged."""
    try:
        return _ROW.decode(stored) if stored else None
    except msgspec.DecodeError:
        return None


def _without_answer(error: FetchError) -> RobotsRecord:
    if error.fault is Fault.NOT_ARCHIVED:
        return RobotsRecord(access=RobotsAccess.OPEN)
    return RobotsRecord(access=RobotsAccess.CLOSED, fault=error.fault.value, detail=error.detail)


def _explain_failure(error: FetchError) -> str:
    """Return the detail of a failure, with advice if a hook has replaced the request."""
    if isinstance(error, HookError) and error.request is not None:
        return f"{error.detail}. Requests for robots.txt cannot be replaced: return None there"
    return error.detail


def _signal_before(error: FetchError) -> HostSignal | None:
    """Return the origin's good answer if a hook has failed on it."""
    fetched = error.fetched if isinstance(error, HookError) else None
    if fetched is None or fetched.rung == HOOK_RUNG:
        return None
    return HostSignal(kind=HostSignalKind.OK, started_at=fetched.started_at, latency_s=fetched.latency_s)


def _signal_kind(fetched: FetchResult | None, fault: Fault | None) -> HostSignalKind:
    """Return the meaning of the fetch for the host. A missing robots.txt is a good answer.

    A server error is a refusal of the host, so no other page of it may be requested for now.
    """
    if fetched is not None and fetched.status in OTHER_VERSION:
        return HostSignalKind.OK
    if fetched is not None:
        fault = retry.fault_of_status(fetched.status)
    if fault is None or fault is Fault.GONE:
        return HostSignalKind.OK
    if fetched is not None and fault is not Fault.THROTTLED:
        return HostSignalKind.THROTTLED if fetched.status >= 500 else HostSignalKind.FAULT
    return retry.signal_kind(fault)
