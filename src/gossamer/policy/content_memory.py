"""Memory of seen items, contents and texts, in bounded space, for the budgets of traps. Pure.

An item is new if it is new without the page's URL in it. Identical content is found by a hash of the body.
Nearly identical content is found by samples, because reading a page is expensive: pages with the same title
and heading are compared by their texts. Products of one template differ in these; error pages, and pages
multiplied by session ids, do not. If a URL names a month, numbers are ignored: the empty months of a calendar
differ in nothing else. If a path repeats a word, as relative links on a catch-all page produce, the words of
the path are ignored. A page that only combines known parameters, on a path with very many combinations,
counts as new only if its item has a new word, or several new figures: each page of a table by town and year
has its own figures.
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
"""Bytes of a page's middle, which differs between most pages of one size."""
MAX_TEXT = 16 * 1024
"""Characters of a page's text that are compared."""
MAX_HEADING = 500
"""Maximum length of a title with its headings, in characters."""

MAX_WITNESS_BYTES = 16 * 1024
"""Bytes of a page that are compared with those of another host, evenly spread over it."""

SHORT_ITEM = 200
"""Bytes of an item in which no value is looked at for being a text."""
TEXT_WORDS = 24
"""Words from which on a value of an item is a text, as HTML is; the page's text says whether it is new."""
FEWEST_FIGURES = 2
"""Fewest figures that make an item new: a search page has one number, of its results."""

_NUMBER, _DIGITS = re.compile(r"\d+"), re.compile(rb"\d+")
_WORD, _NAME = re.compile(r'[^\w\s"]?(\w+)'), re.compile(r"[^\W\d]+")
_FIGURE = re.compile(r"[^\w.]{0,3}(\d[\d.,'\s]{0,20})[^\W\d]{0,9}\W{0,2}")  # "-3.5 %", "1,200 ha", "812"
_DEPTH = re.compile(rb'"depth": ?\d+')
_LONG_VALUE = re.compile(rb'"(?:[^"\\]|\\.){120,}"')


class ContentMemory:
    """One process's memory of a job's pages."""

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
        """Remember parts of a path's parameters or results; return whether any of them is new."""
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
        """Judge and remember the text of a sampled page that represents ``weight`` pages."""
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
    """Return a key that a page shares with its copy on another host: path and content without host name.

    The path's part comes first. Checksums of a sample are enough, since only pages with the same path and
    size are compared.
    """
    content = body.replace(host.encode(), b"")
    sample = content[:: len(content) // MAX_WITNESS_BYTES + 1]
    return f"{crc32(path.encode()):08x}{crc32(sample):08x}{len(content):x}"
