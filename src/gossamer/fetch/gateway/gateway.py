"""One gateway: its key, its price, its pauses, and the meaning of its failures."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from gossamer.core.cookies import Cookie
from gossamer.core.errors import Fault, FetchError, MissingServiceError
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.gateway.answer import GatewayResponse, read_answer, strike_out
from gossamer.fetch.gateway.rendering import Option, build_call, key_forms
from gossamer.fetch.gateway.template import GatewayFailure, GatewayTemplate
from gossamer.policy import retry
from gossamer.policy.urls import hostname_of
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher

WAY = "gateway"
HELD_S = 5.0
"""Longest time in seconds that a request waits inside a worker for a pausing gateway."""
FIRST_HOLD_S, LONGEST_HOLD_S = 1.0, 60.0
"""First and longest pause in seconds of a gateway that demands one without a length; it doubles each time."""

log = logging.getLogger("gossamer.crawl")
_UNREACHED = frozenset({Fault.DNS_TEMPORARY, Fault.CONNECT, Fault.TLS, Fault.TIMEOUT_CONNECT})


class GatewayAccount(Record, frozen=True, kw_only=True):
    """An operator's account with one gateway."""

    name: str  # as in the rung ``gateway:NAME``
    template: GatewayTemplate
    key: str = ""
    key_env: str = ""  # the environment variable that the key was looked for in
    price: float | None = None  # of a call, or of a credit where answers say how many it took
    options: dict[str, Option] = {}

    def check_key(self) -> None:
        """Raise ``MissingServiceError`` if the required key is missing."""
        if self.key_env and not self.key:
            raise MissingServiceError(
                f"the gateway {self.name!r} has no key: put it into the environment variable "
                f"{self.key_env}, which is not set"
            )

    def __repr__(self) -> str:
        return f"<GatewayAccount {self.name}>"

    __str__ = __repr__


