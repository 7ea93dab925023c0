"""What the pages of a job's URL patterns were worth, counted by all its workers together, over its runs.

A worker saves what it has counted, and hears which groups others have closed, at most once a second; while
it works, only groups of which it has counted a fiftieth of a budget. So a page costs no round trip, and
crawls of many small patterns cost nothing. A budget is overrun by a fiftieth for each worker at most, and by
what all of them fetch within a second; what a worker that is killed has not saved is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple
from zlib import crc32

from gossamer.core.requests import Entry, Request
from gossamer.core.results import FetchResult, ItemRecord, VisitResult
from gossamer.engine.trap_counts import GroupCounts, TrapCountStore
from gossamer.policy.content_memory import ContentMemory, witness_of
from gossamer.policy.trap_budgets import (
    BARREN_PAGE,
    COPIED_PAGE,
    ITEM_PAGE,
    LONG_GOOD,
    MANY_QUERIES,
    SUSPECT_EVERY,
    UNKNOWN_PAGE,
    WITNESS_EVERY,
    PageWorth,
    TrapBudgetRules,
    TrapCounts,
    add_counts,
    domain_group_of,
    family_of,
    find_closed,
    find_rule,
    groups_of,
    is_far_date,
)
from gossamer.policy.url_parser import head_of
from gossamer.policy.urls import hostname_of
from gossamer.ports.clock import Clock
from gossamer.ports.committer import Committer

SAVED_EVERY_S = 1.0
MAX_GROUPS = 20_000
"""Groups that a worker remembers, about 10 MB: then only those with several pages."""
MAX_WITNESSES = 50_000
"""Pages by which mirrors are known that a worker remembers, about 10 MB."""
MAX_NEW_WITNESSES = 5_000
"""Pages by which mirrors are known, between two saves."""
SMALL = 4
"""Pages of a group that is forgotten first."""


class TrapGroup(NamedTuple):
    """URLs that are not taken any more."""

    name: str
    counts: TrapCounts


class TrapMeter:
    """The counts of one job as one of its workers knows them. ``is_alone``: no other worker counts."""

    def __init__(
        self,
        store: TrapCountStore,
        clock: Clock,
        rules: TrapBudgetRules,
        memory: ContentMemory,
        *,
        is_alone: bool = False,
    ) -> None:
        self._store = store
        self._clock = clock
        self._rules = rules
        self._is_alone = is_alone
        has_limits = rules.max_per_pattern is not None or rules.max_per_domain is not None
        self._least: float = -inf if has_limits or rules.max_worthless is None else rules.max_worthless
        self._known: GroupCounts = {}
        self._unsaved: GroupCounts = {}
        self._closed: GroupCounts = {}
        self._announced: set[str] = set()
        self._memory = memory
        self._witnesses: dict[str, str] = {}
        self._new_witnesses: dict[str, str] = {}
        self._saved_at = clock.now()

    def __repr__(self) -> str:
        return f"<TrapMeter: {len(self._known)} groups, {len(self._closed)} of them closed>"

    async def load(self) -> None:
        """Know what was counted before. Raises ``StorageError``."""
        self._known = await self._store.read_counts()
        self._note_closed(await self._store.read_closed())
        self._note_closed({group: counts for group, counts in self._known.items() if counts.rule})

    # ------------------------------------------------------------------ refusing

    @property
    def has_traps(self) -> bool:
        """Whether any URL may be refused."""
        return bool(self._closed)

    def refuse_url(self, url: str, via: str) -> TrapGroup | None:
        """The trap for which a URL that was found at ``via`` is not taken, and counts that; ``None``: it is.

        Never waits. A seed (``via`` is empty) is taken whatever is known.
        """
        if not self._closed or not via:
            return None
        group = find_closed(url, via, self._closed, self._known)
        if group is None:
            return None
        self._delta_of(group).refused += 1
        counts = self._closed[group]
        counts.refused += 1
        return TrapGroup(group, counts)

    # ------------------------------------------------------------------ counting

    def observe_page(
        self, request: Request, fetched: FetchResult, items: Sequence[ItemRecord], entries: Sequence[Entry]
    ) -> None:
        """Count a page that a spider has read, with its items and with what of its links was taken."""
        url, now = request.url, self._clock.now()
        groups = groups_of(url)
        if len(self._known) > MAX_GROUPS:
            self._forget_small()
        if groups[0] not in self._known and groups[1].endswith("?*"):
            self._delta_of(groups[1]).queries += 1
            self._known_of(groups[1]).queries += 1
        page = self._judge_page(url, groups, fetched.body, items, entries)
        more = () if self._rules.max_per_domain is None else (domain_group_of(url),)
        change, floor = page.wasted - page.gained, -(self._rules.max_worthless or 0)
        for group in (*groups, *more):
            self._delta_of(group).add_page(page, fetched.wire_bytes, url, now)
            known = self._known_of(group)
            known.add_page(page, fetched.wire_bytes, url, now)
            if change:
                known.spent = max(known.spent + change, floor)  # as ``spend_on`` does
            if known.spent >= self._least or known.foreign or known.rule:
                self._close_if_spent(group, known)
        if self._rules.max_worthless is not None:
            self._note_witness(url, groups[2], fetched.body)

    def _judge_page(
        self,
        url: str,
        groups: tuple[str, str, str],
        body: bytes,
        items: Sequence[ItemRecord],
        entries: Sequence[Entry],
    ) -> PageWorth:
        """What a page brought, as far as that is known: only samples are looked into."""
        if self._rules.max_worthless is None:
            return UNKNOWN_PAGE
        if self._memory.has_new_items(url, items):
            return ITEM_PAGE
        if self._memory.is_copy(url, body):
            return COPIED_PAGE
        if self._known_of(groups[1]).queries >= MANY_QUERIES:
            leads_out = any(family_of(entry.request.url) != groups[1] for entry in entries)
            return UNKNOWN_PAGE if leads_out else BARREN_PAGE
        is_far = is_far_date(url, self._clock.now())
        return BARREN_PAGE if is_far else self._judge_sample(url, groups, body)

    def _judge_sample(self, url: str, groups: tuple[str, str, str], body: bytes) -> PageWorth:
        """What a page brought, if it is one that is looked into; then it stands for others like it."""
        pattern, family, host = map(self._known_of, groups)
        every, count = self._rules.sample_every, host.pages
        if count > LONG_GOOD and not host.near:
            every *= 4
        if pattern.near or family.near:
            every, count = SUSPECT_EVERY, pattern.pages if pattern.near else family.pages
        if (count + 1) % every == 0:
            is_near = self._memory.is_near(groups[2], url, body)
            return PageWorth(near=every) if is_near else PageWorth(texts=every)
        return UNKNOWN_PAGE

    def _note_witness(self, url: str, host: str, body: bytes) -> None:
        """Compare some of the pages with the same paths of other hosts."""
        path = url[len(head_of(url)) :]
        if crc32(path.encode()) % WITNESS_EVERY:
            return
        page = witness_of(path, hostname_of(url), body)
        self._delta_of(host).witnesses += 1
        self._known_of(host).witnesses += 1
        first = self._witnesses.setdefault(page, host)
        if first != host:
            self._count_foreign(first, host)
        elif len(self._new_witnesses) < MAX_NEW_WITNESSES:
            self._new_witnesses[page] = host
        if len(self._witnesses) > MAX_WITNESSES:
            self._witnesses.clear()

    def _count_foreign(self, first: str, second: str) -> None:
        """Two hosts have the same page: of them the younger one is the mirror."""
        mirror = max((first, second), key=lambda host: (self._known_of(host).since, host))
        groups = [mirror]
        if domain_group_of(first) == domain_group_of(second):
            groups.append(domain_group_of(first))
            self._delta_of(groups[1]).witnesses += 1
            self._known_of(groups[1]).witnesses += 1
        for group in groups:
            self._delta_of(group).foreign += 1
            known = self._known_of(group)
            known.foreign += 1
            self._close_if_spent(group, known)

    def _close_if_spent(self, group: str, known: TrapCounts) -> None:
        if not known.rule:
            known.rule = find_rule(group, known, self._rules)
        if known.rule:
            self._closed[group] = known

    def _delta_of(self, group: str) -> TrapCounts:
        return self._unsaved.get(group) or self._unsaved.setdefault(group, TrapCounts())

    def _known_of(self, group: str) -> TrapCounts:
        return self._known.get(group) or self._known.setdefault(group, TrapCounts())

    def _forget_small(self) -> None:
        """Forget groups of few pages; a trap has many."""
        least = SMALL
        while len(self._known) > MAX_GROUPS // 2:
            kept = {group: one for group, one in self._known.items() if one.rule or one.pages >= least}
            self._known = kept
            self._unsaved = {group: one for group, one in self._unsaved.items() if group in kept}
            if len(kept) == len(self._closed):
                break
            least *= 4

    # ------------------------------------------------------------------ sharing

    async def save_if_due(self) -> None:
        """Save what matters, as far as it is time to. Raises ``StorageError``: it is still to be saved."""
        if self._clock.now() - self._saved_at >= SAVED_EVERY_S:
            await self._save(self._rules.batch)
            if not self._is_alone:
                self._note_closed(await self._store.read_closed())

    async def save(self) -> None:
        """Save everything, at the end. Raises ``StorageError``."""
        await self._save(1)

    async def _save(self, least: int) -> None:
        self._saved_at = self._clock.now()
        batch = {
            group: counts
            for group, counts in self._unsaved.items()
            if counts.pages + counts.foreign * WITNESS_EVERY >= least or counts.refused
        }
        if batch:
            await self._save_counts(batch)
        if self._new_witnesses and len({*self._witnesses.values()}) > 1:
            await self._save_witnesses()
        news = {group: counts for group, counts in self._closed.items() if group not in self._announced}
        if news:
            self._announced |= news.keys()
            self._note_closed(await self._store.add_closed(news))

    async def _save_counts(self, batch: GroupCounts) -> None:
        for group in batch:
            del self._unsaved[group]
        try:
            saved = await self._store.add_counts(batch)
        except BaseException:
            for group, counts in batch.items():
                self._unsaved[group] = add_counts(group, counts, self._delta_of(group), self._rules)
            raise
        for group, counts in saved.items():
            more = self._unsaved.get(group)  # what was counted while it was being saved
            known = counts if more is None else add_counts(group, counts, more, self._rules)
            self._known[group] = known
            self._close_if_spent(group, known)

    async def _save_witnesses(self) -> None:
        news = dict(self._new_witnesses)
        known = await self._store.add_witnesses(news)
        self._new_witnesses = {page: host for page, host in self._new_witnesses.items() if page not in news}
        for page, first in known.items():
            self._witnesses[page] = first
            if first != news[page]:
                self._count_foreign(first, news[page])

    def _note_closed(self, closed: GroupCounts) -> None:
        for group, counts in closed.items():
            self._announced.add(group)
            known = self._known.get(group)
            self._closed[group] = known if known is not None and known.rule else counts


class TrapCommitter:
    """Port ``Committer``: another one, before which the counts are saved, as far as it is time to."""

    def __init__(self, committer: Committer, meter: TrapMeter) -> None:
        self._committer = committer
        self._meter = meter

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        await self._meter.save_if_due()
        return await self._committer.commit(results)
