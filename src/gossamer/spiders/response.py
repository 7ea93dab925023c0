"""Responses with the attributes of Scrapy and the selectors of parsel, parsed once and on first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Unpack

from gossamer.core.browsing import CapturedResponse
from gossamer.core.drops import DropKind
from gossamer.core.errors import UsageError
from gossamer.core.files import Saving
from gossamer.core.json_text import read_json
from gossamer.core.lazy import lazy_property
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult
from gossamer.core.storable import callback_name
from gossamer.parse.encoding import declared_encoding, decode_as, decode_body, query_encoder
from gossamer.parse.html import HtmlPage
from gossamer.parse.html_engine import HTML
from gossamer.parse.isolation.limits import is_suspicious
from gossamer.parse.json_engine import JSON
from gossamer.parse.links import MAX_LINKS, PageLinks
from gossamer.parse.meta import read_robots_headers
from gossamer.parse.mime import is_html, is_media, is_text, is_xml
from gossamer.parse.selectors import Selector, SelectorList
from gossamer.parse.xml_text import decode_xml
from gossamer.policy.goals import expectation_key, keep_largest
from gossamer.policy.link_filter import Texts
from gossamer.policy.urls import QueryEncoder, UrlJoiner
from gossamer.ports.page_examiner import MALFORMED, PARSE_TRUNCATED, TruncatedPage
from gossamer.ports.selector_engine import SelectorEngine
from gossamer.spiders import page_links
from gossamer.spiders.headers import Headers
from gossamer.spiders.page_content import PageContent
from gossamer.spiders.saved_response import SavedPage

if TYPE_CHECKING:
    from gossamer.spiders.forms import Filling

ROBOTS_NAME = "gossamer"
"""Gossamer's name in meta robots."""
MAX_REASON = 200
"""Characters of the reason for which a callback ends the job."""
_HEAD = 1024
"""Bytes in which a document declares its charset."""
_CUT_TYPE = "text/html; charset=utf-8"
_NOFOLLOW, _BAD_URL = map(DropKind.LINK.key_of, ("nofollow", "bad_url"))
_ONE_OF = (
    "follow_all() takes exactly one of: a list of links, css=..., xpath=...; or only options of links(), "
    "such as allow=..."
)
_NOTHING: dict[str, int] = {}  # what most pages announce
_READING = frozenset({"_decoded_text", "selector", "xml_selector", "page"})
"""Attributes that exist once the body was read."""
_CUT_FLAGS = (TRUNCATED, PARSE_TRUNCATED)
"""Flags of incomplete pages, which are counted."""


