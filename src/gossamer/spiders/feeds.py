"""Spiders that read feeds: every row of a CSV file, or every element of one name in XML."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from gossamer.core.drops import DropKind
from gossamer.core.errors import UsageError
from gossamer.parse.feed_text import open_text
from gossamer.parse.selectors import Selector
from gossamer.ports.page_examiner import MALFORMED
from gossamer.runtime.callback_results import results_of
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider

log = logging.getLogger(__name__)

_TURN = 100  # parts of a feed after which others have their turn


class FeedSpider(Spider):
    """The base of spiders whose pages are feeds: ``parse`` hands each part of a feed to a method.

    Malformed parts are skipped and counted as ``feed:REASON``; a warning names the first one. A feed gives at
    most ``parse.max_links`` items, as any page.
    """

    def adapt_response(self, response: Any, /) -> Any:
        """Return the response to read: ``response`` itself, or one whose ``body`` you have corrected."""
        return response

    def process_results(self, response: Any, results: Iterable[Any], /) -> Iterable[Any]:
        """Return the items and requests to keep out of ``results`` of one row or element: by default all.

        ``response`` is the feed.
        """
        return results

    def selects(self, callback: str) -> bool:
        """Whether ``callback`` selects in the whole page: ``parse`` reads it part by part."""
        return callback != "parse" and super().selects(callback)

    def watches(self, callback: str) -> bool:
        """Whether every crawl that comes back asks for pages of ``callback``: for feeds, it does."""
        return callback == "parse" or super().watches(callback)

    async def _take_parts(
        self, response: Response, parts: Iterable[Any], parse_part: Any
    ) -> AsyncIterator[Any]:
        for number, part in enumerate(parts, 1):
            given = [result async for result in results_of(parse_part(response, part))]
            for result in self.process_results(response, [result for result in given if result is not None]):
                yield result
            if number % _TURN == 0:
                await asyncio.sleep(0)

    def _say_trouble(self, response: Response, trouble: Mapping[str, int], first: str) -> None:
        for reason, count in trouble.items():
            response.dropped[DropKind.FEED.key_of(reason)] = count
        if trouble:
            log.warning("%s: not all of the feed was read; %s", response.url, first)


class CSVFeedSpider(FeedSpider):
    """A spider for CSV files: ``parse_row()`` gets each row as a dict.

    Malformed rows are skipped, counted as ``feed:REASON``, and a warning names the first one. A feed gives at
    most ``parse.max_links`` items.
    """

    delimiter: str | None = None
    """Character between fields; ``None``: a comma."""
    quotechar: str | None = None
    """Character around fields that contain a delimiter or a line end; ``None``: a double quotation mark."""
    headers: Sequence[str] | None = None
    """Names of the fields; ``None``: the first row names them."""

    def parse_row(self, response: Any, row: dict[str, str], /) -> Any:
        """Return or yield the items and requests of one row, as a callback does.

        Args:
            response: the feed.
            row: the values of the row by the names of their fields.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method 'parse_row'")

    async def parse(self, response: Any) -> AsyncIterator[Any]:
        """The callback of feeds: every row."""
        response = self.adapt_response(response)
        response.was_read = True
        rows = import_module("gossamer.parse.csv_rows").CsvReader(
            open_text(response.body, response.content_type, lambda: response.encoding),
            delimiter=self.delimiter or ",",
            quotechar=self.quotechar or '"',
            headers=self.headers or (),
        )
        async for result in self._take_parts(response, rows.read_rows(), self.parse_row):
            yield result
        self._say_trouble(response, rows.trouble, rows.first)


class XMLFeedSpider(FeedSpider):
    """A spider for XML feeds: ``parse_node()`` gets each element that is called ``itertag``.

    If the feed is malformed, the elements before the error are read, and a warning names the place. A feed
    gives at most ``parse.max_links`` items.
    """

    iterator: str = "iternodes"
    """Way of reading: ``iternodes`` reads element by element in constant memory; ``xml`` and ``html`` parse
    the whole page first, as XML or as HTML."""
    itertag: str = "item"
    """Name of the elements, with a prefix (``g:item``) if they are in a namespace."""
    namespaces: Sequence[tuple[str, str]] | Mapping[str, str] = ()
    """Namespaces by the prefixes that queries use."""

    def parse_node(self, response: Any, selector: Any, /) -> Any:
        """Return or yield the items and requests of one element, as a callback does.

        Args:
            response: the feed.
            selector: the element.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method 'parse_node'")

    def selects(self, callback: str) -> bool:
        """Whether ``callback`` selects in the whole page: ``parse`` does unless it reads one by one."""
        return self.iterator != "iternodes" or super().selects(callback)

    async def parse(self, response: Any) -> AsyncIterator[Any]:
        """The callback of feeds: every element of the name."""
        response = self.adapt_response(response)
        response.was_read = True
        if self.iterator != "iternodes":
            nodes = self._select_nodes(response)
            async for result in self._take_parts(response, nodes, self.parse_node):
                yield result
            return
        reader = import_module("gossamer.parse.xml_elements").XmlElementReader(
            open_text(response.body, response.content_type), self.itertag, dict(self.namespaces)
        )
        async for result in self._take_parts(response, reader.read_elements(), self.parse_node):
            yield result
        response.note_cuts(reader.cuts)
        if reader.malformed:
            response.note_cuts((MALFORMED,))
            self._say_trouble(response, {"malformed": 1}, reader.malformed)

    def _select_nodes(self, response: Response) -> Iterable[Selector]:
        if self.iterator == "html":
            page = Selector(response.page.document)
        elif self.iterator == "xml":
            page = response.xml_selector
        else:
            raise UsageError(
                f"iterator of the spider {self.name!r} is {self.iterator!r}: iternodes, xml or html"
            )
        for prefix, uri in dict(self.namespaces).items():
            page.register_namespace(prefix, uri)
        return page.xpath(f"//{self.itertag}")
