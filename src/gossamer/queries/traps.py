"""The traps of a job: groups of URLs that cost more pages than they yield, with their costs."""

from __future__ import annotations

from gossamer.core.jobs import Job, tag_of
from gossamer.core.record import Record, Time
from gossamer.core.redaction import hide_userinfo
from gossamer.core.text import format_count
from gossamer.engine.trap_counts import GroupCounts, read_counts
from gossamer.policy.trap_budgets import TrapCounts
from gossamer.policy.trap_closing import describe_trap, find_closed
from gossamer.policy.url_groups import groups_of, wider_groups_of
from gossamer.wiring.backends import Backends

LISTED = 50


class TrapView(Record, frozen=True, kw_only=True):
    """One group of URLs: a pattern, a path with whatever query, a directory, a host or a domain."""

    urls: str  # what its URLs have in common: ``http://shop.example/calendar/#/#``, ``http://shop.example/*``
    rule: str  # by which its URLs are refused: ``trap_calendar``; empty: it is open
    pages: int  # of it that were read
    worthless: int  # of those, pages without anything new
    spent: int  # pages without anything new, less what pages with something new made up for
    size_bytes: int  # of its pages, as they came over the network
    refused: int  # times that one of its URLs was not taken, or not fetched any more
    since: Time  # when its first page came
    example: str  # one of its URLs
    line: str  # the same in words


class TrapReport(Record, frozen=True, kw_only=True):
    """The traps of a job, those first that cost most."""

    job: str  # its id
    traps: tuple[TrapView, ...]
    has_more: bool  # than these
    pages: int  # of all traps
    worthless: int
    refused: int


async def report_traps(
    backends: Backends, job: Job, limit: int = LISTED, *, shows_open: bool = False
) -> TrapReport:
    """The traps of a job; with ``shows_open`` also the groups that have cost something and are open."""
    known = await read_counts(backends.requests.shared, tag_of(job))
    closed = {group: counts for group, counts in known.items() if counts.rule}
    traps = {group: counts for group, counts in closed.items() if not _is_doubled(group, closed)}
    chosen = {group: counts for group, counts in known.items() if not counts.rule} if shows_open else {}
    views = [_view_of(group, counts) for group, counts in {**traps, **chosen}.items()]
    views.sort(key=lambda view: (view.rule == "", -view.worthless, -view.pages, view.urls))
    return TrapReport(
        job=job.id,
        traps=tuple(views[:limit]),
        has_more=len(views) > limit,
        pages=sum(counts.pages for counts in traps.values()),
        worthless=sum(counts.wasted for counts in traps.values()),
        refused=sum(counts.refused for counts in traps.values()),
    )


def describe_report(found: TrapReport) -> str:
    """Summarise the report in one sentence."""
    if not found.pages:
        return "no trap was found"
    pages = f"{found.worthless:,} of {format_count(found.pages, 'page')} in traps brought nothing new"
    return f"{pages}; {format_count(found.refused, 'link')} refused"


async def find_trap(backends: Backends, job: Job, url: str, via: str) -> TrapView | None:
    """Return the trap of a URL, or the pattern that counts it; ``None`` without either."""
    known = await read_counts(backends.requests.shared, tag_of(job))
    closed = {group: counts for group, counts in known.items() if counts.rule}
    group = find_closed(url, via or url, closed, known.get) if closed else None
    group = group or groups_of(url)[0]
    return _view_of(group, known[group]) if group in known else None


def _is_doubled(group: str, closed: GroupCounts) -> bool:
    """Whether nearly all pages of a family or a host are those of smaller groups that are listed."""
    inside = (counts.pages for name, counts in closed.items() if group in wider_groups_of(name))
    return max(inside, default=0) * 2 > closed[group].pages


def _view_of(group: str, counts: TrapCounts) -> TrapView:
    return TrapView(
        urls=group.removesuffix("?"),
        rule=counts.rule,
        pages=counts.pages,
        worthless=counts.wasted,
        spent=max(counts.spent, 0),
        size_bytes=counts.size_bytes,
        refused=counts.refused,
        since=counts.since,
        example=hide_userinfo(counts.example),
        line=describe_trap(group, counts),
    )
