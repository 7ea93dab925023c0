"""Reads sitemaps of every kind in slices: XML, index, RSS, Atom, plain text; gzipped, and gzipped twice.

Deliberately not an XML parser. A sitemap is a flat list of a few known elements, and real ones are broken in
every way (bare ampersands, wrong namespaces, HTML entities, cut off in the middle). One linear pattern finds
the elements. Entities are never expanded and nothing is opened: a document that declares an entity is read no
further. One slice bounds the memory for any input.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gossamer.parse.encoding import declared_encoding, decode_as
from gossamer.parse.references import resolve_references
from gossamer.policy.urls import MAX_URL_LENGTH, UrlJoiner

MAX_URLS = 50_000
MAX_BYTES = 50 * 1024 * 1024
"""The bounds of the protocol (sitemaps.org), for one file when unpacked."""

SLICE = 64 * 1024  # bytes looked at without a pause
HEAD = 4096  # bytes that tell which kind of sitemap it is
MAX_TOKEN = 2 * MAX_URL_LENGTH  # characters of an element that are waited for
MAX_PACKING = 2  # gzip in gzip is a slip that happens; more is a bomb

_MARK = re.compile(
    r"<(?:(?P<comment>!--)|(?P<cdata>!\[CDATA\[)|(?P<entity>!ENTITY\b)"
    r"|(?P<close>/?)(?:(?P<prefix>[\w.-]{1,40}):)?"
    r"(?P<name>html|url|sitemap|item|entry|loc|link|guid|lastmod|pubdate|updated|priority)(?P<rest>[\s/][^<>]{0,8192})?>)",
    re.IGNORECASE,
)
_RECORDS = frozenset({"url", "sitemap", "item", "entry"})
_OF_FEEDS = frozenset({"item", "entry"})
_FEED = re.compile(r"<(?:rss|(?:[\w.-]{1,40}:)?(?:feed|rdf))[\s>]", re.IGNORECASE)
_DATES = frozenset({"lastmod", "pubdate", "updated"})
_HREF = re.compile(r"\shref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_OTHER_REL = re.compile(r"\srel\s*=\s*[\"'](?!alternate[\"'])", re.IGNORECASE)
_GZIP = b"\x1f\x8b"


class SitemapEntry(NamedTuple):
    """One entry of a sitemap."""

    url: str  # absolute, http or https
    lastmod: str  # as written; "" when it is not
    is_sitemap: bool  # another sitemap, listed by an index
    priority: str = ""  # as written, from 0.0 to 1.0; "" when it is not


FoundEntry = tuple[str, str, bool, str]
"""An entry as it is written: reference, date, whether it is a sitemap, priority."""


class _SitemapStopError(Exception):
    """Nothing more is read; the message is the reason."""


class SitemapReader:
    """The entries of one body, a list for each slice; ``url`` is its address.

    ``trouble`` counts skipped parts by reason: ``html`` (a page, not a sitemap), ``entities`` (the document
    declares some), ``bad_url``, ``too_many``, ``too_large``, ``broken`` (damaged gzip), ``packing``. Entries
    before the trouble stay. No body raises.
    """

    def __init__(
        self,
        body: bytes,
        url: str,
        content_type: str = "",
        *,
        max_urls: int = MAX_URLS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.trouble: dict[str, int] = {}
        self._body = body
        self._url = url
        self._content_type = content_type
        self._left = max_urls
        self._max_bytes = max_bytes

    def __repr__(self) -> str:
        return f"<SitemapReader {self._url} {len(self._body)} bytes>"

    def read_batches(self) -> Iterator[list[SitemapEntry]]:
        """Yield the entries, some hundred at a time; between two lists the caller may do other work."""
        texts = _decode_chunks(self._unpack_body(), self._content_type)
        head = next(texts, "").lstrip("\ufeff \t\r\n")
        slices = _prepend_chunk(head, texts)
        found = (
            _XmlReader(is_feed=bool(_FEED.search(head, 0, HEAD))) if head.startswith("<") else _TextReader()
        )
        for text in slices:
            batch: list[SitemapEntry] = []
            try:
                self._take_entries(found.feed_text(text), batch)
            except _SitemapStopError as enough:
                self._count_trouble(str(enough))
                yield batch
                return
            yield batch
        batch = []
        self._take_entries(found.feed_text("\n"), batch)
        yield batch

    def _take_entries(self, found: Iterable[FoundEntry], batch: list[SitemapEntry]) -> None:
        join = UrlJoiner(self._url)
        for href, lastmod, is_sitemap, priority in found:
            url = join[href.strip()] if href.strip() else None
            if url is None or not url.startswith(("http://", "https://")):
                self._count_trouble("bad_url")
                continue
            if self._left <= 0:
                raise _SitemapStopError("too_many")
            self._left -= 1
            batch.append(SitemapEntry(url, lastmod.strip()[:64], is_sitemap, priority.strip()[:16]))

    def _count_trouble(self, reason: str) -> None:
        self.trouble[reason] = self.trouble.get(reason, 0) + 1

    def _unpack_body(self) -> Iterator[bytes]:
        """Yield the body in slices, out of its gzip wrappings."""
        body = self._body
        chunks: Iterator[bytes] = (body[start : start + SLICE] for start in range(0, len(body), SLICE))
        for _ in range(MAX_PACKING):
            first = _read_head(chunks)
            chunks = _prepend_chunk(first, chunks)
            if not first.startswith(_GZIP):
                yield from self._limit_size(chunks)
                return
            chunks = self._limit_size(self._gunzip_chunks(chunks))
        first = _read_head(chunks)
        if first.startswith(_GZIP):
            self._count_trouble("packing")
            return
        yield from _prepend_chunk(first, chunks)

    def _limit_size(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        left = self._max_bytes
        for chunk in chunks:
            if len(chunk) > left:
                self._count_trouble("too_large")
                yield chunk[:left]
                return
            left -= len(chunk)
            yield chunk

    def _gunzip_chunks(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """As much as can be unpacked; damage at the end costs the end."""
        unpack = zlib.decompressobj(31)
        is_whole = False
        try:
            for chunk in chunks:
                data = chunk
                while data:
                    if unpack.eof:  # another member follows, or rubbish
                        if not data.startswith(_GZIP[:1]):
                            return
                        unpack = zlib.decompressobj(31)
                    yield unpack.decompress(data, SLICE)
                    data = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
                    is_whole = unpack.eof
        except zlib.error:
            is_whole = False
        if not is_whole:
            self._count_trouble("broken")


def _read_head(chunks: Iterator[bytes]) -> bytes:
    """Return the first slices together, enough to recognise their kind."""
    first = b""
    while len(first) < HEAD and (chunk := next(chunks, None)) is not None:
        first += chunk
    return first


def _prepend_chunk(first: bytes | str, rest: Iterator) -> Iterator:  # type: ignore[type-arg]
    yield first
    yield from rest


def _decode_chunks(chunks: Iterator[bytes], content_type: str) -> Iterator[str]:
    """Decode the slices; without a declared encoding as UTF-8 (sitemaps.org)."""
    first = _read_head(chunks)
    encoding = declared_encoding(first, content_type) or "UTF-8"
    if first.startswith((b"<\0", b"\0<")):  # UTF-16 that forgot to say so
        encoding = "UTF-16LE" if first[1] == 0 else "UTF-16BE"
    if encoding in ("UTF-8", "UTF-16LE", "UTF-16BE"):
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        for chunk in _prepend_chunk(first, chunks):
            yield decoder.decode(chunk)
    else:
        for chunk in _prepend_chunk(first, chunks):
            yield decode_as(chunk, encoding)


class _TextReader:
    """Plain text: a URL on each line; other lines are not taken for URLs."""

    def __init__(self) -> None:
        self._rest = ""

    def feed_text(self, text: str) -> Iterator[FoundEntry]:
        *lines, self._rest = re.split(r"[\r\n]", self._rest + text)
        self._rest = self._rest[:MAX_TOKEN]
        for line in lines:
            if line.strip().lower().startswith(("http://", "https://")):
                yield line, "", False, ""


class _XmlReader:
    """XML of any kind: the entries, as the end of each is seen. The ``url`` of a feed is that of an image."""

    def __init__(self, *, is_feed: bool = False) -> None:
        self._records = _OF_FEEDS if is_feed else _RECORDS
        self._rest = ""
        self._at = 0
        self._skip_to = ""  # within a comment or an endless CDATA section: its end
        self._begin_record("", "")

    def feed_text(self, text: str) -> Iterator[FoundEntry]:
        text, at = self._rest + text, 0
        self._rest, self._tag_at, self._content_at = "", -1, -1
        while True:
            if self._skip_to:
                end = text.find(self._skip_to, at)
                if end < 0:
                    self._rest = text[max(at, len(text) - 2) :]
                    return
                at, self._skip_to = end + 3, ""
            mark = _MARK.search(text, at)
            if mark is None:
                self._keep_rest(text, at)
                return
            at = mark.end()
            if mark["name"] is None:
                self._read_special(mark)
                continue
            yield from self._read_tag(mark, text)
            at = self._at or at
            if self._rest:
                return

    def _read_special(self, mark: re.Match[str]) -> None:
        if mark["entity"]:
            raise _SitemapStopError("entities")
        self._skip_to = "-->" if mark["comment"] else "]]>"

    def _read_tag(self, mark: re.Match[str], text: str) -> Iterator[FoundEntry]:
        """One known tag. Sets ``_at`` where it read further, ``_rest`` where its end is not there yet."""
        name, prefix = mark["name"].lower(), mark["prefix"] or ""
        self._at = 0
        if name == "html" and not self._record:
            raise _SitemapStopError("html")
        if name in _RECORDS:
            if name not in self._records:
                return
            if mark["close"]:
                yield from self._end_record(name, self._record_text(text, mark.start()))
            else:
                self._begin_record(name, prefix, mark.start(), mark.end())
        elif self._record and not mark["close"] and prefix == self._prefix:
            end = self._read_field(name, mark, text)
            if end >= 0:
                self._at = end
            elif len(text) - mark.start() <= MAX_TOKEN:  # an endless one is as if it were not there
                self._rest = text[mark.start() :]

    def _begin_record(self, name: str, prefix: str, tag_at: int = -1, content_at: int = -1) -> None:
        self._record, self._prefix, self._tag_at, self._content_at = name, prefix, tag_at, content_at
        self._href = self._date = self._guess = self._priority = ""

    def _record_text(self, text: str, end: int) -> str:
        return text[self._content_at : end] if self._content_at >= 0 else ""

    def _end_record(self, name: str, content: str) -> Iterator[FoundEntry]:
        """Yield the entry of a finished record. Without ``loc`` or ``link`` its text may be the URL, or a
        guid."""
        bare = "" if "<" in content else resolve_references(content).strip()
        href = self._href or self._guess or (bare if bare.startswith("http") else "")
        if name == self._record and href:
            yield href, self._date, name == "sitemap", self._priority
        self._begin_record("", "")

    def _keep_rest(self, text: str, at: int) -> None:
        """Keep the part to read again with the next slice: a record without a URL yet, or half a tag."""
        start = self._tag_at
        if start >= 0 and not (self._href or self._guess) and len(text) - start <= MAX_TOKEN:
            self._rest = text[start:]
            self._begin_record("", "")
        else:
            self._rest = _unfinished_tag(text, at)

    def _read_field(self, name: str, mark: re.Match[str], text: str) -> int:
        """Read one element of a record; where it ends, or -1 when its end is not there yet."""
        attributes = mark["rest"] or ""
        if name == "link" and self._record == "entry":
            href = _HREF.search(attributes)
            if href is not None and not self._href and not _OTHER_REL.search(attributes):
                self._href = resolve_references(href[1] or href[2] or "")
            return mark.end()
        if name == "link" and self._record != "item":  # xhtml:link without its prefix
            return mark.end()
        if attributes.endswith("/"):
            return mark.end()
        value, end = _read_content(text, mark.end())
        if end >= 0 and name in _DATES:
            self._date = self._date or value
        elif end >= 0 and name == "priority":
            self._priority = self._priority or value
        elif end >= 0 and name == "guid":
            self._guess = value if value.startswith("http") else ""
        elif end >= 0:
            self._href = self._href or value
        return end


def _read_content(text: str, at: int) -> tuple[str, int]:
    """The text of an element and where it ends (before the next tag); -1 when that is not there yet."""
    parts: list[str] = []
    while True:
        end = text.find("<", at)
        if end < 0 or len(text) - end < 9:
            return "", -1
        parts.append(resolve_references(text[at:end]))
        if text.startswith("<![CDATA[", end):
            at = text.find("]]>", end)
            if at < 0:
                return "", -1
            parts.append(text[end + 9 : at].replace("&amp;", "&"))
            at += 3
        elif text.startswith("<!--", end):
            at = text.find("-->", end)
            if at < 0:
                return "", -1
            at += 3
        else:
            return "".join(parts), end


def _unfinished_tag(text: str, at: int) -> str:
    """Return the beginning of a tag at the end of a slice."""
    start = text.rfind("<", max(at, len(text) - MAX_TOKEN))
    return text[start:] if start >= 0 and ">" not in text[start:] else ""
