"""The requests of one log-in, one after the other: each keeps to robots.txt and to the host's delay."""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.core.errors import Fault, FetchError, LogInError
from gossamer.core.hosts import FrontierRules
from gossamer.core.redaction import shown_server
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import Route
from gossamer.policy import redirects, retry
from gossamer.policy.urls import canonicalise_url
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.robots_gate import RobotsGate

COME_BACK_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepParts:
    """Dependencies of the steps of log-ins."""

    fetcher: Fetcher
    robots: RobotsGate
    clock: Clock
    rules: FrontierRules
    max_redirects: int = 10


def _told_of_step(fault: Fault, request: Request, detail: str) -> FetchError:
    return FetchError(fault, f"logging in, at {shown_server(request.url)}: {detail}")


class LoginSteps:
    """The steps of one log-in, which are not the frontier's: nothing of them is stored."""

    def __init__(self, parts: StepParts, route: Route, session: str) -> None:
        self._parts = parts
        self._route = route
        self._session = session
        self.asked_at: float | None = None  # start of the latest step; None before the first
        self.latency_s: float | None = None

    async def ask(self, request: Request) -> FetchResult:
        """Return the answer to a step, at the end of its redirects.

        Raises ``FetchError``, whose texts show no query, since that may contain a password.
        """
        request = request.replace(session=self._session, lane="http", fetch="")
        while True:
            canonical = canonicalise_url(request.url)
            if canonical is None:
                raise _told_of_step(Fault.BAD_URL, request, "this cannot be requested")
            request = request.replace(url=canonical)
            fetched = await self._ask_once(request)
            location = fetched.header("location")
            if fetched.status not in redirects.STATUSES or not location:
                return fetched
            try:
                request = redirects.follow_redirect(
                    request, fetched.url, fetched.status, location, limit=self._parts.max_redirects
                )
            except FetchError as error:
                raise _told_of_step(error.fault, request, "its redirect cannot be followed") from None

    async def _ask_once(self, request: Request) -> FetchResult:
        parts = self._parts
        crawl_delay_s = await self._pass_robots(request)
        if self.asked_at is not None:
            wait_s = self.asked_at + self._delay_s(crawl_delay_s) - parts.clock.now()
            if wait_s > 0:
                await parts.clock.sleep(wait_s)
        self.asked_at = parts.clock.now()
        try:
            fetched = await parts.fetcher.fetch(request, self._route)
        except FetchError as error:
            told = _told_of_step(error.fault, request, error.detail.replace(request.url, ""))
            told.rung, told.retry_after_s = error.rung, error.retry_after_s
            raise told from None
        self.latency_s = fetched.latency_s
        if (
            retry.fault_of_status(fetched.status) is Fault.THROTTLED
        ):  # the host asks for time: not a failed log-in
            told = _told_of_step(Fault.THROTTLED, request, f"status {fetched.status}")
            told.retry_after_s = retry.parse_retry_after(fetched.header("retry-after"), parts.clock.now())
            raise told
        return fetched

    def _delay_s(self, crawl_delay_s: float | None) -> float:
        """Return the time between two steps: the operator's delay, or the host's own response time."""
        rules = self._parts.rules
        own_s = rules.delay_s
        if own_s is None:
            own_s = min(max(self.latency_s or rules.initial_delay_s, rules.min_delay_s), rules.max_delay_s)
        return max(own_s, min(crawl_delay_s or 0.0, rules.crawl_delay_cap_s))

    async def _pass_robots(self, request: Request) -> float | None:
        """Return the crawl-delay of an allowed host; raises for a forbidden one."""
        robots = self._parts.robots
        while True:
            answer = await robots.check_request(request, self._route)
            if answer.allowed:
                return robots.crawl_delay_for(request.url)
            if answer.signal is None or answer.reason != Fault.ROBOTS or not answer.signal.retry_after_s:
                break
            await self._parts.clock.sleep(COME_BACK_S)  # another worker is fetching it
        if answer.reason == Fault.ROBOTS:
            raise LogInError(
                f"robots.txt does not allow {shown_server(request.url)}, which the spider needs to log in: "
                "if its owner lets you, set robots = false (--no-robots); the requests are kept"
            )
        wait_s = None if answer.retry_at is None else answer.retry_at - self._parts.clock.now()
        raise FetchError(Fault(answer.reason), answer.detail, retry_after_s=wait_s)
