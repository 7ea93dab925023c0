"""Options of a Scrapy request besides its URL and callback: cookies, limits, authentication."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from scrapy import Request, Spider
from scrapy.settings import BaseSettings
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.url import url_is_from_any_domain

from gossamer.adapters.scrapy.page_methods import PLAYWRIGHT, read_browsing

log = logging.getLogger("gossamer.crawl")

_WITHOUT = {
    "bindaddress": "requests leave by the address that the system chooses",
    "impersonate": 'scrapy-impersonate is not used; the setting fetch = "impersonate" does that',
    "zyte_api": "scrapy-zyte-api is not used; pages are fetched from the sites themselves",
}
"""Names in ``meta`` that download handlers read, and nothing here does: what to do instead."""


class RequestOptions:
    """The options of the requests of one spider, as fields of ours."""

    def __init__(self, spider: Spider, settings: BaseSettings) -> None:
        self._spider = spider
        self._has_cookies = settings.getbool("COOKIES_ENABLED")
        user, password = getattr(spider, "http_user", ""), getattr(spider, "http_pass", "")
        self._auth = (str(user), str(password)) if user or password else None
        self._auth_domain: str | None = getattr(spider, "http_auth_domain", None)
        self._told: set[str] = set()

    def read_options(self, given: Request) -> dict[str, Any]:
        """Return the fields that differ from the default."""
        fields: dict[str, Any] = {}
        meta = given.meta
        if not self._has_cookies or meta.get("dont_merge_cookies"):
            fields["omit_headers"] = ("cookie",)  # a Cookie of its own is sent nevertheless
        elif given.cookies:
            fields["cookies"] = _read_cookies(given.cookies, _default_path(urlparse_cached(given).path))
        if meta:
            self._read_meta(meta, fields)
        if self._auth is not None and b"Authorization" not in given.headers and self._is_for_auth(given):
            fields["auth"] = self._auth
        return fields

    def _read_meta(self, meta: Mapping[str, Any], fields: dict[str, Any]) -> None:
        for name, (field, convert) in _LIMITS.items():
            value = meta.get(name)
            if value:
                fields[field] = convert(value)
        if meta.get("dont_retry"):
            fields["max_retries"] = 0
        jar = meta.get("cookiejar")
        if jar is not None:
            fields["session"] = str(jar)
        if meta.get(PLAYWRIGHT):
            fields |= read_browsing(meta) | fields
        for name, instead in _WITHOUT.items():
            if meta.get(name) and name not in self._told:
                self._told.add(name)
                log.warning("%r in the meta of requests has no effect: %s", name, instead)

    def _is_for_auth(self, given: Request) -> bool:
        domain = self._auth_domain
        return domain is None or url_is_from_any_domain(urlparse_cached(given).geturl(), [domain])


def _read_cookies(cookies: Any, path: str) -> Any:
    """Cookies as ours has them: texts, as Scrapy makes them of other values, for `path` and below."""
    if not isinstance(cookies, Mapping):
        return [_read_cookie(cookie, path) for cookie in cookies]
    given = {_to_text(name): _to_text(value) for name, value in cookies.items() if value is not None}
    if path == "/":
        return given
    return [{"name": name, "value": value, "path": path} for name, value in given.items()]


def _read_cookie(cookie: Mapping[Any, Any], path: str) -> dict[str, Any]:
    given = {
        _to_text(name): value if type(value) is bool else _to_text(value) for name, value in cookie.items()
    }
    return {"path": path} | given


def _default_path(path: str) -> str:
    """Return the default path of a cookie: the folder of its page (RFC 6265, 5.1.4)."""
    return path[: path.rfind("/")] or "/"


def _to_text(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value.decode("latin-1")
    return str(value)


_LIMITS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "download_timeout": ("timeout", float),
    "download_maxsize": ("max_size", int),
    "max_retry_times": ("max_retries", int),
}
"""Names in ``meta`` that are fields of ours."""
