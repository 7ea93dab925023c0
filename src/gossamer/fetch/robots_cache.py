"""The gate of robots.txt: fetched once per origin, remembered by all workers, answered from memory.

An origin's file is fetched by one of all workers (``SharedState.claim``) and by one of all tasks of a
worker; the tasks wait for it, the other workers are told to come back. Nothing here sleeps. A file that
could not be fetched closes its origin (RFC 9309, 2.3.1.4) for a time that doubles with each try in a row,
up to :data:`LONGEST_WAIT_S`; for the frontier its host is then one that does not answer.
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
from gossamer.core.results import FetchResult, RobotsDecision
from gossamer.core.routes import DIRECT, Route
from gossamer.policy import redirects, retry
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
"""... begins with this, whether an error came or no answer. A Retry-After of at least so much replaces it."""
LONGEST_WAIT_S = 60.0
CLAIM_S = 120.0
"""How long one worker may take to fetch a file before another one may try."""

COME_BACK_S = 1.0
MAX_REDIRECTS = 5  # RFC 9309, 2.3.1.2
MAX_ORIGINS = 20_000
MAX_CACHED_CHARACTERS = 8_000_000

MOST_BYTES = 8 * MAX_BYTES
"""A larger file is refused, whatever is refused of pages: a small bound for those would close the origin."""

SPACE = "robots"
_TRIES = "robots-tries"
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=(\d{1,9})", re.ASCII)
_NOT_THE_ORIGINS = frozenset(
    {
        *(Fault.LOCAL, Fault.PROXY, Fault.PROXY_ANSWER, Fault.BROWSER, Fault.SERVICE, Fault.SERVICE_FAILED),
        *(Fault.HOOK, Fault.IGNORED),
    }
)
"""Trouble on the way to an origin, or of the spider's own code, which says nothing of it."""
_HOPELESS = frozenset({Fault.DNS, Fault.GUARD, Fault.BAD_URL, Fault.TLS})
"""What stops robots.txt itself stops every page of the origin: the answer says it as it is."""


_ERRORS = frozenset({Fault.SERVER, Fault.THROTTLED})
"""robots.txt was answered, with an error: its host is there, and its pages are not lost."""


ALLOWED = RobotsDecision(allowed=True)
_RECORD = msgspec.msgpack.Decoder(RobotsRecord)


class _OriginRules:
    """One origin's rules, with its answers made beforehand."""

    __slots__ = ("crawl_delay_s", "deny", "expires_at", "free", "rules", "size", "user_agent")

    def __init__(self, record: RobotsRecord, user_agent: str) -> None:
        self.user_agent = user_agent
        self.rules = RobotsRules(record)
        self.crawl_delay_s = self.rules.crawl_delay(user_agent)
        self.expires_at = record.expires_at
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
            )


