"""Budgets and states of a job, and what a person sees and does at the desk."""

from __future__ import annotations

from gossamer.core.hosts import HostSignal, Rules
from gossamer.core.jobs import Change, DeadFilter
from gossamer.core.lifecycle import JobState, State
from gossamer.core.results import Verdict
from gossamer.testing.contracts.frontier_world import (
    PACED,
    World,
    checked,
    entry,
    equal,
    fingerprints,
    holds,
    outcome,
)

ONE = Rules(delay_s=0.0, per_host=1)
UNUSED = HostSignal()


# --------------------------------------------------------------------------- budgets and jobs


@checked(Rules(delay_s=0.0, per_host=100, max_pages=3))
async def max_pages_is_exact(w: World) -> None:
    """No more leases than pages left; one that is no page gives its place back."""
    await w.add(*[entry(number) for number in range(6)])
    leases = (await w.lease()).leases
    equal(len(leases), 3, "no more leases than pages left")
    await w.settle(leases[0], Verdict.SKIPPED)
    (extra,) = (await w.lease()).leases
    for lease in (*leases[1:], extra):
        await w.settle(lease)
    grant = await w.lease()
    stats = await w.frontier.stats()
    equal((grant.leases, grant.next_at), ((), None), "a spent budget grants nothing and waits for nothing")
    equal((stats.pages, stats.budget_spent, stats.next_at), (3, True, None), "max_pages is exact")


@checked(Rules(delay_s=0.0, per_host=100, max_pages_per_host=2))
async def max_pages_per_host_is_exact(w: World) -> None:
    """For each host."""
    await w.add(*[entry(number) for number in range(4)], entry(9, "b.example"))
    leases = (await w.lease()).leases
    equal(sorted(fingerprints(leases)), [0, 1, 9], "two at one host, the other host is free")
    for lease in leases:
        await w.settle(lease)
    equal((await w.lease()).leases, (), "a host's budget is exact")


@checked()
async def only_a_running_job_grants(w: World) -> None:
    """Paused, cancelled and finished jobs grant nothing, but take results and new requests."""
    await w.add(entry(1), entry(2))
    lease = (await w.lease(1)).leases[0]
    for change, state in (
        (Change.PAUSE, JobState.PAUSED),
        (Change.CANCEL, JobState.CANCELLED),
        (Change.FINISH, JobState.FINISHED),
    ):
        await w.frontier.control(change)
        equal((await w.frontier.stats()).state, state, "control changes the job's state")
        equal((await w.lease()).leases, (), "a job that does not run grants nothing")
    holds(await w.settle(lease, outlinks=(entry(3),)), "it takes results")
    await w.frontier.control(Change.RESUME)
    equal(await w.leased(), [2, 3], "and goes on where it was")


@checked(ONE)
async def rules_can_change(w: World) -> None:
    """At once, for hosts that had no room before, and over a restart."""
    await w.add(entry(1), entry(2), entry(3))
    equal(await w.leased(), [1], "one slot")
    await w.frontier.control(Change.RESUME, Rules(delay_s=0.0, per_host=2))
    w.frontier = await w.subject.reopen() or w.frontier
    equal(await w.leased(), [2], "two slots")


@checked(Rules(delay_s=0.0, per_host=9, max_expiries=0))
async def recover_takes_everything_back(w: World) -> None:
    """As expired: it returns the leases, and a killer does not survive it."""
    await w.frontier.control(Change.RESUME, Rules(delay_s=0.0, per_host=9, max_expiries=1))
    await w.add(entry(1), entry(2))
    leases = (await w.lease()).leases
    taken = await w.frontier.control(Change.RECOVER)
    equal(sorted(fingerprints(taken)), [1, 2], "recover returns the leases")
    equal(await w.frontier.settle([outcome(leases[0], Verdict.SUCCESS, 0.0)]), [False], "they are void")
    w.clock.advance(Rules().backoff_cap_s)
    again = (await w.lease()).leases
    equal([(lease.attempt, lease.expiries) for lease in again], [(2, 1)] * 2, "it costs an attempt")
    await w.frontier.control(Change.RECOVER)
    equal(await w.counts(), {State.DEAD: 2}, "and counts against max_expiries")


# --------------------------------------------------------------------------- the desk


@checked()
async def dead_letters_can_be_chosen(w: World) -> None:
    """By reason, host, age and id."""
    await w.add(entry(1), entry(2, "b.example"), entry(3))
    start = w.clock.now()
    for lease in sorted((await w.lease()).leases, key=lambda lease: lease.entry.fingerprint):
        number = lease.entry.fingerprint
        await w.settle(lease, Verdict.DEAD, reason="tls" if number == 3 else "server")
        w.clock.advance(1)

    async def chosen(which: DeadFilter) -> list[int]:
        return [letter.entry.fingerprint for letter in await w.frontier.dead(which)]

    letters = await w.frontier.dead(DeadFilter())
    equal([letter.entry.fingerprint for letter in letters], [1, 2, 3], "oldest first")
    equal(await chosen(DeadFilter(reason="tls")), [3], "by reason")
    equal(await chosen(DeadFilter(host="b.example")), [2], "by host")
    equal(await chosen(DeadFilter(older_than=start + 1)), [1], "by age")
    equal(await chosen(DeadFilter(ids=(letters[1].id,))), [2], "by id")
    equal(len(await w.frontier.dead(DeadFilter(), limit=2)), 2, "as many as asked for")


