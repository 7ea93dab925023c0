"""Templates of gateways: how to call one, and where its answers hold each part.

A placeholder is a name in braces: ``{url}``. The place of a part is ``header:NAME``, ``json:PATH`` (keys
and numbers, separated by dots) or ``base64:PATH`` (the same, encoded). An empty place means the answer
itself: its status, headers or body.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from gossamer.core.record import Record


class GatewayFailure(StrEnum):
    """Meaning of an answer of the gateway itself, by the required reaction."""

    KEY = "key"  # the key is refused: the operator must replace it
    CREDIT = "credit"  # nothing is left to pay with: the operator must top it up
    WAIT = "wait"  # too many calls: later
    FAILED = "failed"  # the gateway could not get the page: another try may
    PAGE = "page"  # the gateway will never fetch this page


class GatewayTemplate(Record, frozen=True, kw_only=True):
    """Rules to call one kind of gateway and to read its answers."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    body: Any = None  # JSON with placeholders; None: the request's own body is sent
    sends_headers: bool = False  # whether the request's own headers are sent as headers of the call
    methods: frozenset[str] = frozenset({"GET"})  # allowed for the page
    status: str = ""
    content: str = ""
    page_headers: str = ""
    page_cookies: str = ""  # a JSON list of cookies; empty: Set-Cookie among the page's headers
    cost: str = ""  # credits; empty: every page costs the price
    errors: dict[str, str] = {}  # by ``STATUS``, ``STATUS WORDS`` or ``5xx``: a ``GatewayFailure``


ANY_METHOD = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

ERRORS = {
    "401": GatewayFailure.KEY,
    "402": GatewayFailure.CREDIT,
    "403": GatewayFailure.KEY,
    "407": GatewayFailure.KEY,
    "429": GatewayFailure.WAIT,
    "5xx": GatewayFailure.FAILED,
}
"""Default meaning of a gateway's statuses, for those that its template does not list."""

_ZYTE = GatewayTemplate(
    url="https://api.zyte.com/v1/extract",
    method="POST",
    headers={"Authorization": "Basic {key_basic}", "Content-Type": "application/json"},
    body={
        "url": "{url}",
        "httpResponseBody": True,
        "httpResponseHeaders": True,
        "responseCookies": True,
        "followRedirect": False,
        "httpRequestMethod": "{method}",
        "httpRequestBody": "{body}",
        "customHttpRequestHeaders": "{header_list}",
        "requestCookies": "{cookie_list}",
        "session": {"id": "{session_uuid}"},
    },
    methods=ANY_METHOD,
    status="json:statusCode",
    content="base64:httpResponseBody",
    page_headers="json:httpResponseHeaders",
    page_cookies="json:responseCookies",
    errors={
        "403": GatewayFailure.CREDIT,  # the account is suspended
        "429": GatewayFailure.WAIT,
        "503": GatewayFailure.WAIT,
        "400": GatewayFailure.PAGE,
        "422": GatewayFailure.PAGE,
        "451": GatewayFailure.PAGE,
    },
)

TEMPLATES: dict[str, GatewayTemplate] = {
    "scraperapi": GatewayTemplate(
        url="https://api.scraperapi.com/?api_key={key}&url={url}&follow_redirect=false"
        "&keep_headers={has_headers}&session_number={session_number}&render={render}&country_code={country}",
        method="{method}",
        sends_headers=True,
        methods=frozenset({"GET", "POST", "PUT"}),
        status="header:sa-statuscode",
        cost="header:sa-credit-cost",
        errors={"400": GatewayFailure.PAGE, "403": GatewayFailure.CREDIT},
    ),
    "zyte": _ZYTE,
    "zyte-browser": GatewayTemplate(
        url=_ZYTE.url,
        method="POST",
        headers=_ZYTE.headers,
        body={
            "url": "{url}",
            "browserHtml": True,
            "responseCookies": True,
            "requestCookies": "{cookie_list}",
            "session": {"id": "{session_uuid}"},
        },
        status=_ZYTE.status,
        content="json:browserHtml",
        page_cookies=_ZYTE.page_cookies,
        errors=_ZYTE.errors,
    ),
}
"""The templates that are built in, by name. Both companies charge for answers alone, not for failures."""
