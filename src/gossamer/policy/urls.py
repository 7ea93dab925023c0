"""URLs: resolving, the canonical form, fingerprints, and the names of hosts.

Everything follows the WHATWG URL standard as browsers do (``url_parser``), so that a page is
fetched under the address that a browser would use, and one page has one key. Two URLs share a canonical form
only if the standard calls them equal, or if they differ only in parts that the operator chose to drop
(tracking parameters, by default). No function raises for a bad URL: hostile input gives ``None`` or ``""``.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import force_setattr

from gossamer.core.record import Record
from gossamer.policy.domains import find_domain
from gossamer.policy.url_parser import BaseUrl, head_of, normalise_url, parse_url

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

    from gossamer.core.requests import Request

QueryEncoder = Callable[[str], str]
_BLANKS = "".join(map(chr, range(0x21)))
_LINE_ENDS = dict.fromkeys(map(ord, "\t\n\r"))
"""Characters removed from a reference: blanks around it, and line ends in it."""
_SPECIAL = ("https://", "http://", "ftp://", "file://")
"""Schemes whose queries are in the charset of the page; in all others they are UTF-8."""
_FILE_MASK = 0x1A5C0FFEE0DDF00D
_AGAIN_MASK = 0x2C91E4B75D3A8F66
MAX_URL_LENGTH = 8192
"""Characters; the longest URL that is followed by default. Common servers refuse longer request lines."""

MAX_HOST_LENGTH = 253
"""Characters; the longest name that DNS can carry (RFC 1035, section 2.3.4)."""

TRACKING_PARAMETERS = (
    *("utm_*",),  # Google Analytics and everyone after it
    *(
        "_ga",
        "_gl",
        "dclid",
        "gclid",
        "gclsrc",
        "gad_source",
        "gad_campaignid",
        "gbraid",
        "wbraid",
        "srsltid",
    ),
    *("fbclid", "igshid", "igsh"),  # Meta
    *("msclkid", "mkt_tok"),  # Microsoft, Marketo
    *("yclid", "ysclid", "_openstat"),  # Yandex
    *("mc_cid", "mc_eid"),  # Mailchimp
    *("_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking"),  # HubSpot
    *("ttclid", "twclid", "li_fat_id", "rdt_cid", "epik"),  # TikTok, Twitter, LinkedIn, Reddit, Pinterest
    *("oly_anon_id", "oly_enc_id", "vero_id", "vero_conv", "wickedid", "s_kwcid"),  # mail and advertising
)
"""Query parameters that track a visitor's origin and never change the page.

