"""The caller, signing in and signing out."""

from __future__ import annotations

from fastapi import Request, Response
from pydantic import BaseModel, Field

from gossamer.core.access import LOCAL, Caller, Role
from gossamer.core.record import Record
from gossamer.core.redaction import shown_server
from gossamer.version import __version__
from gossamer.web.answers import encode_answer
from gossamer.web.parts import COOKIE, Parts, WebParts, WhoAsks, call_of
from gossamer.web.route_group import RouteGroup, described_responses

ROUTES = RouteGroup("Access")
LONGEST = 200
"""Characters of a token; those that were made here have 52."""


class CallerInfo(Record, frozen=True, kw_only=True):
    """The caller, and the server."""

    name: str  # of the token
    role: Role
    is_session: bool  # signed in, and can sign out
    is_local: bool  # on this machine, without tokens
    version: str  # of Gossamer
    fleet: str  # its name; empty: crawls run on this machine
    requests: str  # where they are kept, without secrets; empty: in the data directory
    store: str  # where items, pages and the ledger are kept; empty: in the data directory
    has_proxies: bool  # the settings list some


class SignInForm(BaseModel):
    """The form for signing in."""

    token: str = Field(max_length=LONGEST, description="The secret that `gossamer token create` showed.")


@ROUTES.read("/me", answer=CallerInfo, is_shared=False)
async def tell_caller(parts: Parts, caller: WhoAsks) -> CallerInfo:
    """Show the caller, the caller's role, and the configuration."""
    return _info_of(parts, caller)


@ROUTES.router.post(
    "/session",
    summary="Sign in.",
    description="For browsers: the session's cookie is sent with every request that follows. Needs no role.",
    operation_id="sign_in",
    response_model=None,
    responses=described_responses(CallerInfo, 200),
)
async def sign_in(request: Request, parts: Parts, form: SignInForm) -> Response:
    """Begin a session."""
    session = await parts.gate.sign_in(call_of(request, secret=form.token))
    response = Response(
        encode_answer(_info_of(parts, session.caller)),
        headers={"Cache-Control": "no-store"},
        media_type="application/json",
    )
    response.set_cookie(
        COOKIE, session.secret, path="/", httponly=True, samesite="strict", secure=parts.is_secure(request)
    )
    return response


@ROUTES.router.delete(
    "/session",
    summary="Sign out.",
    description="The session is over, in all tabs. Needs no role.",
    operation_id="sign_out",
    response_model=None,
    status_code=204,
)
async def sign_out(request: Request, parts: Parts) -> Response:
    """End the session."""
    await parts.gate.sign_out(call_of(request))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


def _info_of(parts: WebParts, caller: Caller) -> CallerInfo:
    settings = parts.settings
    return CallerInfo(
        name=caller.name,
        role=caller.role,
        is_session=caller.is_session,
        is_local=caller.name == LOCAL,
        version=__version__,
        fleet=settings.cluster.fleet if parts.backends.requests.fleet is not None else "",
        requests=_shown_place(settings.frontier.url),
        store=_shown_place(settings.store.url),
        has_proxies=settings.proxies.are_there,
    )


def _shown_place(url: str | None) -> str:
    return "" if url is None else shown_server(url)
