"""One page of HTML: parsed once; everything else is computed on demand and cached.

The tree is that of the HTML standard and of browsers, whatever the bytes are: no input raises. Only this
package imports ``turbohtml``; the rest of the project uses :class:`HtmlPage`.
"""

from __future__ import annotations

from typing import NamedTuple

import turbohtml
from turbohtml import Document, Element, Namespace

from gossamer.core.lazy import lazy_property
from gossamer.parse.article_facts import read_article_facts
from gossamer.parse.encoding import declared_encoding, decode_as, guess_encoding, query_encoder
from gossamer.parse.json_ld import read_blocks
from gossamer.parse.links import MAX_LINKS, PageLinks, extract_links
from gossamer.parse.meta import RobotsDirectives, is_in_document, read_refresh, read_robots
from gossamer.parse.selectors import Selector
from gossamer.parse.visible import visible_tree
from gossamer.policy.urls import UrlJoiner

_TREE = {"positions": False, "allow_declarative_shadow_roots": False}
"""Options for building trees: unused features are off."""
_MIN_ARTICLE = 250
"""Characters; shorter "main content" than this is more likely a misjudged teaser than an article."""


class Article(NamedTuple):
    """The dominant text of a page and its facts; ``""`` for facts that the page does not give."""

    title: str
    text: str
    markdown: str
    author: str
    published: str  # as written on the page
    description: str
    language: str
    site_name: str
    image: str  # an absolute URL
    tags: tuple[str, ...]
    modified: str = ""  # as written on the page


