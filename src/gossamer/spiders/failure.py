"""What an ``errback`` is given."""

from __future__ import annotations

from gossamer.core.requests import Request
from gossamer.spiders.response import Response


class Failure:
    """What an errback gets: the request, the fault's name and what exactly happened.

    ``response`` is the answer for which the request is given up, as of status 404; ``None``: there was none.
    """

    def __init__(self, request: Request, fault: str, detail: str, response: Response | None = None) -> None:
        self.request = request
        self.fault = fault
        self.detail = detail
        self.response = response

    def __repr__(self) -> str:
        return f"<Failure {self.fault} {self.request.url}>"
