"""The middlewares that a project's settings name, made and in order.

Scrapy's built-in ones are not among them, since Gossamer does their work. Settings of those are reported
once unless they have an effect here: without Scrapy's retries, Gossamer does not retry either.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.python import global_object_name

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.core.errors import UsageError
from gossamer.core.text import describe_error

log = logging.getLogger("gossamer.crawl")

RETRIES = "scrapy.downloadermiddlewares.retry.RetryMiddleware"
REDIRECTS = "scrapy.downloadermiddlewares.redirect.RedirectMiddleware"
HTTP_ERRORS = "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware"
_BUILT_IN = "scrapy."


class OrderedMiddleware(NamedTuple):
    """One middleware with its place among Scrapy's own."""

    order: float
    thing: Any


def open_middlewares(crawler: AdaptedCrawler, setting: str) -> list[OrderedMiddleware]:
    """Return a project's middlewares in a setting, in order, without those that disable themselves.

    Raises ``UsageError`` if one cannot be imported or made.
    """
    settings = crawler.settings
    try:
        given: Mapping[Any, float] = settings.get_component_priority_dict_with_base(setting)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{setting} cannot be read: {describe_error(error)}") from error
    made = []
    for key, order in sorted(given.items(), key=lambda pair: pair[1]):
        try:
            kind = load_object(key)
            if not kind.__module__.startswith(_BUILT_IN):
                made.append(OrderedMiddleware(order, build_from_crawler(kind, crawler)))
        except NotConfigured as error:
            if error.args:
                log.warning("%s is skipped: %s", key, error)
        except (Exception, SystemExit) as error:
            raise UsageError(f"{setting} names {key}: {describe_error(error)}") from error
    _tell_built_in(settings, setting)
    return made


def has_built_in(settings: BaseSettings, setting: str, path: str) -> bool:
    """Return whether the settings leave one of Scrapy's own in place."""
    said = settings[setting] or {}
    return all(value is not None for key, value in said.items() if _path_of(key) == path)


def _tell_built_in(settings: BaseSettings, setting: str) -> None:
    """Name the middlewares of Scrapy's that the settings move or remove, to no effect."""
    meant = {RETRIES, REDIRECTS, HTTP_ERRORS}
    paths = {_path_of(key): value for key, value in (settings[setting] or {}).items()}
    told = [
        path.rpartition(".")[2]
        for path, value in paths.items()
        if path.startswith(_BUILT_IN) and not (path in meant and value is None)
    ]
    if told:
        log.warning(
            "%s configures %s: Gossamer does the work of Scrapy's own middlewares itself",
            setting,
            ", ".join(sorted(told)),
        )


def _path_of(key: Any) -> str:
    """Return the import path of a component, given as text or as a class."""
    try:
        return global_object_name(load_object(key))
    except (ImportError, NameError, TypeError, ValueError):
        return str(key)
