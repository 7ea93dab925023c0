"""The table of faults: the remedy of each, its meaning for the host, and its words for people.

A fault without a row is an error when this module is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from gossamer.core.errors import Fault
from gossamer.core.hosts import HostSignalKind

_PASSING = re.compile(
    "connect|time[d]?_?out|unavailable|operational|interfaceerror|transient|deadlock|lock(ed|timeout)"
)
"""Names of errors, of whatever library, that say that a server is away or busy."""
_MISTAKES = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def may_pass(error: BaseException) -> bool:
    """Whether an error of a user's code may be gone at the next try: a server was away, or a disk full."""
    if isinstance(error, _MISTAKES):
        return False
    names = (kind.__name__.lower() for kind in type(error).__mro__)
    return isinstance(error, OSError) or any(_PASSING.search(name) for name in names)


class FaultKind(StrEnum):
    """The remedy for a fault, which decides the fate of its request."""

    SETTLED = "settled"  # skipped: permanent and not a failure; no dead letter
    THROTTLED = "throttled"  # tried again when the host says; not charged to `max_retries`
    MACHINE = "machine"  # tried again later, for `host_patience`; charged neither to it nor to its host
    UNANSWERED = "unanswered"  # tried again with back-off; charged to it only if its host answers others
    NAMELESS = "nameless"  # dead at once; like an unanswered one if its host has answered before
    OVERLOAD = "overload"  # tried again with back-off, then dead; the first times are not charged
    TRANSIENT = "transient"  # tried again with back-off, then dead
    STEP = "step"  # dead at once; if the error may pass (a server is away), tried again with back-off first
    LOST_WORKER = "lost_worker"  # handed out again, later each time, then dead
    HOPELESS = "hopeless"  # dead at once


class FaultRow(NamedTuple):
    """The consequences of one fault."""

    kind: FaultKind
    signal: HostSignalKind  # evidence about the host; UNUSED: none, even if the host was reached
    words: str  # for people


def check_complete(rows: Mapping[Fault, FaultRow], faults: Iterable[Fault]) -> Mapping[Fault, FaultRow]:
    """The rows, if each of the faults has one; raises ``LookupError`` that names the others."""
    if missing := [fault.name for fault in faults if fault not in rows]:
        raise LookupError(f"faults without a row in gossamer.policy.faults: {', '.join(missing)}")
    return rows


_NOTHING = HostSignalKind.UNUSED
_SILENCE = HostSignalKind.UNREACHABLE
_FAILURE = HostSignalKind.FAULT
_PUSH_BACK = HostSignalKind.THROTTLED


