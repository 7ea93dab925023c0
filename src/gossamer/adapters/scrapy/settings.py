"""Convert the settings of Scrapy's projects and spiders to ours, as far as equivalents exist.

Only explicit settings are read: Scrapy's defaults are less polite than Gossamer's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from scrapy.http import Headers
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings

from gossamer.adapters.scrapy.requests import plain_headers
from gossamer.config.section import HOST
from gossamer.core.errors import SettingError

log = logging.getLogger("gossamer.crawl")

AS_SCRAPY: dict[str, Any] = {
    "tracking_params": [],
    "blocks.detect": None,
    "http.referer": True,
    "http.max_redirects": 20,
    "traps.max_segments": None,
    "traps.max_repeats": None,
    "traps.max_same_body": None,
    "traps.max_worthless": None,
    "parse.max_links": 10_000_000,
    "parse.callback_timeout": 600.0,
}
"""Features that an adapted spider runs without, so that it sees the same pages as in Scrapy."""


def make_settings(given: BaseSettings, spider: str) -> dict[str, Any]:
    """Return our settings for those of a project and its spider; report settings without effect once."""
    made = dict(AS_SCRAPY)
    without: list[str] = []
    for name in given:
        priority = given.getpriority(name) or 0
        if priority <= SETTINGS_PRIORITIES["default"] or name in _ELSEWHERE or name.startswith(_FAMILIES):
            continue
        read = _READERS.get(name)
        if read is None:
            if name in _SCRAPYS:
                without.append(name)
            continue
        try:
            if (said := read(given, name)) is None:
                without.append(name)
            made |= said or {}
        except (TypeError, ValueError) as error:
            raise SettingError(f"{name} = {given[name]!r} of the spider {spider!r}: {error}") from None
    if without:
        log.warning(
            "these settings of the spider %r have no meaning here: %s", spider, ", ".join(sorted(without))
        )
    return made


Reader = Callable[[BaseSettings, str], Mapping[str, Any] | None]
"""Reads a setting; ``None`` if its value has no effect here."""


def _as(ours: str, convert: Callable[[BaseSettings, str], Any]) -> Reader:
    return lambda given, name: {ours: convert(given, name)}


def _delay(given: BaseSettings, name: str) -> Mapping[str, Any]:
    """Return the delay, fixed unless the project wants one that follows the host."""
    seconds = given.getfloat("DOWNLOAD_DELAY")
    if given.getbool("AUTOTHROTTLE_ENABLED"):
        return {"min_delay": seconds}
    return {"delay": seconds}


def _per_domain(given: BaseSettings, name: str) -> Mapping[str, Any]:
    return {"per_host": max(given.getint(name), 1)}


def _slots(given: BaseSettings, name: str) -> Mapping[str, Any]:
    """Slots that are called like hosts are domains here; others, which requests name, have no meaning."""
    made: dict[str, Any] = {}
    for domain, said in (given.getdict(name) or {}).items():
        if HOST.fullmatch(domain):
            if said.get("delay") is not None:
                made[f"domain.{domain}.delay"] = float(said["delay"])
            if said.get("concurrency") is not None:
                made[f"domain.{domain}.per_host"] = max(int(said["concurrency"]), 1)
    return made


def _timeout(given: BaseSettings, name: str) -> Mapping[str, Any]:
    seconds = given.getfloat(name)
    if not seconds:  # Scrapy also takes that for the default
        return {}
    return {"http.total_timeout": seconds, "http.headers_timeout": seconds, "http.read_timeout": seconds}


def _maxsize(given: BaseSettings, name: str) -> Mapping[str, Any]:
    size = given.getint(name)
    return {"http.max_size_bytes": size} if size else {}


def _limit(ours: str, convert: Callable[[BaseSettings, str], float] = BaseSettings.getint) -> Reader:
    """Read a limit; zero means unlimited."""

    def read(given: BaseSettings, name: str) -> Mapping[str, Any]:
        value = convert(given, name)
        return {ours: value} if value > 0 else {}

    return read


def _headers(given: BaseSettings, name: str) -> Mapping[str, Any]:
    headers = Headers({key: value for key, value in (given.getdict(name) or {}).items() if value is not None})
    return {"http.headers": plain_headers(headers)}


def _retries(given: BaseSettings, name: str) -> Mapping[str, Any]:
    return {"max_retries": given.getint("RETRY_TIMES") if given.getbool("RETRY_ENABLED") else 0}


def _handlers(given: BaseSettings, name: str) -> Mapping[str, Any] | None:
    """Requests that are for Playwright are fetched in a browser anyway."""
    chosen = (given.getdict(name) or {}).values()
    return {} if all("scrapy_playwright" in str(handler) for handler in chosen) else None


def _level(given: BaseSettings, name: str) -> Mapping[str, Any]:
    """Return our log level for a name or a number."""
    value = given[name]
    number = value if isinstance(value, int) else logging.getLevelName(str(value).upper())
    if not isinstance(number, int):
        number = int(value)
    return {"log.level": next((level for most, level in _LEVELS if number <= most), "error")}


_LEVELS = ((logging.DEBUG, "debug"), (logging.INFO, "info"), (logging.WARNING, "warning"))
_SCRAPYS = frozenset(name for name in vars(default_settings) if name.isupper())
"""The settings that Scrapy knows; all others are those of a project's own code, which reads them itself."""

