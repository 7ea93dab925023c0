"""The links of a page.

What a browser could be led to from ``a`` and ``area`` elements: absolute http(s) URLs, resolved against
the document's base as the WHATWG URL standard says, without fragments, each once, in document order. This
runs for every link of every page, so references are made unique before they are resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from turbohtml import Document, Element

from gossamer.policy.urls import Joiner

MAX_LINKS = 100_000
"""Elements looked at on one page; the longest real index pages have about a third of that."""

_FOLLOWED = ("https://", "http://")
_NOFOLLOW = "a[rel~=nofollow i]"
_NOFOLLOW_UNION = "a[rel~=nofollow i],area[rel~=nofollow i]"


class Links(NamedTuple):
    """The links of one page, and what was left out of them."""

    urls: list[str]
    nofollow: frozenset[str]  # those that every element pointing there marks ``rel=nofollow``
    dropped: dict[str, int]  # elements, by reason: ``scheme`` (not http or https), ``invalid``, ``too_many``


def extract_links(document: Document, joiner: Joiner, limit: int = MAX_LINKS) -> Links:
    """All links of a document; ``joiner`` knows its base URL."""
    # Queries for one tag are answered from the document's index; the union walks the whole tree.
    union = document.select_one("area[href]") is not None
    anchors = document.select("a[href],area[href]" if union else "a[href]")
    dropped: dict[str, int] = {}
    if len(anchors) > limit:
        dropped["too_many"] = len(anchors) - limit
        anchors = anchors[:limit]
    references = _references(anchors)
    urls: dict[str, None] = {}
    unusable: dict[str, str] = {}
    for reference in dict.fromkeys(references):
        url = joiner[reference]
        if url is None:
            unusable[reference] = "invalid"
        elif url.startswith(_FOLLOWED):
            urls[url] = None
        else:
            unusable[reference] = "scheme"
    if unusable:
        for reason in (unusable[reference] for reference in references if reference in unusable):
            dropped[reason] = dropped.get(reason, 0) + 1
    nofollow: frozenset[str] = frozenset()
    marked = document.select(_NOFOLLOW_UNION if union else _NOFOLLOW)
    if marked:
        nofollow = _only_marked(anchors, [joiner[reference] for reference in references], set(marked))
    return Links(list(urls), nofollow, dropped)


def _references(anchors: Sequence[Element]) -> list[str]:
    """The hrefs without their fragments: pages link to many fragments of few pages."""
    hrefs = [anchor.attr("href") or "" for anchor in anchors]
    references = [href.partition("#")[0] for href in hrefs]
    if any(reference and reference[-1] <= " " for reference in dict.fromkeys(references)):
        return hrefs  # a blank before "#" belongs to the URL, one at the end does not; the parser knows
    return references


def _only_marked(
    anchors: Sequence[Element], urls: Sequence[str | None], marked: set[Element]
) -> frozenset[str]:
    """The URLs (one per anchor) that no element recommends."""
    doubtful: set[str] = set()
    recommended: set[str] = set()
    for anchor, url in zip(anchors, urls, strict=True):
        if url is not None and url.startswith(_FOLLOWED):
            (doubtful if anchor in marked else recommended).add(url)
    return frozenset(doubtful - recommended)
