"""Requests through a proxy: their form, and the answers and failures of the proxy itself.

Plain HTTP through an HTTP proxy is a request to the proxy, with the whole URL in its first line; everything
else uses a tunnel (``tunnel``, ``socks5``). A proxy resolves names itself, so the guard judges the text of
the URL: ports and literal addresses.
"""

from __future__ import annotations

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.routes import Proxy
from gossamer.fetch.http.pool import ProxiedPlace
from gossamer.fetch.http.target import Origin, RequestTarget
from gossamer.fetch.http.tunnel import (
    UnclearProxyError,
    authentication_error,
    fault_error,
    own_fault,
    proxy_authorization,
)
from gossamer.fetch.http.wire import ConnectionClosedError, WireResponse

MAX_REMEMBERED = 10_000
UNSEEN_BYTES = 64 * 1024
_UNHEARD = frozenset({Fault.PROXY, Fault.LOCAL, Fault.GUARD, Fault.BAD_URL})
"""Failures in which the proxy has not shown that it works."""


def place_of(origin: Origin, proxy: Proxy) -> ProxiedPlace:
    """Return the place whose connections a request to this origin may use."""
    is_tunnel = origin.is_tls or proxy.scheme == "socks5"
    return ProxiedPlace(proxy, origin if is_tunnel else None)


def target_for(target: RequestTarget, proxy: Proxy) -> RequestTarget:
    """Return the target for the request line."""
    if place_of(target.origin, proxy).origin is not None:
        return target
    return target._replace(path=f"http://{target.origin.host_header}{target.path}")


def head_for(head: bytes, place: ProxiedPlace) -> bytes:
    """Return the header to send. Credentials go to the proxy alone, never to a host behind a tunnel.

    A connection to a proxy serves one request: some proxies (tinyproxy) forward all further bytes, with the
    password, to the first host, even if they are for another.
    """
    if place.origin is not None:
        return head
    fields = "Connection: close\r\n"
    if place.proxy.user:
        fields += f"Proxy-Authorization: {proxy_authorization(place.proxy)}\r\n"
    return head[:-2] + f"{fields}\r\n".encode()


def may_serve_again(place: ProxiedPlace, request: Request) -> bool:
    """Return whether an answered request's connection may be reused.

    A large body that the proxy has accepted may not have reached the host yet.
    """
    return place.origin is not None and len(request.body) <= UNSEEN_BYTES


def check_answer(answer: WireResponse, place: ProxiedPlace) -> None:
    """Raises :class:`FetchError` for an answer that is the proxy's own instead of the host's."""
    if place.origin is not None:
        return
    fault = own_fault(answer.status, answer.headers) if answer.status >= 400 else None
    if answer.status == 407 or (answer.status == 401 and fault is Fault.PROXY):
        raise authentication_error(place.proxy, answer.status)
    if fault is not None:
        raise fault_error(place.proxy, fault, answer.status)


class ProxyJudge:
    """Decides whether a proxy or the host behind it is out of order, if the proxy does not state it.

    The proxy is silent, hangs up, or answers ambiguously. A proxy that has never forwarded anything is out
    of order. Another one gets the benefit of the doubt for one request; if a second one fails alike, with
    no success in between, the proxy is to blame.
    """

    def __init__(self) -> None:
        self._failed: dict[Proxy, str] = {}  # the URL that failed since it last worked, empty: none

    def note_answer(self, proxy: Proxy) -> None:
        """Note that the proxy works, since it or a host through it has answered."""
        if self._failed.pop(proxy, None) is None and len(self._failed) >= MAX_REMEMBERED:
            del self._failed[next(iter(self._failed))]  # the one that has not been heard for longest
        self._failed[proxy] = ""

    def attribute_failure(self, error: FetchError, url: str, place: ProxiedPlace) -> FetchError:
        """Return the error with the fault of the party to blame."""
        proxy, error = place.proxy, _as_unclear(error, place)
        if not isinstance(error, UnclearProxyError):
            if error.fault not in _UNHEARD:
                self.note_answer(proxy)
            return error
        failed = self._failed.get(proxy)
        if failed is None or failed not in ("", url):
            return FetchError(Fault.PROXY, error.detail)
        self._failed[proxy] = url
        detail = f"{error.detail}, which may be the host's doing"
        told = FetchError(error.host_fault, detail, status=error.status)
        told.is_unclear = place.origin is not None and error.host_fault is Fault.CONNECT
        return told


def _as_unclear(error: FetchError, place: ProxiedPlace) -> FetchError:
    """Return an unclear error: a proxy that fetches for us may be silent because of its host."""
    if place.origin is None and isinstance(error, ConnectionClosedError):
        return UnclearProxyError(place.proxy, "hangs up without an answer", Fault.CONNECT)
    if place.origin is None and error.fault is Fault.TIMEOUT_HEADERS:
        return UnclearProxyError(place.proxy, "does not answer", Fault.TIMEOUT_HEADERS)
    return error
