"""Measures the value of a job's groups of URLs, counted by all its workers together, over its runs.

Once a second, a worker saves its counts and reads which groups others have closed; while it works, it saves
only groups of which it has counted a fiftieth of a budget. If it has itself spent that much of a budget, it
does not wait for the second. So a good page costs no round trip, crawls of many small patterns cost nothing,
and workers together overrun a budget by a fiftieth for each of them, and by their requests in flight. The
unsaved counts of a killed worker are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from gossamer.core.requests import Entry
from gossamer.core.results import ItemRecord, PageReading, VisitResult
from gossamer.engine.mirror_memory import MirrorMemory
from gossamer.engine.trap_counts import CountedGroup, GroupCounts, TrapCountStore, state_of
from gossamer.policy.content_memory import ContentMemory
from gossamer.policy.trap_budgets import (
    COPIED_PAGE,
    ITEM_PAGE,
    MAX_EXAMPLE,
    PATTERN_MERCY,
    PROBED_RULES,
    UNKNOWN_PAGE,
    PageWorth,
    TrapBudgetRules,
    TrapCounts,
    add_counts,
    count_since,
    merge_rules,
)
from gossamer.policy.trap_closing import find_closed, find_rule
from gossamer.policy.trap_descent import find_descents, leads_elsewhere
from gossamer.policy.url_groups import domain_group_of, family_of, host_group_of, pattern_of, wider_groups_of
from gossamer.policy.url_signs import is_far_date
from gossamer.ports.clock import Clock
from gossamer.ports.committer import Committer
from gossamer.runtime.unbroken import finish_work

SAVED_EVERY_S = 1.0
MAX_GROUPS = 20_000
"""Groups that a worker remembers, about 10 MB: then only those with several pages."""
SMALL = 4
"""Pages of a group that is forgotten first."""
GROUPS_WITH_LIMITS = {"trap_pattern": pattern_of, "trap_domain": domain_group_of}
"""The group of a URL that is limited by each rule."""


class ReadPage(NamedTuple):
    """A page that a spider has read, with its items and its accepted links."""

    url: str
    body: bytes
    wire_bytes: int
    via: str = ""  # the page on which it was found; empty: a person named it
    items: Sequence[ItemRecord] = ()
    entries: Sequence[Entry] = ()
    read_text: Callable[[], PageReading] | None = None  # ``None``: it has no text
    is_probe: bool = False  # its group was closed, as far as the worker knew that found it


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
        self._batch, self._least_spending = rules.batch, rules.least_spending
        self._has_limits = rules.max_per_pattern is not None or rules.max_per_domain is not None
        self._groups: dict[str, CountedGroup] = {}
        self._around: dict[str, tuple[CountedGroup, ...]] = {}
        self._unsaved: dict[str, CountedGroup] = {}
        self._urgent: dict[str, CountedGroup] = {}
        self._spending: GroupCounts = {}
        self._closed: GroupCounts = {}
        self._announced: dict[str, tuple[int, str]] = {}
        self._probes: set[str] = set()
        self._good_probes: list[tuple[str, str]] = []  # of groups that this worker does not know as closed
        self._memory = memory
        self._mirrors = MirrorMemory(store)
        self._saved_at = clock.now()

    def __repr__(self) -> str:
        return f"<TrapMeter: {len(self._groups)} groups, {len(self._closed)} of them closed>"

    async def load(self) -> None:
        """Load the saved counts. Raises ``StorageError``."""
        for name, counts in (await self._store.read_counts()).items():
            self._take_saved(self._group_of(name), counts)
        self._note_closed(await self._store.read_closed())

    # ------------------------------------------------------------------ refusing

    @property
    def has_traps(self) -> bool:
        """Whether any URL may be refused."""
        return bool(self._closed)

    def refuse_url(self, url: str, via: str) -> TrapGroup | None:
        """Return the trap that refuses a waiting URL, and count the refusal; ``None``: none does."""
        trap = self.find_trap(url, via)
        if trap is None or url in self._probes:
            return None
        if self.claim_probe(trap):
            self._probes.add(url)  # its lease may be given back, or its page tried again
            return None
        return trap

    def find_trap(self, url: str, via: str) -> TrapGroup | None:
        """Return the trap of a URL found at ``via``; ``None`` without one, or if a person named the URL."""
        if not self._closed or not via:
            return None
        name = find_closed(url, via, self._closed, self._find_counts)
        return None if name is None else TrapGroup(name, self._group_of(name).known)

    def claim_probe(self, trap: TrapGroup) -> bool:
        """Whether a URL of a trap is taken all the same, as one is now and then; else it counts as refused.

        It shows whether its group is still a trap. Its request says so to the worker that fetches it.
        """
        self._unsaved[trap.name] = self._group_of(trap.name)
        return trap.counts.claim_probe()

    def note_refusal(self, url: str, rule: str) -> None:
        """Count a URL that a limit of its pattern or its domain has refused before its group was closed."""
        group_of = GROUPS_WITH_LIMITS.get(rule)
        if group_of is not None:
            group = self._group_of(group_of(url))
            group.known.refused += 1
            self._unsaved[group.name] = group

    def _find_counts(self, name: str) -> TrapCounts | None:
        group = self._groups.get(name)
        return None if group is None else group.known

    # ------------------------------------------------------------------ counting

    def observe_page(self, page: ReadPage) -> None:
        """Count a page that a spider has read."""
        pattern = pattern_of(page.url)
        groups = self._around.get(pattern) or self._meet_pattern(pattern, page.url)
        worth, unsaved, wire_bytes = self._judge_page(page, groups), self._unsaved, page.wire_bytes
        if not page.via:
            self.note_seed(page.url)
        if worth.wasted:
            self._count_worthless(page, groups, worth)
        else:
            if worth.gained and (self._closed or page.is_probe) and not self._open_again(page.url, page.via):
                self._good_probes += [(page.url, page.via)] if page.is_probe else []
            mercy = PATTERN_MERCY
            for group in groups:
                group.known.add_page(worth, wire_bytes, mercy=mercy)
                unsaved[group.name] = group
                mercy = 1
            if self._has_limits:
                self._close_spent(groups)
            if self._spending and worth.gained:
                self._give_back(page.via, groups)
        if self._rules.max_worthless is not None:
            host = groups[2]
            compared = self._mirrors.add_page(page.url, host.name, page.body)
            if compared is not None:
                host.known.witnesses += 1
                if compared[1] != host.name:
                    self._count_foreign(*compared, host.name)

    def note_seed(self, url: str) -> None:
        """Record that a person has named a URL: its host is never a mirror."""
        self._group_of(host_group_of(url)).known.seeds = 1

    def _count_worthless(self, page: ReadPage, groups: tuple[CountedGroup, ...], worth: PageWorth) -> None:
        """Count a page without anything new: only for groups whose own pages led to it does it spend."""
        children = (entry.request.url for entry in page.entries)
        names = [group.name for group in groups]
        descents = find_descents(names, page.via, children, self._find_counts)
        for group, descent in zip(groups, descents, strict=True):
            group.known.add_page(worth, page.wire_bytes, descent)
            self._unsaved[group.name] = group
        if self._has_limits or any(descents):
            self._close_spent(groups)

    def _give_back(self, via: str, groups: tuple[CountedGroup, ...]) -> None:
        """Credit a page's results also to the groups that spent for the page that led to it."""
        origin = self._around.get(pattern_of(via), ()) if via else ()
        if origin and leads_elsewhere(origin[1].name, groups[0].name, self._find_counts):
            origin = origin[2:]  # that page was none of a trap in its pattern and family
        for group in origin:
            if group not in groups and group.known.spent:
                group.known.give_back()
        for group in (*groups, *origin):
            self._note_spending(group)

    def _open_again(self, url: str, via: str) -> bool:
        """Open the group that would refuse a page which has brought something new; whether there is one."""
        name = find_closed(url, via, self._closed, self._find_counts) if via else None
        if name is None or self._closed[name].rule not in PROBED_RULES:
            return False
        group = self._urgent[name] = self._group_of(name)
        group.known.rule, group.known.opened = "", group.known.opened + 1
        self._forgive(name)
        return True

    def _forgive(self, name: str) -> None:
        """Reset the spending in a reopened group, also in the groups around it."""
        for group in map(self._group_of, (name, *wider_groups_of(name))):
            group.known.forgive(self._rules)
            self._unsaved[group.name] = group
            self._note_spending(group)

    def _meet_pattern(self, pattern: str, url: str) -> tuple[CountedGroup, ...]:
        """Return the groups of a pattern, which is new or was forgotten."""
        if len(self._groups) > MAX_GROUPS:
            self._forget_small()
        names = (pattern, *wider_groups_of(pattern))
        if self._rules.max_per_domain is not None:
            names = (*names, domain_group_of(pattern))
        groups = self._around[pattern] = tuple(map(self._group_of, names))
        if groups[1].name.endswith("?*"):
            groups[1].known.add_query(pattern)
        for group in groups:
            if not group.known.since:
                group.known.since, group.known.example = self._clock.now(), url[:MAX_EXAMPLE]
        return groups

    def _judge_page(self, page: ReadPage, groups: tuple[CountedGroup, ...]) -> PageWorth:
        """Return the worth of a page, as far as it is known."""
        if self._rules.max_worthless is None:
            return UNKNOWN_PAGE
        pattern, family, host = groups[0].known, groups[1].known, groups[2].known
        has_many_queries = family.has_many_queries
        times_seen = self._memory.count_items(page.url, page.items, has_many_queries=has_many_queries)
        if times_seen == 0:
            return ITEM_PAGE
        if self._memory.is_copy(page.url, page.body):
            return COPIED_PAGE
        is_suspect = pattern.spent or family.spent
        weight = 1 if is_suspect else self._rules.weigh_sample(host, family, times_seen)
        return self._look_into(page, groups, weight) if weight else UNKNOWN_PAGE

    def _look_into(self, page: ReadPage, groups: tuple[CountedGroup, ...], weight: int) -> PageWorth:
        """Return the worth of a page that stands for ``weight`` pages."""
        family, host = groups[1], groups[2]
        if family.known.has_many_queries:
            leads_out = any(family_of(entry.request.url) != family.name for entry in page.entries)
            return UNKNOWN_PAGE if leads_out else PageWorth(barren=weight)
        if is_far_date(page.url, self._clock.now()):
            return PageWorth(barren=weight)
        if page.read_text is None:
            return UNKNOWN_PAGE
        return self._memory.judge_text(host.name, page.url, page.read_text(), weight)

    def _count_foreign(self, page: str, first: str, second: str) -> None:
        """Two hosts have the same page: of them the younger is a mirror of the older, as others may be."""
        older, mirror = sorted((first, second), key=lambda name: (self._group_of(name).known.since, name))
        self._mirrors.settle_first(page, older)
        groups = [self._group_of(mirror)]
        domain = domain_group_of(first)
        if domain == domain_group_of(second):
            groups.append(self._group_of(domain))
            groups[1].known.witnesses += 1
        for group in groups:
            group.known.foreign += 1
            self._unsaved[group.name] = group
        self._close_spent(groups)

    def _close_spent(self, groups: Iterable[CountedGroup]) -> None:
        """Close the groups whose budget is spent, smaller ones first; others may have to hear of it soon."""
        for group in groups:
            known = group.known
            if not known.rule:
                known.rule = find_rule(group.name, known, self._rules, self._spending)
            self._note_spending(group)
            if known.spent - group.saved.spent >= self._batch:
                self._urgent[group.name] = group

    def _note_spending(self, group: CountedGroup) -> None:
        known = group.known
        if known.rule:
            self._closed[group.name] = known
        elif self._closed:
            self._closed.pop(group.name, None)
        if known.rule or known.spent >= self._least_spending:
            self._spending[group.name] = known
        elif self._spending:
            self._spending.pop(group.name, None)

    def _group_of(self, name: str) -> CountedGroup:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = CountedGroup(name, TrapCounts(), TrapCounts())
        return group

    def _forget_small(self) -> None:
        """Forget groups of few pages; a trap has many."""
        least = SMALL
        while len(self._groups) > MAX_GROUPS // 2:
            self._groups = {
                name: group
                for name, group in self._groups.items()
                if group.known.rule or group.known.pages >= least
            }
            if len(self._groups) == len(self._closed):
                break
            least *= 4
        self._unsaved = {name: group for name, group in self._unsaved.items() if name in self._groups}
        self._spending = {name: counts for name, counts in self._spending.items() if name in self._groups}
        self._around.clear()

    # ------------------------------------------------------------------ sharing

    async def save_if_due(self) -> None:
        """Save the due counts, and urgent ones at once. A ``StorageError`` leaves them unsaved."""
        if self._clock.now() - self._saved_at >= SAVED_EVERY_S:
            await self._save(self._batch)
            if not self._is_alone:
                self._note_closed(await self._store.read_closed())
        elif not self._is_alone and (self._urgent or (self._mirrors.has_news)):
            await self._save_groups(list(self._urgent.values()))

    async def save(self) -> None:
        """Save everything, at the end. Raises ``StorageError``."""
        await self._save(1)

    async def _save(self, least: int) -> None:
        """Save the groups with at least ``least`` new pages."""
        self._saved_at = self._clock.now()
        await self._save_groups([group for group in self._unsaved.values() if group.has_news(least)])

    async def _save_groups(self, groups: list[CountedGroup]) -> None:
        self._urgent.clear()
        if groups:
            await finish_work(self._save_counts(groups))  # else they would be counted twice
        for page, first, second in await self._mirrors.save():
            self._count_foreign(page, first, second)
        changed = {name: self._group_of(name).known for name in {*self._closed, *self._announced}}
        news = {
            name: counts for name, counts in changed.items() if self._announced.get(name) != state_of(counts)
        }
        if news:
            self._announced.update({name: state_of(counts) for name, counts in news.items()})
            self._note_closed(await self._store.add_closed(news))

    async def _save_counts(self, groups: list[CountedGroup]) -> None:
        counted = {group.name: msgspec.structs.replace(group.known) for group in groups}
        news = {group.name: count_since(counted[group.name], group.saved) for group in groups}
        saved = await self._store.add_counts(news)
        for group in groups:
            before = counted[group.name]
            # While it was being saved:
            more = None if group.known == before else count_since(group.known, before)
            self._take_saved(group, saved.get(group.name) or before, more)
            if not group.has_news(1):
                self._unsaved.pop(group.name, None)
        self._close_spent(groups)

    def _take_saved(self, group: CountedGroup, saved: TrapCounts, more: TrapCounts | None = None) -> None:
        """Merge the saved counts of all workers of a group with this worker's later ones."""
        group.saved = saved
        group.known = add_counts(saved, more) if more is not None else msgspec.structs.replace(saved)
        self._note_spending(group)

    def _note_closed(self, closed: GroupCounts) -> None:
        for name, counts in closed.items():
            self._announced[name] = state_of(counts)
            group = self._group_of(name)
            known = group.known
            is_news = counts.opened > known.opened
            if known.pages:
                known.rule, known.opened = merge_rules(known, counts), max(known.opened, counts.opened)
                known.seeds = max(known.seeds, counts.seeds)
            else:  # only another worker has read pages of it
                self._take_saved(group, counts, count_since(known, group.saved))
            if group.known.seeds and group.known.rule == "trap_mirror":  # closed without those seeds
                group.known.rule, group.known.opened = "", group.known.opened + 1
                self._unsaved[name] = group
            if is_news:
                self._forgive(name)
            self._note_spending(group)
        probes, self._good_probes = self._good_probes, []
        for url, via in probes:
            self._open_again(url, via)


class TrapCommitter:
    """Port ``Committer``: another one, before which the counts are saved, as far as it is time to."""

    def __init__(self, committer: Committer, meter: TrapMeter) -> None:
        self._committer = committer
        self._meter = meter

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        await self._meter.save_if_due()
        return await self._committer.commit(results)
