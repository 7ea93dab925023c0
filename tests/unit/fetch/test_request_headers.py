"""What a request says besides its own headers, as far as the settings decide it."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.core.requests import Request
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fields import RequestHeaders, manners_of
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.http.target import parse_target
from gossamer.fetch.sessions.cookies import CookieJar


def said(request: Request, *, says_referer: bool = True) -> dict[str, str]:
    options = HttpOptions(says_referer=says_referer)
    headers = RequestHeaders(options, manners_of(options), AddressGuard(()), CookieJar(10))
    return dict(headers.list_fields(request, parse_target(request.url).origin, "", 0.0))


@pytest.mark.parametrize(
    ("via", "url", "told"),
    [
        ("https://a.example/list", "https://b.example/", "https://a.example/list"),
        ("http://a.example/list", "https://a.example/", "http://a.example/list"),
        ("https://a.example/list", "http://a.example/", None),
        ("https://a.example/app#/p1", "https://a.example/", "https://a.example/app"),
        ("", "http://a.example/", None),
    ],
)
def test_a_request_names_the_page_that_led_to_it(via: str, url: str, told: str | None) -> None:
    assert said(Request(url, via=via)).get("Referer") == told
    assert "Referer" not in said(Request(url, via=via), says_referer=False)
    own = said(Request(url, via=via, headers={"referer": "own"}))
    assert own["referer"] == "own"
    assert "Referer" not in own
    assert "Referer" not in said(Request(url, via=via, omit_headers=("referer",)))


@pytest.mark.parametrize(
    ("via", "url", "site", "told"),
    [
        ("", "https://a.example/", "none", None),
        ("https://a.example/list?p=1", "https://a.example/x", "same-origin", "https://a.example/list?p=1"),
        ("https://a.example/list", "https://a.example:8443/x", "same-site", "https://a.example/"),
        ("https://www.a.example/list", "https://shop.a.example/x", "same-site", "https://www.a.example/"),
        ("http://a.example/list", "https://a.example/x", "cross-site", "http://a.example/"),
        ("https://a.co.uk/list", "https://b.co.uk/x", "cross-site", "https://a.co.uk/"),
        ("https://a.example/list", "http://a.example/x", "none", None),
        ("http://127.0.0.1:1/list", "http://127.0.0.1:2/x", "same-site", "http://127.0.0.1:1/"),
    ],
)
def test_a_browsers_headers_agree_on_where_a_request_comes_from(
    via: str, url: str, site: str, told: str | None
) -> None:
    manners = [("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")]

    def said_by_browser(request: Request, *, says_referer: bool = True) -> dict[str, str]:
        headers = RequestHeaders(
            HttpOptions(says_referer=says_referer), manners, AddressGuard(()), CookieJar(10)
        )
        return dict(headers.list_fields(request, parse_target(request.url).origin, "", 0.0))

    fields = said_by_browser(Request(url, via=via))
    assert (fields["sec-fetch-site"], fields.get("Referer")) == (site, told)
    assert said_by_browser(Request(url, via=via), says_referer=False)["sec-fetch-site"] == "none"
    if via.startswith(url[:5]):
        own = said_by_browser(Request(url, headers={"referer": via}), says_referer=False)
        assert (own["sec-fetch-site"], own["referer"]) == (site, via), "what a request says itself is sent"
    given = said_by_browser(Request(url, via=via, headers={"Sec-Fetch-Site": "cross-site"}))
    assert given["Sec-Fetch-Site"] == "cross-site"


@pytest.mark.parametrize(
    "cookie",
    [
        {"name": "a", "value": "s3cret", "domain": "other.example"},
        {"name": "b", "value": "s3cret", "secure": True},
        {"name": "c", "value": "s3cret" * 1000},
    ],
)
def test_a_cookie_that_its_host_could_not_set_is_told_of_once(
    cookie: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    request = Request("http://left-out.example/", cookies=[cookie, {"name": "kept", "value": "1"}])
    assert said(request)["Cookie"] == said(request)["Cookie"] == "kept=1"
    (told,) = caplog.messages
    assert f"the cookie '{cookie['name']}' of a request is not sent to left-out.example" in told
    assert "s3cret" not in told
