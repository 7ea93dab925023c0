"""Valid names of blobs."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9._=-]+(?:/[A-Za-z0-9._=-]+)*", re.ASCII)


def check_name(name: str) -> str:
    """Return the name itself. Raises ``ValueError`` for one that no blob may have."""
    if not _NAME.fullmatch(name) or {".", ".."} & set(name.split("/")):
        raise ValueError(
            f"{name!r} is not the name of a blob: letters, digits and ._=- in parts between slashes"
        )
    return name


def is_name(name: str) -> bool:
    """Whether a blob may be called so."""
    return bool(_NAME.fullmatch(name))
