"""The spider that a file in TOML makes: a class like any other, whose callbacks are its types of pages."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.items.item import Item
from gossamer.parse.selectors import Selector
from gossamer.spiders.declarative.document import FollowDocument, LoginDocument, PageDocument, SpiderDocument
from gossamer.spiders.declarative.fields import make_item_class, read_fields
from gossamer.spiders.declarative.reading import read_document
from gossamer.spiders.login import Login
from gossamer.spiders.pagination import Paginate
from gossamer.spiders.query import compile_query
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider


class DeclarativeSpider(Spider):
    """The base of spiders that are written in TOML. Each type of pages is a callback of its name."""

    document: ClassVar[SpiderDocument]
    item_classes: ClassVar[dict[str, type[Item]]]
    paginates: ClassVar[dict[str, Paginate]]
    source_file: ClassVar[Path | None] = None
    """The file that it was read from."""

    def __init__(self, start_urls: list[str] | None = None, allowed_domains: list[str] | None = None) -> None:
        given = {"start_urls": start_urls, "allowed_domains": allowed_domains}
        super().__init__(**{name: value for name, value in given.items() if value is not None})

    async def start(self) -> AsyncIterator[Request]:
        """The start URLs, each for its type of pages."""
        for url in self.start_urls:
            yield Request(url, self._page_for(url, self._first))

    def parse(self, response: Response) -> Iterator[Any]:
        """A page that no callback was named for: of the type that its URL fits, else of the first."""
        yield from self._parse_page(response, self._page_for(response.url, self._first))

    @property
    def _first(self) -> str:
        return self.document.start or next(iter(self.document.pages))

    def _page_for(self, url: str, otherwise: str) -> str:
        """The first type of pages whose ``match`` fits a URL."""
        for name, page in self.document.pages.items():
            if page.match is not None and re.search(page.match, url):
                return name
        return otherwise

    def _parse_page(self, response: Response, name: str) -> Iterator[Any]:
        """The items of a page, its links, and the pages that follow it."""
        page = self.document.pages[name]
        yield from self._read_items(response, page)
        for rule in page.follow:
            yield from self._follow_links(response, name, rule)
        if page.paginate is not None:
            yield from self.paginates[name].follow(response, name, priority=page.paginate.priority)

    def _read_items(self, response: Response, page: PageDocument) -> Iterator[Item]:
        for use in page.items:
            fields = self.document.items[use.type].fields
            blocks: Sequence[Any] = (response,)
            if use.each is not None:
                blocks = compile_query(use.each).find_in(response)
                if len(blocks) == 1 and isinstance(blocks[0], list):
                    blocks = blocks[0]
            for block in blocks:
                yield self.item_classes[use.type](**read_fields(block, fields, response))

    def _follow_links(self, response: Response, name: str, rule: FollowDocument) -> Iterator[Request]:
        if rule.select is None:
            links: Sequence[Any] = response.links()
        else:
            links = compile_query(rule.select).find_in(response)
            if not all(isinstance(link, str | Selector) for link in links):
                raise ValueError(
                    f"{response.url}: follow ({rule.select}) finds JSON values that are not URLs"
                )
        for request in response.follow_all(links, priority=rule.priority):
            url = request.url
            if rule.allow and not any(re.search(pattern, url) for pattern in rule.allow):
                continue
            if any(re.search(pattern, url) for pattern in rule.deny):
                continue
            yield request.replace(callback=rule.page or self._page_for(url, name))


def load_spider(path: Path) -> type[DeclarativeSpider]:
    """The spider of a file in TOML. Raises ``UsageError`` with all that is wrong with it."""
    path = path.resolve()
    return make_spider(read_document(path), path)


def make_spider(document: SpiderDocument, path: Path | None = None) -> type[DeclarativeSpider]:
    """The class of a document. Raises ``UsageError`` for types of items that cannot be."""
    classes = {}
    for name, item in document.items.items():
        try:
            classes[name] = make_item_class(name, item, __name__)
        except (ValueError, TypeError, NameError) as error:
            raise UsageError(f"{path or document.name}: items.{name}: {error}") from None
    pages = document.pages
    members: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": f"The spider {document.name!r}, as {path.name} says it." if path else None,
        "name": document.name,
        "start_urls": list(document.start_urls),
        "allowed_domains": list(document.allowed_domains),
        "settings": document.settings,
        "require": {name: page.require for name, page in pages.items() if page.require},
        "document": document,
        "item_classes": classes,
        "paginates": {name: page.paginate.to_paginate() for name, page in pages.items() if page.paginate},
        "source_file": path,
        **{name: _make_callback(name) for name in pages},
        **(_log_in_members(document.login) if document.login else {}),
    }
    words = re.findall(r"[A-Za-z0-9]+", document.name)
    return type("".join(word.capitalize() for word in words) or "Declared", (DeclarativeSpider,), members)


def _make_callback(name: str) -> Callable[[DeclarativeSpider, Response], Iterator[Any]]:
    """The method for a type of pages."""

    def parse_page(self: DeclarativeSpider, response: Response) -> Iterator[Any]:
        return self._parse_page(response, name)

    parse_page.__name__ = name
    return parse_page


def _log_in_members(document: LoginDocument) -> dict[str, Any]:
    """Return the attributes of a spider that logs in by a form."""

    async def log_in(self: DeclarativeSpider, login: Login) -> None:
        values = {field: _read_variable(name) for field, name in document.fields.items()}
        page = await login.get(document.url)
        await login.submit(page, values, css=document.form)

    members: dict[str, Any] = {"login_url": document.url, "log_in": log_in}
    if check := document.check:

        def is_logged_in(self: DeclarativeSpider, response: Response) -> bool:
            return bool(response.css(check))

        members["is_logged_in"] = is_logged_in
    return members


def _read_variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise UsageError(f"the environment variable {name}, which the log-in needs, is not set")
    return value
