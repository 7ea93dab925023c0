"""Which names stand for values that must never be shown or kept. Pure."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

from gossamer.core.lazy import lazy_pattern

HIDDEN = "***"
"""The text shown in place of a secret."""

_SECRET = lazy_pattern(
    r"token|secret|passw|passphrase|credential|cookie|api_?key|(^|_)(auth|authorization|bearer|key|pass|pin|pwd)(_|$)",
    re.IGNORECASE,
)


_SIGNATURE = lazy_pattern(r"(^|[_-])sig(nature)?$|session|^aws_?access_?key_?id$", re.IGNORECASE)
_PARAMETER = lazy_pattern(r"(?<=[?&;#])([^?&;#=]+)=([^&;#]+)")


def hide_parameters(url: str) -> str:
    """A URL without the values of parameters that are named like secrets, or like signatures."""
    return _PARAMETER.sub(_hide_parameter, url) if "=" in url else url


def _hide_parameter(found: re.Match[str]) -> str:
    name = unquote_plus(found[1])
    is_hidden = is_secret(name.replace("-", "_")) or _SIGNATURE.search(name)
    return f"{found[1]}={HIDDEN}" if is_hidden else found[0]


def is_secret(name: str) -> bool:
    """Whether a value of that name must not be shown: ``token``, ``api_key``, ``password``, ..."""
    return _SECRET.search(name) is not None
