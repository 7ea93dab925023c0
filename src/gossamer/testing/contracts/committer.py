"""The contract of a committer, as named checks.

Use, for a committer of your own::

    @asynccontextmanager
    async def make(clock):
        frontier, store = ...  # empty; the frontier under COMMITTER_RULES
        yield CommitterSubject(MyCommitter(frontier, store, job), frontier, store, job, clock)

    await check_committer(make)                      # all of them, or one by one from COMMITTER_CHECKS
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job, StoredItem
from gossamer.core.lifecycle import JobCommand, RequestState
from gossamer.core.requests import Entry, Lease
from gossamer.core.results import Outcome, Verdict, VisitResult
from gossamer.ports.committer import Committer
from gossamer.ports.job_frontier import AdminFrontier
from gossamer.ports.store import Store
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["COMMITTER_CHECKS", "COMMITTER_RULES", "CommitterSubject", "check_committer"]

COMMITTER_RULES = FrontierRules(delay_s=0.0, per_host=100)
"""The rules of the frontier under test: nothing but leases decides."""

TTL_S = 60.0


@dataclass
class CommitterSubject:
    """The committer of a job under test, and its store and frontier."""

    committer: Committer
    frontier: AdminFrontier
    store: Store
    job: Job
    clock: ManualClock

    async def lease_entries(self, *entries: Entry) -> list[Lease]:
        """Leases of new requests, in their order."""
        await self.frontier.add(entries)
        return await self.lease_all()

    async def lease_all(self) -> list[Lease]:
        """Leases of all that waits, after the longest back-off, in the order of fingerprints."""
        self.clock.advance(COMMITTER_RULES.backoff_cap_s)
        leases = (await self.frontier.lease("http", 100, TTL_S)).leases
        return sorted(leases, key=lambda lease: lease.entry.fingerprint)

    async def lose_leases(self) -> None:
        """Every lease is taken back."""
        await self.frontier.apply_change(JobCommand.RECOVER)

    async def read_items(self) -> list[StoredItem]:
        """All items of the job."""
        return [item async for item in self.store.read_items(self.job)]

    async def read_reasons(self) -> list[tuple[str, str]]:
        """URLs and reasons of the ledger, in order."""
        rows = await self.store.latest_attempts(self.job)
        return sorted((row.url, row.reason) for row in rows)

    async def state_of(self, number: int) -> RequestState | None:
        """Where a request is."""
        found = await self.frontier.find_request(number, "a.example")
        return None if found is None else found.state


COMMITTER_CHECKS: ContractSuite[CommitterSubject] = ContractSuite()
"""The checks by name."""


async def check_committer(make: Make[CommitterSubject]) -> None:
    """Run every check on a fresh committer each. Raises ``AssertionError`` for a broken promise."""
    await COMMITTER_CHECKS.run(make)


def result_of(lease: Lease, *, data: bytes = b'{"name":"x"}', links: tuple[Entry, ...] = ()) -> VisitResult:
    """Return the result of a visit: the page's own item, the page, a row of the ledger, links."""
    number = lease.entry.fingerprint
    found = make_visit_result(make_item(str(number), data), number=number, at=lease.granted_at)
    outcome = Outcome(lease=lease, verdict=Verdict.SUCCESS, is_page=True, outlinks=links)
    return replace(found, outcome=outcome)


@COMMITTER_CHECKS.register
async def a_result_is_recorded_whole(s: CommitterSubject) -> None:
    """Items, page, row of the ledger, links and the settled lease."""
    (lease,) = await s.lease_entries(make_entry(1))
    kept = await s.committer.commit([result_of(lease, links=(make_entry(2), make_entry(3)))])
    assert_equal(kept, [True], "the lease was in force")
    assert_equal([item.key for item in await s.read_items()], ["1"], "the item is stored")
    assert_equal(await s.read_reasons(), [("http://a/1", "")], "the attempt is in the ledger")
    totals = await s.store.read_totals(s.job)
    assert_equal((totals.pages, totals.items, totals.successes), (1, 1, 1), "it is counted")
    assert_equal(await s.state_of(1), RequestState.DONE, "the request is done")
    assert_equal([await s.state_of(2), await s.state_of(3)], [RequestState.PENDING] * 2, "its links wait")


@COMMITTER_CHECKS.register
async def nothing_is_committed_for_nothing(s: CommitterSubject) -> None:
    """An empty batch is none."""
    assert_equal(await s.committer.commit([]), [], "nothing in, nothing out")


@COMMITTER_CHECKS.register
async def results_without_items_are_recorded(s: CommitterSubject) -> None:
    """Retries and dead letters bring a row of the ledger and no page."""
    first, second = await s.lease_entries(make_entry(1), make_entry(2))
    bare = [replace(result_of(lease), items=(), page=None) for lease in (first, second)]
    later = Outcome(lease=first, verdict=Verdict.RETRY, reason="server", due_at=s.clock.now() + 5)
    dead = Outcome(lease=second, verdict=Verdict.DEAD, reason="server")
    results = [replace(bare[0], outcome=later), replace(bare[1], outcome=dead)]
    assert_equal(await s.committer.commit(results), [True, True], "both leases were in force")
    assert_equal(
        [await s.state_of(1), await s.state_of(2)], [RequestState.DELAYED, RequestState.DEAD], "as was said"
    )
    assert_equal(await s.read_items(), [], "no item is stored")


