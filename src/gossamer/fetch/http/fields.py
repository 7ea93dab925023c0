"""The header of a request, as the request, the settings, the URL and the cookies decide it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.limits import ACCEPT, ACCEPT_ENCODING, HttpOptions
from gossamer.fetch.http.target import Origin
from gossamer.fetch.sessions.request_cookies import put_cookies
from gossamer.policy import urls
from gossamer.policy.redirects import is_credential
from gossamer.ports.cookie_store import CookieStore

BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "DELETE"})
"""Methods that say the length of a body only if there is one."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch  # RFC 9110, 5.6.2: methods, names of fields
_FRAMING = frozenset({"content-length", "transfer-encoding"})  # said by us: the body is sent as it is

Field = tuple[str, str]


def manners_of(options: HttpOptions) -> Sequence[Field]:
    """Return the header fields of a client that impersonates no browser."""
    return (
        ("User-Agent", options.user_agent),
        ("Accept", ACCEPT),
        ("Accept-Language", options.accept_language),
        ("Accept-Encoding", ACCEPT_ENCODING),
    )


def own_headers_of(request: Request) -> dict[str, str]:
    """Return a request's own headers with ``auth``, unless they have an Authorization."""
    own = request.headers
    if request.auth and not any(name.lower() == "authorization" for name in own):
        return {**own, "Authorization": request.auth}
    return own


def is_told_from(via: str, url: str) -> bool:
    """Return whether a URL may receive the referring page: never one from https over http."""
    return bool(via) and not (via.startswith("https:") and url.startswith("http:"))


def fetch_site_of(referrer: str, url: str) -> str:
    """Return the ``Sec-Fetch-Site`` of a request; an empty ``referrer`` means that a person opens it."""
    if not referrer:
        return "none"
    here, there = urls.origin_of(referrer), urls.origin_of(url)
    if here == there:
        return "same-origin"
    sites = [(one.partition(":")[0], urls.registrable_domain(urls.hostname_of(one))) for one in (here, there)]
    return "same-site" if sites[0] == sites[1] else "cross-site"


def _place_request(fields: list[Field], url: str, *, is_own: bool) -> list[Field]:
    """Return a browser's header in which ``Referer`` and ``Sec-Fetch-Site`` agree.

    Another origin receives only the origin of the page (the default of browsers,
    strict-origin-when-cross-origin), unless the request has a Referer of its own.
    """
    referrer = next((value for name, value in fields if name.lower() == "referer"), "")
    site = fetch_site_of(referrer, url)
    said = {"sec-fetch-site": site}
    if site not in ("none", "same-origin") and not is_own:
        said["referer"] = f"{urls.origin_of(referrer)}/"
    return [(name, said.get(name.lower(), value)) for name, value in fields]


class RequestHeaders:
    """Default header of every request of one fetcher.

    ``manners`` are the client's fixed fields; the settings' headers replace them, and a request's own
    headers replace both.
    """

    def __init__(
        self, options: HttpOptions, manners: Sequence[Field], guard: AddressGuard, cookies: CookieStore
    ) -> None:
        self._guard = guard
        self._cookies = cookies
        self._says_referer = options.says_referer
        self._has_site = any(name.lower() == "sec-fetch-site" for name, _ in manners)
        overridden = {name.lower() for name in options.headers}
        kept = [field for field in manners if field[0].lower() not in overridden]
        self._fields = [*kept, *options.headers.items()]
        # Credentials in settings are for hosts that the operator named, never for those only linked to.
        self._guarded_fields = [field for field in self._fields if not is_credential(field[0])]
        others = [field for field in self._fields if field[0].lower() != "authorization"]
        self._origin_fields = {
            origin: [*others, ("Authorization", value)] for origin, value in options.authorizations.items()
        }

    def list_fields(self, request: Request, origin: Origin, session: str, now: float) -> list[Field]:
        """Everything but the host and the length of the body, the request's own fields first.

        Raises :class:`FetchError` (``BAD_URL``) for a method or a name that cannot be sent.
        """
        fields = self._fields if self._guard.is_named(origin.host) else self._guarded_fields
        if self._origin_fields:
            fields = self._origin_fields.get(urls.origin_of(request.url), fields)
        if request.omit_headers:
            fields = [field for field in fields if field[0].lower() not in request.omit_headers]
        own = own_headers_of(request)
        if not all(map(_TOKEN, (request.method, *own))):
            raise FetchError(Fault.BAD_URL, f"{origin.host}: a method or header that cannot be sent")
        if own:
            taken = {name.lower() for name in own}
            given = [field for field in own.items() if field[0].lower() not in _FRAMING]
            fields = [*given, *(field for field in fields if field[0].lower() not in taken)]
        else:
            taken = set()
            fields = list(fields)
        if request.omit_headers:
            taken.update(request.omit_headers)
        put_cookies(self._cookies, session, request, now)
        if origin.credentials and "authorization" not in taken:
            fields.append(("Authorization", origin.credentials))
        if "cookie" not in taken:
            cookies = self._cookies.cookie_header(session, request.url, now)
            if cookies:
                fields.append(("Cookie", cookies))
        if self._says_referer and "referer" not in taken and is_told_from(request.via, request.url):
            fields.append(("Referer", request.via.partition("#")[0]))
        if self._has_site and "sec-fetch-site" not in taken:
            return _place_request(fields, request.url, is_own="referer" in taken)
        return fields
