"""The argument of an errback: Twisted's ``Failure`` around the exception that Scrapy would have raised.

Each exception is both today's of Scrapy and the earlier one of Twisted, so either check of an errback
works.
"""

from __future__ import annotations

from typing import Any

from scrapy import exceptions as scrapy
from scrapy.http import Request as ScrapyRequest
from scrapy.http import Response as ScrapyResponse
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.internet import error as twisted
from twisted.python.failure import Failure as TwistedFailure
from twisted.web.client import ResponseFailed

from gossamer.core.errors import Fault
from gossamer.spiders.failure import Failure


def _join_types(now: str, *before: type[Exception]) -> type[Exception]:
    """Return an exception of both families, by today's name."""
    current: type[Exception] = getattr(scrapy, now, Exception)
    return type(now, (current, *before), {"__module__": current.__module__})


_REFUSED = _join_types("DownloadConnectionRefusedError", twisted.ConnectionRefusedError)
_NO_NAME = _join_types("CannotResolveHostError", twisted.DNSLookupError)
_TIMEOUT = _join_types("DownloadTimeoutError", twisted.TimeoutError)
_NO_CONNECTION = _join_types("DownloadTimeoutError", twisted.TCPTimedOutError, twisted.TimeoutError)
_FAILED = _join_types("DownloadFailedError", twisted.ConnectError)
_BROKEN = _join_types("DownloadFailedError", ResponseFailed)
_LOST = _join_types("ResponseDataLossError", ResponseFailed)

_EXCEPTIONS: dict[str, type[Exception]] = {
    Fault.DNS: _NO_NAME,
    Fault.DNS_TEMPORARY: _NO_NAME,
    Fault.CONNECT: _REFUSED,
    Fault.LOCAL: _FAILED,
    Fault.TLS: _FAILED,
    Fault.HOST_DOWN: _FAILED,
    Fault.HOST_LOST: _FAILED,
    Fault.PROXY: _FAILED,
    Fault.PROXY_ANSWER: _FAILED,
    Fault.TIMEOUT_CONNECT: _NO_CONNECTION,
    Fault.TIMEOUT_HEADERS: _TIMEOUT,
    Fault.TIMEOUT_BODY: _TIMEOUT,
    Fault.INCOMPLETE: _LOST,
    Fault.PROTOCOL: _BROKEN,
    Fault.BAD_ENCODING: _BROKEN,
}
"""The exception of Scrapy's downloader for a fault; a request with any other fault is dropped."""


def make_failure(failure: Failure, request: ScrapyRequest, response: ScrapyResponse | None) -> TwistedFailure:
    """Return the failure of a request: its answer if any, else its error."""
    if failure.fault == Fault.REDIRECT_LIMIT:
        return fail_with(scrapy.IgnoreRequest("max redirections reached"), request)
    if response is not None and not 200 <= response.status < 300:
        return fail_with(HttpError(response, "Ignoring non-200 response"), request)
    return fail_with(error_of(failure.fault, failure.detail), request)


def error_of(fault: str, detail: str) -> Exception:
    """Return the exception for a fault."""
    kind = _EXCEPTIONS.get(fault, scrapy.IgnoreRequest)
    if issubclass(kind, ResponseFailed):
        reason = TwistedFailure(twisted.ConnectionLost(detail or fault))  # type: ignore[no-untyped-call]
        return kind([reason])
    return kind(detail or fault)


def exception_name(fault: str) -> str:
    """Return the name of a fault in Scrapy's statistics."""
    kind = _EXCEPTIONS.get(fault, scrapy.IgnoreRequest)
    return f"{kind.__module__}.{kind.__qualname__}"


def fail_with(error: Exception, request: ScrapyRequest) -> TwistedFailure:
    """Return the failure for an exception, with its request."""
    failed: Any = TwistedFailure(error)  # type: ignore[no-untyped-call]
    failed.request = request
    made: TwistedFailure = failed
    return made
