"""The key of a gateway is in nothing that its answers leave behind."""

import base64
from urllib.parse import quote

import pytest

from gossamer.core.errors import Fault, FetchError, MissingServiceError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.gateway.gateway import Gateway, GatewayAccount
from gossamer.fetch.gateway.template import TEMPLATES, GatewayTemplate
from gossamer.testing.clock import ManualClock

KEY = "key/with+signs-0123456789"
PAGE = Request("http://shop.example/page")
OWN = GatewayTemplate(url="http://g.example/?k={key}&u={url}")


class Answering:
    """Gives one answer to each call."""

    def __init__(self, status, body=b"", **headers):
        self.status, self.body, self.headers = status, body, tuple(headers.items())

    async def fetch(self, request, route=None):
        times = {"started_at": 0.0, "latency_s": 0.0, "elapsed_s": 0.0}
        return FetchResult(
            url=request.url, status=self.status, headers=self.headers, body=self.body, rung="http", **times
        )


async def call(answer, template=OWN, key=KEY):
    account = GatewayAccount(name="shop", template=template, key=key)
    return await Gateway(account, answer, ManualClock()).call(PAGE, session="", cookies="")


async def failure(*args, **named):
    with pytest.raises((FetchError, MissingServiceError)) as caught:
        await call(*args, **named)
    return caught.value


@pytest.mark.parametrize("template", [OWN, TEMPLATES["scraperapi"], TEMPLATES["zyte"]])
@pytest.mark.parametrize("shown", [KEY, quote(KEY, safe=""), quote(KEY, safe="").lower()])
async def test_a_redirect_of_the_call_is_not_the_pages(template, shown):
    error = await failure(Answering(301, location=f"https://g.example/?k={shown}&u=x"), template)
    assert isinstance(error, MissingServiceError)
    assert "correct gateways.shop.url" in str(error)
    assert shown not in str(error)


@pytest.mark.parametrize("template", [TEMPLATES["scraperapi"], TEMPLATES["zyte"]])
async def test_a_redirect_without_the_status_of_the_page_is_a_failed_call(template):
    error = await failure(Answering(302, location="https://elsewhere.example/"), template)
    assert error.fault is Fault.SERVICE_FAILED


async def test_a_redirect_to_the_gateway_itself_is_a_failed_call():
    error = await failure(Answering(301, location="https://g.example/v2/"))
    assert error.fault is Fault.SERVICE_FAILED
    assert "correct gateways.shop.url" in error.detail


async def test_redirects_of_the_page_are_passed_on():
    for location in ("/there", "https://other.example/"):
        answer, _, _ = await call(Answering(302, location=location))
        assert (answer.status, dict(answer.headers)["location"]) == (302, location)
    said = Answering(302, location="https://api.scraperapi.com/pricing", **{"sa-statuscode": "302"})
    assert (await call(said, TEMPLATES["scraperapi"]))[0].status == 302


@pytest.mark.parametrize(
    "shown",
    [
        KEY,
        quote(KEY, safe=""),
        KEY.replace("/", r"\/"),
        base64.b64encode(f"{KEY}:".encode()).decode(),
        base64.b64encode(KEY.encode()).decode(),
    ],
)
@pytest.mark.parametrize("status", [401, 402, 429, 500])
async def test_no_part_of_the_key_is_in_errors(shown, status):
    for before in (0, 190, 4085):
        text = " " * before + shown if before > 200 else "x" * before + shown
        error = await failure(Answering(status, text.encode()))
        assert shown[:6] not in f"{error} {getattr(error, 'detail', '')}"


async def test_a_number_that_is_too_large_is_none():
    answer = Answering(200, b'{"statusCode": 1' + b"0" * 400 + b', "httpResponseBody": ""}')
    assert (await call(answer, TEMPLATES["zyte"]))[0].status == 200
