"""Budgets of groups of URLs that learn: what pages were worth, and when a group is a trap. Pure.

Every page counts for its groups (``policy/url_groups.py``): its pattern, its family and its host. A page that
brings nothing new spends a page of their budgets; one that brings something new gives some back. A group that
has spent half of ``max_worthless`` is closed; the other half is for what nobody can know in time: pages that
were not looked into, first copies, pages in flight. A group that has brought much may spend more, so a
catalogue of any size stays open.

A trap of many families must not have a budget for each of them: every family that spends halves what others
of its host may spend. And what a closed pattern has spent is not held against its family, nor what families
spend against their host, which is closed for what is spent beside them: so good pages beside a trap are not
lost.

A closed pattern refuses its URLs. A closed family refuses those of patterns that are not known to be good; a
closed host only those that were found on such pages, too, and not on its home page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from zlib import crc32

import msgspec

from gossamer.core.lazy import lazy_pattern
from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.url_groups import (
    domain_group_of,
    groups_of,
    is_domain,
    is_family,
    is_pattern,
    pattern_of,
    wider_groups_of,
)
from gossamer.policy.url_parser import head_of
from gossamer.policy.urls import SESSION_PARAMETERS

ITEM_GAIN = 5
"""Pages without anything new that one page with new items makes up for."""
TEXT_GAIN = 2
"""... and one page with a text of its own."""
MANY_QUERIES = 12
"""Sets of parameters of one path from which on combining them may have no end."""
QUERY_BITS = 48
"""Bits for sets of parameters, one for each; of a dozen sets one or two share theirs with another."""
WITNESS_EVERY = 8
"""One path of so many is compared with the same path of other hosts."""
FEWEST_FOREIGN = 4
"""Pages that two hosts have to have in common before one of them can be the mirror of the other."""
LONG_GOOD = 1000
"""Pages of a host from which on a quarter of the samples is enough."""
OFTEN_SEEN = 2
"""Times that an item was seen elsewhere where nothing is wrong: on a list, and on a page of its own."""
YOUNG_PAGES = 16
"""After so many pages of a family one is looked into, and after as many again."""
SUSPECT_EVERY = 2
"""One page of so many is looked into where it may soon be plain that they bring nothing."""
CREDIT_SHARE = 20
"""A group may spend one page more for so many that it has given back."""
FEW_PAGES = 3
"""Pages from which on a group is known."""
LEAST_SHARE = 8
"""However many families of a host spend, each may spend such a part of what one alone may."""
MAX_EXAMPLE = 300
"""Characters of a URL that is kept as an example."""
AHEAD_MONTHS, BACK_MONTHS = 13, 40 * 12
"""Dates in URLs beyond these are those of a calendar that is turned on and on."""

_DATE = lazy_pattern(r"(?<!\d)(19\d\d|2[01]\d\d)[/._-](0?[1-9]|1[0-2])(?!\d)")
_YEAR = lazy_pattern(r"\b(?:year|yr|y|jahr)=([12]\d{3})\b", re.IGNORECASE)
_MONTH = lazy_pattern(r"\b(?:month|mon|m|monat)=(\d{1,2})\b", re.IGNORECASE)
_SESSION = lazy_pattern("|".join(name.replace("*", ".*") for name in SESSION_PARAMETERS))
_WORD = re.compile(r"[\w-]{8,}", re.ASCII)
_DIGIT, _LETTER, _HEXADECIMAL = re.compile(r"\d"), re.compile(r"[A-Za-z]"), re.compile(r"[0-9a-f]+")


FindCounts = Callable[[str], "TrapCounts | None"]
"""What is known of a group; ``None``: nothing."""


class TrapBudgetRules(Record, frozen=True, kw_only=True):
    """How many pages a group of URLs may cost; ``None``: any number."""

    max_worthless: int | None = 500  # more than worthwhile pages made up for
    max_per_pattern: int | None = None
    max_per_domain: int | None = None

    @property
    def closes_at(self) -> int | None:
        """What a group may spend that has brought nothing yet; ``None``: any number of pages."""
        return None if self.max_worthless is None else max(1, self.max_worthless // 2)

    @property
    def least_spending(self) -> int:
        """Pages that a group has to have spent to count as one that may be a trap."""
        return max(1, (self.closes_at or 0) // LEAST_SHARE)

    @property
    def batch(self) -> int:
        """Pages of a group that one worker may have counted while the others do not know."""
        limits = (self.max_worthless, self.max_per_pattern, self.max_per_domain)
        return max(1, min(limit for limit in (*limits, 500) if limit is not None) // 50)

    def weigh_sample(self, host: TrapCounts, family: TrapCounts, times_seen: int | None) -> int:
        """For how many pages the next one of a host stands, if it is looked into; 0: it is not.

        Looking is dear: some of the first pages of a family are enough, more of those whose items were seen
        so many times, and of all others some.
        """
        if times_seen is not None and times_seen >= OFTEN_SEEN:
            return SUSPECT_EVERY if family.pages % SUSPECT_EVERY else 0
        most = max(4, min(32, (self.max_worthless or 0) // 16))
        if family.pages + 1 in (YOUNG_PAGES, 2 * YOUNG_PAGES):
            return min(most, YOUNG_PAGES)
        every = most * 4 if host.pages > LONG_GOOD else most
        return 0 if (host.pages + 1) % every else every


class _Worth:
    """What pages have brought, in pages."""

    __slots__ = ()
    items: int
    texts: int
    copies: int
    near: int
    barren: int

    @property
    def wasted(self) -> int:
        """Pages that brought nothing."""
        return self.copies + self.near + self.barren

    @property
    def gained(self) -> int:
        """Pages without anything new that the others make up for."""
        return ITEM_GAIN * self.items + TEXT_GAIN * self.texts


class PageWorth(_Worth, Record, frozen=True, kw_only=True):
    """What one page brought: of a sample, as many pages as it stands for."""

    items: int = 0  # items that were not there before
    texts: int = 0  # a text that was not there before
    copies: int = 0  # the very content of another page
    near: int = 0  # nearly the text of another page, under the same heading
    barren: int = 0  # neither items nor links to anything else, where there may be no end


UNKNOWN_PAGE, ITEM_PAGE = PageWorth(), PageWorth(items=1)
COPIED_PAGE = PageWorth(copies=1)


class TrapCounts(_Worth, msgspec.Struct, array_like=True, kw_only=True):
    """What is known of one group of URLs. Counts of several workers are added up."""

    pages: int = 0
    items: int = 0  # pages, like the next four
    texts: int = 0
    copies: int = 0
    near: int = 0
    barren: int = 0
    witnesses: int = 0  # of a host: pages that were compared with those of other hosts
    foreign: int = 0  # those of them that an older host has, too
    queries: int = 0  # of a family: bits of its sets of parameters, which are the same for all workers
    size_bytes: int = 0  # of their bodies, as they came
    refused: int = 0  # URLs of it that were not taken
    spent: int = 0  # of the budget
    since: float = 0.0  # when its first page came
    example: str = ""  # a URL of it
    rule: str = ""  # why it is closed; empty: it is open

    def add_page(self, page: PageWorth, size_bytes: int) -> None:
        """One more page."""
        self.pages += 1
        self.size_bytes += size_bytes
        if page is UNKNOWN_PAGE:
            return
        if page is ITEM_PAGE:
            self.items += 1
            if not self.spent:
                return
        else:
            self.items += page.items
            self.texts += page.texts
            self.copies += page.copies
            self.near += page.near
            self.barren += page.barren
        self.spent = max(self.spent + page.wasted - page.gained, 0)

    def add_query(self, pattern: str) -> None:
        """It has URLs of this pattern: whoever else has seen that changes nothing."""
        self.queries |= 1 << crc32(pattern.encode()) % QUERY_BITS

    @property
    def has_many_queries(self) -> bool:
        """Whether combining the parameters of a family may have no end."""
        return self.queries.bit_count() >= MANY_QUERIES


_NO_SUMS = ("queries", "since", "example", "rule")
_SUMS = tuple(name for name in TrapCounts.__struct_fields__ if name not in _NO_SUMS)


_NOTHING = TrapCounts()


def count_since(known: TrapCounts, saved: TrapCounts) -> TrapCounts:
    """What was counted after something was saved. What was spent may have become less."""
    if saved == _NOTHING:
        return msgspec.structs.replace(known)
    sums = {name: getattr(known, name) - getattr(saved, name) for name in _SUMS}
    return TrapCounts(
        **sums, queries=known.queries, since=known.since, example=known.example, rule=known.rule
    )


def add_counts(known: TrapCounts, more: TrapCounts) -> TrapCounts:
    """What is known of a group, with what another, or the same worker has counted since."""
    sums = {name: getattr(known, name) + getattr(more, name) for name in _SUMS}
    sums["spent"] = max(sums["spent"], 0)
    return TrapCounts(
        **sums,
        queries=known.queries | more.queries,
        since=min((since for since in (known.since, more.since) if since), default=0.0),
        example=known.example or more.example,
        rule=known.rule or more.rule,
    )


# --------------------------------------------------------------------------- what is closed


def find_rule(
    group: str, counts: TrapCounts, rules: TrapBudgetRules, spending: Mapping[str, TrapCounts]
) -> str:
    """The rule that closes a group, as links are counted by it; empty: it stays open.

    ``spending`` are all groups that are closed, or have spent ``least_spending`` pages.
    """
    if _is_reached(counts.pages, rules.max_per_pattern) and is_pattern(group):
        return "trap_pattern"
    if _is_reached(counts.pages, rules.max_per_domain) and is_domain(group):
        return "trap_domain"
    if counts.foreign >= FEWEST_FOREIGN and counts.foreign * 2 >= counts.witnesses:
        compared = min(counts.foreign, counts.witnesses)  # workers may find the same page with several hosts
        if _is_reached(2 * WITNESS_EVERY * compared, rules.closes_at):
            return "trap_mirror"
    is_spent = counts.spent > 0 and not is_domain(group) and _has_spent_all(group, counts, rules, spending)
    return _name_trap(group, counts) if is_spent else ""


def _has_spent_all(
    group: str, counts: TrapCounts, rules: TrapBudgetRules, spending: Mapping[str, TrapCounts]
) -> bool:
    limit = rules.closes_at
    if limit is None or counts.spent < rules.least_spending:
        return False
    limit += min(counts.gained // CREDIT_SHARE, limit)
    head = head_of(group)
    others = [name for name in spending if name.startswith(head) and name != group]
    families = [name for name in others if is_family(name)]
    if not is_family(group) and not is_pattern(group):
        return counts.spent - sum(spending[name].spent for name in families) >= limit
    family = group if is_family(group) else wider_groups_of(group)[0]
    patterns = [name for name in others if is_pattern(name) and spending[name].rule]
    closed = [name for name in patterns if family in wider_groups_of(name)]
    inside = sum(spending[name].spent for name in closed) if group == family else 0
    rivals = len(closed) + sum(name != family for name in families)
    return counts.spent - inside >= max(rules.least_spending, limit >> rivals)


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
        were = "was" if counts.pages == 1 else "were"
        return f"{rule}{format_count(counts.pages, 'page')} of {group} {were} fetched"
    if counts.rule == "trap_mirror":
        same = f"{counts.foreign:,} of {format_count(counts.witnesses, 'page')} that were compared"
        return f"{rule}{same} of {group} are those of another host"
    brought = f"{counts.wasted:,} of {format_count(counts.pages, 'page')} of {group}"
    return f"{rule}{brought} brought nothing new"


# --------------------------------------------------------------------------- what is refused


def find_closed(url: str, via: str, closed: Mapping[str, TrapCounts], find_counts: FindCounts) -> str | None:
    """The closed group for which a URL that was found at ``via`` is not taken; ``None``: it may be.

    ``closed`` are the groups that are closed; ``find_counts`` gives what is known of any.
    """
    pattern, family, host = groups_of(url)
    if pattern in closed:
        return pattern
    if host in closed and closed[host].rule == "trap_mirror":
        return host
    domain = domain_group_of(url)
    if domain in closed and (closed[domain].rule == "trap_domain" or not _is_original(find_counts(host))):
        return domain  # but a host with pages of its own stays open for mirrors
    if family in closed and not _is_good(find_counts(pattern)):
        return family
    if host not in closed or via == head_of(via):
        return None
    is_good = any(_is_good(find_counts(group)) for group in (pattern, family, pattern_of(via)))
    return None if is_good else host


def _is_good(counts: TrapCounts | None) -> bool:
    """Whether pages of a group were worth what they cost, or some are known and none brought nothing."""
    if counts is None:
        return False
    return counts.gained > counts.wasted or (counts.pages >= FEW_PAGES and not counts.wasted)


def _is_original(host: TrapCounts | None) -> bool:
    """Whether a host is known to have pages that no older one has."""
    return host is not None and host.witnesses > 0 and host.foreign * 2 < host.witnesses


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
    found = [word for word in _WORD.findall(rest) if _is_token(word)]
    if "=" in rest:
        path, _, query = rest.partition("?")
        for part in (*query.split("&"), *path.split(";")[1:]):
            name, _, value = part.partition("=")
            if value and _SESSION.fullmatch(name.lower()):
                found.append(value)
    return found


def _is_token(word: str) -> bool:
    """Whether a word has digits and letters, and is long or hexadecimal."""
    has_both = not word.isalpha() and _DIGIT.search(word) is not None and _LETTER.search(word) is not None
    return has_both and (len(word) >= 16 or _HEXADECIMAL.fullmatch(word) is not None)
