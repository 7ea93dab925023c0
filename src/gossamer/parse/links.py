"""The links of a page.

These are the possible targets of ``a`` and ``area`` elements: absolute http(s) URLs, resolved against the
document's base by the WHATWG URL standard, without fragments, without duplicates, in document order. This
runs for every link of every page, so duplicates are removed before references are resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from turbohtml import Document, Element

from gossamer.policy.credentials import has_credentials
from gossamer.policy.urls import UrlJoiner

MAX_LINKS = 50_000
"""Elements looked at on one page; the longest real index pages have about half of that."""
MAX_REFERENCE = 32_768
"""The limit in characters: no URL that is followed is this long, and resolving megabytes takes time."""

_FOLLOWED = ("https://", "http://")
_NOFOLLOW = "a[rel~=nofollow i]"
_NOFOLLOW_UNION = "a[rel~=nofollow i],area[rel~=nofollow i]"


class PageLinks(NamedTuple):
    """The links of one page, and the number of skipped ones."""

    urls: list[str]
    nofollow: frozenset[str]  # those that every element pointing there marks ``rel=nofollow``
    dropped: dict[str, int]  # elements, by reason: ``scheme`` (not http or https), ``invalid`` ...


def extract_links(document: Document, joiner: UrlJoiner, limit: int = MAX_LINKS) -> PageLinks:
    """Return all links of a document; ``joiner`` knows its base URL."""
    # Queries for one tag are answered from the document's index, fastest without a condition; the union walks
    # the whole tree.
    union = document.select_one("area[href]") is not None
    anchors = document.select("a[href],area[href]" if union else "a")
    hrefs = [href for anchor in anchors if (href := anchor.attr("href")) is not None]
    urls, references, dropped = join_links(hrefs, joiner, limit)
    marked = document.select(_NOFOLLOW_UNION if union else _NOFOLLOW)
    nofollow = _only_marked(references, marked, joiner) if marked else frozenset()
    return PageLinks(urls, nofollow, dropped)


def join_links(
    hrefs: list[str], joiner: UrlJoiner, limit: int
) -> tuple[list[str], list[str], dict[str, int]]:
    """Return the URLs without duplicates, the resolved references, and the counts of skipped ones."""
    dropped: dict[str, int] = {}
    if len(hrefs) > limit:
        dropped["too_many"] = len(hrefs) - limit
        del hrefs[limit:]
    references = hrefs
    if joiner.keeps_fragment is None:
        references = [href.partition("#")[0] for href in hrefs]  # pages link to many fragments of few pages
    distinct = dict.fromkeys(references)
    if [reference for reference in distinct if reference and reference[-1] <= " "]:
        # A blank before "#" belongs to the URL, one at the end does not; the parser knows.
        references, distinct = hrefs, dict.fromkeys(hrefs)
    urls: dict[str, None] = {}
    unusable: dict[str, str] = {}
    for reference in distinct:
        url = joiner[reference] if len(reference) <= MAX_REFERENCE else None
        if url is None:
            unusable[reference] = "invalid"
        elif url.startswith(_FOLLOWED):
            urls[url] = None
        else:
            unusable[reference] = "scheme"
    if "@" in "".join(urls):
        for url in [url for url in urls if has_credentials(url)]:
            del urls[url]  # a page has no say in who asks
            dropped["credentials"] = dropped.get("credentials", 0) + 1
    if unusable:
        for reason in (unusable[reference] for reference in references if reference in unusable):
            dropped[reason] = dropped.get(reason, 0) + 1
    return list(urls), references, dropped


def _only_marked(references: Sequence[str], marked: Sequence[Element], joiner: UrlJoiner) -> frozenset[str]:
    """Return the URLs that no element recommends: as many elements as point there are marked."""
    counts: dict[str, int] = {}
    for element in marked:
        url = joiner[element.attr("href") or ""] if element.attr("href") is not None else None
        if url is not None and url.startswith(_FOLLOWED):
            counts[url] = counts.get(url, 0) + 1
    doubtful = {reference: url for reference in {*references} if (url := joiner.get(reference)) in counts}
    for reference in references:
        if reference in doubtful:
            counts[doubtful[reference] or ""] -= 1
    return frozenset(url for url, recommended in counts.items() if recommended >= 0)