@checked(Rules(delay_s=0.0, per_host=9, max_retries=1))
async def revived_requests_start_afresh(w: World) -> None:
    """Counts at zero, and a finished job runs again."""
    await w.add(entry(1), entry(2))
    for lease in (await w.lease()).leases:
        await w.settle(lease, Verdict.DEAD, reason="server")
    await w.frontier.control(Change.FINISH)
    (letter, _) = await w.frontier.dead(DeadFilter())
    equal(await w.frontier.revive(DeadFilter(ids=(letter.id,))), 1, "one is revived")
    equal(await w.counts(), {State.PENDING: 1, State.DEAD: 1}, "the chosen one")
    lease = await w.one()
    equal((lease.attempt, lease.failures, lease.expiries), (1, 0, 0), "with its counts at zero")
    equal(await w.frontier.revive(DeadFilter(reason="nothing")), 0, "none, if none is chosen")


@checked()
async def dropped_letters_stay_known(w: World) -> None:
    """They count as done, and are not accepted again."""
    await w.add(entry(1))
    await w.settle(await w.one(), Verdict.DEAD, reason="server")
    equal(await w.frontier.drop(DeadFilter()), 1, "one is dropped")
    equal(await w.counts(), {State.DONE: 1}, "a dropped letter is done")
    equal((await w.state(1), await w.add(entry(1))), (State.DONE, 0), "and stays known")


@checked()
async def find_tells_where_a_request_is(w: World) -> None:
    """In every state."""
    equal(await w.frontier.find(1), None, "what was never accepted is not known")
    await w.add(entry(1))
    equal(await w.state(1), State.PENDING, "pending")
    lease = await w.one()
    equal(await w.state(1), State.LEASED, "leased")
    await w.settle(lease, Verdict.DEAD, reason="server")
    found = await w.frontier.find(1)
    holds(found is not None and found.entry == entry(1) and found.host is not None, "with entry and host")
    equal((found and found.reason, found and found.attempts), ("server", 1), "and why")
    await w.frontier.revive(DeadFilter())
    await w.settle(await w.one())
    equal(await w.state(1), State.DONE, "done")


@checked(ONE)
async def busiest_hosts_come_first(w: World) -> None:
    """With what still waits for them."""
    await w.add(entry(1), entry(2, "b.example"), entry(3, "b.example"), entry(4, "b.example"))
    await w.lease()
    reports = await w.frontier.hosts(9)
    equal([(report.host, report.pending) for report in reports], [("b.example", 2)], "what is pending")
    equal(reports[0].state.in_flight, 1, "with the host's state")


@checked(PACED)
async def everything_survives_a_restart(w: World) -> None:
    """Queues, leases, delays, dead letters, counters and politeness."""
    await w.add(*[entry(number, f"{number % 3}.example") for number in range(9)])
    first, second, third = (await w.lease()).leases
    await w.settle(first, Verdict.RETRY, due_at=w.clock.now() + 50, reason="server")
    await w.settle(second, Verdict.DEAD, reason="tls")
    before = (await w.frontier.stats(), await w.frontier.hosts(9), await w.frontier.dead(DeadFilter()))
    reopened = await w.subject.reopen()
    if reopened is None:
        return
    w.frontier = reopened
    after = (await w.frontier.stats(), await w.frontier.hosts(9), await w.frontier.dead(DeadFilter()))
    equal(after, before, "a new process sees the same")
    equal((await w.lease()).leases, (), "and keeps the hosts' pace")
    holds(await w.settle(third), "a lease outlives the process that granted it")


@checked(PACED)
async def following_next_at_finishes_a_crawl(w: World) -> None:
    """Asking again at next_at, and only then, gets everything done; None means nothing waits."""
    await w.add(*[entry(number, f"{number % 2}.example") for number in range(8)])
    await w.add(entry(8, due_at=w.clock.now() + 1.5))
    done, empty = 0, 0
    while (grant := await w.lease()).leases or grant.next_at is not None:
        for lease in grant.leases:
            done += await w.settle(lease)
        if not grant.leases:
            empty += 1
            holds(grant.next_at is not None and grant.next_at > w.clock.now(), "next_at is ahead")
            w.clock.advance((grant.next_at or 0.0) - w.clock.now() + 1e-6)
    equal((done, (await w.frontier.stats()).waiting), (9, 0), "nothing is left waiting")
    holds(empty <= 10, "no busy loop")
