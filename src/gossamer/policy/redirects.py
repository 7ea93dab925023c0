"""Requests for redirects. Pure: a request and a response's status and Location in, a request out.

Every hop becomes its own request, so scope, deduplication, robots.txt, the address guard and the politeness
of the new host apply to it. Methods and bodies follow the Fetch
standard ("HTTP-redirect fetch"), except that neither credentials nor a body ever reach another origin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError, LedgerReason
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Verdict, VisitResult
from gossamer.core.text import format_count
from gossamer.policy import urls
from gossamer.policy.credentials import has_credentials

STATUSES = frozenset({301, 302, 303, 307, 308})
BY_PAGE = 0
"""Stands for a status: a meta refresh, or a request replaced by a hook."""
CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization"})
CREDENTIAL_HINTS = (
    "token",
    "auth",
    "secret",
    "api-key",
    "apikey",
    "access-key",
    "passw",
    "credential",
    "session",
)


def follow_redirect(
    request: Request, url: str, status: int, location: str, *, limit: int, loops: int | None = None
) -> Request:
    """The request that a redirect from ``url`` leads to; the status is :data:`BY_PAGE` for a meta refresh.

    ``loops``: how often a URL may have redirected here before and is asked once more, although it is known;
    ``None``: until ``limit`` is reached. Raises :class:`FetchError` with ``REDIRECT_LIMIT`` or
    ``BAD_REDIRECT``.
    """
    chain = (*request.redirects, url)
    if len(chain) > limit:
        raise FetchError(
            Fault.REDIRECT_LIMIT, f"{format_count(limit, 'redirect')}, the last from {url[:200]}"
        )
    target = _target_of(url, status, location)
    if "#" in request.url:  # it counts; the target's own goes before it (RFC 9110, 10.2.2)
        target = f"{target}#{location.partition('#')[2] or request.url.partition('#')[2]}"
    method, body = _method_and_body(request, status)
    headers, auth = request.headers, request.auth
    if request.body and not body:
        headers = {name: value for name, value in headers.items() if not name.lower().startswith("content-")}
    if urls.origin_of(target) != urls.origin_of(url):
        if body:
            raise FetchError(
                Fault.BAD_REDIRECT, f"status {status} would send the body to {urls.origin_of(target)}"
            )
        headers, auth = without_credentials(headers), None
    if url.startswith("https:") and target.startswith("http:"):
        headers = {name: value for name, value in headers.items() if name.lower() != "referer"}
    return request.replace(
        url=target,
        method=method,
        body=body,
        headers=headers,
        auth=auth,
        cookies=None,  # they are in the session's jar, which knows whom they are for
        delay=None,
        redirects=chain,
        redirect_statuses=(*request.redirect_statuses, status),
        unique_key=_hop_key(request, target),
        # A page that redirects to itself (to set a cookie) is not a duplicate of itself; the limit ends it.
        # A file is known by the URL that it was asked for, whatever others lead to the same place.
        dont_filter=request.dont_filter or request.saves is not None or goes_round(target, chain, loops),
    )


def _target_of(url: str, status: int, location: str) -> str:
    """Return a redirect's target without credentials. Raises ``FetchError`` unless it is a page's URL."""
    target = urls.join_url(url, location) if location.strip() else None
    if target is None or urls.canonicalise_url(target) is None:  # no URL, another scheme, longer than any URL
        said = f"status {status} with the Location" if status else "a refresh to"
        raise FetchError(Fault.BAD_REDIRECT, f"{said} {location[:200]!r}")
    if "@" in target and has_credentials(target):  # a page has no say in who asks
        target = urls.canonicalise_url(target) or target
    return target


def goes_round(target: str, chain: Sequence[str], loops: int | None) -> bool:
    """Whether a redirect leads back to where it came from, and is followed all the same."""
    count = chain.count(target)
    return count > 0 if loops is None else 0 < count <= loops


def _hop_key(request: Request, target: str) -> str:
    """Return the deduplication key of a hop: its URL, unless the request has a key other than a URL.

    Such a key is the same in all sessions, and so is its hop's.
    """
    unique_key = request.unique_key
    if not unique_key:
        return ""
    if unique_key.startswith(("http://", "https://")):
        return (urls.canonicalise_url(target, keep_fragment=True) or "") if request.session else ""
    return sha256(f"{unique_key} {target}".encode("utf-8", "surrogatepass")).hexdigest()


def replace_request(request: Request, wanted: Request, *, limit: int) -> Request:
    """The request that a hook wants in the place of another: counted as a redirect, so that there is an end.

    Raises :class:`FetchError` with ``REDIRECT_LIMIT``.
    """
    chain = (*request.redirects, request.url)
    if len(chain) > limit:
        raise FetchError(
            Fault.REDIRECT_LIMIT,
            f"{format_count(limit, 'redirect')}, the last by a hook, to {wanted.url[:200]}",
        )
    return wanted.replace(
        redirects=chain,
        redirect_statuses=(*request.redirect_statuses, BY_PAGE),
        depth=request.depth,
        via=request.via,
        trace=request.trace,
        is_trap_probe=request.is_trap_probe,
    )


def _method_and_body(request: Request, status: int) -> tuple[str, bytes]:
    if (status == 303 and request.method not in ("GET", "HEAD")) or (
        status in (301, 302, BY_PAGE) and request.method == "POST"
    ):
        return "GET", b""
    return request.method, request.body


def without_credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as another origin may see them."""
    return {name: value for name, value in headers.items() if not is_credential(name)}


def is_credential(header: str) -> bool:
    """Whether a request header may carry a secret, by its name."""
    name = header.lower()
    return name in CREDENTIALS or any(hint in name for hint in CREDENTIAL_HINTS)


# --------------------------------------------------------------------------- redirects to known pages


def redirect_targets(results: Sequence[VisitResult]) -> list[Entry]:
    """The requests that redirects lead to, but for those that are made whether they are known or not."""
    return [
        entry
        for result in results
        if result.outcome.verdict is Verdict.REDIRECT
        for entry in result.outcome.outlinks
        if not entry.request.dont_filter
    ]


def with_known_targets(
    results: Sequence[VisitResult], targets: Sequence[Entry], known: Sequence[bool]
) -> list[VisitResult]:
    """Return the results, with a note in the ledger rows of redirects to known pages.

    ``known`` has the known targets before these results were settled; targets that one result adds are known
    to the next. The callback of such a request does not run: the page belongs to another request.
    """
    inside = {entry.fingerprint for entry, is_known in zip(targets, known, strict=True) if is_known}
    told = []
    for result in results:
        links = result.outcome.outlinks
        if result.outcome.verdict is Verdict.REDIRECT and any(
            entry.fingerprint in inside and not entry.request.dont_filter for entry in links
        ):
            rows = tuple(replace(row, reason=LedgerReason.KNOWN_TARGET.value) for row in result.attempts)
            told.append(replace(result, attempts=rows))
        else:
            told.append(result)
        inside.update(entry.fingerprint for entry in links)
    return told
