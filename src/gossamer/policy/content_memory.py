"""What was seen on pages before: items, contents and texts, in bounded memory; for budgets of traps. Pure.

An item is new if it is new with the page's URL taken out of it. The very same content is known by a hash of
the body. What is nearly the same is known by samples, since looking into a page is dear: by its text among
pages with the same title and heading. Products of one template differ in theirs; error pages, and pages that
ids of a visit multiply, do not. Where a URL names a month, numbers do not count: the empty months of a
calendar differ in nothing else. Where a path repeats a word, as relative links on a page that answers
everywhere make it, the words of the path do not count. A page that only combines parameters that others had,
on a path with very many sets of them, brings a new item only if that has a word that none of these had, or
several figures that no other has: of a table by town and year each page has figures of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import inf
from typing import Any
from zlib import crc32

import msgspec

from gossamer.core.results import ItemRecord, PageReading
from gossamer.policy.text_memory import TextMemory
from gossamer.policy.trap_budgets import OFTEN_SEEN, UNKNOWN_PAGE, PageWorth
from gossamer.policy.url_signs import find_loop, find_month, find_session_ids

MAX_CONTENTS = 100_000
"""Contents that are remembered, about 10 MB; then memory starts anew."""
MAX_KEYS = 200_000
"""Keys of items that are remembered, about 20 MB; then memory starts anew."""
MAX_SAMPLES = 5_000
"""Pages that were looked into, some 2.5 KB each: then the oldest headings are forgotten."""
MIDDLE_BYTES = 64
"""Of a page's middle, which tells most pages of one size apart."""
MAX_TEXT = 16 * 1024
"""Characters of a page's text that are compared."""
MAX_HEADING = 500
"""Characters of a title with its headings that are told apart."""

MAX_WITNESS_BYTES = 16 * 1024
"""Bytes of a page that are compared with those of another host, evenly spread over it."""

SHORT_ITEM = 200
"""Bytes of an item in which no value is looked at for being a text."""
TEXT_WORDS = 24
"""Words from which on a value of an item is a text, as HTML is; the page's text says whether it is new."""
FEWEST_FIGURES = 2
"""Figures of an item that can be news: a search gives one number, of what it has found."""

_NUMBER, _DIGITS = re.compile(r"\d+"), re.compile(rb"\d+")
_WORD, _NAME = re.compile(r'[^\w\s"]?(\w+)'), re.compile(r"[^\W\d]+")
_FIGURE = re.compile(r"[^\w.]{0,3}(\d[\d.,'\s]{0,20})[^\W\d]{0,9}\W{0,2}")  # "-3.5 %", "1,200 ha", "812"
_DEPTH = re.compile(rb'"depth": ?\d+')
_LONG_VALUE = re.compile(rb'"(?:[^"\\]|\\.){120,}"')


