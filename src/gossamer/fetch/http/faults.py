"""Translating what sockets, name look-ups and TLS raise into the one error of a fetch.

The details are made of host names and system messages only. An exception's own text is not passed on
where it may hold a URL, since URLs carry credentials.
"""

from __future__ import annotations

import os
import socket
import ssl

from gossamer.core.errors import Fault, FetchError
from gossamer.fetch.guard import GuardError
from gossamer.fetch.http.tls import TlsMode
from gossamer.fetch.machine import LOCAL_ERRORS

RAISED = (OSError, ValueError, EOFError)
"""Everything that the way to a connection is known to raise (``ssl`` and time limits among the first)."""

_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"})
"""Reasons of OpenSSL for an answer in plain text."""

_OLD_TLS = frozenset(
    {
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "TLSV1_ALERT_PROTOCOL_VERSION",
        "TLSV1_ALERT_INSUFFICIENT_SECURITY",
        "UNSUPPORTED_PROTOCOL",
        "UNSAFE_LEGACY_RENEGOTIATION_DISABLED",
        "NO_SHARED_CIPHER",
        "WRONG_CIPHER_RETURNED",
        "WRONG_SIGNATURE_TYPE",
        "DH_KEY_TOO_SMALL",
        "EE_KEY_TOO_SMALL",
        "CA_MD_TOO_WEAK",
    }
)
"""Reasons for a failure with a server that is too old for ``http.tls = "modern"``."""

IN_HANDSHAKE = "in the TLS handshake"
"""Stage of a connection when its time was over."""
_OLD_SERVERS = 'http.tls = "compatible" also talks to servers that are too old for the default'


def translate_error(error: Exception, *, host: str, tls: TlsMode = "modern") -> FetchError:
    """Return the fetch error for an exception raised while connecting."""
    match error:
        case socket.gaierror():
            fault = Fault.DNS if error.errno in _NO_SUCH_NAME else Fault.DNS_TEMPORARY
            detail = error.strerror or "the name could not be looked up"
        case UnicodeError():
            fault, detail = Fault.DNS, "a host name that cannot be looked up"
        case GuardError():
            fault, detail = Fault.GUARD, error.strerror or "not a public address"
        case ssl.SSLError():
            fault, detail = Fault.TLS, describe_tls_error(error, host, tls)
        case TimeoutError() if IN_HANDSHAKE in getattr(error.__cause__, "args", ()):
            fault = Fault.TIMEOUT_CONNECT
            detail = (
                "the connection stands, but the TLS handshake took too long: if the server speaks plain http "
                "on this port, write http:// in its URL"
            )
        case TimeoutError():
            fault, detail = Fault.TIMEOUT_CONNECT, "the connection took too long"
        case OSError(errno=number) if number in LOCAL_ERRORS:
            fault, detail = Fault.LOCAL, f"this machine's trouble, not the host's: {describe_os_error(error)}"
        case ConnectionResetError(errno=None):  # asyncio's, when the other side hangs up in the handshake
            hint = f"; {_OLD_SERVERS}" if tls == "modern" else ""
            fault, detail = Fault.CONNECT, f"the server hung up during the TLS handshake{hint}"
        case OSError():
            fault, detail = Fault.CONNECT, describe_os_error(error)
        case _:
            fault, detail = Fault.BAD_URL, "a request that cannot be sent"
    return FetchError(fault, f"{host}: {detail}" if host else detail)


def describe_tls_error(error: ssl.SSLError, host: str, tls: TlsMode) -> str:
    """Return the problem in words for people, with a remedy if there is one."""
    reason = getattr(error, "reason", "") or "the handshake failed"
    if isinstance(error, ssl.SSLCertVerificationError):
        name = f'http.insecure_hosts = ["{host}"]'
        return f"{error.verify_message or 'the certificate does not verify'}; to fetch it unchecked: {name}"
    if reason in _NOT_TLS:
        return f"the server speaks plain http on this port, not TLS ({reason}): write http:// in its URL"
    if reason in _OLD_TLS and tls == "modern":
        return f"{reason}; {_OLD_SERVERS}"
    return reason


def describe_os_error(error: OSError) -> str:
    """Return the system's words for the error, for people."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else "no address answers"
