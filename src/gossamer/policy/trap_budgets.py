"""Budgets of groups of URLs that learn: what pages were worth, and when a group is a trap. Pure.

Every page counts for its groups (``policy/url_groups.py``): its pattern, its family and its host. A group is
a trap only if its own pages lead to more and more of its URLs, and bring nothing new. So a page spends a page
of a group's budget if it brings nothing new, was found on a page of the group, and leads to new URLs of it. A
leaf, which leads to none, spends only beside such pages, and a few for each of them: a finite set of pages is
fetched whole, whatever is on them. A page that brings something new gives some back, and one page to the
groups of the page on which it was found. A group that has spent half of ``max_worthless`` is closed; the
other half is for pages that cannot be known in time: pages not examined, first copies, pages in flight.
A group that has brought much may spend more, so a catalogue of any size stays open.

A trap of many families must not get a budget for each: every family that spends halves the budgets of others
on its host. The spending of a closed pattern does not count against its family, nor that of families against
their host, which is closed for spending outside them: good pages beside a trap are not lost.

A closed pattern refuses its URLs, but for one now and then: a group opens again when such a page brings
something new. A closed family refuses those of patterns that are not known to be good; a closed host only
those that were also found on such pages, and not on its home page (``policy/trap_closing.py``).
"""

from __future__ import annotations

from enum import IntEnum
from zlib import crc32

import msgspec

from gossamer.core.record import Record

ITEM_GAIN = 5
"""Pages without anything new that one page with new items makes up for."""
TEXT_GAIN = 2
"""... and one page with a text of its own."""
PATTERN_MERCY = 5
"""Refund of a pattern for an item, as a multiple: of ids tried in turn few may be in use."""
LEAVES_PER_BREEDER = 4
"""Pages without new links that spend, for each page that brings nothing but new links."""
FIRST_PROBE, PROBE_GROWTH = 16, 2
"""A closed group still fetches the 16th URL that it refuses, then the 64th, the 256th and so on."""
REOPENED_SHARE = 10
"""A group that was opened again may spend such a part of what another may."""
MANY_QUERIES = 12
"""Sets of parameters of one path from which on combining them may have no end."""
QUERY_BITS = 48
"""Bits for sets of parameters, one for each; of a dozen sets one or two share theirs with another."""
WITNESS_EVERY = 8
"""One path of this many is compared with the same path of other hosts."""
LONG_GOOD = 1000
"""Pages of a host from which on a quarter of the samples is enough."""
OFTEN_SEEN = 2
"""Times that an item was seen elsewhere where nothing is wrong: on a list, and on a page of its own."""
YOUNG_PAGES = 16
"""Number of pages of a family after which one is examined, and again after as many."""
SUSPECT_EVERY = 2
"""One page of this many is examined if a group may soon prove worthless."""
LEAST_SHARE = 8
"""Smallest share of a single family's budget that each of many spending families gets."""
MAX_EXAMPLE = 300
"""Characters of a URL that is kept as an example."""
PROBED_RULES = frozenset(
    {
        "trap_session",
        "trap_calendar",
        "trap_parameters",
        "trap_soft_404",
        "trap_near_duplicate",
        "trap_same_content",
    }
)
"""Rules that a page with something new proves wrong: neither limits nor mirrors, whose pages are known."""