class ContentMemory:
    """What one process has seen of a job."""

    def __init__(self) -> None:
        self._keys: dict[int, int] = {}
        self._contents: dict[int, int] = {}
        self._looks: set[int] = set()
        self._mixed: set[int] = set()  # parameters, and words of items, on paths with very many sets of them
        self._texts = TextMemory(MAX_SAMPLES)

    def count_items(
        self, url: str, items: Sequence[ItemRecord], *, has_many_queries: bool = False
    ) -> int | None:
        """How often the rarest of a page's items was seen before; ``None``: it has none.

        ``has_many_queries``: combining the parameters of its path may have no end.
        """
        if len(self._keys) > MAX_KEYS:
            self._keys.clear()
        least, own = None, url.encode()
        is_mix = has_many_queries and not self._add_mixed(url, url.partition("?")[2].split("&"))
        for item in items:
            is_own = own in item.data
            data = _take_page_out(url, item.data) if is_own else b""
            key = hash((item.type, data if is_own else item.key))
            times = self._keys.get(key, 0)
            self._keys[key] = times + 1
            if has_many_queries and is_own:
                has_news = self._add_mixed(url, _NAME.findall(data.decode().lower()))
                if is_mix and not has_news and not self._add_figures(url, item.data):
                    times = max(times, OFTEN_SEEN)
            least = times if least is None else min(least, times)
        return least

    def _add_mixed(self, url: str, parts: Iterable[str]) -> bool:
        """Remember parts of what a path was asked for, or gave; whether any of them is new."""
        if len(self._mixed) > MAX_KEYS:
            self._mixed.clear()
        path, before = url.partition("?")[0], len(self._mixed)
        self._mixed.update(hash((path, part)) for part in parts)
        return len(self._mixed) > before

    def _add_figures(self, url: str, data: bytes) -> bool:
        """Remember an item's figures; whether it has several that no other item of the path has together."""
        own = set(_NUMBER.findall(url))
        figures = [
            figure for figure in _find_figures(msgspec.json.decode(data, type=dict)) if figure not in own
        ]
        return len(figures) >= FEWEST_FIGURES and self._add_mixed(url, [" ".join(figures)])

    def is_copy(self, url: str, body: bytes) -> bool:
        """Whether another URL had the same bytes, but for ids of a visit that the URL has; remembers them.

        The first page of its size (and with its middle) is not looked at: most are not like any other, and
        hashing them all costs.
        """
        ids, size = find_session_ids(url), len(body)
        look = size if ids else hash((size, body[size // 2 : size // 2 + MIDDLE_BYTES]))
        if look not in self._looks:
            if len(self._looks) > MAX_CONTENTS:
                self._looks.clear()
            self._looks.add(look)
            return False
        if len(self._contents) > MAX_CONTENTS:
            self._contents.clear()
        for token in ids:
            body = body.replace(token.encode(), b"")
        place = hash(url)
        return self._contents.setdefault(hash(body), place) != place

    def judge_text(self, host: str, url: str, page: PageReading, weight: int) -> PageWorth:
        """What the text of a page is worth that stands for so many pages; remembers it."""
        heading, text = page.heading[:MAX_HEADING], page.text[:MAX_TEXT]
        if find_month(url) is not None:
            text, heading = _NUMBER.sub("0", text), _NUMBER.sub("0", heading)
        if own := find_loop(url):
            text, heading = _drop_words(text, own), _drop_words(heading, own)
        news = self._texts.measure_news(f"{host} {heading}", url, text)
        if news <= 1:
            return PageWorth(near=weight)
        return PageWorth(texts=weight) if news == inf else UNKNOWN_PAGE


def _take_page_out(url: str, data: bytes) -> bytes:
    """An item that names its page, without what only says which page it is, and without long texts."""
    data = data.replace(url.encode(), b"")
    if b'"depth":' in data:
        data = _DEPTH.sub(b"", data)
    for token in find_session_ids(url):
        data = data.replace(token.encode(), b"")
    if words := find_loop(url):
        data = _drop_words(data.decode(), words).encode()
    if find_month(url) is not None:
        own = {number.lstrip("0") for number in _NUMBER.findall(url)}
        data = _DIGITS.sub(lambda found: b"" if found[0].lstrip(b"0").decode() in own else found[0], data)
    return data if len(data) <= SHORT_ITEM else _LONG_VALUE.sub(_leave_text_out, data)


def _find_figures(item: dict[str, Any]) -> Iterator[str]:
    """The values of an item that are a number, with a unit at most; those of lists are of many things."""
    for name, value in item.items():
        for part in value.values() if isinstance(value, dict) else (value,):
            if isinstance(part, str):
                if found := _FIGURE.fullmatch(part):
                    yield found[1].strip()
            elif isinstance(part, int | float) and not isinstance(part, bool) and name != "depth":
                yield str(part)


def _drop_words(text: str, words: Collection[str]) -> str:
    """A text without these words, and what joins them."""
    return _WORD.sub(lambda found: "" if found[1].lower() in words else found[0], text)


def _leave_text_out(value: re.Match[bytes]) -> bytes:
    is_text = value[0].count(b" ") >= TEXT_WORDS or b"</" in value[0]
    return b"" if is_text else value[0]


def witness_of(path: str, host: str, body: bytes) -> str:
    """What a page and its copy on another host have in common: path and content, the host's name aside.

    The path's part comes first. Checksums of a sample are enough: pages are compared that have the same path
    and the same size.
    """
    content = body.replace(host.encode(), b"")
    sample = content[:: len(content) // MAX_WITNESS_BYTES + 1]
    return f"{crc32(path.encode()):08x}{crc32(sample):08x}{len(content):x}"
