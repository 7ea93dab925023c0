"""How much memory this process has."""

from __future__ import annotations

import os
from pathlib import Path

_STATM = Path("/proc/self/statm")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Return the memory of this process in RAM, in bytes; 0 if the system does not report it."""
    try:
        return int(_STATM.read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0
