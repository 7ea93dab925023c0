"""Requests through a proxy: what is sent to it, and which answers and failures are its own.

Plain HTTP through an HTTP proxy is a request to the proxy, with the whole URL in its first line; everything
else goes through a tunnel (``tunnel``, ``socks5``). A proxy looks names up itself, so the guard judges what
the URL says: ports, and addresses that are written out.
"""

from __future__ import annotations

from gossamer.core.errors import Fault, FetchError
from gossamer.core.routes import Proxy
from gossamer.fetch.http.pool import ProxiedPlace
from gossamer.fetch.http.target import Origin, RequestTarget
from gossamer.fetch.http.tunnel import (
    SilentProxyError,
    authentication_error,
    fault_error,
    own_fault,
    proxy_authorization,
    proxy_error,
)
from gossamer.fetch.http.wire import ConnectionClosedError, WireResponse

MAX_REMEMBERED = 10_000
_UNHEARD = frozenset({Fault.PROXY, Fault.LOCAL})
"""Failures in which the proxy has not shown that it works."""


def place_of(origin: Origin, proxy: Proxy) -> ProxiedPlace:
    """The connections that a request to this origin may use."""
    is_tunnel = origin.is_tls or proxy.scheme == "socks5"
    return ProxiedPlace(proxy, origin if is_tunnel else None)


def target_for(target: RequestTarget, proxy: Proxy) -> RequestTarget:
    """What the request line says."""
    if place_of(target.origin, proxy).origin is not None:
        return target
    return target._replace(path=f"http://{target.origin.host_header}{target.path}")


def head_for(head: bytes, place: ProxiedPlace) -> bytes:
    """The header as it is sent: who we are is for the proxy alone, never for a host behind a tunnel."""
    if place.origin is not None or not place.proxy.user:
        return head
    return head[:-2] + f"Proxy-Authorization: {proxy_authorization(place.proxy)}\r\n\r\n".encode()


def check_answer(answer: WireResponse, place: ProxiedPlace) -> None:
    """Raises :class:`FetchError` for an answer that is the proxy's own instead of the host's."""
    if place.origin is not None:
        return
    if answer.status == 407:
        raise authentication_error(place.proxy)
    fault = own_fault(answer.status, "", answer.headers) if answer.status >= 400 else None
    if fault is not None:
        raise fault_error(place.proxy, fault, answer.status)


class ProxySilences:
    """Tells a proxy that says nothing from one that waits for its host.

    A proxy that has never answered is out of order. One that has answered gets the benefit of the doubt for
    one request, which its host may be slow with; when a second one has no answer either, and nothing was
    heard in between, it is the proxy.
    """

    def __init__(self) -> None:
        self._unanswered: dict[Proxy, str] = {}  # the URL since its last answer, empty: none

    def note_answer(self, proxy: Proxy) -> None:
        """The proxy, or a host through it, has answered."""
        if self._unanswered.pop(proxy, None) is None and len(self._unanswered) >= MAX_REMEMBERED:
            del self._unanswered[next(iter(self._unanswered))]  # the one heard longest ago
        self._unanswered[proxy] = ""

    def attribute_failure(self, error: FetchError, url: str, place: ProxiedPlace) -> FetchError:
        """The error, with the fault of whoever is to blame for it."""
        proxy = place.proxy
        if isinstance(error, ConnectionClosedError) and place.origin is None:
            return proxy_error(proxy, "hangs up without an answer")
        is_late = error.fault is Fault.TIMEOUT_HEADERS and place.origin is None
        if not is_late and not isinstance(error, SilentProxyError):
            if error.fault not in _UNHEARD:
                self.note_answer(proxy)
            return error
        known = self._unanswered.get(proxy)
        if known is None or known not in ("", url):
            return proxy_error(proxy, "does not answer")
        self._unanswered[proxy] = url
        if error.fault is not Fault.PROXY:
            return error
        return proxy_error(proxy, "does not reach the host in time", Fault.TIMEOUT_CONNECT)