@COMMITTER_CHECKS.register
async def each_result_is_answered_in_its_place(s: CommitterSubject) -> None:
    """A lost lease does no harm to the others of its batch."""
    lost = await s.lease_entries(make_entry(2))
    await s.lose_leases()
    first, _, third = await s.lease_entries(make_entry(1), make_entry(3))
    kept = await s.committer.commit([result_of(first), result_of(lost[0]), result_of(third)])
    assert_equal(kept, [True, False, True], "one answer for each, in order")
    states = [await s.state_of(number) for number in (1, 2, 3)]
    assert_equal(states, [RequestState.DONE, RequestState.LEASED, RequestState.DONE], "each for itself")


@COMMITTER_CHECKS.register
async def a_lost_lease_decides_nothing(s: CommitterSubject) -> None:
    """The outcome and the links are ignored: the present holder of the lease decides."""
    (lost,) = await s.lease_entries(make_entry(1))
    await s.lose_leases()
    (held,) = await s.lease_all()
    assert_equal(await s.committer.commit([result_of(lost, links=(make_entry(9),))]), [False], "refused")
    assert_equal(await s.state_of(1), RequestState.LEASED, "the lease of the other stays in force")
    assert_equal(await s.state_of(9), None, "links of a lost lease are not followed")
    assert_equal(await s.committer.commit([result_of(held)]), [True], "the other is taken")
    assert_equal(await s.state_of(1), RequestState.DONE, "and decides")


@COMMITTER_CHECKS.register
async def items_of_a_lost_lease_are_kept(s: CommitterSubject) -> None:
    """They were on the page. The row of the ledger has the reason ``stale`` and is not a success."""
    (lost,) = await s.lease_entries(make_entry(1))
    await s.lose_leases()
    assert_equal(await s.committer.commit([result_of(lost)]), [False], "the lease is lost")
    assert_equal([item.key for item in await s.read_items()], ["1"], "its item is stored")
    assert_equal(await s.read_reasons(), [("http://a/1", "stale")], "the ledger says that it came too late")
    totals = await s.store.read_totals(s.job)
    assert_equal(
        (totals.pages, totals.items, totals.attempts, totals.successes), (1, 1, 1, 0), "and so do the totals"
    )


@COMMITTER_CHECKS.register
async def what_two_leases_bring_is_there_once(s: CommitterSubject) -> None:
    """Whichever of them comes first: the same page, the same items."""
    for number in (1, 2):
        (lost,) = await s.lease_entries(make_entry(number))
        await s.lose_leases()
        (held,) = await s.lease_all()
        late, good = [result_of(lost)], [result_of(held)]
        answers = [
            await s.committer.commit(batch) for batch in ((late, good) if number == 1 else (good, late))
        ]
        assert_equal(answers, [[False], [True]] if number == 1 else [[True], [False]], "one of them decides")
    totals = await s.store.read_totals(s.job)
    assert_equal((totals.pages, totals.items), (2, 2), "two pages with an item each")
    assert_equal((totals.attempts, totals.successes), (4, 2), "and four attempts")
    assert_equal(len(await s.read_items()), 2, "no item is there twice")


@COMMITTER_CHECKS.register
async def a_late_result_does_not_undo_a_newer_one(s: CommitterSubject) -> None:
    """By the time of the visit, whenever it is committed."""
    (lost,) = await s.lease_entries(make_entry(1))
    await s.lose_leases()
    (held,) = await s.lease_all()
    assert_holds(held.granted_at > lost.granted_at, "the second visit is the newer one")
    await s.committer.commit([result_of(held, data=b'{"price":2}')])
    await s.committer.commit([result_of(lost, data=b'{"price":1}')])
    (item,) = await s.read_items()
    assert_equal(item.data, {"price": 2}, "the newer value stays")


@COMMITTER_CHECKS.register
async def a_settled_lease_is_settled_once(s: CommitterSubject) -> None:
    """A batch that is committed again changes nothing of the request, and no item is there twice."""
    (lease,) = await s.lease_entries(make_entry(1))
    result = result_of(lease, links=(make_entry(2),))
    assert_equal(await s.committer.commit([result]), [True], "the first time")
    assert_equal(await s.committer.commit([result]), [False], "the lease is not in force any more")
    assert_equal(len(await s.read_items()), 1, "the item is there once")
    stats = await s.frontier.read_stats()
    assert_equal((stats.done, stats.pending), (1, 1), "one page, one link")


@COMMITTER_CHECKS.register
async def redirects_to_known_pages_are_told(s: CommitterSubject) -> None:
    """The ledger says so, since no callback runs for them."""
    known, first, second = await s.lease_entries(make_entry(1), make_entry(2), make_entry(3))
    await s.committer.commit([result_of(known)])
    results = []
    for lease, target in ((first, 1), (second, 4)):
        bare = replace(result_of(lease, links=(make_entry(target),)), items=(), page=None)
        results.append(replace(bare, outcome=replace(bare.outcome, verdict=Verdict.REDIRECT, is_page=False)))
    assert_equal(await s.committer.commit(results), [True, True], "both are taken")
    expected = [("http://a/1", ""), ("http://a/2", "known_target"), ("http://a/3", "")]
    assert_equal(await s.read_reasons(), expected, "which target was known")
