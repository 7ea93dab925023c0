"""Budgets and states of a job, and an operator's queries and actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from gossamer.core.errors import TransitionError
from gossamer.core.hosts import FrontierRules, HostSignal
from gossamer.core.jobs import DeadLetter, DeadLetterFilter, LetterPlace
from gossamer.core.lifecycle import JOB_TABLE, JobCommand, JobState, RequestState
from gossamer.core.results import Verdict
from gossamer.testing.contracts.frontier_harness import (
    EASY,
    PACED,
    FrontierHarness,
    fingerprints_of,
    make_entry,
    make_outcome,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds

ONE = FrontierRules(delay_s=0.0, per_host=1)
_TO = {
    JobState.RUNNING: JobCommand.RESUME,
    JobState.PAUSED: JobCommand.PAUSE,
    JobState.FINISHED: JobCommand.FINISH,
    JobState.CANCELLED: JobCommand.CANCEL,
}
UNUSED = HostSignal()


# --------------------------------------------------------------------------- budgets and jobs


@register_check(FrontierRules(delay_s=0.0, per_host=100, max_pages=3))
async def max_pages_is_exact(w: FrontierHarness) -> None:
    """A frontier grants no more leases than pages left; a request without a page returns its place."""
    await w.add_entries(*[make_entry(number) for number in range(6)])
    leases = (await w.lease_requests()).leases
    assert_equal(len(leases), 3, "no more leases than pages left")
    await w.settle_lease(leases[0], Verdict.SKIPPED)
    (extra,) = (await w.lease_requests()).leases
    for lease in (*leases[1:], extra):
        await w.settle_lease(lease)
    grant = await w.lease_requests()
    stats = await w.frontier.read_stats()
    assert_equal(
        (grant.leases, grant.next_at), ((), None), "a spent budget grants nothing and waits for nothing"
    )
    assert_equal((stats.pages, stats.budget_spent, stats.next_at), (3, True, None), "max_pages is exact")


@register_check(FrontierRules(delay_s=0.0, per_host=100, max_pages_per_host=2))
async def max_pages_per_host_is_exact(w: FrontierHarness) -> None:
    """For each host."""
    await w.add_entries(*[make_entry(number) for number in range(4)], make_entry(9, "b.example"))
    leases = (await w.lease_requests()).leases
    assert_equal(sorted(fingerprints_of(leases)), [0, 1, 9], "two at one host, the other host is free")
    for lease in leases:
        await w.settle_lease(lease)
    assert_equal((await w.lease_requests()).leases, (), "a host's budget is exact")


@register_check()
async def only_a_running_job_grants(w: FrontierHarness) -> None:
    """Paused, finished and cancelled jobs grant nothing, but take results and new requests."""
    await w.add_entries(*[make_entry(number) for number in (1, 2, 3)])
    held = list((await w.lease_requests(3)).leases)
    for number, command in enumerate((JobCommand.PAUSE, JobCommand.FINISH, JobCommand.CANCEL), start=4):
        await w.frontier.apply_change(command)
        assert_equal((await w.lease_requests()).leases, (), "a job that does not run grants nothing")
        assert_holds(await w.settle_lease(held.pop(), outlinks=(make_entry(number),)), "it takes results")
        if command is not JobCommand.CANCEL:
            await w.frontier.apply_change(JobCommand.RESUME)
            assert_equal(await w.lease_fingerprints(), [number], "and continues where it was")


async def _assert_moves(w: FrontierHarness, state: JobState, commands: Iterable[JobCommand]) -> None:
    """Give commands in a state; each leads where the table says, or is refused and changes nothing."""
    for command in commands:
        await w.frontier.apply_change(_TO[state])
        try:
            await w.frontier.apply_change(command, FrontierRules(delay_s=0.0, per_host=2))
        except TransitionError:
            after = None
        else:
            after = (await w.frontier.read_stats()).state
        assert_equal(after, JOB_TABLE.get((state, command)), f"{command} on a job that is {state}")
        if after is None:
            assert_equal((await w.frontier.read_stats()).state, state, "a refused command changes nothing")
        if state is not JobState.CANCELLED is not after:
            await w.frontier.apply_change(JobCommand.RESUME, EASY)


@register_check()
async def a_job_moves_as_the_table_says(w: FrontierHarness) -> None:
    """From every state with every command; commands that are not in the table are refused."""
    for state in (JobState.RUNNING, JobState.PAUSED, JobState.FINISHED):
        await _assert_moves(w, state, [command for command in JobCommand if command is not JobCommand.CANCEL])
    await _assert_moves(w, JobState.RUNNING, [JobCommand.CANCEL])
    await _assert_moves(w, JobState.CANCELLED, JobCommand)


@register_check()
async def a_paused_job_can_be_cancelled(w: FrontierHarness) -> None:
    """As the table says."""
    await _assert_moves(w, JobState.PAUSED, [JobCommand.CANCEL])


@register_check()
async def a_finished_job_can_be_cancelled(w: FrontierHarness) -> None:
    """Until its end is recorded, by the table."""
    await _assert_moves(w, JobState.FINISHED, [JobCommand.CANCEL])


@register_check()
async def a_refused_command_leaves_the_rules(w: FrontierHarness) -> None:
    """All or nothing."""
    await w.add_entries(make_entry(1), make_entry(2))
    await w.frontier.apply_change(JobCommand.PAUSE)
    with suppress(TransitionError):
        await w.frontier.apply_change(JobCommand.FINISH, FrontierRules(delay_s=0.0, per_host=1))
    await w.frontier.apply_change(JobCommand.RESUME)
    assert_equal(await w.lease_fingerprints(), [1, 2], "under the rules of before")


@register_check(ONE)
async def rules_can_change(w: FrontierHarness) -> None:
    """At once, for hosts that had no room before, and over a restart."""
    await w.add_entries(make_entry(1), make_entry(2), make_entry(3))
    assert_equal(await w.lease_fingerprints(), [1], "one slot")
    await w.frontier.apply_change(JobCommand.RESUME, FrontierRules(delay_s=0.0, per_host=2))
    w.frontier = await w.subject.reopen() or w.frontier
    assert_equal(await w.lease_fingerprints(), [2], "two slots")


@register_check(FrontierRules(delay_s=0.0, per_host=9, max_expiries=0))
async def recover_takes_everything_back(w: FrontierHarness) -> None:
    """As expired: it returns the leases, and a killer does not survive it."""
    await w.frontier.apply_change(JobCommand.RESUME, FrontierRules(delay_s=0.0, per_host=9, max_expiries=1))
    await w.add_entries(make_entry(1), make_entry(2))
    leases = (await w.lease_requests()).leases
    taken = await w.frontier.apply_change(JobCommand.RECOVER)
    assert_equal(sorted(fingerprints_of(taken)), [1, 2], "recover returns the leases")
    assert_equal(
        await w.frontier.settle([make_outcome(leases[0], Verdict.SUCCESS, 0.0)]), [False], "they are void"
    )
    w.clock.advance(FrontierRules().backoff_cap_s)
    again = (await w.lease_requests()).leases
    assert_equal([(lease.attempt, lease.expiries) for lease in again], [(2, 1)] * 2, "it costs an attempt")
    await w.frontier.apply_change(JobCommand.RECOVER)
    assert_equal(await w.count_states(), {RequestState.DEAD: 2}, "and counts against max_expiries")


# --------------------------------------------------------------------------- looking and steering


@register_check()
async def dead_letters_can_be_chosen(w: FrontierHarness) -> None:
    """By reason, host, age and id."""
    await w.add_entries(make_entry(1), make_entry(2, "b.example"), make_entry(3))
    start = w.clock.now()
    for lease in sorted((await w.lease_requests()).leases, key=lambda lease: lease.entry.fingerprint):
        number = lease.entry.fingerprint
        await w.settle_lease(lease, Verdict.DEAD, reason="tls" if number == 3 else "server")
        w.clock.advance(1)

    async def chosen(which: DeadLetterFilter) -> list[int]:
        return [letter.entry.fingerprint for letter in await w.frontier.dead_letters(which)]

    letters = await w.frontier.dead_letters(DeadLetterFilter())
    assert_equal([letter.entry.fingerprint for letter in letters], [1, 2, 3], "oldest first")
    assert_equal(await chosen(DeadLetterFilter(reason="tls")), [3], "by reason")
    assert_equal(await chosen(DeadLetterFilter(host="b.example")), [2], "by host")
    assert_equal(await chosen(DeadLetterFilter(older_than=start + 1)), [1], "by age")
    assert_equal(await chosen(DeadLetterFilter(ids=(letters[1].id,))), [2], "by id")
    assert_equal(await chosen(DeadLetterFilter(text="B.Example/2")), [2], "by a part of its URL")
    assert_equal(await chosen(DeadLetterFilter(text="http://a.example")), [1, 3], "including the scheme")
    assert_equal(len(await w.frontier.dead_letters(DeadLetterFilter(), limit=2)), 2, "as many as asked for")


@register_check()
async def dead_letters_come_in_parts(w: FrontierHarness) -> None:
    """Newest first, each in one part, also where many died at one time; and they are counted."""
    await w.add_entries(*[make_entry(number, f"{number % 3}.example") for number in range(1, 13)])
    for lease in sorted((await w.lease_requests()).leases, key=lambda lease: lease.entry.fingerprint):
        number = lease.entry.fingerprint
        await w.settle_lease(lease, Verdict.DEAD, reason="tls" if number % 4 == 0 else "server")
        if number in (3, 9):
            w.clock.advance(1)
    filters = (
        DeadLetterFilter(),
        DeadLetterFilter(reason="tls"),
        DeadLetterFilter(host="1.example"),
        DeadLetterFilter(text="2.example/"),
        DeadLetterFilter(older_than=w.clock.now()),
    )
    for which in filters:
        whole = await w.frontier.dead_letters(which)
        parts: list[DeadLetter] = []
        before: LetterPlace | None = None
        while True:
            part = await w.frontier.page_letters(which, 2, before)
            assert_holds(len(part.letters) <= 2, "a part has no more than asked for")
            parts += part.letters
            before = part.next_before
            if before is None:
                break
        assert_equal(parts, whole[::-1], f"all that fit {which}, newest first, each once")
        counts = await w.frontier.count_letters(which)
        assert_equal(counts.is_all, True, "a small number is counted completely")
        expected = Counter(letter.reason for letter in whole)
        assert_equal(counts.by_reason, dict(expected), f"those that fit {which}, by reason")


@register_check(FrontierRules(delay_s=0.0, per_host=9, max_retries=1))
async def revived_requests_start_afresh(w: FrontierHarness) -> None:
    """Counts at zero, and a finished job runs again."""
    await w.add_entries(make_entry(1), make_entry(2))
    for lease in (await w.lease_requests()).leases:
        await w.settle_lease(lease, Verdict.DEAD, reason="server")
    await w.frontier.apply_change(JobCommand.FINISH)
    (letter, _) = await w.frontier.dead_letters(DeadLetterFilter())
    assert_equal(await w.frontier.revive_letters(DeadLetterFilter(ids=(letter.id,))), 1, "one is revived")
    assert_equal(await w.count_states(), {RequestState.PENDING: 1, RequestState.DEAD: 1}, "the chosen one")
    lease = await w.lease_one()
    assert_equal((lease.attempt, lease.failures, lease.expiries), (1, 0, 0), "with its counts at zero")
    assert_equal(
        await w.frontier.revive_letters(DeadLetterFilter(reason="nothing")), 0, "none, if none is chosen"
    )


@register_check()
async def dropped_letters_stay_known(w: FrontierHarness) -> None:
    """They count as done, and are not accepted again."""
    await w.add_entries(make_entry(1))
    await w.settle_lease(await w.lease_one(), Verdict.DEAD, reason="server")
    assert_equal(await w.frontier.drop_letters(DeadLetterFilter()), 1, "one is dropped")
    assert_equal(await w.count_states(), {RequestState.DONE: 1}, "a dropped letter is done")
    assert_equal(
        (await w.state_of(1), await w.add_entries(make_entry(1))), (RequestState.DONE, 0), "and stays known"
    )


@register_check()
async def find_tells_where_a_request_is(w: FrontierHarness) -> None:
    """In every state."""
    assert_equal(
        await w.frontier.find_request(1, "a.example"), None, "a request that was never accepted is unknown"
    )
    await w.add_entries(make_entry(1))
    assert_equal(await w.state_of(1), RequestState.PENDING, "pending")
    lease = await w.lease_one()
    assert_equal(await w.state_of(1), RequestState.LEASED, "leased")
    await w.settle_lease(lease, Verdict.DEAD, reason="server")
    found = await w.frontier.find_request(1, "a.example")
    assert_holds(
        found is not None and found.entry == make_entry(1) and found.host is not None, "with entry and host"
    )
    assert_equal((found and found.reason, found and found.attempts), ("server", 1), "and why")
    await w.frontier.revive_letters(DeadLetterFilter())
    await w.settle_lease(await w.lease_one())
    assert_equal(await w.state_of(1), RequestState.DONE, "done")


@register_check(ONE)
async def busiest_hosts_come_first(w: FrontierHarness) -> None:
    """With what still waits for them."""
    await w.add_entries(
        make_entry(1), make_entry(2, "b.example"), make_entry(3, "b.example"), make_entry(4, "b.example")
    )
    await w.lease_requests()
    reports = await w.frontier.busiest_hosts(9)
    assert_equal([(report.host, report.pending) for report in reports], [("b.example", 2)], "what is pending")
    assert_equal(reports[0].state.in_flight, 1, "with the host's state")


@register_check(PACED)
async def everything_survives_a_restart(w: FrontierHarness) -> None:
    """Queues, leases, delays, dead letters, counters and politeness."""
    await w.add_entries(*[make_entry(number, f"{number % 3}.example") for number in range(9)])
    first, second, third = (await w.lease_requests()).leases
    await w.settle_lease(first, Verdict.RETRY, due_at=w.clock.now() + 50, reason="server")
    await w.settle_lease(second, Verdict.DEAD, reason="tls")
    before = (
        await w.frontier.read_stats(),
        await w.frontier.busiest_hosts(9),
        await w.frontier.dead_letters(DeadLetterFilter()),
    )
    reopened = await w.subject.reopen()
    if reopened is None:
        return
    w.frontier = reopened
    after = (
        await w.frontier.read_stats(),
        await w.frontier.busiest_hosts(9),
        await w.frontier.dead_letters(DeadLetterFilter()),
    )
    assert_equal(after, before, "a new process sees the same")
    assert_equal((await w.lease_requests()).leases, (), "and keeps the hosts' pace")
    assert_holds(await w.settle_lease(third), "a lease outlives the process that granted it")


@register_check(PACED)
async def following_next_at_finishes_a_crawl(w: FrontierHarness) -> None:
    """Asking again at next_at, and only then, gets everything done; None means nothing waits."""
    await w.add_entries(*[make_entry(number, f"{number % 2}.example") for number in range(8)])
    await w.add_entries(make_entry(8, due_at=w.clock.now() + 1.5))
    done, empty = 0, 0
    while (grant := await w.lease_requests()).leases or grant.next_at is not None:
        for lease in grant.leases:
            done += await w.settle_lease(lease)
        if not grant.leases:
            empty += 1
            assert_holds(grant.next_at is not None and grant.next_at > w.clock.now(), "next_at is ahead")
            w.clock.advance((grant.next_at or 0.0) - w.clock.now() + 1e-6)
    assert_equal((done, (await w.frontier.read_stats()).waiting), (9, 0), "nothing is left waiting")
    assert_holds(empty <= 10, "no busy loop")
