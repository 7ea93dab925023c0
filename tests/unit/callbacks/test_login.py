"""A spider's own log-in is run, judged by its last answer, and tells no secret."""

from __future__ import annotations

import asyncio
import os

import pytest

from gossamer.callbacks.login import SpiderLogin
from gossamer.core.errors import Fault, FetchError, LogInError, MissingServiceError, StorageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider

LOGIN = "https://club.test/login"
FORM = "<form method=post action=/session><input name=user><input name=word type=password></form>"
SECRET = "s3cret-w0rd"


def answer(request, html="<p>hello", status=200, content_type="text/html", url=""):
    return FetchResult(
        url=url or request.url,
        status=status,
        headers=(("content-type", content_type),),
        body=html.encode(),
        started_at=0,
        latency_s=0,
        elapsed_s=0,
        rung="http",
    )


class Member(Spider):
    name = "member"
    login_url = LOGIN

    async def log_in(self, login):
        page = await login.get(self.login_url)
        assert login.last is page
        await login.submit(page, {"user": "me", "word": SECRET})


class Checked(Member):
    def is_logged_in(self, response):
        return "Log out" in response.text


async def log_in(spider, **answers):
    """Its log-in at a site that shows a form and answers it as told; why it failed, and what was asked."""
    asked = []

    async def ask(request):
        asked.append(request)
        return answer(request, FORM) if request.method == "GET" else answer(request, **answers)

    async def read(request, fetched):
        return Response(request, fetched)

    guide = SpiderLogin(lambda _: spider, read)
    return await guide.log_in(Request("https://club.test/", session="s"), ask), asked


async def test_a_form_is_got_filled_in_and_sent():
    why, asked = await log_in(Member())
    assert why == ""
    assert [(request.method, request.url) for request in asked] == [
        ("GET", LOGIN),
        ("POST", "https://club.test/session"),
    ]
    assert asked[1].body == b"user=me&word=s3cret-w0rd"


@pytest.mark.parametrize(
    ("spider", "answers", "why"),
    [
        (Member(), {"html": FORM}, "the page that it ended with still asks to log in"),
        (Member(), {"url": f"{LOGIN}?wrong=1"}, "the page that it ended with still asks to log in"),
        (Member(), {"status": 403}, "it ended with status 403"),
        (Member(), {"html": "{}", "content_type": "application/json"}, ""),
        (Checked(), {}, "is_logged_in() says no to the page that it ended with"),
        (Checked(), {"html": "<a>Log out</a>"}, ""),
        (Checked(), {"html": f"<a>Log out</a>{FORM}"}, ""),  # its own word counts
    ],
)
async def test_the_last_answer_says_whether_it_went_well(spider, answers, why):
    assert (await log_in(spider, **answers))[0] == why


class Raising(Member):
    def __init__(self, error):
        super().__init__()
        self.error = error

    async def log_in(self, login):
        await super().log_in(login)
        raise self.error


async def test_a_variable_that_is_not_set_is_missing_in_a_line_of_the_spider():
    class Unset(Member):
        async def log_in(self, login):
            os.environ["THERE_IS_NO_SUCH_VARIABLE"]

    why, _ = await log_in(Unset())
    assert "KeyError: 'THERE_IS_NO_SUCH_VARIABLE' (test_login.py, line " in why


@pytest.mark.parametrize(
    "error",
    [ValueError(f"cannot use {SECRET} here"), SystemExit(3), asyncio.CancelledError(), TimeoutError()],
)
async def test_what_it_raises_is_the_reason_without_what_it_sent(error):
    why, _ = await log_in(Raising(error))
    assert why.startswith(f"log_in() of the spider 'member' raised {type(error).__name__}")
    assert "test_login.py, line " in why
    assert SECRET not in why


async def test_false_means_no():
    class Refusing(Member):
        async def log_in(self, login):
            return False

    assert (await log_in(Refusing()))[0] == "log_in() returned False"


@pytest.mark.parametrize(
    "fault",
    [
        Fault.REDIRECT_LIMIT,
        Fault.BAD_REDIRECT,
        Fault.TLS,
        Fault.GUARD,
        Fault.BAD_URL,
        Fault.TOO_LARGE,
        Fault.PROTOCOL,
        Fault.DNS,
    ],
)
async def test_a_step_that_is_hopeless_is_a_log_in_that_failed(fault):
    """It is no page's fault: taken for one, every page behind the log-in would be given up."""
    why, _ = await log_in(Raising(FetchError(fault, f"logging in, at {LOGIN}: {SECRET} is broken")))
    assert why == f"{fault}: logging in, at {LOGIN}: *** is broken"


async def test_a_request_that_cannot_be_made_is_a_log_in_that_failed():
    class Careless(Member):
        async def log_in(self, login):
            await login.submit(await login.get(self.login_url), {"user": "me", "word": SECRET})
            await login.fetch(Request(f"nowhere?{SECRET}"))

    why, _ = await log_in(Careless())
    assert why.startswith("log_in() of the spider 'member' raised UsageError: ")
    assert SECRET not in why


@pytest.mark.parametrize("url", ["/login", "login", "?", LOGIN])
async def test_a_relative_url_is_joined_to_that_of_the_log_in_page(url):
    class Relative(Member):
        async def log_in(self, login):
            await login.get(url)

    _, asked = await log_in(Relative())
    assert [request.url.rstrip("?") for request in asked] == [LOGIN]


@pytest.mark.parametrize(
    "error",
    [
        FetchError(Fault.CONNECT, "refused"),
        FetchError(Fault.THROTTLED, "status 429"),
        FetchError(Fault.PROXY, "out of order"),
        LogInError("robots.txt does not allow it"),
        MissingServiceError("no Chromium"),
        StorageError("away"),
    ],
)
async def test_what_the_site_or_the_storage_does_is_not_its_failure(error):
    with pytest.raises(type(error)):
        await log_in(Raising(error))


async def test_who_has_no_log_in_needs_none():
    class Visitor(Spider):
        name = "visitor"
        login_url = LOGIN

    guide = SpiderLogin(lambda _: Visitor(), None)  # type: ignore[arg-type]
    assert guide.login_url_for(Request("https://club.test/")) == ""
    assert SpiderLogin(lambda _: Member(), None).login_url_for(Request("https://club.test/")) == LOGIN  # type: ignore[arg-type]
