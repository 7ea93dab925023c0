"""The start URL, and its domain, for a site or page that a person types."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from gossamer.policy import urls
from gossamer.policy.origins import is_loopback

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SLIP = re.compile(r"(https?)(?::/?|//?)(?=[^:/])", re.IGNORECASE)
_BEGINNING = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<slashes>/*)")
_HOST = re.compile(r"(?P<name>localhost|[\w-]+(\.[\w-]+)+|\[[0-9a-fA-F:.]+\])(:\d+)?([/?#].*)?")
_TOP_LABEL = re.compile(r"(^|\.)(xn--[\w-]+|[^\W\d]([^\W\d]|-)*)$", re.IGNORECASE)
_ADDRESS = re.compile(r"\d+(\.\d+){3}|\[.*\]")
_CRAWLED = ("http", "https")
_NEAR = 0.7
"""How alike a scheme and the one that is meant are at least: ``htp``, ``htps`` and ``ttp`` are."""


def absolute_url(text: str) -> str:
    """``shop.example/a`` is meant as ``https://shop.example/a``, ``127.0.0.1:8000`` as ``http://...``.

    Few sites on one's own machine have a certificate.
    """
    if _SCHEME.match(text):
        return text
    plain = f"http://{text}"
    return plain if is_loopback(urls.hostname_of(plain)) else f"https://{text}"


def mend_scheme(text: str) -> str | None:
    """The URL that is meant by ``http:/shop.example`` or ``http//shop.example``; ``None``: no such slip."""
    slip = _SLIP.match(text)
    return f"{slip[1].lower()}://{text[slip.end() :]}" if slip else None


def is_site(text: str) -> bool:
    """Whether a text without a scheme is the name of a site or a page of one: ``shop.example/a``.

    ``pages.v2/a.html`` is a path: the last part of a host's name has no digit, unless it is an address.
    """
    found = _HOST.fullmatch(text)
    if found is None:
        return False
    name = found["name"]
    return _ADDRESS.fullmatch(name) is not None or _TOP_LABEL.search(name) is not None


def explain_wrong_url(typed: str) -> str:
    """Return why a typed URL cannot be crawled, with a suggestion; empty if it can."""
    text = typed.strip()
    begun = _BEGINNING.match(text)
    if begun is None or not begun["slashes"]:
        meant = mend_scheme(text) or (absolute_url(text) if is_site(text) else "")
        return f"is {meant!r} meant?" if meant else "it has no http:// or https:// and no host"
    scheme, rest = begun["scheme"].lower(), text[begun.end() :]
    if scheme not in _CRAWLED:
        near = get_close_matches(scheme, _CRAWLED, 1, _NEAR)
        return f"is {f'{near[0]}://{rest}'!r} meant?" if near else "only http:// and https:// are crawled"
    if begun["slashes"] == "/":
        return f"is {f'{scheme}://{rest}'!r} meant?"
    if begun["slashes"] != "//" or not rest or rest[0] in "?#:":
        return f"it names no host behind {scheme}://"
    if re.search(r"\s", rest.partition("/")[0]):
        return "its host has a space in it"
    return "" if find_start_url(text) else "it is not a valid URL"


def find_wrong_url(start_urls: Iterable[str]) -> tuple[str, str] | None:
    """A start URL for which no crawl can begin, and why: one without a scheme, or the first if none fits.

    Where some fit, the crawl begins, and tells of the others.
    """
    first: tuple[str, str] | None = None
    has_good = False
    for url in start_urls:
        is_absolute = _SCHEME.match(url.strip()) is not None
        if has_good and is_absolute:
            continue  # one that fits is enough to begin
        if not (why := explain_wrong_url(url)):
            has_good = True
        elif not is_absolute:
            return url, why
        else:
            first = first or (url, why)
    return None if has_good else first


def find_start_url(text: str) -> str | None:
    """Return the canonical URL of typed text; ``None`` if it cannot be fetched.

    The fragment stays: the settings decide later whether it is part of the page.
    """
    canonical = urls.canonicalise_url(absolute_url(text), keep_fragment=True)
    return canonical if canonical is not None and canonical.startswith(("http://", "https://")) else None


def allowed_domain_of(url: str) -> str:
    """Return the entry of ``allowed_domains`` for a canonical URL: with the port, without ``www.``."""
    host = urls.hostname_of(url)
    return host.removeprefix("www.") + urls.host_key(url).removeprefix(host)


def describe_seed(spider: str, method: str, given: object) -> str:
    """Return an error: a method of a spider gave another object than a first request."""
    way = "is a `yield` missing?" if given is None else "yield Request(url)"
    return f"{method}() of the spider {spider!r} gave {given!r}, which is not a Request: {way}"
