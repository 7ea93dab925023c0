"""Scope: which URLs a crawl may touch.

Asked for every link, seed and redirect before it is admitted, so the answer for a host is worked out
once and remembered. Pure: a URL in, the reason for refusing it (a short word, counted in the job's
report) or ``None`` out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gossamer.core.errors import UsageError
from gossamer.policy import urls
from gossamer.policy.patterns import UrlPattern, compile_pattern
from gossamer.policy.url_parser import head_of

_IGNORED = """
    7z 7zip apk bin bz2 cab deb dmg exe gz img iso jar msi pkg rar rpm tar tgz whl xz zip zst
    ai avif bmp cdr drw dxf eps gif heic ico jpeg jpg jxl mng pct png ps psd psp svg svgz tif tiff webp
    aac aif aiff au flac m4a mid mp3 oga ogg opus ra wav wma
    3gp asf asx avi flv m4v mkv mov mp4 mpeg mpg ogv qt rm swf vob webm wmv
    doc docm docx dot dotx epub mobi odg odp ods odt pdf potx pps ppsx ppt pptm pptx rtf xls xlsb xlsm xlsx
    class css dll eot js mjs otf so ttf wasm woff woff2
"""  # archives, pictures, sound, film, documents, parts of programs and of pages

IGNORED_EXTENSIONS = frozenset(_IGNORED.split())
"""Suffixes that rarely belong to a page: such links are not followed; explicit requests are fetched."""

MEDIA = "media"
"""The reason by which links with such suffixes are counted where the built-in spider leaves them out."""

OFFSITE = "offsite"
"""The reason for refusing a host that ``allowed_domains`` do not name."""

_REMEMBERED_HOSTS = 10_000


class Scope:
    """The rules of one job; every one of them may be empty.

    ``allowed_domains``: each names itself and its sub-domains, on any port or on the one it gives
    (``127.0.0.1:8000``). ``include`` and ``exclude``: regular expressions searched in the whole URL; one
    of ``include`` must match and none of ``exclude``. Texts run as
    :class:`~gossamer.policy.patterns.UrlPattern`, compiled ones as they are. ``deny_extensions``: see
    :data:`IGNORED_EXTENSIONS`.

    Raises :class:`UsageError` for a domain or an expression that is none.
    """

    def __init__(
        self,
        allowed_domains: Iterable[str] = (),
        include: Iterable[str | re.Pattern[str]] = (),
        exclude: Iterable[str | re.Pattern[str]] = (),
        *,
        schemes: Iterable[str] = ("http", "https"),
        deny_extensions: Iterable[str] = (),
        max_length: int = urls.MAX_URL_LENGTH,
    ) -> None:
        self._domains = frozenset(domain_of(entry) for entry in allowed_domains)
        self._include = tuple(_compile_pattern(pattern) for pattern in include)
        self._exclude = tuple(_compile_pattern(pattern) for pattern in exclude)
        self._schemes = frozenset(scheme.lower() for scheme in schemes)
        self._deny_extensions = frozenset(suffix.lower().lstrip(".") for suffix in deny_extensions)
        self._max_length = max_length
        self._by_place: dict[str, str | None] = {}

    def __repr__(self) -> str:
        domains = sorted(name + (f":{port}" if port else "") for name, port in self._domains)
        include, exclude = (
            [pattern.pattern for pattern in group] for group in (self._include, self._exclude)
        )
        return f"Scope(allowed_domains={domains}, include={include}, exclude={exclude})"

    def check_url(self, url: str) -> str | None:
        """Why a URL is refused, or ``None`` when it is in scope.

        Reasons: ``too_long``, ``bad_url`` (it has no host), ``scheme``, ``offsite``, ``excluded``,
        ``not_included``, ``extension``.
        """
        if len(url) > self._max_length:
            return "too_long"
        head = head_of(url)
        try:
            refused = self._by_place[head]
        except KeyError:
            refused = self._check_place(head, url)
        if refused is not None:
            return refused
        for pattern in self._exclude:
            if pattern.search(url):
                return "excluded"
        if self._include and not any(pattern.search(url) for pattern in self._include):
            return "not_included"
        if self._deny_extensions and extension_of(url) in self._deny_extensions:
            return "extension"
        return None

    def _check_place(self, head: str, url: str) -> str | None:
        place = urls.parse_origin(head)
        if not place.hostname:  # the first slashes were odd ones: the host stands further on
            return self._check_host(urls.parse_origin(url), url)
        refused = self._check_host(place, url)
        if len(head) <= urls.MAX_HOST_LENGTH:
            if len(self._by_place) >= _REMEMBERED_HOSTS:
                self._by_place.clear()
            self._by_place[head] = refused
        return refused

    def _check_host(self, place: urls.UrlOrigin, url: str) -> str | None:
        scheme = place.scheme or url.strip().partition(":")[0].lower()
        if scheme not in self._schemes:
            return "scheme"
        if not place.hostname:
            return "bad_url"
        return None if self.is_host_allowed(place.hostname, place.port) else OFFSITE

    def is_host_allowed(self, hostname: str, port: str = "") -> bool:
        """Whether ``allowed_domains`` name a host (lower case), asked on a port."""
        if not self._domains:
            return True
        name = hostname
        while True:
            if (name, "") in self._domains or (name, port) in self._domains:
                return True
            _, dot, name = name.partition(".")
            if not dot or hostname.startswith("["):
                return False


def extension_of(url: str) -> str:
    """The suffix of a URL's path in lower case, without its dot: ``pdf``; ``""`` when it has none."""
    path = url.partition("#")[0].partition("?")[0]
    start = path.find("/", 8)  # behind the host, as in ``policy.urls.place``
    name = path[start:].rpartition("/")[2] if start >= 0 else ""
    _, dot, suffix = name.rpartition(".")
    return suffix.lower() if dot else ""


def is_media_link(url: str) -> bool:
    """Whether a link's suffix rarely belongs to a page; the built-in spider skips such links."""
    return extension_of(url) in IGNORED_EXTENSIONS


def domain_of(entry: str, option: str = "allowed_domains") -> tuple[str, str]:
    """Return ``(name, port)`` of an entry, which may be a whole URL or begin with a dot or ``*.``.

    Raises ``UsageError`` that names the option unless the entry is a domain.
    """
    text = entry.strip().removeprefix("*").lstrip(".")
    if "://" not in text:
        if text.count(":") > 1 and not text.startswith("["):
            text = f"[{text}]"  # a bare IPv6 address
        text = f"http://{text}"
    place = urls.parse_origin(text)
    if not place.hostname or any(mark in text for mark in " @?"):
        raise UsageError(
            f"{option} names {entry!r}, which is not a domain; write example.com or example.com:8080"
        )
    has_port = place.host_key != place.hostname or text.rstrip("/").endswith(f":{place.port}")
    return place.hostname, place.port if has_port else ""


def _compile_pattern(pattern: str | re.Pattern[str]) -> re.Pattern[str] | UrlPattern:
    return pattern if isinstance(pattern, re.Pattern) else compile_pattern(pattern)