class HtmlPage:
    """The parsed page that ``url`` answered with. Attributes are computed on first use.

    ``content_type`` is the HTTP header. ``link_encoding`` is the charset of the queries of its links, if
    it is not that of the body. ``guesses`` says whether the charset of a page that names none is guessed.
    """

    def __init__(
        self,
        body: bytes,
        url: str,
        content_type: str = "",
        max_links: int = MAX_LINKS,
        link_encoding: str = "",
        *,
        guesses: bool = True,
    ) -> None:
        self._max_links = max_links
        self._guesses = guesses
        self._link_encoding = link_encoding
        self._encoding = ""  # known when the body was parsed
        self.body = body
        self.url = url
        self.content_type = content_type

    def __repr__(self) -> str:
        return f"<HtmlPage {self.url} {len(self.body)} bytes>"

    @lazy_property
    def document(self) -> Document:
        """The tree."""
        declared = declared_encoding(self.body, self.content_type)
        self._encoding = declared or ""
        source: bytes | str = self.body
        if declared == "UTF-8":  # the common case, and Python decodes it faster
            source, declared = decode_as(self.body, declared), None
        document = turbohtml.parse(source, encoding=declared, **_TREE)
        if self._encoding:
            return document
        self._encoding = document.encoding or "windows-1252"
        is_open = self._encoding == "windows-1252" and document.encoding_confidence != "certain"
        if is_open and self._guesses:  # the encoding is not declared
            self._encoding = guess_encoding(self.body, self.url)
            if self._encoding != document.encoding:
                return turbohtml.parse(self.body, encoding=self._encoding, **_TREE)
        return document

    @lazy_property
    def encoding(self) -> str:
        """The encoding of the body, by its name in the WHATWG Encoding standard."""
        self._encoding = self._encoding or declared_encoding(self.body, self.content_type) or ""
        if not self._encoding:
            _ = self.document
        return self._encoding

    @lazy_property
    def text(self) -> str:
        """The decoded source of the page."""
        return decode_as(self.body, self.encoding)

    @lazy_property
    def selector(self) -> Selector:
        """The page for ``css()`` and ``xpath()``."""
        return Selector(self.document)

    # ----------------------------------------------------------------------- contents of the head

    @lazy_property
    def title(self) -> str:
        """The title, blanks collapsed; ``""`` without one."""
        for element in self.document.select("title"):
            if element.namespace is Namespace.HTML:  # drawings in SVG also have titles
                return _collapse_blanks(element.text)
        return ""

    @lazy_property
    def url_joiner(self) -> UrlJoiner:
        """Resolves references: against :attr:`base_url`, with queries in the page's charset."""
        bases = self.document.select("base")
        href = self._find_base(bases) if bases else None
        encoding = self._link_encoding or self._encoding
        encode_query = None if encoding == "UTF-8" else query_encoder(encoding)
        own = UrlJoiner(self.url, encode_query)
        target = own[href] if href is not None else None
        if target is None or target.startswith(("data:", "javascript:")) or target == own[""]:
            return own
        return UrlJoiner(target, encode_query)

    def _find_base(self, bases: list[Element]) -> str | None:
        """Return the ``href`` of the first ``base`` that is a part of the document."""
        for base in bases:
            href = base.attr("href")
            if href is None or not is_in_document(base):
                continue
            parent = base.parent
            is_in_head = isinstance(parent, Element) and parent.tag == "head"
            before = base.previous_siblings if is_in_head else self.document.select("head > noscript")
            if not any(isinstance(node, Element) and node.tag == "noscript" for node in before):
                return href
            # It may stand within that noscript: the tree of a reader without scripts does not tell.
            scripted = turbohtml.parse(self.text, scripting=True, positions=False)
            found = filter(is_in_document, scripted.select("base[href]"))
            return next((one.attr("href") for one in found), None)
        return None

    @lazy_property
    def base_url(self) -> str:
        """The URL that relative references are resolved against (HTML standard, "document base URL").

        The first ``<base>`` of the document with an ``href`` counts, wherever it stands (not in a template, a
        drawing or ``noscript``), unless it is not a URL, or is a ``data:`` or ``javascript:`` one.
        """
        return self.url_joiner.base or self.url

    def join_url(self, href: str) -> str | None:
        """Return the absolute URL that a reference on this page means; ``None`` when it means none."""
        return self.url_joiner[href]

    @lazy_property
    def meta_tags(self) -> list[tuple[str, str, Element]]:
        """``(name or property, content, element)`` of every ``meta`` that has a name and a content."""
        found = []
        elements = self.document.select("meta[content]")
        if self.document.select("template"):
            elements = [element for element in elements if element.closest("template") is None]
        for element in elements:
            name = element.attr("name") or element.attr("property")
            if name:
                found.append((name.strip().lower(), element.attr("content") or "", element))
        return found

    def meta_content(self, *names: str) -> str:
        """Return the first content of the first of these ``<meta>`` names (lower case) that the page has."""
        for wanted in names:
            for name, content, _ in self.meta_tags:
                if name == wanted and content.strip():
                    return _collapse_blanks(content)
        return ""

    @lazy_property
    def description(self) -> str:
        """The page's own description; ``""`` without one."""
        return self.meta_content("description", "og:description", "twitter:description")

    @lazy_property
    def canonical_url(self) -> str | None:
        """The http(s) URL of ``<link rel=canonical>``: the site's preferred URL of this page."""
        links = self.document.select("link[rel~=canonical i][href]")
        link = next(filter(is_in_document, links), None)
        target = self.join_url(link.attr("href") or "") if link is not None else None
        return target if target is not None and target.startswith(("http://", "https://")) else None

    @lazy_property
    def meta_refresh(self) -> tuple[float, str] | None:
        """Seconds and absolute URL of a ``<meta http-equiv=refresh>``; ``None`` without a usable one.

        Those within ``noscript`` are ignored.
        """
        for element in self.document.select("meta[http-equiv=refresh i][content]"):
            refresh = read_refresh(element.attr("content") or "")
            if refresh is None or element.closest("noscript,template") is not None:
                continue
            target = self.join_url(refresh[1]) if refresh[1] else self.url
            if target is not None and target.startswith(("http://", "https://")):
                return refresh[0], target
        return None

    @lazy_property
    def robots_directives(self) -> RobotsDirectives:
        """The directives of ``<meta name=robots>`` for all crawlers."""
        return self.robots_for()

    def robots_for(self, bot: str = "") -> RobotsDirectives:
        """Return the page's directives for all crawlers and for the crawler called ``bot``."""
        names = {"robots", bot.lower()}
        return read_robots(content for name, content, _ in self.meta_tags if name in names)

    # ----------------------------------------------------------------------- contents of the body

    @lazy_property
    def links(self) -> PageLinks:
        """The http(s) links of the page."""
        return extract_links(self.document, self.url_joiner, self._max_links)

    @lazy_property
    def frame_urls(self) -> list[str]:
        """The http(s) URLs of its frames and iframes, each once."""
        joined = (
            self.join_url(frame.attr("src") or "") for frame in self.document.select("frame[src],iframe[src]")
        )
        return list(dict.fromkeys(url for url in joined if url and url.startswith(("http://", "https://"))))

    @lazy_property
    def _visible(self) -> Document:
        return visible_tree(self.document)

    def visible_text(self) -> str:
        """All text of the page that HTML does not hide, laid out in lines and paragraphs; no scripts."""
        return self._visible.to_text().strip()

    def main_text(self) -> str:
        """Return the article of the page without its navigation; all visible text if there is none."""
        text = self._visible.main_text().strip()
        return text if len(text) >= _MIN_ARTICLE else self.visible_text()

    def markdown(self) -> str:
        """Return the article (or the page, when there is none) as Markdown with absolute links."""
        return self._render_markdown(self._visible.main_content() or self._visible)

    def article(self) -> Article | None:
        """Return the article of the page; ``None`` when nothing on it reads like one.

        Its JSON-LD, if there is any, knows author and dates better than the rest of the page does.
        """
        found = self.document.article()
        if found.element is None:
            return None
        own_urls = {self.url, *([self.canonical_url] if self.canonical_url else ())}
        told = read_article_facts(read_blocks(self.document), own_urls)
        return Article(
            title=found.title or self.title,
            text=found.text.strip(),
            markdown=self._render_markdown(found.element),
            author=told.author or found.byline or "",
            published=told.published or found.date or "",
            description=found.description or "",
            language=found.lang or "",
            site_name=found.site_name or "",
            image=(self.join_url(found.image) or "") if found.image else "",
            tags=found.tags,
            modified=told.modified or self.meta_content("article:modified_time", "og:updated_time"),
        )

    def _render_markdown(self, node: Document | Element) -> str:
        copy = turbohtml.parse_fragment(node.html, positions=False)  # the page itself stays as it is
        copy.rewrite_links(self._absolute_href)
        return copy.to_markdown().strip()

    def _absolute_href(self, href: str) -> str:
        url, mark, fragment = href.partition("#")
        joined = self.join_url(url)
        return href if joined is None else f"{joined}{mark}{fragment}"


def _collapse_blanks(text: str) -> str:
    return " ".join(text.split())
