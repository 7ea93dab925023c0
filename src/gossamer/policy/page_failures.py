"""Whether a failure is its page's own or its host's. Pure, for refusals (429, 502, 503, 504) and for silence.

A host that answers others is not in trouble because some of its pages always fail. A page that fails again
although another URL was answered just before is proof against the page; a page that failed and is answered
the next time, or a URL that was answered before and fails now, is proof against the host. After
:data:`PROVEN` proofs against pages a failure is its page's: it is charged to it, and neither slows the host
down nor puts it on hold. When :data:`MOST_IN_ROW` fail in a row the host is probed all the same: with a URL
that it has answered before, so that pages that always fail cannot keep it closed.

Where a host limits its rate, pages that were refused are answered later. That weighs so much
(:data:`CLEARED`) that refusals by chance prove nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import HostSignal, HostSignalKind, HostState

PROVEN = 3
"""Number of proofs after which failures count against their pages."""
CLEARED, LEAST_BLAMED = 3, -20
"""Proofs removed by a page that failed and then succeeded; and the smallest sum of proofs."""
MOST_IN_ROW = 4
"""Number of failing pages in a row after which the host is probed in any case."""
FAILED_BEFORE = 3
"""A page that failed so often before says nothing of its host when it fails right after an answer, unless
pages that had failed were answered later."""


def blames_pages(host: HostState) -> bool:
    """Whether failures are the pages' own: others are answered, and the same ones fail again and again."""
    return host.blamed >= PROVEN


def asks_known(host: HostState, attempts: int) -> bool:
    """Whether to probe the host with a URL that it has answered, and not with a page that was tried so often.

    The first probe may be a page that has never failed, and each fourth one, lest the known URL be the cause.
    """
    if not (host.troubled_since and host.answered_at):
        return False
    if attempts and (host.silences or blames_pages(host)):
        return True
    return host.incidents > 1 and host.incidents % 4 != 3


def clear_pages(host: HostState, signal: HostSignal, failed: int | None) -> HostState:
    """The host after an answer to a request that had ``failed`` so often; ``None``: to another one."""
    is_cleared = bool(failed) and signal.kind is HostSignalKind.OK
    if not is_cleared and not host.failed_in_row:
        return host
    in_row = 0 if signal.started_at >= host.incident_at else host.failed_in_row
    blamed = max(min(host.blamed, 0) - CLEARED, LEAST_BLAMED) if is_cleared else host.blamed
    return replace(host, failed_in_row=in_row, blamed=blamed)


def blame_page(host: HostState, failed: int | None) -> HostState:
    """The host after a failure of a request that had ``failed`` so often before; ``None``: of another one."""
    blamed = host.blamed
    if failed is None:
        blamed = min(blamed, 0)
    elif failed and not host.failed_in_row:
        blamed = min(blamed + 1, PROVEN)
    return replace(host, failed_in_row=min(host.failed_in_row + 1, MOST_IN_ROW), blamed=blamed)


def is_pages_own(host: HostState, signal: HostSignal, failed: int | None) -> bool:
    """Whether the failure that was just counted says nothing of the host.

    A time that the host asks for is honoured in any case.
    """
    if host.troubled_since or signal.retry_after_s is not None or failed is None:
        return False
    # Below 0, refused pages were answered later: that is a limit of the rate, and the crawl must slow down.
    is_again = failed >= FAILED_BEFORE and host.failed_in_row == 1 and host.blamed >= 0
    return is_again or (blames_pages(host) and host.failed_in_row < MOST_IN_ROW)