class Gateway:
    """Calls one gateway, and pauses when the gateway demands it."""

    def __init__(self, account: GatewayAccount, client: Fetcher, clock: Clock) -> None:
        self.account = account
        self.rung = f"{WAY}:{account.name}"
        self._secrets = key_forms(account.key)
        self._client = client
        self._clock = clock
        self._held_until = 0.0
        self._holds = 0  # in a row
        self._is_told = False  # that it is left alone

    def __repr__(self) -> str:
        return f"<Gateway {self.account.name}>"

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        await self._client.close()

    async def call(
        self, request: Request, *, session: str, cookies: str
    ) -> tuple[GatewayResponse, FetchResult, float]:
        """Return the page that the gateway answers, the answer itself, and its cost.

        Raises ``FetchError``, and ``MissingServiceError`` for a missing or refused key and when credit has
        run out.
        """
        account = self.account
        account.check_key()
        await self._await_leave()
        call = build_call(
            account.template,
            request,
            key=account.key,
            session=session,
            cookies=cookies,
            options=account.options,
        )
        try:
            fetched = await self._client.fetch(call)
        except FetchError as error:
            raise self._translate_failure(error) from None
        self._check_redirect(call, request, fetched)
        answer = read_answer(account.template, fetched, self._secrets)
        if answer.trouble is not None:
            raise self._failure_of(answer, fetched)
        self._holds, self._is_told = 0, False
        price = account.price or 0.0
        cost = price if answer.credits is None else self._price_of(answer.credits)
        return answer, fetched, cost

    def _price_of(self, credit: float) -> float:
        return credit * (1.0 if self.account.price is None else self.account.price)

    async def _await_leave(self) -> None:
        """Wait for a short pause to end; raise for a longer one."""
        wait_s = self._held_until - self._clock.now()
        if wait_s <= 0:
            return
        await self._clock.sleep(min(wait_s, HELD_S))
        if (left_s := self._held_until - self._clock.now()) > 0:
            raise FetchError(Fault.SERVICE, f"{self._name} has asked for time", retry_after_s=left_s)

    @property
    def _name(self) -> str:
        return f"the gateway {self.account.name!r}"

    @property
    def _setting(self) -> str:
        return f"gateways.{self.account.name}.url"

    def _check_redirect(self, call: Request, request: Request, fetched: FetchResult) -> None:
        """Raise for a redirect of the call itself: followed as the page's, it would take the key along."""
        location = fetched.header("location")
        if not location or not 300 <= fetched.status < 400:
            return
        if any(secret in text for secret in self._secrets for text in (location, unquote(location))):
            raise MissingServiceError(
                f"{self._name} answers with a redirect ({fetched.status}) that holds its key, so it is not "
                f"the page's: correct {self._setting}"
            )
        host, own_host = hostname_of(location), hostname_of(call.url)
        if not self.account.template.status and host == own_host != hostname_of(request.url):
            raise FetchError(
                Fault.SERVICE_FAILED,
                f"{self._name} redirects to itself ({fetched.status}): correct {self._setting}",
            )

    def _translate_failure(self, error: FetchError) -> Exception:
        """Translate a failed call into an error that blames neither the page nor its host."""
        said = strike_out(error.detail, self._secrets)
        detail = f"{self._name}: {said or error.fault.value}"
        if error.fault in (Fault.DNS, Fault.BAD_URL):
            return MissingServiceError(f"{self._name} cannot be called ({said}): correct {self._setting}")
        if error.fault in (Fault.LOCAL, Fault.TOO_LARGE):
            return FetchError(error.fault, detail)
        if error.fault in _UNREACHED:
            return FetchError(Fault.SERVICE, detail, retry_after_s=self._hold(detail))
        return FetchError(Fault.SERVICE_FAILED, detail)

    def _failure_of(self, answer: GatewayResponse, fetched: FetchResult) -> Exception:
        """Translate an answer without a page into an error."""
        account = self.account
        said = f"{fetched.status}: {answer.message}" if answer.message else f"status {fetched.status}"
        if answer.trouble is GatewayFailure.KEY:
            where = f" in the environment variable {account.key_env}" if account.key_env else ""
            return MissingServiceError(
                f"{self._name} refuses the key{where} ({said}): replace it, or do without {self.rung}"
            )
        if answer.trouble is GatewayFailure.CREDIT:
            return MissingServiceError(
                f"{self._name} has no more credit ({said}): top it up, or do without {self.rung}"
            )
        cost = 0.0 if answer.credits is None else self._price_of(answer.credits)
        detail = f"{self._name}: {said}"
        if answer.trouble is GatewayFailure.WAIT:
            asked_s = retry.parse_retry_after(fetched.header("retry-after"), self._clock.now())
            return FetchError(Fault.SERVICE, detail, retry_after_s=self._hold(detail, asked_s), cost=cost)
        fault = Fault.CLIENT if answer.trouble is GatewayFailure.PAGE else Fault.SERVICE_FAILED
        return FetchError(fault, detail, cost=cost)

    def _hold(self, why: str, asked_s: float | None = None) -> float:
        """Stop calling the gateway for a while; return the seconds. Simultaneous failures count once.

        A longer pause is logged: since nothing is charged, requests may wait for long.
        """
        now = self._clock.now()
        if now >= self._held_until:
            self._holds += 1
        own_s = min(FIRST_HOLD_S * 2.0 ** min(self._holds - 1, 30), LONGEST_HOLD_S)
        self._held_until = max(self._held_until, now + (own_s if asked_s is None else asked_s))
        wait_s = self._held_until - now
        if not self._is_told and (self._holds > 1 or wait_s > HELD_S):
            self._is_told = True
            log.warning("%s; its requests wait, and the next try is in %.0f s", why, wait_s)
        return wait_s


class NoCookieStore:
    """Port ``CookieStore`` for calls to gateways: cookies belong to the page, not to the gateway."""

    def cookie_header(self, session: str, url: str, now: float) -> str:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        return ""

    def store_cookies(self, session: str, url: str, lines: Iterable[str], now: float) -> object:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        return None

    def list_cookies(self, session: str, url: str, now: float) -> Sequence[Cookie]:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        return ()

    def list_entries(self, session: str, url: str, now: float) -> Sequence[Cookie]:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        return ()

    def keep_cookies(self, session: str, url: str, cookies: Iterable[Cookie], now: float) -> object:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        return None

    def __len__(self) -> int:
        return 0