A name may end in ``*``; case does not matter.
"""

SESSION_PARAMETERS = (
    "jsessionid",
    "phpsessid",
    "aspsessionid*",
    "sessionid",
    "session_id",
    "sid",
    "cfid",
    "cftoken",
)
"""Query parameters that usually name a visit. Not dropped by default: on some sites they are needed."""


class UrlOptions(Record, frozen=True, kw_only=True):
    """Options of the canonical form.

    ``drop_parameters`` has the form of :data:`TRACKING_PARAMETERS`. ``sort_query`` orders parameters by name
    (equal names keep their order): some sites depend on the order, so it is off. ``unescape`` applies RFC
    3986, section 6.2.2: ``%7e`` becomes ``~`` and ``%c3`` becomes ``%C3``, while ``%2F`` stays.
    ``max_length`` is in characters; longer URLs have no canonical form. ``keep_fragments`` keeps the
    fragment, which some applications use for routes; ``fragment_domains`` does so for their hosts.
    """

    drop_parameters: tuple[str, ...] = TRACKING_PARAMETERS
    sort_query: bool = False
    unescape: bool = False
    max_length: int = MAX_URL_LENGTH
    keep_fragments: bool = False
    fragment_domains: tuple[tuple[str, bool | None], ...] = ()
    _names: frozenset[str] = frozenset()  # of ``drop_parameters``, those without a `*`
    _prefixes: tuple[str, ...] = ()  # of the others, the part before it

    def __post_init__(self) -> None:
        words = [word.lower() for word in self.drop_parameters]
        force_setattr(self, "_names", frozenset(word for word in words if not word.endswith("*")))
        force_setattr(self, "_prefixes", tuple(word[:-1] for word in words if word.endswith("*")))

    def keeps_fragment(self, url: str) -> bool:
        """Whether a URL keeps its fragment."""
        own = find_domain(dict(self.fragment_domains), host_key(url))
        return self.keep_fragments if own is None else own


DEFAULT_OPTIONS = UrlOptions()


# --------------------------------------------------------------------------- resolving


def join_url(base: str, href: str) -> str | None:
    """The absolute URL (any scheme) that ``href`` means on a page at ``base``, without its fragment.

    ``None`` when the standard calls it a failure.
    """
    return UrlJoiner(base)[href]


class UrlJoiner(dict[str, str | None]):
    """Resolves the references of one page: ``joiner[href]`` is ``join(base, href)``, remembered.

    The base is parsed once, and a reference that a page repeats is resolved once. ``encode_query`` makes a
    query ASCII in the charset of the page; without it, that is UTF-8. ``keeps_fragment`` says of an absolute
    URL whether its fragment stays; without it, none does.
    """

    __slots__ = ("_base", "_encode_query", "_fast", "keeps_fragment")

    def __init__(
        self,
        base: str,
        encode_query: QueryEncoder | None = None,
        keeps_fragment: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__()
        self._base = BaseUrl(base)
        self._fast = self._base.fast
        self._encode_query = encode_query
        self.keeps_fragment = keeps_fragment

    @property
    def base(self) -> str | None:
        """The base as it is serialised, without its fragment; ``None`` when it is not a URL."""
        return self._base.href and self._base.href.partition("#")[0]

    def __missing__(self, href: str) -> str | None:
        joined: str | None
        try:
            joined = (self._fast + href).href  # type: ignore[operator]  # None raises TypeError
            if "%" in href or "xn--" in joined or not href.isascii():  # as _is_plain says, without a call
                joined = self._join_exactly(href)
        except (ValueError, TypeError):  # nearly always a failure
            joined = self._join_exactly(href)
        if joined is not None and "#" in joined:
            url, _, fragment = joined.partition("#")
            if not fragment or self.keeps_fragment is None or not self.keeps_fragment(url):
                joined = url
        self[href] = joined
        return joined

    def _join_exactly(self, href: str) -> str | None:
        if self._encode_query is not None and "?" in href and not href.isascii():
            place, mark, fragment = href.strip(_BLANKS).translate(_LINE_ENDS).partition("#")
            path, sign, query = place.partition("?")
            joined = self._base.join_href(f"{path}{sign}{self._encode_query(query)}{mark}{fragment}")
            if joined is None or joined.startswith(_SPECIAL):
                return joined
        return self._base.join_href(href)


# --------------------------------------------------------------------------- canonical form


def canonicalise_url(
    url: str, options: UrlOptions = DEFAULT_OPTIONS, keep_fragment: bool | None = None
) -> str | None:
    """The form under which a URL is fetched and known.

    WHATWG serialisation (lower-case IDNA host, no default port, no dot segments), without fragment (unless
    ``keep_fragment``, or else the options, keep it), user name and password (a request that needs them
    carries an ``Authorization`` header, so that they reach no log), the trailing dot of the host, and the
    parameters that ``options`` drop. Case, order and escapes of path and query stay as they are.

    ``None``: no URL, neither http nor https, longer than ``max_length``, or a host DNS cannot carry.
    """
    if len(url) > options.max_length:
        return None
    href = normalise_url(url)
    if href is None or not href.startswith(("https://", "http://")):
        return None
    fragment = ""
    if "#" in href:
        href, _, fragment = href.partition("#")
    if "@" in href or "./" in href or ".:" in href or len(href) > MAX_HOST_LENGTH:
        plain = _plain_host(href)
        if plain is None:
            return None
        href = plain
    if "?" in href:
        href = _clean_query(href, options)
    if options.unescape and "%" in href:
        href = _ESCAPE.sub(_unescape_match, href)
    if fragment and (options.keeps_fragment(href) if keep_fragment is None else keep_fragment):
        href = f"{href}#{fragment}"
    return href if len(href) <= options.max_length else None


def canonicalise_request(request: Request, options: UrlOptions = DEFAULT_OPTIONS) -> str | None:
    """The canonical form of a request's URL: the request says first whether the fragment stays.

    Links come here without theirs. A route that a spider writes down for a browser was meant.
    """
    keeps = request.keep_fragment
    if keeps is None and request.fetch == "browser" and has_route(request.url):
        keeps = True
    return canonicalise_url(request.url, options, keeps)


def has_route(url: str) -> bool:
    """Whether a fragment begins as routes of applications do: ``#/items/5``, ``#!items``."""
    return url.partition("#")[2].startswith(("/", "!"))


def _plain_host(href: str) -> str | None:
    """Without credentials and the trailing dot of the host; ``None`` when no such host can exist."""
    parsed = parse_url(href)
    if parsed is None:
        return None
    host = parsed.hostname
    if parsed.username or parsed.password:
        parsed.username = parsed.password = ""
    if host.endswith("."):
        host = host.removesuffix(".")
        if not host or host.endswith("."):  # an empty label; and "1.." must not turn into the address "1"
            return None
        parsed.hostname = host
    return parsed.href if len(host) <= MAX_HOST_LENGTH else None


