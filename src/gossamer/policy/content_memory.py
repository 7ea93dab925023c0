"""What was seen on pages before: items, contents and texts, in bounded memory; for budgets of traps. Pure.

The very same content is known by a hash of the body. What is nearly the same is known by samples, since
looking into a page costs a millisecond: by the simhash of its text among pages with the same title and
heading. Products of one template differ in theirs; error pages, and pages that ids of a visit multiply, do
not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from gossamer.core.results import ItemRecord
from gossamer.policy.simhash import MOST_DISTANCE, PageIndex, simhash_of
from gossamer.policy.trap_budgets import find_session_ids

MAX_CONTENTS = 100_000
"""Contents that are remembered, about 10 MB; then memory starts anew."""
MAX_KEYS = 200_000
"""Keys of items that are remembered, about 20 MB."""
MAX_SAMPLES = 5_000
"""Pages that were looked into, some 1.5 KB each: then the oldest are forgotten."""
SAMPLE_BYTES = 256 * 1024
"""Of a page's beginning, in which its text is looked for."""
MIN_WORDS = 24
"""Of shorter texts every letter counts."""
MAX_WORDS = 1_000
"""Those behind them are not compared: a word costs more than a microsecond."""

_HIDDEN = re.compile(rb"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(rb"<[^>]*>")
_HEADING = re.compile(rb"<(title|h1)\b[^>]*>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)


class ContentMemory:
    """What one process has seen of a job."""

    def __init__(self) -> None:
        self._keys: set[int] = set()
        self._contents: dict[int, int] = {}
        self._sizes: set[int] = set()
        self._samples = PageIndex(MOST_DISTANCE, MAX_SAMPLES)

    def has_new_items(self, url: str, items: Sequence[ItemRecord]) -> bool:
        """Whether one of the items is new, and not merely the page itself, as those are that name its URL."""
        if len(self._keys) > MAX_KEYS:
            self._keys.clear()
        is_new, own = False, url.encode()
        for item in items:
            key = hash((item.type, item.key))
            if key not in self._keys and own not in item.data:
                is_new = True
                self._keys.add(key)
        return is_new

    def is_copy(self, url: str, body: bytes) -> bool:
        """Whether another URL had the same bytes, but for ids of a visit that the URL has; remembers them.

        The first page of a size is not looked at.
        """
        if len(self._contents) > MAX_CONTENTS:
            self._contents.clear()
        for token in find_session_ids(url):
            body = body.replace(token.encode(), b"")
        size = len(body)
        if size not in self._sizes:  # most pages are not like any other, and hashing them all costs
            self._sizes.add(size)
            return False
        place = hash(url)
        return self._contents.setdefault(hash(body), place) != place

    def is_near(self, host: str, url: str, body: bytes) -> bool:
        """Whether another sample of the host says nearly the same; remembers this one."""
        text, heading = read_text(body)
        simhash = simhash_of(text, MIN_WORDS, MAX_WORDS)
        group = f"{host} {heading}"
        if simhash is None:
            group, simhash = f"{group} {text}", 0
        return self._samples.find_near(_digest(group.encode()), url, simhash) is not None


def read_text(body: bytes) -> tuple[str, str]:
    """The text of an HTML page, roughly; and its title with its first headings."""
    some = body[:SAMPLE_BYTES]
    headings = b" ".join(_TAG.sub(b" ", found[2]) for found in _HEADING.finditer(some))
    text = _TAG.sub(b" ", _HIDDEN.sub(b" ", some))
    return _join_words(text), _join_words(headings)


def witness_of(path: str, host: str, body: bytes) -> str:
    """What a page and its copy on another host have in common: path and content, the host's name aside."""
    content = body.replace(host.encode(), b"")
    return blake2b(content, digest_size=9, key=blake2b(path.encode()).digest()[:32]).hexdigest()


def _join_words(text: bytes) -> str:
    return " ".join(text.decode("utf-8", "replace").split())


def _digest(text: bytes) -> str:
    return blake2b(text, digest_size=16).hexdigest()
