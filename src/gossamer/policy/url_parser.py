"""One reading of URLs, by the WHATWG standard, out of two parsers.

The fast one (``can_ada``) knows the standard's rules for host names as they were: it refuses ``xn--``
labels that pass through today, since browsers met too many of them, and maps a few characters otherwise
(the capital sharp s). The exact one (``ada-url``) takes two to three times as long. So the fast one reads
everything, and is believed where a host name is plain: ASCII, without escapes and without ``xn--``.
Otherwise the exact one decides, once for each host where that is enough.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import can_ada

if TYPE_CHECKING:
    import ada_url

_HOST = re.compile(r"[\0-\x20]*(?:[a-zA-Z][^/?#]*:|[/\\][\t\n\r]*[/\\])")
"""The beginning of a reference that may name a host of its own."""


def parse_url(url: str) -> can_ada.URL | ada_url.URL | None:
    """The parts of an absolute URL, ``None`` for a failure.

    They have ``href``, ``protocol``, ``port``, ``hostname``, ``username`` and ``password``; the last three
    can be set.
    """
    try:
        parsed = can_ada.parse(url)
        return parsed if _is_settled(url, parsed.href) else _parse_exactly(url)
    except ValueError:
        return _parse_exactly(url)
    except TypeError:  # lone surrogates, which the standard reads as U+FFFD
        return parse_url(_replace_surrogates(url))


def normalise_url(url: str) -> str | None:
    """The serialisation of an absolute URL, ``None`` for a failure."""
    try:
        href: str = can_ada.parse(url).href
        if _is_plain(url, href) or _has_head(url, href):
            return href
    except ValueError:
        pass
    except TypeError:
        return normalise_url(_replace_surrogates(url))
    parsed = _parse_exactly(url)
    return None if parsed is None else parsed.href


class BaseUrl:
    """A URL that references are resolved against.

    ``fast + href`` is the fast parser's result for a reference (``None`` without it), ``join`` the answer.
    """

    __slots__ = ("fast", "href")

    def __init__(self, url: str) -> None:
        parsed = parse_url(url)
        self.href = None if parsed is None else parsed.href
        self.fast: can_ada.URL | None = parsed if isinstance(parsed, can_ada.URL) else None

    def join_href(self, href: str) -> str | None:
        """The absolute URL that a reference means, with its fragment; ``None`` for a failure."""
        if self.fast is None:
            return normalise_url(href) if self.href is None else _exact_join(self.href, href)
        try:
            absolute: str = (self.fast + href).href
        except ValueError:
            return _exact_join(self.href, href)
        except TypeError:
            return self.join_href(_replace_surrogates(href))
        # Without an authority of its own, its host is the base's.
        is_settled = _HOST.match(href) is None or _is_settled(href, absolute)
        return absolute if is_settled else _exact_join(self.href, href)


def head_of(url: str) -> str:
    """The beginning of a URL, up to and with the slash that ends its authority; more if it is an odd one."""
    return url[: url.find("/", 8) + 1] or url


def _is_plain(text: str, href: str) -> bool:
    """Whether a text and its parsed form show only plain host names."""
    return "%" not in text and "xn--" not in href and text.isascii()


def _is_settled(text: str, href: str) -> bool:
    """Whether the fast parser's reading of a text can be believed."""
    return _is_plain(text, href) or _has_head(text, href)


def _has_head(text: str, href: str) -> bool:
    """Whether the text names the host as it is serialised, and both parsers read that alike."""
    head = head_of(href)
    return text.startswith(head) and _reads_alike(head)


@lru_cache(maxsize=8192)
def _reads_alike(head: str) -> bool:
    """Whether both parsers read a serialised authority alike."""
    if "xn--" not in head and "%" not in head:
        return True
    try:
        fast = can_ada.parse(head).href
    except ValueError:
        return False
    exact = _parse_exactly(head)
    return exact is not None and exact.href == fast


def _parse_exactly(url: str, base: str | None = None) -> ada_url.URL | None:
    import ada_url  # takes 0.06 s, and few crawls need it

    try:
        return ada_url.URL(url, base)
    except UnicodeEncodeError:
        return _parse_exactly(_replace_surrogates(url), base)
    except ValueError:
        return None


def _exact_join(base: str | None, href: str) -> str | None:
    exact = _parse_exactly(href, base)
    return None if exact is None else exact.href


def _replace_surrogates(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)
