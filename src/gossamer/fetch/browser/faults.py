"""What a browser says when a page does not come, as the one error of a fetch.

A browser's own words are net error codes. Where the relay knows why a connection failed, its reason goes
first.
"""

from __future__ import annotations

import re

from gossamer.core.errors import Fault, FetchError

_CODE = re.compile(r"net::(ERR_[A-Z0-9_]+)")

NO_PAGE = "ERR_HTTP_RESPONSE_CODE_FAILURE"
"""What a browser says of an error status without a page."""

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
}
_BY_BEGINNING = (("ERR_CERT_", Fault.TLS), ("ERR_SSL_", Fault.TLS), ("ERR_BAD_SSL_", Fault.TLS))


def error_code(text: str) -> str:
    """The net error in what a browser says, as ``ERR_ABORTED``; empty: there is none."""
    found = _CODE.search(text)
    return found[1] if found else ""


def translate_code(code: str, host: str) -> FetchError:
    """The fetch error for a net error."""
    fault = _FAULTS.get(code)
    if fault is None:
        fault = next((known for start, known in _BY_BEGINNING if code.startswith(start)), Fault.PROTOCOL)
    return FetchError(fault, f"{host}: the browser says {code}")
