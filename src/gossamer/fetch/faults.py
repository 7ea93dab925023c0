"""Translating what aiohttp, TLS and sockets raise into the one error of a fetch.

The details are made of host names, system messages and protocol complaints only. An exception's own text is
not passed on where it may hold a URL, since URLs carry credentials.
"""

from __future__ import annotations

import os
import socket
import ssl

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from gossamer.fetch.guard import GuardRefused
from gossamer.words.errors import Fault, FetchError

RAISED = (aiohttp.ClientError, HttpProcessingError, OSError, ValueError, TypeError, RuntimeError)
"""Everything that a fetch by aiohttp is known to raise."""

_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
_MAX_DETAIL = 200


def translate(error: Exception, *, host: str, answered: bool) -> FetchError:
    """The fetch error for an exception; ``answered``: the response's header had arrived already."""
    fault, detail = _before_connection(error) or _in_exchange(error, answered)
    return FetchError(fault, f"{host}: {detail}" if host else detail)


def _before_connection(error: Exception) -> tuple[Fault, str] | None:
    """What goes wrong on the way to a connection, or keeps the request from being sent at all."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            found = _dns(error.os_error)
        case aiohttp.ClientConnectorCertificateError():
            reason = getattr(error.certificate_error, "verify_message", "")
            found = Fault.TLS, reason or "the certificate does not verify"
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch() | ssl.SSLError():
            reason = getattr(getattr(error, "os_error", error), "reason", None)
            found = Fault.TLS, reason or "the handshake failed"
        case aiohttp.ConnectionTimeoutError():
            found = Fault.TIMEOUT_CONNECT, "no connection in time"
        case aiohttp.ClientConnectorError():
            found = _connect(error.os_error)
        case UnicodeError():
            found = Fault.DNS, "a host name that cannot be asked for"
        case aiohttp.InvalidURL() | ValueError() | TypeError():
            found = Fault.BAD_URL, "a request that cannot be sent"
        case _:
            return None
    return found


def _in_exchange(error: Exception, answered: bool) -> tuple[Fault, str]:
    """What goes wrong once there is a connection."""
    match error:
        case TimeoutError() if answered:
            found = Fault.TIMEOUT_BODY, "the body did not arrive in time"
        case TimeoutError():
            found = Fault.TIMEOUT_HEADERS, "the header did not arrive in time"
        case aiohttp.ClientPayloadError():
            found = Fault.INCOMPLETE, "the body ended early or its chunks are broken"
        case aiohttp.ClientResponseError() | HttpProcessingError():
            found = Fault.PROTOCOL, error.message.partition("\n")[0].strip()[:_MAX_DETAIL] or "not HTTP"
        case _ if answered:
            found = Fault.INCOMPLETE, "the connection was lost within the body"
        case aiohttp.ServerDisconnectedError() if not isinstance(error.message, str):
            found = Fault.PROTOCOL, "the header ended early"
        case _:
            found = Fault.CONNECT, "the connection was lost before an answer"
    return found


def _dns(error: OSError) -> tuple[Fault, str]:
    permanent = isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME
    fault = Fault.DNS if permanent else Fault.DNS_TEMPORARY
    return fault, error.strerror or "the name could not be looked up"


def _connect(error: OSError) -> tuple[Fault, str]:
    if isinstance(error, GuardRefused):
        return Fault.GUARD, error.strerror or "not a public address"
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "no address answers"
    return Fault.CONNECT, reason
