"""The dependencies of routes: the back ends, the settings and the caller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Path, Query, Request

from gossamer.access.gate import AccessGate
from gossamer.config.layers import LoadedSettings
from gossamer.config.settings import Settings
from gossamer.core.access import Caller, CallFacts, Role
from gossamer.core.errors import AccessError, GossamerError
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.jobs.action_kind import ActionParts
from gossamer.observe.health import ProcessHealth
from gossamer.queries.explain.job_scope import JobScopeCache
from gossamer.queries.jobs import find_job
from gossamer.web.answers import LIMIT_S, AnswerCache
from gossamer.wiring.backends import Backends

log = logging.getLogger("gossamer.web")

COOKIE = "gossamer_session"
ASKED_WITHIN = "gossamer.caller"
"""Where a request that this process makes itself has its caller: no request from elsewhere can have it."""
UNCHANGING = ("GET", "HEAD", "OPTIONS")
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""Headers that show a proxy."""


class WebParts(Record, frozen=True):
    """The dependencies of one dashboard."""

    backends: Backends
    loaded: LoadedSettings
    gate: AccessGate
    cache: AnswerCache
    scopes: JobScopeCache  # what jobs make of URLs
    health: ProcessHealth = msgspec.field(default_factory=ProcessHealth)
    is_local: bool = True  # it listens on this machine's loopback alone
    tasks: set[asyncio.Task[None]] = msgspec.field(default_factory=set)  # work that continues after an answer

    @property
    def settings(self) -> Settings:
        """The settings of this process."""
        return self.loaded.settings

    def is_secure(self, request: Request) -> bool:
        """Whether a cookie is for HTTPS alone: everywhere but on this machine, and after HTTPS."""
        return not self.is_local or request.url.scheme == "https"

    @property
    def acting(self) -> ActionParts:
        """The dependencies of actions."""
        return ActionParts(self.backends, self.loaded, self._do_later)

    def _do_later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(_log_trouble(work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def find_job(self, name: str) -> Job:
        """Return a job by its id, or the latest of that name. Raises ``UnknownJobError``."""
        return await find_job(self.backends, name)


async def _log_trouble(work: Coroutine[Any, Any, None]) -> None:
    """Run work after an answer and log its errors, since no caller waits for them."""
    try:
        await work
    except GossamerError as error:
        log.warning("an action did not reach its end: %s", error)


def parts_of(request: Request) -> WebParts:
    """The parts of the dashboard that a request goes to."""
    parts: WebParts = request.app.state.parts
    return parts


def call_of(request: Request, *, secret: str = "") -> CallFacts:
    """Return the facts about the caller in a request; ``secret`` is the one in its body."""
    headers = request.headers
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    return CallFacts(
        address=request.client.host if request.client else "",
        host=headers.get("host", ""),
        is_change=request.method not in UNCHANGING,
        is_forwarded=any(name in headers for name in FORWARDED),
        secret=secret or (bearer.strip() if kind.lower() == "bearer" else ""),
        session=request.cookies.get(COOKIE, ""),
        origin=headers.get("origin"),
        fetch_site=headers.get("sec-fetch-site"),
    )


def require_role(needed: Role) -> Callable[[Request], Awaitable[Caller]]:
    """Return a dependency: the caller, if the role suffices. The only check of roles, on every route."""

    async def identify(request: Request) -> Caller:
        within: Caller | None = request.scope.get(ASKED_WITHIN)
        async with asyncio.timeout(LIMIT_S):
            caller = within or await parts_of(request).gate.identify_caller(call_of(request))
        if not caller.role.covers(needed):
            raise AccessError(
                f"the token {caller.name!r} has the role {caller.role}, and this needs {needed}",
                way=f"use a token that may: `gossamer token create NAME --role {needed}` makes one",
                status=403,
            )
        request.state.caller = caller
        return caller

    return identify


def caller_of(request: Request) -> Caller:
    """Return the caller of a request that has passed the gate."""
    caller: Caller = request.state.caller
    return caller


Parts = Annotated[WebParts, Depends(parts_of)]
WhoAsks = Annotated[Caller, Depends(caller_of)]
JobName = Annotated[
    str, Path(alias="job", description="A job's id, or its name for the latest.", max_length=200)
]
Limit = Annotated[int, Query(ge=1, le=100, description="Maximum number of rows.")]
Cursor = Annotated[
    str, Query(max_length=200, description="Where the part begins: the `next_cursor` of the one before.")
]
Word = Annotated[str, Query(max_length=300)]
Text = Annotated[str, Query(max_length=300, description="Text in it; capitals are the same.")]
