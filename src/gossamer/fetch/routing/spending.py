"""Spending of a job, counted by all its workers in shared state, and kept for its next run.

A worker saves its own spending, and reads that of others, at most once a second or after spending a
fiftieth of a budget, so a page costs no round trip. Each worker can exceed a budget by at most a fiftieth,
plus the cost of its requests in flight; unsaved spending of a killed worker is not counted.

A page budget of a pattern is never exceeded: pages are claimed before their fetch, a fiftieth of the rest
at a time. Claims of a killed worker are free again after a minute.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import LAST, Request
from gossamer.core.results import Verdict, VisitResult
from gossamer.core.routes import Detour
from gossamer.policy.budget_status import BudgetStatus, list_statuses, place_of
from gossamer.policy.budgets import (
    NOTHING,
    PATTERN,
    BudgetKind,
    BudgetLimits,
    BudgetOverrun,
    BudgetRules,
    OverrunRule,
    Spending,
    allowed_rungs,
    batch_of_pages,
    claim_pages,
    find_ending,
    forbidden_by,
)
from gossamer.policy.urls import host_key
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState
from gossamer.runtime.unbroken import finish_work

SPACE = "spending"
KEPT_S = 400 * 86_400.0
"""Seconds for which a job's spending is kept after its last request."""
SAVED_EVERY_S = 1.0
WAIT_S = 1.0
"""Seconds that a host waits if its request has no rung left while the job is about to end, or if all
remaining pages of its pattern are in flight."""
SAVED_AT_ONCE = 32
"""Hosts whose spending is saved together."""
MAX_HOSTS = 10_000
"""Hosts that a worker remembers between two saves."""
RULES = "*"
"""The key of the budgets, in place of a host."""
MAX_REFUSED = 100_000
"""Links whose refusal a worker counts once only."""


async def read_spending(shared: SharedState, job: str, place: str = "") -> Spending:
    """Return the spending of a job (its tag), of one of its hosts or of a pattern (:func:`place_of`).

    Raises ``StorageError``.
    """
    return _decode(await shared.get(SPACE, _key(job, place)))


