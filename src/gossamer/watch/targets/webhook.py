"""Alerts to a webhook: each notification is a POST of JSON."""

from __future__ import annotations

import asyncio
import http.client
import ssl
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from gossamer.core.alerts import AlertNotice
from gossamer.core.errors import MissingServiceError
from gossamer.core.text import iso_time
from gossamer.policy.credentials import basic_authorization


class _RedirectRefusal(urllib.request.HTTPRedirectHandler):
    """Follows no redirects: notifications go to the configured URL only."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Do not follow the redirect."""


class WebhookTarget:
    """Port ``AlertTarget``: news were taken when the answer is a 2xx.

    A user and a password in the URL are sent as Basic credentials.
    """

    def __init__(self, name: str, url: str, *, user_agent: str, timeout_s: float = 10.0) -> None:
        self.name = name
        parts = urlsplit(url)
        where = parts.netloc.rpartition("@")
        self._url = urlunsplit(parts._replace(netloc=where[2], fragment=""))
        self._authorization = basic_authorization(where[0])
        self._user_agent = user_agent
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"<WebhookTarget {self.name} at {urlsplit(self._url).hostname}>"

    async def deliver(self, notice: AlertNotice) -> None:
        """See :class:`~gossamer.ports.alert_target.AlertTarget`."""
        try:
            async with asyncio.timeout(2 * self._timeout_s):
                await asyncio.to_thread(self._post, msgspec.json.encode(notice_document(notice)))
        except TimeoutError:
            raise MissingServiceError(f"no answer within {self._timeout_s:g} seconds") from None

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": self._user_agent}
        if self._authorization:
            headers["Authorization"] = self._authorization
        request = urllib.request.Request(self._url, body, headers, method="POST")  # noqa: S310 - http(s) is checked
        opener = urllib.request.build_opener(_RedirectRefusal)
        try:
            with opener.open(request, timeout=self._timeout_s) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            raise MissingServiceError(f"the webhook answered {error.code}") from None
        except (OSError, ssl.SSLError, http.client.HTTPException, ValueError) as error:
            reason = getattr(
                error, "reason", error
            )  # an error's own text may hold the URL, and with it a secret
            raise MissingServiceError(f"the webhook cannot be reached ({type(reason).__name__})") from None


def notice_document(notice: AlertNotice) -> dict[str, Any]:
    """Return the JSON of a notification: times are ISO 8601 in UTC."""
    fields = {name: getattr(notice, name) for name in AlertNotice.__struct_fields__}
    return fields | {
        "headline": notice.headline,
        "since": iso_time(notice.since),
        "at": iso_time(notice.at),
        "source": "gossamer",
    }