_READERS: dict[str, Reader] = {
    "AUTOTHROTTLE_ENABLED": lambda given, name: {},
    "AUTOTHROTTLE_MAX_DELAY": _as("max_delay", BaseSettings.getfloat),
    "CLOSESPIDER_ERRORCOUNT": _limit("max_errors"),
    "CLOSESPIDER_ITEMCOUNT": _limit("max_items"),
    "CLOSESPIDER_PAGECOUNT": _limit("max_pages"),
    "CLOSESPIDER_TIMEOUT": _limit("max_time", BaseSettings.getfloat),
    "COMPRESSION_ENABLED": lambda given, name: {} if given.getbool(name) else None,
    "CONCURRENT_REQUESTS": _as("concurrency", BaseSettings.getint),
    "CONCURRENT_REQUESTS_PER_DOMAIN": _per_domain,
    "DEFAULT_REQUEST_HEADERS": _headers,
    "DEPTH_LIMIT": _limit("max_depth"),
    "DOWNLOAD_DELAY": _delay,
    "DOWNLOAD_HANDLERS": _handlers,
    "DOWNLOAD_MAXSIZE": _maxsize,
    "DOWNLOAD_SLOTS": _slots,
    "DOWNLOAD_TIMEOUT": _timeout,
    "HTTPCACHE_ENABLED": _as("cache.on", BaseSettings.getbool),
    "HTTPCACHE_EXPIRATION_SECS": _limit("cache.max_age", BaseSettings.getfloat),
    "LOG_FILE": _as("log.file", BaseSettings.get),
    "LOG_LEVEL": _level,
    "RANDOMIZE_DOWNLOAD_DELAY": _as("random_delay", BaseSettings.getbool),
    "REDIRECT_MAX_TIMES": _as("http.max_redirects", BaseSettings.getint),
    "REFERER_ENABLED": _as("http.referer", BaseSettings.getbool),
    "RETRY_ENABLED": _retries,
    "RETRY_TIMES": _retries,
    "ROBOTSTXT_OBEY": _as("robots", BaseSettings.getbool),
    "USER_AGENT": _as("user_agent", BaseSettings.get),
}
"""Readers by setting."""

_ELSEWHERE = frozenset(
    {
        *("ADDONS", "BOT_NAME", "SPIDER_MODULES", "NEWSPIDER_MODULE", "SPIDER_LOADER_CLASS"),
        *("SPIDER_LOADER_WARN_ONLY", "TWISTED_REACTOR", "TWISTED_REACTOR_ENABLED", "MEDIA_ALLOW_REDIRECTS"),
        *("REQUEST_FINGERPRINTER_CLASS", "REQUEST_FINGERPRINTER_IMPLEMENTATION", "DUPEFILTER_CLASS"),
        *("HTTPERROR_ALLOWED_CODES", "HTTPERROR_ALLOW_ALL", "REDIRECT_ENABLED", "STATS_CLASS"),
        *("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "RETRY_HTTP_CODES", "RETRY_PRIORITY_ADJUST"),
        *("LOG_ENABLED", "LOG_FORMATTER", "TELNETCONSOLE_ENABLED", "COOKIES_ENABLED", "DUPEFILTER_DEBUG"),
        *("ITEM_PIPELINES", "ITEM_PROCESSOR", "STATS_DUMP", "EXTENSIONS"),
        *("CLOSESPIDER_TIMEOUT_NO_ITEM", "CLOSESPIDER_PAGECOUNT_NO_ITEM"),
        *("JOBDIR", "SCHEDULER_PRIORITY_QUEUE", "COOKIES_DEBUG", "LOG_STDOUT"),
        *("LOGSTATS_INTERVAL", "LOG_ENCODING", "LOG_DATEFORMAT", "LOG_FORMAT", "ASYNCIO_EVENT_LOOP"),
    }
)
"""Settings that Scrapy's own classes read, or that say what happens here anyway."""
_FAMILIES = ("AWS_", "FEED", "FILES_", "FTP_", "GCS_", "IMAGES_")
"""Prefixes of settings that Scrapy's feeds and media pipelines read."""
