"""Identifies the caller of a request and checks its permission. Every request to the HTTP API passes here.

Guarantee: without a token, only callers on this machine pass, and only while no token exists and the request
uses a local name. A page of another origin cannot change anything.
"""

from __future__ import annotations

from gossamer.access.tokens import digest_of, make_secret
from gossamer.core.access import LOCAL, AccessToken, Caller, CallFacts, Role
from gossamer.core.errors import AccessError
from gossamer.core.record import Record, Time
from gossamer.policy.origins import is_loopback, is_same_origin
from gossamer.policy.sign_in import SignInState, is_forgotten, note_wrong_token, wait_before_try
from gossamer.ports.clock import Clock
from gossamer.ports.token_store import TokenStore

KNOWN_S = 2.0
"""Seconds for which a found token is not looked up again: a revoked one may work for this long."""
MAX_KNOWN = 1000
MAX_ADDRESSES = 10_000
SESSION_S = 12 * 3600.0
_CREATE = "`gossamer token create NAME --role read` makes one"


class NewSession(Record, frozen=True, kw_only=True):
    """A session just begun, with the secret of its cookie."""

    caller: Caller
    secret: str
    expires_at: Time


class AccessGate:
    """Tells who makes a request. ``is_local``: it listens on this machine's loopback alone."""

    def __init__(self, tokens: TokenStore, clock: Clock, *, is_local: bool) -> None:
        self._tokens = tokens
        self._clock = clock
        self._is_local = is_local
        self._known: dict[bytes, tuple[float, AccessToken]] = {}  # with the time it was looked up
        self._has_tokens: tuple[float, bool] = (float("-inf"), False)
        self._states: dict[str, SignInState] = {}  # by address

    async def identify_caller(self, call: CallFacts) -> Caller:
        """Identify the caller of the request. Raises ``AccessError`` if it may not pass."""
        check_origin(call)
        if call.secret:
            return _caller_of(await self._check_secret(call))
        if call.session:
            token = await self._find_token(digest_of(call.session))
            if token is not None and token.is_session:
                return _caller_of(token)
        return await self._admit_local(call, has_session=bool(call.session))

    def is_from_here(self, call: CallFacts) -> bool:
        """Whether a request comes from this machine, and from no page that has renamed itself."""
        hosts = (call.host, call.address)
        return self._is_local and not call.is_forwarded and all(map(is_loopback, hosts))

    async def sign_in(self, call: CallFacts) -> NewSession:
        """Return a session for the token that a request brings. Raises ``AccessError``."""
        check_origin(call)
        token = await self._check_secret(call)
        now, secret = self._clock.now(), make_secret()
        session = AccessToken(
            name=token.name, role=token.role, made_at=now, expires_at=now + SESSION_S, is_session=True
        )
        if not await self._tokens.add_token(session, digest_of(secret)):
            raise self._refuse_secret(call)  # it was revoked just now
        return NewSession(caller=_caller_of(session), secret=secret, expires_at=now + SESSION_S)

    async def sign_out(self, call: CallFacts) -> None:
        """End the session of a request, if it has one."""
        check_origin(call)
        if call.session:
            digest = digest_of(call.session)
            self._known.pop(digest, None)
            await self._tokens.end_session(digest)

    async def _admit_local(self, call: CallFacts, *, has_session: bool) -> Caller:
        """Admit a caller on this machine while no token exists."""
        if not self._is_local or await self._are_there_tokens():
            raise AccessError(
                "the session is over" if has_session else "no token was given",
                way=f"sign in, or send a token as `Authorization: Bearer ...`; {_CREATE}",
                status=401,
            )
        if not self.is_from_here(call):
            raise AccessError(
                f"without a token only this machine may ask, and {call.host[:100]!r} is not its own name",
                way=f"open it as http://127.0.0.1, or make a token: {_CREATE}",
                status=403,
            )
        return Caller(name=LOCAL, role=Role.ADMIN)

    async def _are_there_tokens(self) -> bool:
        at, found = self._has_tokens
        now = self._clock.now()
        if not at <= now < at + KNOWN_S:
            found = bool(await self._tokens.list_tokens())
            self._has_tokens = (now, found)
        return found

    async def _check_secret(self, call: CallFacts) -> AccessToken:
        """Return the token of a request. Raises ``AccessError`` when it is wrong, or too many were.

        One that was right before does not wait: who shares an address with strangers (a reverse proxy's, say)
        is not shut out by them.
        """
        now, digest = self._clock.now(), digest_of(call.secret)
        wait_s = wait_before_try(self._states.get(call.address, SignInState()), now)
        if wait_s and digest not in self._known:
            raise AccessError(
                f"too many wrong tokens came from {call.address[:60]}",
                way=f"wait {wait_s:.0f} s, then try again with the right one",
                status=429,
                wait_s=wait_s,
            )
        token = await self._find_token(digest)
        if token is None or token.is_session:
            raise self._refuse_secret(call)
        return token

    def _refuse_secret(self, call: CallFacts) -> AccessError:
        """Return the error for a wrong token, which is counted."""
        now = self._clock.now()
        if len(self._states) >= MAX_ADDRESSES:
            self._states = {a: state for a, state in self._states.items() if not is_forgotten(state, now)}
            self._states.pop(next(iter(self._states), ""), None)
        self._states[call.address] = note_wrong_token(self._states.get(call.address, SignInState()), now)
        return AccessError("this token is not known here; it may have been revoked", way=_CREATE, status=401)

    async def _find_token(self, digest: bytes) -> AccessToken | None:
        now = self._clock.now()
        at, known = self._known.get(digest, (now - KNOWN_S, None))
        if known is not None and at <= now < at + KNOWN_S and (known.expires_at or now + 1) > now:
            return known
        token = await self._tokens.find_token(digest, now)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        if token is None:
            self._known.pop(digest, None)
        else:
            self._known[digest] = (now, token)
        return token


def check_origin(call: CallFacts) -> None:
    """Raise ``AccessError`` for a change that a page of another site asks for."""
    if call.is_change and not is_same_origin(call.host, call.origin, call.fetch_site):
        raise AccessError(
            "a page of another site asked for a change",
            way="use the dashboard's own pages, or a program with a bearer token",
            status=403,
        )


def _caller_of(token: AccessToken) -> Caller:
    return Caller(name=token.name, role=token.role, is_session=token.is_session)
