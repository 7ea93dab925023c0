"""Small classes, functions and modules of Scrapy 1 that today's Scrapy lacks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import scrapy
from scrapy import Item, Request, Selector, Spider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors.lxmlhtml import LxmlLinkExtractor
from scrapy.loader import ItemLoader
from scrapy.selector import SelectorList
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.iterators import xmliter_lxml
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.python import to_bytes, to_unicode
from scrapy.utils.request import fingerprint
from w3lib import url as w3lib_url

from gossamer.adapters.scrapy.page_methods import PageMethod


class InitSpider(Spider):
    """Makes requests of its own (a log-in) before the others: ``init_request()`` and ``initialized()``."""

    def start_requests(self) -> Iterable[Request]:
        """Return the first requests; the others follow ``initialized()``."""
        self._postinit_reqs = list(first_requests(self))
        returned = self.init_request()
        return returned if isinstance(returned, list) else [returned]

    def initialized(self, response: Response | None = None) -> Any:
        """Return the requests that had to wait."""
        return self.__dict__.pop("_postinit_reqs")

    def init_request(self) -> Any:
        """Return the requests to begin with: none of its own unless a spider overrides it."""
        return self.initialized()


def first_requests(spider: Spider) -> Iterator[Request]:
    """Yield a request for each start URL, like the former ``Spider.start_requests()``."""
    make = getattr(spider, "make_requests_from_url", None)
    for url in spider.start_urls:
        yield Request(url, dont_filter=True) if make is None else make(url)


def _make_request(_: Spider, url: str) -> Request:
    return Request(url, dont_filter=True)


def _log(message: Any, _level: int = logging.INFO, level: int | None = None, **kwargs: Any) -> None:
    kwargs.pop("spider", None)
    logging.getLogger("scrapy").log(_level if level is None else level, message)


def _log_error(stuff: Any = None, why: Any = None, **_: Any) -> None:
    logging.getLogger("scrapy").error("%s %s", why or "", stuff or "")


def _make_log_module() -> dict[str, Any]:
    levels = {name: getattr(logging, name) for name in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")}
    nothing: Callable[..., None] = lambda *_, **__: None  # noqa: E731
    return {**levels, "SILENT": logging.CRITICAL + 1, "msg": _log, "err": _log_error, "start": nothing}


def _make_settings_module() -> dict[str, Any]:
    return {"settings": project_settings()}


def _make_stats_module() -> dict[str, Any]:
    raise ImportError("scrapy.stats: use self.crawler.stats of the spider")


def project_settings() -> BaseSettings:
    """Return the settings of the project being read, as ``scrapy.conf.settings`` had them."""
    return _current[-1] if _current else Settings()


_current: list[BaseSettings] = []
"""The settings of the projects that were opened; the latest are the last."""


def open_settings(settings: BaseSettings) -> None:
    """Make these the project's settings from now on."""
    _current[:] = [settings]


def _make_reqser_module() -> dict[str, Any]:
    from_dict = scrapy.utils.request.request_from_dict
    return {
        "request_to_dict": lambda request, spider=None: request.to_dict(spider=spider),
        "request_from_dict": lambda d, spider=None: from_dict(d, spider=spider),
    }


MODULES: dict[str, Callable[[], dict[str, Any]]] = {
    "scrapy_playwright.page": lambda: {"PageMethod": PageMethod},
    "scrapy.conf": _make_settings_module,
    "scrapy.log": _make_log_module,
    "scrapy.spiders.init": lambda: {"InitSpider": InitSpider},
    "scrapy.stats": _make_stats_module,
    "scrapy.utils.reqser": _make_reqser_module,
}
"""Modules to create, with their content."""


def _retry_on_eintr(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _create_instance(kind: Any, settings: Any, crawler: Any, *args: Any, **kwargs: Any) -> Any:
    if crawler is not None:
        return build_from_crawler(kind, crawler, *args, **kwargs)
    make = getattr(kind, "from_settings", None)
    return kind(*args, **kwargs) if make is None else make(settings, *args, **kwargs)


def _fingerprint_text(request: Request, *args: Any, **kwargs: Any) -> str:
    return fingerprint(request, *args, **kwargs).hex()


def _body_or_str(thing: Any, unicode: bool = True) -> Any:
    body = thing.body if isinstance(thing, Response) else thing
    return to_unicode(body) if unicode else to_bytes(body)


def _xmliter(thing: Any, name: str) -> Iterator[Selector]:
    return xmliter_lxml(thing, name)


def _flatten(values: Iterable[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        is_list = hasattr(value, "__iter__") and not isinstance(value, str | bytes | dict)
        flat.extend(_flatten(value) if is_list else [value])
    return flat


ATTRIBUTES: dict[str, dict[str, Any]] = {
    "scrapy": {"BaseSpider": Spider},
    "scrapy.item": {"BaseItem": Item, "DictItem": Item},
    "scrapy.linkextractors.lxmlhtml": {
        "SgmlLinkExtractor": LxmlLinkExtractor,
        "HtmlParserLinkExtractor": LxmlLinkExtractor,
        "RegexLinkExtractor": LxmlLinkExtractor,
    },
    "scrapy.linkextractors": {"SgmlLinkExtractor": LxmlLinkExtractor},
    "scrapy.loader": {"XPathItemLoader": ItemLoader},
    "scrapy.selector": {
        "HtmlXPathSelector": Selector,
        "XmlXPathSelector": Selector,
        "XPathSelector": Selector,
        "XPathSelectorList": SelectorList,
    },
    "scrapy.settings": {"CrawlerSettings": Settings},
    "scrapy.signals": {"item_passed": scrapy.signals.item_scraped},
    "scrapy.spiders": {"BaseSpider": Spider, "InitSpider": InitSpider},
    "scrapy.utils.iterators": {"xmliter": _xmliter},
    "scrapy.utils.misc": {"create_instance": _create_instance},
    "scrapy.utils.python": {
        "flatten": _flatten,
        "retry_on_eintr": _retry_on_eintr,
        "str_to_unicode": to_unicode,
        "to_native_str": to_unicode,
        "unicode_to_str": to_bytes,
    },
    "scrapy.utils.request": {"request_fingerprint": _fingerprint_text},
    "scrapy.utils.response": {"body_or_str": _body_or_str},
    "scrapy.utils.url": {name: getattr(w3lib_url, name) for name in w3lib_url.__all__}
    if hasattr(w3lib_url, "__all__")
    else {name: value for name, value in vars(w3lib_url).items() if not name.startswith("_")},
}
"""Additions to existing modules."""


def add_methods() -> None:
    """Methods that Scrapy's classes had."""
    added: tuple[tuple[type, str, Any], ...] = (
        (Spider, "start_requests", first_requests),
        (Spider, "make_requests_from_url", _make_request),
        (TextResponse, "body_as_unicode", lambda response: response.text),
        (Selector, "select", Selector.xpath),
        (Selector, "extract_unquoted", Selector.get),
        (SelectorList, "select", SelectorList.xpath),
        (SelectorList, "extract_unquoted", SelectorList.getall),
    )
    for kind, name, method in added:
        if not hasattr(kind, name):
            setattr(kind, name, method)
