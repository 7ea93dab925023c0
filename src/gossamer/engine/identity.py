"""What a process of a fleet is called."""

from __future__ import annotations

import os
import secrets
import socket


def this_process() -> str:
    """``host:pid:random``: people find the process by it, and no two are called the same."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
