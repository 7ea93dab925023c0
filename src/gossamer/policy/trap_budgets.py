"""Budgets of URL patterns that learn: what a page was worth, and when a group of URLs is a trap. Pure.

Every page counts for its *groups*: its pattern (``/shop/#?sid``), its family (one path with whatever query,
or one directory) and its host. A page that brings something new gives its groups back some of what they have
spent; one that brings nothing spends a page of it. A group that has spent ``max_worthless`` pages more than
it was given back is closed. So a catalogue of any size stays open, and what never ends costs about as many
pages as the budget says.

A closed pattern refuses its URLs. A closed family refuses those of patterns that never brought anything; a
closed host only those that were found on such pages, too, and not on its home page: good pages of the same
site are not lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.traps import VARIABLE, pattern_of
from gossamer.policy.url_parser import head_of
from gossamer.policy.urls import SESSION_PARAMETERS, hostname_of, registrable_domain

ITEM_GAIN = 5
"""Pages without anything new that one page with new items makes up for."""
TEXT_GAIN = 2
"""... and one page with a text of its own."""
MANY_QUERIES = 12
"""Sets of parameters of one path from which on combining them may have no end."""
WITNESS_EVERY = 8
"""One path of so many is compared with the same path of other hosts."""
LONG_GOOD = 1000
"""Pages of a host from which on a quarter of the samples is enough, unless near-duplicates were found."""
SUSPECT_EVERY = 4
"""One page of so many is looked into where near-duplicates were found."""
MAX_EXAMPLE = 300
"""Characters of a URL that is kept as an example."""
AHEAD_MONTHS, BACK_MONTHS = 13, 40 * 12
"""Dates in URLs beyond these are those of a calendar that is turned on and on."""

_DATE = re.compile(r"(?<!\d)(19\d\d|2[01]\d\d)[/._-](0?[1-9]|1[0-2])(?!\d)")
_YEAR = re.compile(r"\b(?:year|yr|y|jahr)=([12]\d{3})\b", re.IGNORECASE)
_MONTH = re.compile(r"\b(?:month|mon|m|monat)=(\d{1,2})\b", re.IGNORECASE)
_SESSION = re.compile("|".join(name.replace("*", ".*") for name in SESSION_PARAMETERS))
_TOKEN = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])(?:[0-9a-f]{8,}|[A-Za-z0-9_-]{16,})(?![\w-])")


class TrapBudgetRules(Record, frozen=True, kw_only=True):
    """How many pages a group of URLs may cost; ``None``: any number."""

    max_worthless: int | None = 500  # more than worthwhile pages made up for
    max_per_pattern: int | None = None
    max_per_domain: int | None = None

    @property
    def batch(self) -> int:
        """Pages of a group that one worker may have counted while the others do not know."""
        limits = (self.max_worthless, self.max_per_pattern, self.max_per_domain)
        return max(1, min(limit for limit in (*limits, 500) if limit is not None) // 50)

    @property
    def sample_every(self) -> int:
        """One page of so many is looked into elsewhere: looking costs a millisecond."""
        return max(SUSPECT_EVERY, min(32, (self.max_worthless or 0) // 16))


class PageWorth(Record, frozen=True, kw_only=True):
    """What one page brought, in pages: of a sample, as many as it stands for."""

    items: int = 0  # items that were not there before
    texts: int = 0  # a text that was not there before
    copies: int = 0  # the very content of another page
    near: int = 0  # nearly the text of another page, under the same heading
    barren: int = 0  # neither items nor links to anything else, where there may be no end

    @property
    def wasted(self) -> int:
        """Pages that brought nothing."""
        return self.copies + self.near + self.barren

    @property
    def gained(self) -> int:
        """Pages without anything new that it makes up for."""
        return ITEM_GAIN * self.items + TEXT_GAIN * self.texts


UNKNOWN_PAGE, ITEM_PAGE = PageWorth(), PageWorth(items=1)
COPIED_PAGE, BARREN_PAGE = PageWorth(copies=1), PageWorth(barren=1)


class TrapCounts(msgspec.Struct, array_like=True, kw_only=True):
    """What is known of one group of URLs. Counts of several workers are added up."""

    pages: int = 0
    items: int = 0  # pages, like the next four
    texts: int = 0
    copies: int = 0
    near: int = 0
    barren: int = 0
    witnesses: int = 0  # of a host: pages that were compared with those of other hosts
    foreign: int = 0  # those of them that an older host has, too
    queries: int = 0  # of a family: sets of parameters
    size_bytes: int = 0  # of their bodies, as they came
    refused: int = 0  # URLs that were not taken since it was closed
    spent: int = 0  # of the budget; below 0: what worthwhile pages have put aside
    since: float = 0.0  # when its first page came
    example: str = ""  # a URL of it
    rule: str = ""  # why it is closed; empty: it is open

    @property
    def wasted(self) -> int:
        """Pages that brought nothing."""
        return self.copies + self.near + self.barren

    @property
    def gained(self) -> int:
        """Pages without anything new that the others make up for."""
        return ITEM_GAIN * self.items + TEXT_GAIN * self.texts

    def add_page(self, page: PageWorth, size_bytes: int, url: str, now: float) -> None:
        """One more page, which came now."""
        self.pages += 1
        self.size_bytes += size_bytes
        if page is ITEM_PAGE:
            self.items += 1
        elif page is not UNKNOWN_PAGE:
            self.items += page.items
            self.texts += page.texts
            self.copies += page.copies
            self.near += page.near
            self.barren += page.barren
        if not self.since:
            self.since, self.example = now, url[:MAX_EXAMPLE]


def spend_on(spent: int, more: PageWorth | TrapCounts, rules: TrapBudgetRules) -> int:
    """What of a budget is spent after more pages.

    What worthwhile pages put aside is never more than the budget itself: a good beginning does not pay for
    an endless rest.
    """
    return max(spent + more.wasted - more.gained, -(rules.max_worthless or 0))


def add_counts(group: str, known: TrapCounts, more: TrapCounts, rules: TrapBudgetRules) -> TrapCounts:
    """What is known of a group, with what another, or the same worker has counted since."""
    times = [since for since in (known.since, more.since) if since]
    counts = TrapCounts(
        pages=known.pages + more.pages,
        items=known.items + more.items,
        texts=known.texts + more.texts,
        copies=known.copies + more.copies,
        near=known.near + more.near,
        barren=known.barren + more.barren,
        witnesses=known.witnesses + more.witnesses,
        foreign=known.foreign + more.foreign,
        queries=known.queries + more.queries,
        size_bytes=known.size_bytes + more.size_bytes,
        refused=known.refused + more.refused,
        spent=spend_on(known.spent, more, rules),
        since=min(times, default=0.0),
        example=known.example or more.example,
        rule=known.rule or more.rule,
    )
    if not counts.rule:
        counts.rule = find_rule(group, counts, rules)
    return counts


def find_rule(group: str, counts: TrapCounts, rules: TrapBudgetRules) -> str:
    """The rule that closes a group, as links are counted by it; empty: it stays open."""
    is_domain = group.startswith("*.")
    if not is_domain and not group.endswith("*") and _is_reached(counts.pages, rules.max_per_pattern):
        return "trap_pattern"
    if is_domain and _is_reached(counts.pages, rules.max_per_domain):
        return "trap_domain"
    is_mirrored = counts.foreign * 2 >= counts.witnesses
    if is_mirrored and _is_reached(counts.foreign * WITNESS_EVERY, rules.max_worthless):
        return "trap_mirror"
    is_spent = _is_reached(counts.spent, rules.max_worthless) and not is_domain
    return _name_trap(group, counts) if is_spent else ""


def _is_reached(count: int, limit: int | None) -> bool:
    return limit is not None and count >= limit


def _name_trap(group: str, counts: TrapCounts) -> str:
    """What kind of trap it looks like; only its name depends on it."""
    if counts.barren * 2 > counts.wasted:
        return "trap_parameters" if group.endswith("?*") else "trap_calendar"
    if find_month(counts.example) is not None:
        return "trap_calendar"
    if find_session_ids(counts.example):
        return "trap_session"
    if group.endswith("?*"):
        return "trap_parameters"
    if group.endswith("*"):
        return "trap_soft_404"
    return "trap_same_content" if counts.copies >= counts.near else "trap_near_duplicate"


def describe_trap(group: str, counts: TrapCounts) -> str:
    """A group in words: the rule by which it is closed, its URLs, and what they cost."""
    rule = f"{counts.rule}: " if counts.rule else ""
    group = group.removesuffix("?")
    if counts.rule in ("trap_pattern", "trap_domain"):
        return f"{rule}{format_count(counts.pages, 'page')} of {group} were fetched"
    if counts.rule == "trap_mirror":
        same = f"{counts.foreign:,} of {format_count(counts.witnesses, 'page')} that were compared"
        return f"{rule}{same} of {group} are those of another host"
    brought = f"{counts.wasted:,} of {format_count(counts.pages, 'page')} of {group}"
    return f"{rule}{brought} brought nothing new"


# --------------------------------------------------------------------------- what is refused


def find_closed(
    url: str, via: str, closed: Mapping[str, TrapCounts], known: Mapping[str, TrapCounts]
) -> str | None:
    """The closed group for which a URL that was found at ``via`` is not taken; ``None``: it may be.

    ``closed`` are the groups that are closed, ``known`` is what is known of others.
    """
    pattern, family, host = groups_of(url)
    if pattern in closed:
        return pattern
    if host in closed and closed[host].rule == "trap_mirror":
        return host
    if _has_closed_domain(closed) and _closes_domain(domain := domain_group_of(url), host, closed, known):
        return domain
    if family in closed and not _is_proven(known.get(pattern)):
        return family
    good = (pattern, family, pattern_of(via))
    is_good = via == head_of(via) or any(_is_proven(known.get(group)) for group in good)
    return host if host in closed and not is_good else None


def _has_closed_domain(closed: Mapping[str, TrapCounts]) -> bool:
    return any(group.startswith("*.") for group in closed)


def _closes_domain(
    domain: str, host: str, closed: Mapping[str, TrapCounts], known: Mapping[str, TrapCounts]
) -> bool:
    """Whether a domain is closed for a host of it: one with pages of its own stays open for mirrors."""
    if domain not in closed:
        return False
    return closed[domain].rule == "trap_domain" or not _is_original(known.get(host))


def _is_proven(counts: TrapCounts | None) -> bool:
    """Whether the pages of a group have been worth what they cost."""
    return counts is not None and counts.gained > counts.wasted


def _is_original(host: TrapCounts | None) -> bool:
    """Whether a host is known to have pages that no older one has."""
    return host is not None and host.witnesses > 0 and host.foreign * 2 < host.witnesses


# --------------------------------------------------------------------------- groups


def family_of(url: str) -> str:
    """One path with whatever query; or of a URL without a query, its first directory."""
    head = head_of(url)
    path, mark, _ = url[len(head) :].partition("?")
    if mark:
        return f"{head}{VARIABLE.sub('#', path)}?*"
    first, more, _ = path.partition("/")
    return f"{head}{VARIABLE.sub('#', first)}/*" if more else f"{head}*"


def host_group_of(url: str) -> str:
    """All URLs of a host."""
    return f"{head_of(url)}**"


def groups_of(url: str) -> tuple[str, str, str]:
    """The groups of a canonical URL, the smallest one first: pattern, family, host.

    They are those of ``pattern_of``, ``family_of`` and ``host_group_of``, with one look at the path.
    """
    head = head_of(url)
    path, mark, query = url[len(head) :].partition("?")
    shape = VARIABLE.sub("#", path)
    if not mark:
        first, more, _ = shape.partition("/")
        return f"{head}{shape}?", f"{head}{first}/*" if more else f"{head}*", f"{head}**"
    names = sorted({parameter.partition("=")[0] for parameter in query.split("&")}) if query else ()
    return f"{head}{shape}?{'&'.join(names)}", f"{head}{shape}?*", f"{head}**"


def domain_group_of(url: str) -> str:
    """All hosts of a registrable domain."""
    return f"*.{registrable_domain(hostname_of(url))}"


# --------------------------------------------------------------------------- what URLs say


def find_month(url: str) -> int | None:
    """The month that a URL names, counted from the year 0; ``None``: it names none."""
    rest = url[len(head_of(url)) :]
    year, month = _YEAR.search(rest), _MONTH.search(rest)
    if year is not None and month is not None:
        return int(year[1]) * 12 + int(month[1]) - 1
    found = _DATE.search(rest)
    return None if found is None else int(found[1]) * 12 + int(found[2]) - 1


def is_far_date(url: str, now: float) -> bool:
    """Whether a URL names a month that is farther away than what people put into calendars."""
    month = find_month(url)
    if month is None:
        return False
    today = datetime.fromtimestamp(now, UTC)
    ahead = month - (today.year * 12 + today.month - 1)
    return not -BACK_MONTHS <= ahead <= AHEAD_MONTHS


def find_session_ids(url: str) -> list[str]:
    """What in a URL seems to name a visit: values of parameters of known names, and long tokens."""
    rest = url[len(head_of(url)) :]
    found = _TOKEN.findall(rest)
    if "=" in rest:
        path, _, query = rest.partition("?")
        for part in (*query.split("&"), *path.split(";")[1:]):
            name, _, value = part.partition("=")
            if value and _SESSION.fullmatch(name.lower()):
                found.append(value)
    return found
