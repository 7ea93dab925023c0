"""Results that users' hooks return between a request and its answer."""

from __future__ import annotations

from gossamer.core.errors import Fault, FetchError
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult

HOOK_RUNG = "hook"
"""The rung of answers from a hook: no request was sent."""
INSTEAD_OF_FAILURE = "instead_of_failure"
"""The flag of an answer that a hook gave when the host, which was asked, had failed."""


class Replacement(Record, frozen=True):
    """A hook's result that replaces its request with another one.

    The replaced request is settled like a redirect: scope, robots.txt and politeness apply to the new one.
    """

    request: Request


class HookError(FetchError):
    """A hook ends a fetch: it failed, it refuses, or it wants another request instead.

    ``fetched`` is the answer that was there by then, ``request`` the request that takes the place of the one
    that was fetched.
    """

    def __init__(
        self,
        fault: Fault,
        detail: str = "",
        *,
        fetched: FetchResult | None = None,
        request: Request | None = None,
    ) -> None:
        super().__init__(fault, detail)
        self.fetched = fetched
        self.request = request