class SpendingMeter:
    """The spending of a job, its hosts and its patterns, as one of its workers knows it.

    ``job`` is the tag of the job; ``worker`` identifies this worker.
    """

    def __init__(
        self, shared: SharedState, clock: Clock, job: str, rules: BudgetRules, worker: str = "one"
    ) -> None:
        self._shared = shared
        self.clock = clock
        self._job = job
        self._worker = worker
        self.rules = rules
        self._patterns = {place_of(budget): budget for budget in rules.patterns}
        self._saved: dict[str, Spending] = {}  # by place: a host, a pattern, "" for the job's own
        self._unsaved: dict[str, Spending] = {}
        self._claims: dict[
            int, tuple[Request, Sequence[str]]
        ] = {}  # in flight, with the places of their pages
        self._under_way: Counter[str] = Counter()  # how many of them, by place
        self._refused: set[int] = set()
        self._saved_at = float("-inf")
        self._has_batch = False  # so much of a place is unsaved that others should know it
        self._saving = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<SpendingMeter of {self._job}: {self._known('')}>"

    # ------------------------------------------------------------------ counting

    def add_spending(self, host: str, spent: Spending, url: str = "") -> None:
        """Count spending on a host, by a URL; never waits."""
        if spent == NOTHING:
            return
        places = ("", host) if self.rules.limits_hosts else ("",)
        for place in (*places, *self._patterns_of(url)):
            unsaved = self._unsaved[place] = self._unsaved.get(place, NOTHING) + spent
            self._has_batch = self._has_batch or self._limits_of(place).fills_a_batch(unsaved)

    def count_result(self, result: VisitResult) -> None:
        """Count the results of a visit, besides the cost of its fetch; never waits."""
        request = result.outcome.lease.entry.request
        self.release_page(request)
        spent = Spending(
            pages=result.outcome.is_page,
            items=len(result.items),
            errors=result.outcome.verdict is Verdict.DEAD,
        )
        self.add_spending(host_key(request.url), spent, request.url)

    # ------------------------------------------------------------------ choosing

    def allowed_rungs(self, host: str, rungs: Sequence[str]) -> tuple[str, ...]:
        """Return the rungs that a host may still use, by this worker's knowledge; never waits."""
        return allowed_rungs(rungs, self.rules, self._known(""), self._known(host))

    async def prepare_choice(self, host: str, url: str = "") -> None:
        """Know what others have spent, as far as it is time to. Raises ``StorageError``."""
        await self.save_if_due()
        for place in (*((host,) if self.rules.limits_hosts else ()), *self._patterns_of(url)):
            if place not in self._saved:
                self._saved[place] = await read_spending(self._shared, self._job, place)

    async def check_rung(self, host: str, rung: str) -> Detour | None:
        """Return ``None`` if the rung may be used. Raises ``FetchError`` for a request that has none left.

        A request over the job's budget waits: the job ends, and may be resumed with a larger budget.
        """
        of_job, of_host = forbidden_by(rung, self.rules, self._known(""), self._known(host))
        if of_job:
            stuck = Spending(stuck=tuple(sorted(of_job)))
            if set(of_job) - set(self._known("").stuck):
                self._unsaved[""] = self._unsaved.get("", NOTHING) + stuck
                await self.save()
            return Detour(wait_s=WAIT_S, why=f"the budget of {_words(of_job)} is spent")
        if of_host:
            self._count_refusal(host)
            raise FetchError(Fault.BUDGET, f"the budget of {host} is spent: {_words(of_host, '_per_host')}")
        return None

    def check_places(self, request: Request, host: str) -> Detour | None:
        """Return ``None`` unless a budget of the request's pattern or host puts it last.

        Raises ``FetchError`` for a request that is no longer fetched.
        """
        found = self._find_spent(request.url, request.depth, host, is_file=request.saves is not None)
        if found is None or (found.is_last and request.priority <= LAST):
            return None
        self._count_refusal(found.place)
        why = f"the budget {found.name} is spent: {found.why}"
        if not found.is_last:
            raise FetchError(Fault.BUDGET, why)
        return Detour(is_last=True, why=f"it goes last, since {why}")

    def find_overrun(self, url: str, depth: int, is_file: bool = False) -> BudgetOverrun | None:
        """Return the spent budget that holds back a link, and count that; ``None`` without one. Never
        waits."""
        host = host_key(url) if self.rules.goes_last else ""
        found = self._find_spent(url, depth, host, is_file=is_file)
        if found is not None and (link := hash(url)) not in self._refused:
            if len(self._refused) >= MAX_REFUSED:
                self._refused.clear()
            self._refused.add(link)
            self._count_refusal(found.place)
        return found

    async def claim_page(self, request: Request) -> bool:
        """Claim the pages of a request until :meth:`release_page`; return whether it may be fetched.

        ``False``: all remaining pages are in flight, and one of them may yet be freed. Raises
        ``StorageError``.
        """
        places = [place for place in self._patterns_of(request.url) if self._limit_of(place) is not None]
        if not places or request.saves is not None:  # a file is not a page
            return True
        async with self._saving:  # a save in progress sets the pages in flight
            for place in places:
                if self._spare_in(place) <= 0:
                    await self._save_place(place, claims_more=True)
            if not all(self._spare_in(place) > 0 for place in places):
                return False
            self._claims[id(request)] = request, places
            self._under_way.update(places)
        if task := asyncio.current_task():  # a visit whose lease is lost is broken off
            task.add_done_callback(partial(self._release_cancelled, request))
        return True

    def release_page(self, request: Request) -> None:
        """Release the claim of a request, if it has one; never waits."""
        _, places = self._claims.pop(id(request), (request, ()))
        self._under_way.subtract(places)

    def _release_cancelled(self, request: Request, task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            self.release_page(request)

    # ------------------------------------------------------------------ saving

    async def begin(self, *, is_alone: bool) -> None:
        """Publish the budgets. Raises ``StorageError``.

        With ``is_alone`` no other worker is active, so claims of others are freed.
        """
        rules = msgspec.json.encode(self.rules)
        await self._shared.put(SPACE, _key(self._job, RULES), rules, KEPT_S)
        for place, budget in self._patterns.items():
            if is_alone and budget.claimed_pages is not None:
                free = partial(_change_spending, lambda known: replace(known, holds={}))
                await self._shared.update(SPACE, _key(self._job, place), free, KEPT_S)

    async def save_if_due(self) -> None:
        """Save, and read what others have spent, as far as it is time to. Raises ``StorageError``."""
        if self._is_due():
            async with self._saving:
                if self._is_due():
                    await self._save_and_read()

    async def save(self) -> None:
        """Save unsaved spending. After a ``StorageError`` it is still unsaved."""
        async with self._saving:
            if self._unsaved or any(map(self._holds_in, self._patterns)):
                await self._save_and_read()

    def _is_due(self) -> bool:
        return (
            self.clock.now() - self._saved_at >= SAVED_EVERY_S
            or self._has_batch
            or any(map(self._withholds_pages, self._patterns))
        )

    async def _save_and_read(self) -> None:
        batch = [*self._unsaved, *(place for place in self._patterns if place not in self._unsaved)]
        self._has_batch = False
        for start in range(0, len(batch), SAVED_AT_ONCE):
            saving = map(self._save_place, batch[start : start + SAVED_AT_ONCE])
            for end in await asyncio.gather(*saving, return_exceptions=True):  # all ended
                if end is not None:
                    self._has_batch = True
                    raise end
        if "" not in batch:
            self._saved[""] = await read_spending(self._shared, self._job)
        self._saved_at = self.clock.now()
        if len(self._saved) > MAX_HOSTS:
            kept = {"", *self._patterns}
            self._saved = {place: spent for place, spent in self._saved.items() if place in kept}

    async def _save_place(self, place: str, *, claims_more: bool = False) -> None:
        """Save a place, also if its visit or commit is cancelled; otherwise it would be saved twice."""
        await finish_work(self._change_place(place, claims_more=claims_more))

    async def _change_place(self, place: str, *, claims_more: bool) -> None:
        spent, holds = self._unsaved.get(place, NOTHING), self._holds_in(place)
        if spent == NOTHING and not holds and not claims_more:
            self._saved[place] = await read_spending(self._shared, self._job, place)
            return
        limit, under_way, now = self._limit_of(place), self._under_way[place], self.clock.now()

        def change(known: Spending) -> Spending:
            known = known + spent
            if limit is None:
                return known
            wanted = under_way + (batch_of_pages(known, limit) if claims_more else 0)
            return claim_pages(known, limit, self._worker, wanted, now)

        key = _key(self._job, place)
        changed = await self._shared.update(SPACE, key, partial(_change_spending, change), KEPT_S)
        self._saved[place] = _decode(changed)
        left = self._unsaved.pop(place, NOTHING) - spent  # spent during the save
        if left != NOTHING:
            self._unsaved[place] = left

    # ------------------------------------------------------------------ known spending

    def _known(self, place: str) -> Spending:
        return self._saved.get(place, NOTHING) + self._unsaved.get(place, NOTHING)

    def _patterns_of(self, url: str) -> list[str]:
        """Return the places of the patterns that cover a URL."""
        return [place for place, budget in self._patterns.items() if budget.covers_url(url)]

    def _find_spent(self, url: str, depth: int, host: str, *, is_file: bool) -> BudgetOverrun | None:
        """Return the budget that holds a URL back; one that stops it precedes one that puts it last."""
        found = [
            BudgetOverrun(place, budget.name, why, is_last=budget.over is OverrunRule.LAST)
            for place in self._patterns_of(url)
            for budget in (self._patterns[place],)
            if (why := budget.explain_overrun(depth, self._known(place), is_file=is_file))
        ]
        if self.rules.goes_last and (reached := self.rules.host.find_reached(self._known(host))):
            found.append(BudgetOverrun(host, f"of {host}", ", ".join(sorted(reached)), is_last=True))
        return min(found, key=lambda overrun: overrun.is_last, default=None)

    def _count_refusal(self, place: str) -> None:
        self._unsaved[""] = self._unsaved.get("", NOTHING) + Spending(refused={place: 1})

    def _limits_of(self, place: str) -> BudgetLimits:
        budget = self._patterns.get(place)
        if budget is not None:
            return budget.limits
        return self.rules.host if place else self.rules.job

    def _limit_of(self, place: str) -> int | None:
        """Return the page limit of a pattern, or ``None``."""
        budget = self._patterns.get(place)
        return None if budget is None else budget.claimed_pages

    def _holds_in(self, place: str) -> int:
        """Pages that this worker has claimed of a pattern."""
        hold = self._saved.get(place, NOTHING).holds.get(self._worker)
        return hold.pages if hold else 0

    def _withholds_pages(self, place: str) -> bool:
        """Return whether other workers may wait for pages that this worker has claimed and no longer
        fetches."""
        limit = self._limit_of(place)
        if limit is None or not self._holds_in(place):
            return False
        if not self._under_way[place]:
            return True
        return self._spare_in(place) > 0 and batch_of_pages(self._known(place), limit) == 1

    def _spare_in(self, place: str) -> int:
        """Return the claimed pages of a pattern that are neither in flight nor counted."""
        counted = self._unsaved.get(place, NOTHING).pages
        return self._holds_in(place) - self._under_way[place] - counted


async def read_statuses(shared: SharedState, job: str) -> tuple[BudgetStatus, ...]:
    """Return the budgets of a job's patterns (by its tag), and of the hosts that are over theirs.

    Raises ``StorageError``.
    """
    stored = await shared.get(SPACE, _key(job, RULES))
    if not stored:
        return ()
    try:
        rules = msgspec.json.decode(stored, type=BudgetRules)
    except msgspec.DecodeError:  # another version wrote it
        return ()
    refused = (await read_spending(shared, job)).refused
    places = [*map(place_of, rules.patterns), *(place for place in refused if not place.startswith(PATTERN))]
    spent = {place: await read_spending(shared, job, place) for place in places}
    return list_statuses(rules, refused, spent)


async def read_ending(shared: SharedState, job: str, rules: BudgetRules) -> frozenset[BudgetKind]:
    """Return the spent budgets that end a job (its tag); empty if it continues. Raises ``StorageError``."""
    return find_ending(rules, await read_spending(shared, job))


def _key(job: str, place: str) -> str:
    return f"{job} {place}" if place else job


def _change_spending(change: Callable[[Spending], Spending], value: bytes | None) -> bytes:
    return msgspec.json.encode(change(_decode(value)))


def _decode(value: bytes | None) -> Spending:
    """Decode a saved record; an unreadable one of another version counts as nothing."""
    try:
        return msgspec.json.decode(value, type=Spending) if value else NOTHING
    except msgspec.DecodeError:
        return NOTHING


def _words(kinds: frozenset[BudgetKind], whose: str = "") -> str:
    return ", ".join(f"budgets.{kind}{whose}" for kind in sorted(kinds))
