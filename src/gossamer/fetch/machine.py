"""Limits of this machine: open files, local ports, memory, the network itself.

When they run out, no host and no page is to blame. Such failures are ``Fault.LOCAL``, are reported to the
operator once per kind, and are waited out, longer each time in a row.
"""

from __future__ import annotations

import errno
import logging
import os
import resource
import socket

log = logging.getLogger("gossamer.crawl")

OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})
LOCAL_ERRORS = OUT_OF_FILES | {
    errno.EAGAIN,  # no more threads
    errno.ENOMEM,
    errno.ENOBUFS,
    errno.EADDRNOTAVAIL,  # all local ports are in use
    errno.ENETUNREACH,
    errno.ENETDOWN,
}
"""Errors of ``connect`` and related calls that concern this machine, not the remote one."""

NO_WAY = frozenset({errno.ENETUNREACH, errno.EADDRNOTAVAIL})
"""Errors for every IPv6 address on a machine without IPv6."""

MAX_OPEN_FILES = 65_536
"""Limit of open files that a crawl sets, even if the system allows more."""

MAX_IDLE = 1000
IDLE_SHARE = 4
"""The share of open files for idle connections is 1 / this; the others serve active connections and files."""

LONGEST_PAUSE_S = 10.0

_ADVICE = {
    errno.EMFILE: "raise `ulimit -n`, or lower --concurrency",
    errno.ENFILE: "the whole system is out of open files: raise `sysctl fs.file-max`",
    errno.EAGAIN: "no thread could be started: raise `ulimit -u`",
    errno.ENOMEM: "free some memory, or lower --concurrency",
    errno.ENOBUFS: "free some memory, or lower --concurrency",
    errno.EADDRNOTAVAIL: "all local ports are in use: widen `sysctl net.ipv4.ip_local_port_range`",
    errno.ENETUNREACH: "look at this machine's network and routes",
    errno.ENETDOWN: "look at this machine's network and routes",
}


def open_files_allowed() -> tuple[int, int]:
    """Return the limit of open files of this process, and the value to which a crawl raises it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = MAX_OPEN_FILES if soft == resource.RLIM_INFINITY else soft
    hard = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else hard
    return soft, max(soft, min(hard, MAX_OPEN_FILES))


def raise_open_files() -> None:
    """Let this process open as many files as it may (up to :data:`MAX_OPEN_FILES`). Idempotent."""
    soft, most = open_files_allowed()
    if soft < most:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def max_idle_connections(open_files: int) -> int:
    """Return the limit of idle connections for a process that may open ``open_files`` files."""
    return max(min(MAX_IDLE, open_files // IDLE_SHARE), 1)


def is_out_of_files() -> bool:
    """Return whether no further file can be opened, which then explains any failure."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in OUT_OF_FILES
    return False


def has_ipv4() -> bool:
    """Return whether this machine has a route to IPv4 addresses. A UDP socket finds it; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation (RFC 5737)
        except OSError:
            return False
    return True


class LocalErrorThrottle:
    """Reports this machine's failures once per kind, and sets the pause after one."""

    def __init__(self, first_pause_s: float) -> None:
        self._first_pause_s = first_pause_s
        self._told: set[int] = set()
        self._since: float | None = None  # the loop's time at which nothing could be connected any more

    def report_error(self, error: OSError, now: float) -> float:
        """Report a failure of this machine; return the seconds to wait before the next try."""
        number = error.errno or 0
        if number not in self._told:
            self._told.add(number)
            log.warning(
                "this machine cannot open connections (%s): %s. No page is charged for it; "
                "they are tried again later",
                os.strerror(number),
                _ADVICE.get(number, "look at this machine"),
            )
        if self._since is None:
            self._since = now
        lasting_s = now - self._since
        return min(max(self._first_pause_s, lasting_s / 2), max(LONGEST_PAUSE_S, self._first_pause_s))

    def reset_pause(self) -> None:
        """Reset the pause after a connection has succeeded."""
        self._since = None
