"""The statuses for a callback, by the rules of Scrapy's HttpError and Redirect middlewares."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from scrapy import Spider
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.spidermiddlewares.httperror import HttpError

from gossamer.adapters.scrapy.middlewares import HTTP_ERRORS, RETRIES, has_built_in
from gossamer.adapters.scrapy.middlewares import REDIRECTS as REDIRECT_MIDDLEWARE
from gossamer.core.requests import Request
from gossamer.core.results import StatusWish

REDIRECTS = frozenset({301, 302, 303, 307, 308})
ASKING_FOR_TIME = frozenset({429, 503})
"""Statuses for which a request waits and is not charged; one that may not be tried again is handed on."""


class StatusRules:
    """The rules of one spider with its settings."""

    def __init__(self, spider: Spider, settings: BaseSettings) -> None:
        self._spider = spider
        self._allows_all = settings.getbool("HTTPERROR_ALLOW_ALL") or not has_built_in(
            settings, "SPIDER_MIDDLEWARES", HTTP_ERRORS
        )
        self._allowed: Collection[int] = {int(code) for code in settings.getlist("HTTPERROR_ALLOWED_CODES")}
        self._retries = settings.getbool("RETRY_ENABLED") and has_built_in(
            settings, "DOWNLOADER_MIDDLEWARES", RETRIES
        )
        self._retried = {int(code) for code in settings.getlist("RETRY_HTTP_CODES")}
        self._follows = settings.getbool("REDIRECT_ENABLED") and has_built_in(
            settings, "DOWNLOADER_MIDDLEWARES", REDIRECT_MIDDLEWARE
        )

    def find_wish(self, request: Request, status: int, meta: dict[str, Any] | None = None) -> StatusWish:
        """Return that, and whether the request is retried first: Scrapy's retries ignore lists of
        statuses."""
        if not self.wants_status(request, status, meta):
            return StatusWish.NEVER
        is_retried = status in self._retried and self._retries and request.max_retries != 0
        return StatusWish.AT_LAST if is_retried else StatusWish.AT_ONCE

    def wants_status(self, request: Request, status: int, meta: dict[str, Any] | None = None) -> bool:
        """Return whether a response with an error or a redirect goes to the spider at once.

        ``meta`` is that of the request after middlewares.
        """
        if 200 <= status < 300:
            return False
        if status in ASKING_FOR_TIME and (request.max_retries == 0 or not self._retries):
            return True
        meta = request.meta if meta is None else meta
        if status not in REDIRECTS:
            return self._allows(meta, status)
        named = _listed(meta) or ()
        return (
            not self._follows
            or bool(meta.get("dont_redirect"))
            or bool(meta.get("handle_httpstatus_all"))
            or status in named
            or status in self._handled()
        )

    def refuse_response(self, response: Response) -> HttpError | None:
        """Return the error that sends a response to its errback, or ``None`` for the callback."""
        status = response.status
        if 200 <= status < 300 or self._allows(response.meta, status):
            return None
        return HttpError(response, "Ignoring non-200 response")

    def _allows(self, meta: dict[str, Any], status: int) -> bool:
        if meta.get("handle_httpstatus_all"):
            return True
        listed = _listed(meta)
        if listed is not None:
            return status in listed
        return self._allows_all or status in (self._handled() or self._allowed)

    def _handled(self) -> Collection[int]:
        return getattr(self._spider, "handle_httpstatus_list", None) or ()


def _listed(meta: dict[str, Any]) -> Collection[int] | None:
    """Return the list in ``meta``, either as Scrapy's code gave it or as it is stored."""
    listed = meta.get("handle_httpstatus_list")
    if listed is None and "scrapy" in meta:
        stored = (meta["scrapy"].get("meta") or {}).get("handle_httpstatus_list")
        listed = stored.get("of") if isinstance(stored, dict) else stored
    return listed
