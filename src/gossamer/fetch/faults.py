"""Translating what sockets, name look-ups and TLS raise into the one error of a fetch.

The details are made of host names and system messages only. An exception's own text is not passed on
where it may hold a URL, since URLs carry credentials.
"""

from __future__ import annotations

import os
import socket
import ssl

from gossamer.fetch.guard import GuardRefused
from gossamer.words.errors import Fault, FetchError

RAISED = (OSError, ValueError, EOFError)
"""Everything that the way to a connection is known to raise (``ssl`` and time limits among the first)."""

_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


def translate(error: Exception, *, host: str) -> FetchError:
    """The fetch error for what was raised on the way to a connection."""
    match error:
        case socket.gaierror():
            fault = Fault.DNS if error.errno in _NO_SUCH_NAME else Fault.DNS_TEMPORARY
            detail = error.strerror or "the name could not be looked up"
        case UnicodeError():
            fault, detail = Fault.DNS, "a host name that cannot be asked for"
        case GuardRefused():
            fault, detail = Fault.GUARD, error.strerror or "not a public address"
        case ssl.SSLCertVerificationError():
            fault, detail = Fault.TLS, error.verify_message or "the certificate does not verify"
        case ssl.SSLError():
            fault, detail = Fault.TLS, getattr(error, "reason", "") or "the handshake failed"
        case TimeoutError():
            fault, detail = Fault.TIMEOUT_CONNECT, "no connection in time"
        case OSError():
            fault, detail = Fault.CONNECT, _reason(error)
        case _:
            fault, detail = Fault.BAD_URL, "a request that cannot be sent"
    return FetchError(fault, f"{host}: {detail}" if host else detail)


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno and error.errno > 0 else "no address answers"