class RobotsCache:
    """A :class:`~gossamer.ports.robots_gate.RobotsGate`.

    ``user_agent`` is that of all hosts, or says it of each origin. ``obey=False`` lets everything pass; it
    may say of each URL whether robots.txt is obeyed, too.
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
        """Whether the request may be fetched; robots.txt is fetched by ``route``."""
        if not (self._obey(request.url) if callable(self._obey) else self._obey):
            return ALLOWED
        url = request.url
        site = origin_of(url)
        known = self._origins.get(site)
        if known is None or self._clock.now() >= known.expires_at:
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
        """The Crawl-delay of a URL that was just allowed."""
        known = self._origins.get(origin_of(url))
        return None if known is None else known.crawl_delay_s

    def _answer_for(self, known: _OriginRules, url: str) -> RobotsDecision:
        if known.free or known.rules.may_fetch(url, known.user_agent):
            return ALLOWED
        return known.deny

    async def _find_rules(
        self, site: str, route: Route
    ) -> tuple[_OriginRules, HostSignal | None] | RobotsDecision:
        """The rules of an origin that memory does not have; one task looks, the others wait for it."""
        flight = self._flights.get(site)
        while flight is not None:
            await asyncio.shield(flight)
            known = self._origins.get(site)
            if known is not None and self._clock.now() < known.expires_at:
                return known, None
            flight = self._flights.get(site)
        self._flights[site] = flight = asyncio.get_running_loop().create_future()
        try:
            return await self._load_or_fetch(site, route)
        finally:  # cancelled or failed as well: whoever waits looks for itself
            del self._flights[site]
            flight.set_result(None)

    async def _load_or_fetch(
        self, site: str, route: Route
    ) -> tuple[_OriginRules, HostSignal | None] | RobotsDecision:
        record = await self._load_record(site)
        if record is None and not await self._shared.claim(SPACE, site, CLAIM_S):
            return RobotsDecision(
                allowed=False,
                reason=Fault.ROBOTS.value,
                signal=HostSignal(retry_after_s=COME_BACK_S),
                detail="another worker is fetching robots.txt",
            )
        # Another worker may have put the record between the look and the claim.
        record = record or await self._load_record(site)
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
        except BaseException:  # cancelled, mostly: whoever comes next need not wait for the claim to lapse
            await self._shared.put(SPACE, site, b"", 0.0)
            raise

    async def _load_record(self, site: str) -> RobotsRecord | None:
        stored = await self._shared.get(SPACE, site)
        if stored is None:
            return None
        try:
            record = _RECORD.decode(stored)
        except msgspec.DecodeError:
            return None  # written by another version, or damaged: fetched anew
        return record if self._clock.now() < record.expires_at else None

    async def _fetch_rules(self, site: str, route: Route) -> tuple[_OriginRules, HostSignal | None]:
        started_at = self._clock.now()
        fetched: FetchResult | None = None
        fault: Fault | None = None
        retry_after_s: float | None = None
        try:
            fetched = await self._follow_redirects(f"{site}/robots.txt", route)
            record = interpret_response(fetched.status, fetched.body, fetched.header("content-type"))
            record = msgspec.structs.replace(record, url=fetched.url)
            retry_after_s = retry.parse_retry_after(fetched.header("retry-after"), self._clock.now())
        except FetchError as error:
            if error.fault in _NOT_THE_ORIGINS:
                raise
            fault = error.fault
            record = _without_answer(error)
        now = self._clock.now()
        ttl_s = await self._choose_ttl(site, record, fetched, retry_after_s)
        record = msgspec.structs.replace(record, fetched_at=now, expires_at=now + ttl_s)
        await self._shared.put(SPACE, site, msgspec.msgpack.encode(record), ttl_s)
        known = self._remember_rules(site, record)
        if not self._fetcher.touches_network:
            return known, None
        signal = HostSignal(
            kind=_signal_kind(fetched, fault),
            started_at=fetched.started_at if fetched else started_at,
            latency_s=fetched.latency_s if fetched else None,
            retry_after_s=retry_after_s,
            crawl_delay_s=known.crawl_delay_s,
            robots_read=record.access is not RobotsAccess.CLOSED,
        )
        return known, signal if signal.kind is not HostSignalKind.UNUSED else None

    async def _follow_redirects(self, url: str, route: Route) -> FetchResult:
        """The answer at the end of the redirects; a redirect itself when they do not lead anywhere."""
        request = Request(url, max_size=MOST_BYTES)
        while True:
            try:
                fetched = await self._fetcher.fetch(request, route)
            except FetchError as error:
                if request.redirects and error.fault in _HOPELESS:
                    # Another place is out of reach, not this origin.
                    raise FetchError(Fault.CONNECT, f"redirected, then {error}") from error
                raise
            location = fetched.header("location")
            if fetched.status not in redirects.STATUSES or not location:
                return fetched
            try:
                request = redirects.follow_redirect(
                    request, fetched.url, fetched.status, location, limit=MAX_REDIRECTS
                )
            except FetchError:
                return fetched

    async def _choose_ttl(
        self, site: str, record: RobotsRecord, fetched: FetchResult | None, retry_after_s: float | None
    ) -> float:
        """How long the record holds, in seconds."""
        tries = await self._shared.get(_TRIES, site) or b""
        if record.access is not RobotsAccess.CLOSED:
            if tries:
                await self._shared.put(_TRIES, site, b"", DAY_S)
            cache_control = fetched.header("cache-control") if fetched else ""
            max_age = _MAX_AGE.search(cache_control)
            wanted_s = float(max_age[1]) if max_age else LONGEST_TTL_S
            return min(max(wanted_s, SHORTEST_TTL_S), LONGEST_TTL_S)
        await self._shared.put(_TRIES, site, tries[:30] + b"x", DAY_S)  # one mark per try
        if retry_after_s is not None and retry_after_s >= FIRST_WAIT_S:
            return min(retry_after_s, self._retry_after_cap_s)
        return min(FIRST_WAIT_S * 2.0 ** len(tries), LONGEST_WAIT_S)

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
    """Why the origin is closed; what stops its pages themselves is said as if they had been asked for."""
    if hopeless and record.detail:
        return record.detail
    why = f"{record.fault}: {record.detail}" if record.detail else record.fault
    return f"robots.txt: {why}; requested again after {record.expires_at - record.fetched_at:.0f} s"


def _without_answer(error: FetchError) -> RobotsRecord:
    if error.fault is Fault.NOT_ARCHIVED:
        return RobotsRecord(access=RobotsAccess.OPEN)
    return RobotsRecord(access=RobotsAccess.CLOSED, fault=error.fault.value, detail=error.detail)


def _explain_failure(error: FetchError) -> str:
    """Its detail, and what a hook has to do that wants another request in the place of this one."""
    if isinstance(error, HookError) and error.request is not None:
        return (
            f"{error.detail}. It was asked for robots.txt, which no other request replaces: return None there"
        )
    return error.detail


def _signal_before(error: FetchError) -> HostSignal | None:
    """That the origin was asked, where a hook has failed on its answer."""
    fetched = error.fetched if isinstance(error, HookError) else None
    if fetched is None or fetched.rung == HOOK_RUNG:
        return None
    return HostSignal(kind=HostSignalKind.OK, started_at=fetched.started_at, latency_s=fetched.latency_s)


def _signal_kind(fetched: FetchResult | None, fault: Fault | None) -> HostSignalKind:
    """What the fetch says of the host. That there is no robots.txt is a fine answer.

    An error of the server is a refusal of the host: nothing else may be requested of it for now.
    """
    if fetched is not None:
        fault = retry.fault_of_status(fetched.status)
    if fault is None or fault is Fault.GONE:
        return HostSignalKind.OK
    if fetched is not None and fault is not Fault.THROTTLED:
        return HostSignalKind.THROTTLED if fetched.status >= 500 else HostSignalKind.FAULT
    return retry.signal_kind(fault)