FAULTS: Mapping[Fault, FaultRow] = check_complete(
    {
        Fault.DNS: FaultRow(FaultKind.NAMELESS, _SILENCE, "its host's name does not resolve"),
        Fault.DNS_TEMPORARY: FaultRow(
            FaultKind.UNANSWERED, _SILENCE, "the name server gave no answer for its host"
        ),
        Fault.CONNECT: FaultRow(FaultKind.UNANSWERED, _SILENCE, "its host could not be reached"),
        Fault.LOCAL: FaultRow(FaultKind.MACHINE, _NOTHING, "this machine could not connect"),
        Fault.TLS: FaultRow(
            FaultKind.HOPELESS, _FAILURE, "its host's certificate or TLS handshake is not acceptable"
        ),
        Fault.TIMEOUT_CONNECT: FaultRow(
            FaultKind.UNANSWERED, _SILENCE, "connecting took longer than http.connect_timeout"
        ),
        Fault.TIMEOUT_HEADERS: FaultRow(
            FaultKind.UNANSWERED, _SILENCE, "the header took longer than http.headers_timeout"
        ),
        Fault.TIMEOUT_BODY: FaultRow(
            FaultKind.TRANSIENT, _FAILURE, "the body stalled, or took longer than http.total_timeout"
        ),
        Fault.INCOMPLETE: FaultRow(FaultKind.TRANSIENT, _FAILURE, "its body ended too early"),
        Fault.PROTOCOL: FaultRow(FaultKind.TRANSIENT, _FAILURE, "the answer is not HTTP, or broken HTTP"),
        Fault.TOO_LARGE: FaultRow(
            FaultKind.HOPELESS,
            _FAILURE,
            "its body is larger than http.max_size_bytes (a file: files.max_bytes), or its header than "
            "256 KiB",
        ),
        Fault.BAD_ENCODING: FaultRow(
            FaultKind.HOPELESS, _FAILURE, "its body is not what its Content-Encoding says"
        ),
        Fault.BAD_REDIRECT: FaultRow(FaultKind.HOPELESS, _FAILURE, "it redirects to nowhere"),
        Fault.REDIRECT_LIMIT: FaultRow(FaultKind.HOPELESS, _FAILURE, "too many redirects in a row"),
        Fault.GUARD: FaultRow(
            FaultKind.HOPELESS, _NOTHING, "its address is private, and the crawl did not name the host"
        ),
        Fault.BAD_URL: FaultRow(FaultKind.HOPELESS, _NOTHING, "its URL cannot be requested"),
        Fault.NOT_ARCHIVED: FaultRow(FaultKind.HOPELESS, _NOTHING, "the saved pages do not include it"),
        Fault.THROTTLED: FaultRow(FaultKind.THROTTLED, _PUSH_BACK, "the host asks for time"),
        Fault.GATEWAY: FaultRow(FaultKind.OVERLOAD, _PUSH_BACK, "the server behind the host does not answer"),
        Fault.SERVER: FaultRow(FaultKind.TRANSIENT, _FAILURE, "an error of the server"),
        Fault.CLIENT: FaultRow(FaultKind.HOPELESS, _FAILURE, "the server refuses it"),
        Fault.GONE: FaultRow(FaultKind.SETTLED, _FAILURE, "the server has no such page"),
        Fault.ROBOTS: FaultRow(FaultKind.SETTLED, _NOTHING, "robots.txt does not allow it"),
        Fault.ROBOTS_UNREACHABLE: FaultRow(FaultKind.UNANSWERED, _NOTHING, "robots.txt could not be fetched"),
        Fault.HOST_DOWN: FaultRow(FaultKind.HOPELESS, _NOTHING, "its host has never answered"),
        Fault.HOST_LOST: FaultRow(
            FaultKind.HOPELESS, _NOTHING, "its host, which had answered before, did not come back in time"
        ),
        Fault.OUT_OF_SCOPE: FaultRow(FaultKind.SETTLED, _NOTHING, "it leads out of scope"),
        Fault.BLOCKED: FaultRow(
            FaultKind.HOPELESS, _FAILURE, "its site refuses us: a challenge, a CAPTCHA or the like"
        ),
        Fault.LOGGED_OUT: FaultRow(
            FaultKind.TRANSIENT, _FAILURE, "the answer is for visitors who are not logged in"
        ),
        Fault.PROXY: FaultRow(FaultKind.MACHINE, _NOTHING, "the proxy is out of order, or refuses us"),
        Fault.PROXY_ANSWER: FaultRow(
            FaultKind.MACHINE, _NOTHING, "an error that may be the proxy's own; another one is asked first"
        ),
        Fault.BROWSER: FaultRow(FaultKind.MACHINE, _NOTHING, "the browser that had the page ended"),
        Fault.PAGE_CRASH: FaultRow(
            FaultKind.TRANSIENT, _NOTHING, "the page crashed its tab, or took more than browser.max_memory_mb"
        ),
        Fault.SERVICE: FaultRow(
            FaultKind.MACHINE, _NOTHING, "the gateway that fetches for us is out of order, or asks for time"
        ),
        Fault.SERVICE_FAILED: FaultRow(
            FaultKind.TRANSIENT, _NOTHING, "the gateway that fetches for us could not get the page"
        ),
        Fault.UNWANTED: FaultRow(FaultKind.SETTLED, _NOTHING, "its type is none of files.types"),
        Fault.IGNORED: FaultRow(FaultKind.SETTLED, _NOTHING, "a hook refuses it"),
        Fault.BUDGET: FaultRow(FaultKind.SETTLED, _NOTHING, "a budget of its host is spent"),
        Fault.TRAP: FaultRow(
            FaultKind.SETTLED, _NOTHING, "it is one of many pages without anything new: their budget is spent"
        ),
        Fault.MISSING: FaultRow(
            FaultKind.TRANSIENT, _FAILURE, "an element that the spider requires is not on the page"
        ),
        Fault.CALLBACK: FaultRow(FaultKind.HOPELESS, _NOTHING, "the spider's code raised"),
        Fault.CALLBACK_TIMEOUT: FaultRow(
            FaultKind.HOPELESS, _NOTHING, "the spider's code took longer than parse.callback_timeout"
        ),
        Fault.PIPELINE: FaultRow(
            FaultKind.STEP, _NOTHING, "a pipeline step failed on an item; a mistake is not tried again"
        ),
        Fault.HOOK: FaultRow(FaultKind.TRANSIENT, _NOTHING, "a hook failed"),
        Fault.PARSE_TIMEOUT: FaultRow(
            FaultKind.HOPELESS,
            _NOTHING,
            "parsing the page needs more than parse.timeout or parse.max_memory_mb",
        ),
        Fault.PARSE_INTERRUPTED: FaultRow(
            FaultKind.TRANSIENT, _NOTHING, "the process that examines suspicious pages was killed or stopped"
        ),
        Fault.UNREADABLE: FaultRow(FaultKind.HOPELESS, _NOTHING, "the stored request is damaged"),
        Fault.INTERNAL: FaultRow(FaultKind.HOPELESS, _FAILURE, "an error of Gossamer itself"),
        Fault.EXPIRED: FaultRow(FaultKind.LOST_WORKER, _NOTHING, "the worker never came back with it"),
    },
    Fault,
)
"""The row of each fault. To add a fault: a member of ``Fault`` with its meaning, and a row here."""


UNREACHABLE = frozenset(fault for fault, row in FAULTS.items() if row.signal is _SILENCE)
"""No answer. Mostly the host's fault and not the page's: then its pages wait, and cost nothing."""
OTHER_VERSION = frozenset({421, 426, 505})
"""Statuses of hosts that want another version of HTTP, or another connection."""
NOBODY_ASKED = frozenset({Fault.LOCAL, Fault.ROBOTS, Fault.ROBOTS_UNREACHABLE})
"""Faults for which the host was not asked for the page."""
