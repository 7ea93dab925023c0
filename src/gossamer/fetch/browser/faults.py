"""Translate a browser's failure to load a page into a :class:`FetchError`.

Browsers state net error codes: ``ERR_...`` in Chromium, ``NS_...`` and others in Firefox. If the relay
knows why a connection failed, its reason takes precedence.
"""

from __future__ import annotations

import re

from gossamer.core.errors import Fault, FetchError

_CODE = re.compile(
    r"net::(ERR_[A-Z0-9_]+)|\b(?!NS_ERROR_GENERATE_FAILURE|NS_ERROR_MODULE_)"  # the code follows them
    r"((?:NS|SEC|SSL|MOZILLA_PKIX)_[A-Z0-9_]+|deniedPortAccess)"
)

NO_PAGE = "ERR_HTTP_RESPONSE_CODE_FAILURE"
"""Error code for an error status without a page."""
ABORTED = frozenset({"ERR_ABORTED", "NS_BINDING_ABORTED", "NS_ERROR_ABORT", "NS_ERROR_REDIRECT_LOOP"})
"""Error codes for a request that was ended on purpose."""

_FAULTS = {
    "ERR_NAME_NOT_RESOLVED": Fault.DNS,
    "ERR_CONNECTION_REFUSED": Fault.CONNECT,
    "ERR_CONNECTION_RESET": Fault.CONNECT,
    "ERR_CONNECTION_CLOSED": Fault.CONNECT,
    "ERR_CONNECTION_ABORTED": Fault.CONNECT,
    "ERR_CONNECTION_FAILED": Fault.CONNECT,
    "ERR_ADDRESS_UNREACHABLE": Fault.CONNECT,
    "ERR_SOCKS_CONNECTION_FAILED": Fault.CONNECT,
    "ERR_SOCKS_CONNECTION_HOST_UNREACHABLE": Fault.CONNECT,
    "ERR_EMPTY_RESPONSE": Fault.CONNECT,
    "ERR_CONNECTION_TIMED_OUT": Fault.TIMEOUT_CONNECT,
    "ERR_TIMED_OUT": Fault.TIMEOUT_CONNECT,
    "ERR_RESPONSE_HEADERS_TOO_BIG": Fault.TOO_LARGE,
    "ERR_CONTENT_LENGTH_MISMATCH": Fault.INCOMPLETE,
    "ERR_INCOMPLETE_CHUNKED_ENCODING": Fault.INCOMPLETE,
    "ERR_CONTENT_DECODING_FAILED": Fault.BAD_ENCODING,
    "ERR_CONTENT_DECODING_INIT_FAILED": Fault.BAD_ENCODING,
    "ERR_UNSAFE_PORT": Fault.GUARD,
    "ERR_INVALID_URL": Fault.BAD_URL,
    "ERR_UNKNOWN_URL_SCHEME": Fault.BAD_URL,
    "ERR_DISALLOWED_URL_SCHEME": Fault.BAD_URL,
    "ERR_INVALID_REDIRECT": Fault.BAD_REDIRECT,
    "ERR_UNSAFE_REDIRECT": Fault.BAD_REDIRECT,
    "ERR_TOO_MANY_REDIRECTS": Fault.REDIRECT_LIMIT,
    "ERR_PROXY_CONNECTION_FAILED": Fault.PROXY,
    "ERR_INSUFFICIENT_RESOURCES": Fault.LOCAL,
    "ERR_OUT_OF_MEMORY": Fault.LOCAL,
    "ERR_NETWORK_CHANGED": Fault.LOCAL,
    "ERR_INTERNET_DISCONNECTED": Fault.LOCAL,
    "NS_ERROR_UNKNOWN_HOST": Fault.DNS,
    "NS_ERROR_UNKNOWN_PROXY_HOST": Fault.DNS,
    "NS_ERROR_CONNECTION_REFUSED": Fault.CONNECT,
    "NS_ERROR_PROXY_CONNECTION_REFUSED": Fault.CONNECT,
    "NS_ERROR_NET_RESET": Fault.CONNECT,
    "NS_ERROR_NET_INTERRUPT": Fault.CONNECT,
    "NS_ERROR_NET_EMPTY_RESPONSE": Fault.CONNECT,
    "NS_ERROR_NET_TIMEOUT": Fault.TIMEOUT_CONNECT,
    "NS_ERROR_NET_PARTIAL_TRANSFER": Fault.INCOMPLETE,
    "NS_ERROR_INVALID_CONTENT_ENCODING": Fault.BAD_ENCODING,
    "NS_ERROR_CORRUPTED_CONTENT": Fault.BAD_ENCODING,
    "deniedPortAccess": Fault.GUARD,
    "NS_ERROR_MALFORMED_URI": Fault.BAD_URL,
    "NS_ERROR_UNKNOWN_PROTOCOL": Fault.BAD_URL,
    "NS_ERROR_OUT_OF_MEMORY": Fault.LOCAL,
}
_OF_TLS = ("ERR_CERT_", "ERR_SSL_", "ERR_BAD_SSL_", "SEC_ERROR_", "SSL_ERROR_", "MOZILLA_PKIX_")


def error_code(text: str) -> str:
    """Return the net error in a browser's message, such as ``ERR_ABORTED``, or an empty text."""
    found = _CODE.search(text)
    return found[1] or found[2] if found else ""


def translate_code(code: str, host: str) -> FetchError:
    """Return the fetch error for a net error."""
    fault = _FAULTS.get(code)
    if fault is None:
        fault = Fault.TLS if code.startswith(_OF_TLS) else Fault.PROTOCOL
    return FetchError(fault, f"{host}: the browser says {code}")
