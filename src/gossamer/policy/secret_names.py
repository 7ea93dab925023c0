"""Which names stand for values that must never be shown or kept. Pure."""

from __future__ import annotations

import re

HIDDEN = "***"
"""What is shown in place of a secret."""

_SECRET = re.compile(
    r"token|secret|passw|passphrase|credential|cookie|api_?key|(^|_)(auth|authorization|bearer|key|pass|pin|pwd)(_|$)",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether a value of that name must not be shown: ``token``, ``api_key``, ``password``, ..."""
    return _SECRET.search(name) is not None
