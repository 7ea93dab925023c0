"""The argument of an errback."""

from __future__ import annotations

from gossamer.core.requests import Request
from gossamer.spiders.response import Response


class Failure:
    """The argument of an errback: a request that failed for good.

    ``request`` is the request, ``fault`` the name of the fault (see "Faults and errors"), ``detail`` a
    sentence about the cause, and ``response`` the response that was refused, such as one of status 404, or
    ``None`` if there was none.
    """

    def __init__(self, request: Request, fault: str, detail: str, response: Response | None = None) -> None:
        self.request = request
        self.fault = fault
        self.detail = detail
        self.response = response

    def __repr__(self) -> str:
        return f"<Failure {self.fault} {self.request.url}>"
