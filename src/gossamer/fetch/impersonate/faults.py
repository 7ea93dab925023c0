"""Translate errors of wreq into a :class:`FetchError`.

Their texts contain URLs and passwords of proxies, so they are never passed on; they are only searched,
after the URL, for words that identify the cause.
"""

from __future__ import annotations

import os
import re

from wreq import exceptions

from gossamer.core.errors import Fault, FetchError
from gossamer.core.routes import Proxy
from gossamer.fetch.http.tunnel import UnclearProxyError, proxy_error
from gossamer.fetch.http.wire import ConnectionClosedError
from gossamer.fetch.machine import LOCAL_ERRORS

RAISED = (
    exceptions.BodyError,
    exceptions.BuilderError,
    exceptions.ConnectionError,
    exceptions.ConnectionResetError,
    exceptions.DecodingError,
    exceptions.ProxyConnectionError,
    exceptions.RedirectError,
    exceptions.RequestError,
    exceptions.StatusError,
    exceptions.TimeoutError,
    exceptions.TlsError,
    exceptions.UpgradeError,
    RuntimeError,  # an invalid header, a runtime that cannot start
)
"""Everything that wreq is known to raise."""

_CAUSE = re.compile(r"(?:, | )source: (.*)", re.DOTALL)
_OS_CODE = re.compile(r"Os \{ code: (\d+),")
_TLS_REASON = re.compile(r'library: "SSL routines".*?reason: "([A-Z0-9_]+)"', re.DOTALL)
_STALE = re.compile(
    r"IncompleteMessage|ChannelClosed|Canceled|GoAway|BrokenPipe|ConnectionReset|code: (?:32|104),"
)
HTTP1_WANTED = "HTTP_1_1_REQUIRED"
_RESET = re.compile(r'(?:Reset\(StreamId\(\d+\)|GoAway\(b"[^"]*"), ([^,]+), Remote\)')
_REFUSED_HEADER = re.compile(r"Parse\((\w+)")


def cause_of(error: Exception) -> str:
    """Return wreq's words after the URL. For comparison only: they may contain a password."""
    found = _CAUSE.search(str(error))
    return found[1] if found else ""


def is_stale(error: Exception) -> bool:
    """Return whether a connection ended before the answer's first byte; an idle one may have been closed."""
    return _STALE.search(cause_of(error)) is not None


def reset_code_of(error: Exception) -> str:
    """Return the name of the HTTP/2 code that ended the stream or connection, or an empty text."""
    found = _RESET.search(cause_of(error))
    return found[1] if found else ""


def wants_http1(error: Exception) -> bool:
    """Return whether an HTTP/2 server demands HTTP/1.1 (RFC 9113, 7); it has not handled the request."""
    return reset_code_of(error) == HTTP1_WANTED


def os_code_of(error: Exception) -> int:
    """Return the system's error number, or 0."""
    found = _OS_CODE.search(cause_of(error))
    return int(found[1]) if found else 0


def translate_head_error(error: Exception, host: str, proxy: Proxy | None) -> FetchError:
    """Return the fetch error for an exception before the answer's header."""
    cause, code = cause_of(error), os_code_of(error)
    reason = _TLS_REASON.search(cause)
    match error:
        case exceptions.ConnectionError() | exceptions.ProxyConnectionError() if code in LOCAL_ERRORS:
            fault = Fault.LOCAL
            detail = f"this machine's trouble, not the host's: {os.strerror(code)}"
        case exceptions.ProxyConnectionError() if proxy is not None:
            return _proxy_error(cause, code, proxy)
        case exceptions.TlsError() | exceptions.ConnectionError() if reason is not None or "SSL" in cause:
            fault, detail = Fault.TLS, _describe_tls(reason[1] if reason else "", host)
        case exceptions.TimeoutError():
            fault, detail = Fault.TIMEOUT_CONNECT, "the connection took too long"
        case exceptions.ConnectionError() if "TimedOut" in cause:
            fault, detail = Fault.TIMEOUT_CONNECT, "the connection took too long"
        case exceptions.ConnectionError() if "dns error" in cause:
            fault, detail = Fault.DNS, "the name could not be looked up"
        case exceptions.ConnectionError():
            fault, detail = Fault.CONNECT, os.strerror(code) if code else "no address answers"
        case exceptions.BuilderError() | RuntimeError():
            fault, detail = Fault.BAD_URL, "a request that cannot be sent"
        case _ if (ended := reset_code_of(error)) and "GoAway" not in cause:
            fault, detail = Fault.PROTOCOL, f"the server reset the stream (HTTP/2 {ended})"
        case _ if is_stale(error):
            return ConnectionClosedError(Fault.CONNECT, "the connection was lost before an answer")
        case _ if (refused := _REFUSED_HEADER.search(cause)) is not None and refused[1] == "TooLarge":
            fault, detail = Fault.TOO_LARGE, "a header of too many bytes"
        case _:
            fault, detail = Fault.PROTOCOL, "not HTTP" if refused else "not valid HTTP"
    return FetchError(fault, detail)


def translate_body_error(error: Exception) -> FetchError:
    """Return the fetch error for an exception while the body arrived."""
    if isinstance(error, exceptions.TimeoutError):
        return FetchError(Fault.TIMEOUT_BODY, "the body did not arrive in time")
    detail = "the body's chunks are broken" if "chunk" in cause_of(error) else "the body ended early"
    if ended := reset_code_of(error):
        detail = f"the server reset the stream of the body (HTTP/2 {ended})"
    return FetchError(Fault.INCOMPLETE, detail)


_BEHIND = ("ConnectionRefused", "HostUnreachable", "NetworkUnreachable", "TtlExpired", "TTLExpired")
"""Errors of a SOCKS5 proxy about the host."""

_LOCKED = ("ProxyAuthRequired", "PasswordAuthFailure", "NoAcceptableMethods", "UnknownAuthMethod")


def _proxy_error(cause: str, code: int, proxy: Proxy) -> FetchError:
    """Return the error of a proxy, or of the host behind it if the proxy states that."""
    if any(word in cause for word in _LOCKED):
        return proxy_error(proxy, "refuses the user and password")
    if "Socks(" in cause and any(word in cause for word in _BEHIND):
        return proxy_error(proxy, "cannot reach the host", Fault.CONNECT)
    if code:
        return proxy_error(proxy, f"cannot be reached: {os.strerror(code)}")
    if "TimedOut" in cause:
        return UnclearProxyError(proxy, "does not answer", Fault.TIMEOUT_CONNECT)
    return UnclearProxyError(proxy, "makes no connection to the host", Fault.CONNECT)


def _describe_tls(reason: str, host: str) -> str:
    if reason == "CERTIFICATE_VERIFY_FAILED":
        return f'the certificate does not verify; to fetch it unchecked: http.insecure_hosts = ["{host}"]'
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
        return f"the server speaks plain http on this port, not TLS ({reason}): write http:// in its URL"
    return reason or "the handshake failed"
