"""Names of processes."""

from __future__ import annotations

import os
import secrets
import socket


def worker_name(pid: int) -> str:
    """Return the name of a crawl's worker on this machine, in the ledger and as the owner of its leases."""
    return f"w{pid}"


def this_process() -> str:
    """``host:pid:random``: people find the process of a fleet by it, and no two are called the same."""
    return f"{place_of_process()}:{secrets.token_hex(4)}"


def place_of_process() -> str:
    """``host:pid``: which of all processes wrote a line of a log."""
    return f"{socket.gethostname()}:{os.getpid()}"
