"""What an errback gets: Twisted's ``Failure`` around the exception that Scrapy would have raised."""

from __future__ import annotations

from typing import Any

from scrapy import exceptions
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request as ScrapyRequest
from scrapy.http import Response as ScrapyResponse
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.internet import error as twisted
from twisted.python.failure import Failure as TwistedFailure
from twisted.web.client import ResponseFailed

from gossamer.core.errors import Fault
from gossamer.spiders.failure import Failure


def _join_kinds(old: type[Exception], name: str) -> type[Exception]:
    """A kind that is both: Twisted's, which older spiders check for, and the one that newer Scrapy raises."""
    new = getattr(exceptions, name, None)
    return old if new is None else type(name, (old, new), {"__doc__": new.__doc__})


_RESOLVE = _join_kinds(twisted.DNSLookupError, "CannotResolveHostError")
_REFUSE = _join_kinds(twisted.ConnectionRefusedError, "DownloadConnectionRefusedError")
_LATE = _join_kinds(twisted.TimeoutError, "DownloadTimeoutError")
_LATE_CONNECT = _join_kinds(twisted.TCPTimedOutError, "DownloadTimeoutError")
_EXCEPTIONS: dict[str, type[Exception]] = {
    Fault.DNS: _RESOLVE,
    Fault.DNS_TEMPORARY: _RESOLVE,
    Fault.CONNECT: _REFUSE,
    Fault.LOCAL: twisted.ConnectError,
    Fault.TLS: twisted.ConnectError,
    Fault.HOST_DOWN: twisted.ConnectError,
    Fault.HOST_LOST: twisted.ConnectError,
    Fault.TIMEOUT_CONNECT: _LATE_CONNECT,
    Fault.TIMEOUT_HEADERS: _LATE,
    Fault.TIMEOUT_BODY: _LATE,
    Fault.INCOMPLETE: twisted.ConnectionDone,
    Fault.PROXY: twisted.ConnectError,
}
"""What Scrapy's downloader raises for a fault; for all that is not here it leaves a request out."""
_BROKEN = frozenset({Fault.PROTOCOL, Fault.BAD_ENCODING})


def make_failure(failure: Failure, request: ScrapyRequest, response: ScrapyResponse | None) -> TwistedFailure:
    """The failure of a request: its answer, if there was one, or what went wrong instead."""
    if response is not None and not 200 <= response.status < 300:
        error: Exception = HttpError(response, "Ignoring non-200 response")
    elif failure.fault in _BROKEN:
        error = _response_failed(twisted.ConnectionDone(failure.detail))
    else:
        error = _EXCEPTIONS.get(failure.fault, IgnoreRequest)(failure.detail or failure.fault)
    return fail_with(error, request)


def fail_with(error: Exception, request: ScrapyRequest) -> TwistedFailure:
    """The failure for an exception, with the request that it came of."""
    failed: Any = _make_failure(error)
    failed.request = request
    made: TwistedFailure = failed
    return made


def _response_failed(error: Exception) -> Exception:
    made: Exception = ResponseFailed([_make_failure(error)])  # type: ignore[no-untyped-call]
    return made


def _make_failure(error: Exception) -> Any:
    return TwistedFailure(error)  # type: ignore[no-untyped-call]
