"""What an ``errback`` is given."""

from __future__ import annotations

from gossamer.core.requests import Request


class Failure:
    """What an errback gets: the request, the fault's name and what exactly happened."""

    def __init__(self, request: Request, fault: str, detail: str) -> None:
        self.request = request
        self.fault = fault
        self.detail = detail

    def __repr__(self) -> str:
        return f"<Failure {self.fault} {self.request.url}>"
