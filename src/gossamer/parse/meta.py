"""The small languages inside ``<meta>`` and ``X-Robots-Tag``: redirects and wishes to crawlers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from turbohtml import Element, Namespace


def is_in_document(element: Element) -> bool:
    """Whether an element counts for its page: it is in no template, drawing or ``noscript``."""
    return element.namespace is Namespace.HTML and element.closest("template,noscript") is None


class RobotsDirectives(NamedTuple):
    """A page's directives for crawlers."""

    noindex: bool = False  # do not keep this page
    nofollow: bool = False  # do not follow its links

    def __or__(self, other: RobotsDirectives) -> RobotsDirectives:
        """Both wishes together; the stricter one wins."""
        return RobotsDirectives(self.noindex or other.noindex, self.nofollow or other.nofollow)


def read_robots(contents: Iterable[str]) -> RobotsDirectives:
    """Return the directives of comma-separated lists such as ``noindex, nofollow`` or ``none``."""
    words = {word.strip().lower() for content in contents for word in content.split(",")}
    none = "none" in words
    return RobotsDirectives(noindex=none or "noindex" in words, nofollow=none or "nofollow" in words)


_VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
"""Directives that have a colon themselves; any other word before a colon names a crawler."""


def read_robots_headers(values: Iterable[str], bot: str = "") -> RobotsDirectives:
    """Return the directives of ``X-Robots-Tag`` values for all crawlers and for the crawler called ``bot``.

    A value may begin with the name of a crawler, which then holds up to the next name: ``googlebot: nofollow,
    otherbot: noindex``.
    """
    meant: list[str] = []
    for value in values:
        for_us = True
        for part in value.split(","):
            name, colon, rest = part.partition(":")
            word = part
            if colon and name.strip().lower() not in _VALUED:
                for_us, word = name.strip().lower() in ("*", "robots", bot.lower()), rest
            if for_us:
                meant.append(word)
    return read_robots(meant)


_BLANKS = "\t\n\f\r "
_MAX_REFRESH = 16_384  # characters; no followed URL is longer


def read_refresh(content: str) -> tuple[float, str] | None:
    """Seconds and raw target of a refresh (HTML standard, "shared declarative refresh steps").

    The target is ``""`` for the page itself; ``None`` when the content is not a refresh at all.
    """
    content = content[:_MAX_REFRESH].strip(_BLANKS)
    rest = content.lstrip("0123456789")
    digits = content[: len(content) - len(rest)]
    if not digits and not rest.startswith("."):
        return None
    rest = rest.lstrip("0123456789.")
    if rest and rest[0] not in f";,{_BLANKS}":
        return None
    rest = rest.lstrip(_BLANKS)
    if rest[:1] in (";", ","):
        rest = rest[1:].lstrip(_BLANKS)
    return float(digits[:9] or 0), _refresh_target(rest)


def _refresh_target(rest: str) -> str:
    if rest[:3].lower() == "url" and rest[3:].lstrip(_BLANKS).startswith("="):
        rest = rest[3:].lstrip(_BLANKS)[1:].lstrip(_BLANKS)
    if rest[:1] in ("'", '"'):
        rest = rest[1:].partition(rest[0])[0]
    return rest.strip(_BLANKS)
