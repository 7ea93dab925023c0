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
    """The return value of a hook that replaces the request it was given with another one.

    It is handled like a redirect: scope, robots.txt and delays apply to the new request.
    """

    request: Request  # the request to send instead


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