def _clean_query(href: str, options: UrlOptions) -> str:
    """Drop and order parameters. A query that loses all of them goes, an empty one that was there stays."""
    path, _, query = href.partition("?")
    names, prefixes = options._names, options._prefixes
    parameters = query.split("&")
    kept = []
    for parameter in parameters:
        name = parameter.partition("=")[0].lower()
        if name not in names and not name.startswith(prefixes):
            kept.append(parameter)
    if options.sort_query:
        kept.sort(key=_parameter_name)
    elif len(kept) == len(parameters):
        return href
    if len(kept) < len(parameters) and not any(kept):
        return path
    return f"{path}?{'&'.join(kept)}"


def _parameter_name(parameter: str) -> str:
    return parameter.partition("=")[0]


_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _unescape_match(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else match[0].upper()


# --------------------------------------------------------------------------- fingerprints

_SIGNED_64 = struct.Struct("<q").unpack


@lru_cache(maxsize=64)
def _keyed_hash(key: bytes) -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=8, key=key)


def file_twin_of(fingerprint: int) -> int:
    """The fingerprint of a request for a file, from that of a page with the same URL; and back."""
    return fingerprint ^ _FILE_MASK


def again_twin_of(fingerprint: int) -> int:
    """The fingerprint by which a request with ``dont_filter`` is recorded: no other is its duplicate."""
    return fingerprint ^ _AGAIN_MASK


def fingerprint_of(method: str, canonical_url: str, body: bytes, key: bytes, session: str = "") -> int:
    """Return the identity of a request: a signed 64-bit integer, different in each session.

    Keyed BLAKE2b (RFC 7693), so that a site cannot craft URLs that collide; ``key`` has up to 64 bytes.
    Among a hundred million URLs the odds of one collision are 1 in 3,700.
    """
    digest = _keyed_hash(key).copy()
    digest.update(canonical_url.encode())
    if session:  # a canonical URL holds no NUL, and no method is empty, so this cannot meet another's bytes
        digest.update(b"\0\0" + session.encode("utf-8", "surrogatepass") + b"\0")
    if body or method != "GET":
        digest.update(b"\0" + method.encode() + b"\0" + body)
    value: int = _SIGNED_64(digest.digest())[0]
    return value


# --------------------------------------------------------------------------- hosts

_DEFAULT_PORTS = {"http": "80", "https": "443"}


class UrlOrigin(NamedTuple):
    """Where a URL points: the parts that many URLs share."""

    scheme: str
    hostname: str  # lower case, Punycode, ``[...]`` around IPv6
    port: str  # the effective one: the scheme's default is filled in
    host_key: str
    origin: str


_NOWHERE = UrlOrigin("", "", "", "", "")


def parse_origin(url: str) -> UrlOrigin:
    """Return the host of an absolute URL; all parts are empty without one.

    Parses only the part before the path, and caches it: a crawl has few hosts and many paths.
    """
    # A slash at index 8 or later ends the authority or follows it; a part cut off too early
    # (odd slashes, blanks in front) has no host left and is read as a whole. The slash stays: without it
    # a blank before it would be at the end, where the parser forgives it.
    head = head_of(url)
    if len(head) > MAX_HOST_LENGTH:
        return _read_place(url)
    found = _place(head)
    return found if found.hostname else _read_place(url)


def _read_place(url: str) -> UrlOrigin:
    parsed = parse_url(url)
    if parsed is None or not parsed.hostname:
        return _NOWHERE
    scheme, hostname = parsed.protocol[:-1], parsed.hostname.removesuffix(".")
    if not hostname or hostname.endswith("."):
        return _NOWHERE
    host_key = f"{hostname}:{parsed.port}" if parsed.port else hostname
    port = parsed.port or _DEFAULT_PORTS.get(scheme, "")
    return UrlOrigin(scheme, hostname, port, host_key, f"{scheme}://{host_key}")


_place = lru_cache(maxsize=8192)(_read_place)


def host_key(url: str) -> str:
    """The politeness key: the host name, with ``:port`` unless it is the scheme's own."""
    return parse_origin(url).host_key


def hostname_of(url: str) -> str:
    """The host name alone; ``[...]`` around an IPv6 address."""
    return parse_origin(url).hostname


def origin_of(url: str) -> str:
    """Return ``scheme://host[:port]``: the reach of one robots.txt (RFC 9309, section 2.3)."""
    return parse_origin(url).origin


@lru_cache(maxsize=1)
def _suffix_list() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # reading the list takes 0.1 s

    return PublicSuffixList()


@lru_cache(maxsize=8192)
def registrable_domain(host: str) -> str:
    """Return the registered part of a host name: ``bbc.co.uk`` of ``news.bbc.co.uk``.

    By the Public Suffix List, its private part included (``someone.github.io`` is its own). An address, a
    bare label or a public suffix is returned as it is.
    """
    host = host.rstrip(".").lower()
    last = host.rpartition(".")[2]
    if not last or last.isdigit() or host.startswith("["):
        return host
    domain: str | None = _suffix_list().privatesuffix(host)
    return domain or host
