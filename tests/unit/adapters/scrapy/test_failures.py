"""What an errback finds in a failure, whichever Scrapy it was written for."""

from __future__ import annotations

import pytest
import scrapy
from scrapy import exceptions
from scrapy.http import HtmlResponse
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.internet import error
from twisted.web.client import ResponseFailed

from gossamer.adapters.scrapy.failures import make_failure
from gossamer.core.errors import Fault
from gossamer.core.requests import Request
from gossamer.spiders.failure import Failure

URL = "http://a.example/"


@pytest.mark.parametrize(
    ("fault", "now", "before"),
    [
        (Fault.DNS, exceptions.CannotResolveHostError, error.DNSLookupError),
        (Fault.CONNECT, exceptions.DownloadConnectionRefusedError, error.ConnectionRefusedError),
        (Fault.TIMEOUT_BODY, exceptions.DownloadTimeoutError, error.TimeoutError),
        (Fault.TIMEOUT_CONNECT, exceptions.DownloadTimeoutError, error.TCPTimedOutError),
        (Fault.TIMEOUT_CONNECT, exceptions.DownloadTimeoutError, error.TimeoutError),
        (Fault.PROTOCOL, exceptions.DownloadFailedError, ResponseFailed),
        (Fault.INCOMPLETE, exceptions.ResponseDataLossError, ResponseFailed),
        (Fault.ROBOTS, exceptions.IgnoreRequest, exceptions.IgnoreRequest),
        (Fault.OUT_OF_SCOPE, exceptions.IgnoreRequest, exceptions.IgnoreRequest),
    ],
)
def test_a_fault_is_the_exception_of_then_and_of_now(
    fault: Fault, now: type[Exception], before: type[Exception]
) -> None:
    request = scrapy.Request(URL)
    failed = make_failure(Failure(Request(URL), fault, "what happened"), request, None)
    assert failed.check(now)
    assert failed.check(before)
    assert failed.type.__name__ == now.__name__
    assert failed.request is request
    assert not failed.check(HttpError)


def test_an_answer_is_an_http_error() -> None:
    response = HtmlResponse(URL, status=404, body=b"not here")
    failed = make_failure(Failure(Request(URL), "gone", ""), scrapy.Request(URL), response)
    assert failed.check(HttpError)
    assert failed.value.response is response


def test_too_many_redirects_are_no_answer() -> None:
    request = scrapy.Request(URL)
    made = HtmlResponse(URL, status=302, request=request)
    failed = make_failure(Failure(Request(URL), Fault.REDIRECT_LIMIT, "too many"), request, made)
    assert failed.check(exceptions.IgnoreRequest)