class Response(SavedPage, PageContent):
    """The response to a request. It is parsed when a callback first uses a selector or the links.

    If ``flags`` has ``parse_truncated``, the page was too large or too deep to be parsed in little time:
    selectors and links see a part of it (further flags such as ``cut_rest`` name what was cut), ``body`` and
    ``text`` are complete. Make a response for a test with ``from_html()`` or ``from_file()``.
    """

    request: Request  # the request that was answered
    url: str  # URL of the page, after redirects
    status: int  # HTTP status
    content_type: str  # value of the header Content-Type; empty: there is none
    body: bytes  # the body, decompressed
    flags: tuple[str, ...]  # findings about the page (see "Results")
    elapsed_s: float  # duration of the request in seconds
    header_pairs: tuple[tuple[str, str], ...]  # headers in their order, with names in lower case
    address: str  # IP address of the server; empty: it is not known
    captured: tuple[CapturedResponse, ...]  # responses that ``Browsing(capture=...)`` names
    screenshot: bytes  # PNG of the page, if an action took one
    pdf: bytes  # PDF of the page, if an action made one

    def __init__(
        self,
        request: Request,
        fetched: FetchResult,
        *,
        follow_nofollow: bool = False,
        keeps_fragment: Callable[[str], bool] | None = None,
        cut: TruncatedPage | None = None,
        max_links: int = MAX_LINKS,
        guesses_charset: bool = True,
        engine: SelectorEngine = HTML,
    ) -> None:
        self.request = request
        self.url = fetched.url
        self.status = fetched.status
        self.content_type = fetched.content_type
        self.body = fetched.body
        self.flags = fetched.flags
        self.elapsed_s = fetched.elapsed_s
        self.captured = fetched.captured
        self.screenshot = fetched.screenshot
        self.pdf = fetched.pdf
        self.dropped: dict[str, int] = {}
        self.expected = _NOTHING
        self.stopped = ""  # why the callback ends the job
        self.was_read = False  # set by who reads the body by other ways than the attributes here
        if self.flags:
            self.dropped.update({DropKind.PAGE.key_of(flag): 1 for flag in self.flags if flag in _CUT_FLAGS})
        self.header_pairs = fetched.headers
        self.address = fetched.address
        self._follow_nofollow = follow_nofollow
        self._keeps_fragment = keeps_fragment
        self._cut = cut
        self._max_links = max_links
        self._guesses_charset = guesses_charset
        self._engine = engine
        if cut is not None and (self.is_html or self.is_xml):
            self._note_cuts(cut.flags)

    def __repr__(self) -> str:
        return f"<{self.status} {self.url}>"

    @lazy_property
    def headers(self) -> Headers:
        """Headers by name, in any case."""
        return Headers(self.header_pairs)

    @property
    def meta(self) -> dict[str, Any]:
        """A copy of the request's ``meta``, with its ``depth``."""
        return {**self.request.meta, "depth": self.request.depth}

    @property
    def cb_kwargs(self) -> dict[str, Any]:
        """``cb_kwargs`` of the request."""
        return self.request.cb_kwargs

    # ------------------------------------------------------------------ text

    @lazy_property
    def is_html(self) -> bool:
        """Whether the body is HTML, by its Content-Type or, without a valid one, by its first bytes."""
        return is_html(self.content_type, self.body)

    @property
    def is_text(self) -> bool:
        """Whether the body is plain text."""
        return is_text(self.content_type, self.body)

    @property
    def is_xml(self) -> bool:
        """Whether the body is XML, such as a feed or a sitemap, and not HTML."""
        return not self.is_html and is_xml(self.content_type, self.body)

    @property
    def is_unread(self) -> bool:
        """Whether the body has an unknown type and the callback did not read it, as far as known."""
        is_known = self.was_read or not _READING.isdisjoint(self.__dict__)
        is_empty = not self.body or bool(self.expected or self.stopped)
        return not (is_known or is_empty or self.is_html or self.is_text)

    @lazy_property
    def page(self) -> HtmlPage:
        """The parsed HTML document. Raises ``ValueError`` for XML and for large bodies such as images."""
        if (is_media(self.content_type) or self.is_xml) and is_suspicious(self.body):
            raise ValueError(
                f"{self.url} is {self.content_type}: not a page, and too large to be read as one"
            )
        body, content_type, link_encoding = self.body, self.content_type, ""
        if self._cut is not None:
            self._note_cuts(self._cut.flags)  # documents other than HTML and XML may never need this
            body, content_type, link_encoding = self._cut.body, _CUT_TYPE, self._cut.encoding
        return HtmlPage(
            body,
            self.url,
            content_type,
            max_links=self._max_links,
            link_encoding=link_encoding,
            guesses=self._guesses_charset,
        )

    @lazy_property
    def _decoded_text(self) -> tuple[str, str]:
        if self.is_xml:
            return decode_xml(self.body, self.content_type)
        if self._cut is not None:
            return decode_as(self.body, self._cut.encoding), self._cut.encoding
        return decode_body(self.body, self.content_type, self.url if self._guesses_charset else None)

    @property
    def text(self) -> str:
        """The body as text, decoded as browsers do; see the setting ``parse.guess_charset``."""
        return self._decoded_text[0]

    @property
    def encoding(self) -> str:
        """Name of the charset that ``text`` is decoded with."""
        return self._decoded_text[1]

    def json(self) -> Any:
        """Decode the body as JSON. Raises ``ValueError``, with the place of the error."""
        self.was_read = True
        return read_json(self.body, self.url, lambda: self.text)

    @lazy_property
    def _json_selector(self) -> Selector:
        return Selector(self.json(), engine=JSON)

    # ------------------------------------------------------------------ selecting

    @lazy_property
    def selector(self) -> Selector:
        """The root element of the document, of XML or of HTML."""
        if self.is_xml:
            return self.xml_selector
        page = self.page
        return page.selector if self._engine is HTML else self._select_in(page.text, self._engine)

    @lazy_property
    def xml_selector(self) -> Selector:
        """The root element of the body parsed as XML, whatever its type."""
        text = self._cut.body.decode() if self._cut is not None and self.is_xml else self.text
        return self._select_in(text, _xml_module().XML)

    def _select_in(self, text: str, engine: SelectorEngine) -> Selector:
        root, cuts = engine.parse_document(text)
        self.note_cuts(cuts)
        return Selector(root, engine=engine)

    def note_cuts(self, cuts: Collection[str]) -> None:
        """Flag the page as malformed, or as cut in the ways that ``cuts`` names."""
        if MALFORMED in cuts:
            if self._cut is None:  # else it is so because it was cut
                self.flags = tuple(dict.fromkeys((*self.flags, MALFORMED)))
                self.dropped[DropKind.FEED.key_of(MALFORMED)] = 1
        elif flags := [f"cut_{cut}" for cut in cuts]:
            self._note_cuts((PARSE_TRUNCATED, *flags))

    def _note_cuts(self, flags: Iterable[str]) -> None:
        self.flags = tuple(dict.fromkeys((*self.flags, *flags)))
        self.dropped[DropKind.PAGE.key_of(PARSE_TRUNCATED)] = 1

    def css(self, query: str) -> SelectorList:
        """Select elements by the CSS ``query``, or values by ``::text`` and ``::attr(name)``."""
        return self.selector.css(query)

    def xpath(self, query: str, **variables: Any) -> SelectorList:
        """Select by the XPath 1.0 ``query``, in which ``$name`` is one of ``variables``."""
        return self.selector.xpath(query, **variables)

    def jmespath(self, query: str, **options: Any) -> SelectorList:
        """Select values of a JSON body by the JMESPath ``query``; ``options`` as in :class:`Selector`."""
        return self._json_selector.jmespath(query, **options)

    def re(self, pattern: str | re.Pattern[str]) -> list[str]:
        """Return all matches of ``pattern`` in the text, or of its groups if it has some."""
        found = re.findall(pattern, self.text)
        return [text for match in found for text in ([match] if isinstance(match, str) else match)]

    def expect(self, what: str, total: int, *, callback: Any = None, part: str = "") -> None:
        """Record how many items the site announces, for progress: "3,120 of 4,213 products".

        Args:
            what: the noun, such as ``products``.
            total: how many the page announces; the largest total counts.
            callback: count the pages of this callback instead of the job's items.
            part: the category that ``total`` is about; totals of several parts are added up.
        """
        key = expectation_key(what, callback_name(callback, "callback") or "", part)
        if self.expected is _NOTHING:
            self.expected = {}
        keep_largest(self.expected, key, total)

    # ------------------------------------------------------------------ following

    @lazy_property
    def nofollow(self) -> bool:
        """Whether the page asks robots not to follow its links (X-Robots-Tag, meta robots)."""
        if read_robots_headers(self.headers.getlist("x-robots-tag"), ROBOTS_NAME).nofollow:
            return True
        return self.is_html and self.page.robots_for(ROBOTS_NAME).nofollow

    @lazy_property
    def _url_joiner(self) -> UrlJoiner:
        joiner = self.page.url_joiner if self.is_html else UrlJoiner(self.url, self._query_encoder)
        joiner.keeps_fragment = self._keeps_fragment
        return joiner

    @property
    def _query_encoder(self) -> QueryEncoder | None:
        """For links in a feed or a plain text: by the charset that it declares, so that none is decoded."""
        is_document = self.is_xml or self.is_text
        declared = declared_encoding(self.body[:_HEAD].lstrip(), self.content_type) if is_document else None
        return query_encoder(declared or "UTF-8")

    def urljoin(self, url: str) -> str:
        """Return ``url`` as an absolute URL. Raises ``ValueError`` if it is not a URL."""
        joined = self._url_joiner[url]
        if joined is None:
            raise ValueError(f"{url!r} on {self.url} is not a URL")
        return joined

    def links(self, **options: Unpack[page_links.LinkOptions]) -> list[str]:
        """Return the absolute http(s) URLs of the page's links, each once, in their order.

        ``options`` choose some of them, see :class:`~gossamer.spiders.page_links.LinkOptions`. Links marked
        ``nofollow`` are left out unless the job follows them.
        """
        links = self._found_links
        if not options.keys().isdisjoint(page_links.SELECTING):
            links = page_links.select_links(self, options, self._url_joiner, self._max_links)
        found = links.urls
        for reason, count in links.dropped.items():  # of a page whose links are asked for several times
            keep_largest(self.dropped, DropKind.LINK.key_of(reason), count)
        if not self._follow_nofollow and (links.nofollow or self.nofollow):
            followed = [] if self.nofollow else [url for url in found if url not in links.nofollow]
            keep_largest(self.dropped, _NOFOLLOW, len(found) - len(followed))
            found = followed
        if options:
            accepts = page_links.link_filter_of(options).accepts
            found = [url for url in found if accepts(url)]
        return found

    @property
    def _found_links(self) -> PageLinks:
        if self.is_html:
            if self._keeps_fragment is not None:
                self.page.url_joiner.keeps_fragment = self._keeps_fragment
            return self.page.links
        if self.is_xml:
            links: PageLinks = _xml_module().feed_links(
                self.selector.root, self.url, self._max_links, self._query_encoder
            )
            return links
        return PageLinks([], frozenset(), {})

    def follow(self, url: str | Selector, callback: Any = None, **options: Any) -> Request:
        """Make a request for a link of this page, in the session of its request.

        Args:
            url: a URL, absolute or relative, or an element with ``href`` (in XML, one whose text is a URL).
            callback: the method of the spider that gets the response, or its name.
            options: further arguments of :class:`Request`.

        Raises ``ValueError`` if there is no URL.
        """
        if not getattr(url, "attrib", None):  # elements found by a query stand for the first of them
            page_links.check_single(url, "follow()", "`response.follow_all(links)` follows several")
        href = None if url is None else page_links.read_link(url)[0]
        if href is None:
            raise ValueError(f"{url!r} on {self.url} has no href to follow")
        joined = page_links.check_link(self.urljoin(href), href if options.get("keep_fragment") else "")
        return Request(joined, callback, **self.in_session(options))

    def in_session(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return ``options`` of a request with the session of this page, unless they name one."""
        if self.request.session and "session" not in options:
            return {**options, "session": self.request.session}
        return options

    def follow_all(
        self,
        urls: Iterable[str | Selector] | None = None,
        callback: Any = None,
        *,
        css: Texts | None = None,
        xpath: Texts | None = None,
        **options: Any,
    ) -> Iterator[Request]:
        """Yield a request for each of several links. Invalid and ``nofollow`` links are counted and skipped.

        Args:
            urls: URLs or elements; an element without ``href`` stands for the links in it.
            callback: the method of the spider that gets the responses, or its name.
            css: selects the links, in place of ``urls``.
            xpath: selects the links, in place of ``urls``.
            options: filters of :meth:`links`, and further arguments of :class:`Request`.
        """
        chosen, options = page_links.split_options(options)
        given = [argument for argument in (urls, css, xpath) if argument is not None]
        if not given and chosen:
            options = self.in_session(options)
            yield from (Request(url, callback, **options) for url in self.links(**chosen))
            return
        if len(given) != 1:
            raise UsageError(_ONE_OF)
        if css is not None:
            urls = page_links.select_all("css", css, self.css)
        elif xpath is not None:
            urls = page_links.select_all("xpath", xpath, self.xpath)
        accepts = page_links.link_filter_of(chosen).accepts if chosen else None
        for href, is_marked in page_links.read_links(urls or (), chosen):
            if not self._follow_nofollow and (is_marked or self.nofollow):
                self._count_dropped(_NOFOLLOW)
                continue
            if href is None:
                self._count_dropped(_BAD_URL)
                continue
            try:
                request = self.follow(href, callback, **options)
            except ValueError as error:
                self._count_dropped(page_links.drop_reason_of(error))
                continue
            if accepts is None or accepts(request.url):
                yield request

    def file(self, url: str | Selector, name: str = "", **options: Any) -> Request:
        """Make a request that downloads a file, which becomes an item of the type ``File``.

        ``url`` is a URL, or an element with ``href`` or ``src``; ``name`` is for people. ``options`` are
        further arguments of :class:`Request`, without a callback.
        """
        page_links.check_single(url, "file()", "for each, `yield response.file(link)`")
        link = self.urljoin(page_links.read_file_link(url, self.url))
        return Request(page_links.check_link(link), saves=Saving(name=name), **self.in_session(options))

    def form(self, data: Filling | None = None, callback: Any = None, **options: Any) -> Request:
        """Make a request that sends a form of this page, with the page's values for all other fields.

        Args:
            data: values by field: ``True`` checks a box, ``False`` and ``None`` omit a field.
            callback: the method of the spider that gets the response, or its name.
            options: ``css`` or ``number`` (from 0) choose the form, by default the best fit for ``data``;
                ``click`` selects the button (``False``: none). Others are those of :class:`Request`.

        Raises ``ValueError`` if there is no such form or button.
        """
        forms = import_module("gossamer.spiders.forms")  # most spiders fill in none
        request: Request = forms.request_for_form(self, data, callback, **options)
        return request

    def stop(self, reason: str) -> None:
        """End the job after this page with the finish reason ``stopped: reason``.

        Requests in flight are finished, and the same command resumes the job. ``reason`` must not be empty.
        """
        text = " ".join(str(reason).split())[:MAX_REASON]
        if not text:
            raise UsageError("response.stop() needs a reason, which the end of the job then names")
        self.stopped = self.stopped or text

    def _count_dropped(self, reason: str) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1


def _xml_module() -> ModuleType:
    """lxml is loaded with the first document that is XML."""
    return import_module("gossamer.parse.xml")