class TrapBudgetRules(Record, frozen=True, kw_only=True):
    """How many pages a group of URLs may cost; ``None``: any number."""

    max_worthless: int | None = 500  # more than worthwhile pages made up for
    max_per_pattern: int | None = None
    max_per_domain: int | None = None

    @property
    def closes_at(self) -> int | None:
        """Limit for a group without any yield so far; ``None``: no limit."""
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
        """Return how many pages a sampled page of a host represents; 0 if it is not examined.

        Examining is expensive: some of a family's first pages are enough, more of those whose items were seen
        often, and a few of all others.
        """
        if times_seen is not None and times_seen >= OFTEN_SEEN:
            return SUSPECT_EVERY if family.pages % SUSPECT_EVERY else 0
        most = max(4, min(32, (self.max_worthless or 0) // 16))
        if family.pages + 1 in (YOUNG_PAGES, 2 * YOUNG_PAGES):
            return min(most, YOUNG_PAGES)
        every = most * 4 if host.pages > LONG_GOOD else most
        return 0 if (host.pages + 1) % every else every


class _Worth:
    """The yield of pages, counted in pages."""

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
    """The yield of one page; a sampled page counts as the pages it represents."""

    items: int = 0  # items that were not there before
    texts: int = 0  # a text that was not there before
    copies: int = 0  # the very content of another page
    near: int = 0  # nearly the text of another page, under the same heading
    barren: int = 0  # neither items nor links to anything else, where there may be no end


UNKNOWN_PAGE, ITEM_PAGE = PageWorth(), PageWorth(items=1)
COPIED_PAGE = PageWorth(copies=1)


class DescentKind(IntEnum):
    """How a page belongs to a group, by where it was found and where it leads."""

    OUTSIDE = 0  # found elsewhere, or leading to possibly good pages elsewhere
    LEAF = 1  # found in the group, and leading to nothing new of it
    BREEDER = 2  # found in the group, and leading to new URLs of it


class TrapCounts(_Worth, msgspec.Struct, array_like=True, kw_only=True):
    """Counts of one group of URLs. Counts of several workers are added up."""

    pages: int = 0
    items: int = 0  # pages, like the next four
    texts: int = 0
    copies: int = 0
    near: int = 0
    barren: int = 0
    witnesses: int = 0  # of a host: pages that were compared with those of other hosts
    foreign: int = 0  # those of them that an older host also has
    queries: int = 0  # of a family: bits of its sets of parameters, which are the same for all workers
    size_bytes: int = 0  # of their bodies, as they came
    refused: int = 0  # URLs of it that were not taken
    spent: int = 0  # of the budget
    since: float = 0.0  # when its first page came
    example: str = ""  # a URL of it
    rule: str = ""  # why it is closed; empty: it is open
    bred: int = 0  # spent pages that led to new URLs of the group
    leaves: int = 0  # spent pages that did not
    seeds: int = 0  # of a host: 1 if a person has named a page of it
    probes: int = 0  # steps of ``FIRST_PROBE`` on; at each of them a worker fetches one of its URLs
    opened: int = 0  # times that it was opened again

    def add_page(
        self, page: PageWorth, size_bytes: int, descent: DescentKind = DescentKind.BREEDER, mercy: int = 1
    ) -> None:
        """One more page. ``mercy``: how many times what its items make up for is given back."""
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
        gained = page.gained + (mercy - 1) * ITEM_GAIN * page.items
        self.spent = max(self.spent + self._charge(page.wasted, descent) - gained, 0)

    def _charge(self, wasted: int, descent: DescentKind) -> int:
        """Charge pages without anything new."""
        if descent is DescentKind.BREEDER:
            self.bred += wasted
            return wasted
        if descent is DescentKind.OUTSIDE or self.leaves >= LEAVES_PER_BREEDER * self.bred:
            return 0
        self.leaves += wasted
        return wasted

    def give_back(self) -> None:
        """One of its pages led to a page of another group that brought something new."""
        self.spent = max(self.spent - 1, 0)

    def claim_probe(self) -> bool:
        """Whether a URL that is to be refused is fetched all the same; it is counted then, or as refused."""
        if self.rule not in PROBED_RULES or self.refused + 1 < FIRST_PROBE << PROBE_GROWTH * self.probes:
            self.refused += 1
            return False
        self.probes += 1
        return True

    def mend_probes(self) -> None:
        """Take back steps that it cannot have made yet: an older version added up those of all workers."""
        while self.probes and self.refused + 1 < FIRST_PROBE << PROBE_GROWTH * (self.probes - 1):
            self.probes -= 1

    def forgive(self, rules: TrapBudgetRules) -> None:
        """It, or a group within it, was opened again: it may spend a little before it is closed."""
        closes_at = rules.closes_at or 0
        self.spent = min(self.spent, closes_at - closes_at // REOPENED_SHARE)

    def add_query(self, pattern: str) -> None:
        """Note that the group has URLs of this pattern; repeated notes change nothing."""
        self.queries |= 1 << crc32(pattern.encode()) % QUERY_BITS

    @property
    def has_many_queries(self) -> bool:
        """Whether combining the parameters of a family may have no end."""
        return self.queries.bit_count() >= MANY_QUERIES


_NO_SUMS = ("queries", "since", "example", "rule", "opened", "seeds", "probes")
_SUMS = tuple(name for name in TrapCounts.__struct_fields__ if name not in _NO_SUMS)


_NOTHING = TrapCounts()


def count_since(known: TrapCounts, saved: TrapCounts) -> TrapCounts:
    """Return the counts since the last save; the spending may have decreased."""
    if saved == _NOTHING:
        return msgspec.structs.replace(known)
    sums = {name: getattr(known, name) - getattr(saved, name) for name in _SUMS}
    return TrapCounts(
        **sums,
        queries=known.queries,
        since=known.since,
        example=known.example,
        rule=known.rule,
        opened=known.opened,
        seeds=known.seeds,
        probes=known.probes,
    )


def add_counts(known: TrapCounts, more: TrapCounts) -> TrapCounts:
    """Add the counts that this or another worker has made since to those of a group."""
    sums = {name: getattr(known, name) + getattr(more, name) for name in _SUMS}
    sums["spent"] = max(sums["spent"], 0)
    return TrapCounts(
        **sums,
        queries=known.queries | more.queries,
        since=min((since for since in (known.since, more.since) if since), default=0.0),
        example=known.example or more.example,
        rule=merge_rules(known, more),
        opened=max(known.opened, more.opened),
        seeds=max(known.seeds, more.seeds),
        probes=max(known.probes, more.probes),  # else many workers at once would leave out all later steps
    )


def merge_rules(one: TrapCounts, other: TrapCounts) -> str:
    """By which rule a group is closed of which two know: one may not know yet that it was opened again."""
    if one.opened != other.opened:
        return max(one, other, key=lambda counts: counts.opened).rule
    return one.rule or other.rule
