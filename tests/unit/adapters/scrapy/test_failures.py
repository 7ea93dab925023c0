"""What errbacks check for is found, by the names that Scrapy raised before 2.15 and by those that it raises now."""

import pytest
from scrapy import exceptions
from scrapy.http import Request
from twisted.internet import error

from gossamer.adapters.scrapy.failures import make_failure
from gossamer.core.errors import Fault
from gossamer.core.requests import Request as OurRequest
from gossamer.spiders.failure import Failure


@pytest.mark.parametrize(
    ("fault", "old", "new"),
    [
        (Fault.DNS, error.DNSLookupError, "CannotResolveHostError"),
        (Fault.CONNECT, error.ConnectionRefusedError, "DownloadConnectionRefusedError"),
        (Fault.TIMEOUT_CONNECT, error.TCPTimedOutError, "DownloadTimeoutError"),
        (Fault.TIMEOUT_BODY, error.TimeoutError, "DownloadTimeoutError"),
    ],
)
def test_an_exception_is_of_the_old_kind_and_of_the_new_one(fault, old, new):
    request = Request("http://a.example/")
    failure = make_failure(Failure(OurRequest("http://a.example/"), fault, "it was so"), request, None)
    assert failure.check(old)
    assert failure.check(getattr(exceptions, new))
    assert failure.request is request
    assert "it was so" in failure.getErrorMessage()
