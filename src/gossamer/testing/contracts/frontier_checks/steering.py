"""Rules and hosts that a person changes while a job runs."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder, HostSignal, HostSignalKind
from gossamer.core.jobs import DeadLetter, DeadLetterFilter
from gossamer.core.lifecycle import JobState, RequestState
from gossamer.core.results import Verdict
from gossamer.testing.contracts.frontier_harness import (
    EASY,
    PACED,
    FrontierHarness,
    make_entry,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds

HOST = "a.example"
SLOW = FrontierRules(delay_s=60.0, per_host=4)
"""Rules that allow no second turn during a check."""


async def _change(w: FrontierHarness, **fields: object) -> FrontierRules:
    """Change the rules; return the rules then in force."""
    before = await w.frontier.read_rules()
    after = replace(before, **fields)
    assert_holds(await w.frontier.change_rules(after, expected=before), "the expected rules are replaced")
    assert_equal(await w.frontier.read_rules(), after, "the rules in force are returned")
    return after


async def _steer(w: FrontierHarness, command: HostCommand, **fields: object) -> None:
    order = HostOrder(command=command, **fields)  # type: ignore[arg-type]
    assert_holds(await w.frontier.steer_host(HOST, order), "the host is known")


@register_check(SLOW)
async def a_shorter_delay_is_in_force_at_once(w: FrontierHarness) -> None:
    """The turn that was to come after the former one comes sooner, but no sooner than the new delay."""
    await w.add_entries(*[make_entry(number) for number in range(4)])
    await w.settle_lease(await w.lease_one())
    w.clock.advance(1.0)
    await _change(w, delay_s=3.0)
    assert_equal(await w.lease_fingerprints(), [], "one second is not three")
    w.clock.advance(2.0)
    assert_equal(await w.lease_fingerprints(), [1], "three seconds after the last start")
    w.clock.advance(2.9)
    assert_equal(await w.lease_fingerprints(), [], "and from now on")


@register_check(PACED)
async def a_longer_delay_is_in_force_at_once(w: FrontierHarness) -> None:
    """It counts from the latest start."""
    await w.add_entries(*[make_entry(number) for number in range(4)])
    await w.settle_lease(await w.lease_one())
    await _change(w, delay_s=30.0)
    w.clock.advance(29.0)
    assert_equal(await w.lease_fingerprints(), [], "not by the former delay")
    w.clock.advance(1.0)
    assert_equal(await w.lease_fingerprints(), [1], "by the new one")


@register_check(SLOW)
async def what_is_in_flight_may_have_started_now(w: FrontierHarness) -> None:
    """A shorter delay counts from the change while a request of the host is under way."""
    await w.add_entries(*[make_entry(number) for number in range(3)])
    await w.lease_one()
    w.clock.advance(10.0)
    await _change(w, delay_s=2.0)
    assert_equal(await w.lease_fingerprints(), [], "it may have started just now")
    w.clock.advance(2.0)
    assert_equal(await w.lease_fingerprints(), [1], "two seconds later it is another one's turn")


@register_check(FrontierRules(delay_s=0.0, per_host=1))
async def slots_and_budgets_change_at_once(w: FrontierHarness) -> None:
    """More and fewer slots, and a budget of pages for each host."""
    await w.add_entries(*[make_entry(number) for number in range(9)])
    assert_equal(len((await w.lease_requests()).leases), 1, "one slot")
    await _change(w, per_host=3)
    leases = (await w.lease_requests()).leases
    assert_equal(len(leases), 2, "three slots")
    await _change(w, per_host=1)
    await w.settle_lease(leases[0])
    assert_equal(len((await w.lease_requests()).leases), 0, "two are in flight, one may be")
    await _change(w, per_host=3, max_pages_per_host=3)
    assert_equal(len((await w.lease_requests()).leases), 0, "a page, and two that may become pages")
    await _change(w, max_pages_per_host=None)
    assert_equal(len((await w.lease_requests()).leases), 1, "a slot is free")


@register_check(FrontierRules(delay_s=0.0, per_host=100, max_pages=2))
async def a_budget_of_pages_changes_at_once(w: FrontierHarness) -> None:
    """A larger budget lets a job that had spent it continue; a smaller one ends it."""
    await w.add_entries(*[make_entry(number) for number in range(9)])
    for lease in (await w.lease_requests()).leases:
        await w.settle_lease(lease)
    assert_holds((await w.frontier.read_stats()).budget_spent, "two pages")
    await _change(w, max_pages=5)
    assert_equal(len((await w.lease_requests()).leases), 3, "three more")
    await _change(w, max_pages=1)
    assert_holds((await w.frontier.read_stats()).budget_spent, "and no more")


@register_check()
async def a_depth_may_be_bounded_later(w: FrontierHarness) -> None:
    """Known requests stay."""
    await w.add_entries(make_entry(1, depth=5))
    await _change(w, max_depth=2)
    assert_equal(await w.add_entries(make_entry(2, depth=3), make_entry(3, depth=2)), 1, "two is the bound")
    assert_equal(sorted(await w.lease_fingerprints()), [1, 3], "waiting requests continue")


@register_check()
async def rules_are_changed_as_they_were_seen(w: FrontierHarness) -> None:
    """If two change them at the same time, one gets ``False``."""
    seen = await w.frontier.read_rules()
    await _change(w, per_host=7)
    other = replace(seen, delay_s=5.0)
    assert_equal(await w.frontier.change_rules(other, expected=seen), False, "they are others by now")
    assert_equal(await w.frontier.read_rules(), replace(seen, per_host=7), "nothing is changed then")


@register_check()
async def changed_rules_change_no_state(w: FrontierHarness) -> None:
    """A paused job stays paused, a reopened one keeps its rules."""
    from_now_on = await _change(w, delay_s=4.0)
    assert_equal((await w.frontier.read_stats()).state, JobState.RUNNING, "it runs on")
    again = await w.subject.reopen()
    if again is not None:
        assert_equal(await again.read_rules(), from_now_on, "they outlive the process")


@register_check(PACED)
async def a_host_may_have_a_pace_of_its_own(w: FrontierHarness) -> None:
    """Slower or faster than the others, until the job's own is asked for again."""
    await w.add_entries(*[make_entry(number) for number in range(5)], make_entry(9, "b.example"))
    await _steer(w, HostCommand.PACE, delay_s=10.0)
    for lease in (await w.lease_requests()).leases:
        await w.settle_lease(lease)
    w.clock.advance(9.0)
    assert_equal(await w.lease_fingerprints(), [], "ten seconds at this host")
    await _steer(w, HostCommand.PACE, delay_s=0.5)
    await w.settle_lease(await w.lease_one())
    w.clock.advance(0.5)
    assert_equal(await w.lease_fingerprints(), [2], "half a second")
    report = await w.frontier.find_host(HOST)
    assert_equal(report and (report.state.is_paced, report.state.delay_s), (True, 0.5), "it is told")
    await _change(w, delay_s=7.0)
    w.clock.advance(0.5)
    assert_equal(await w.lease_fingerprints(), [3], "whatever the others do")
    await _steer(w, HostCommand.PACE)
    w.clock.advance(2.0)
    assert_equal(await w.lease_fingerprints(), [], "the job's own again")


@register_check(FrontierRules(delay_s=None, per_host=1))
async def a_pace_follows_nothing(w: FrontierHarness) -> None:
    """Not the response time of the host."""
    await w.add_entries(*[make_entry(number) for number in range(3)])
    await _steer(w, HostCommand.PACE, delay_s=1.0)
    lease = await w.lease_one()
    slow = HostSignal(kind=HostSignalKind.OK, started_at=w.clock.now(), latency_s=9.0)
    await w.settle_lease(lease, signal=slow)
    w.clock.advance(1.0)
    assert_equal(await w.lease_fingerprints(), [1], "one second")


@register_check()
async def a_host_may_be_held(w: FrontierHarness) -> None:
    """Until a time, which may change, or until an operator releases it."""
    await w.add_entries(*[make_entry(number) for number in range(5)])
    start = w.clock.now()
    await _steer(w, HostCommand.HOLD, until=start + 100.0)
    grant = await w.lease_requests()
    assert_equal((grant.leases, grant.next_at), ((), start + 100.0), "nothing before that")
    report = await w.frontier.find_host(HOST)
    assert_equal(report and (report.state.is_held, report.state.hold_until), (True, start + 100.0), "told")
    await _steer(w, HostCommand.HOLD, until=start + 20.0)
    w.clock.advance(20.0)
    assert_equal(len((await w.lease_requests(1)).leases), 1, "the latest order counts")
    await _steer(w, HostCommand.HOLD, until=start + 300.0)
    await _steer(w, HostCommand.ASK)
    assert_equal(len((await w.lease_requests(1)).leases), 1, "asked at once")


@register_check()
async def a_hold_outlasts_what_is_in_flight(w: FrontierHarness) -> None:
    """An answer, and a turn that is given back, do not end it; nor do other rules."""
    await w.add_entries(*[make_entry(number) for number in range(5)])
    one, other = (await w.lease_requests(2)).leases
    until = w.clock.now() + 100.0
    await _steer(w, HostCommand.HOLD, until=until)
    await w.settle_lease(one)
    await w.frontier.release([other], [HostSignal()])
    await _change(w, delay_s=0.5)
    assert_equal((await w.lease_requests()).next_at, until, "it holds")


@register_check(PACED)
async def a_host_in_trouble_may_be_asked_again(w: FrontierHarness) -> None:
    """Its own pause is ended as well; its delay is kept."""
    await w.add_entries(*[make_entry(number) for number in range(3)])
    lease = await w.lease_one()
    asks_for_time = HostSignal(kind=HostSignalKind.THROTTLED, started_at=w.clock.now(), retry_after_s=900.0)
    await w.settle_lease(lease, Verdict.SKIPPED, signal=asks_for_time)
    w.clock.advance(1.0)
    await _steer(w, HostCommand.ASK)
    assert_equal(await w.lease_fingerprints(), [], "the delay is kept")
    w.clock.advance(PACED.delay_s * 2)  # type: ignore[operator]  # it was slowed down
    assert_equal(await w.lease_fingerprints(), [1], "but not the pause")


@register_check(EASY)
async def a_skipped_host_keeps_its_requests(w: FrontierHarness) -> None:
    """The host gets no leases, the job does not wait for it, and it may be allowed again."""
    await w.add_entries(make_entry(1), make_entry(2), make_entry(3, "b.example"))
    await _steer(w, HostCommand.SKIP)
    await w.add_entries(make_entry(4))
    grant = await w.lease_requests()
    assert_equal([lease.entry.fingerprint for lease in grant.leases], [3], "the other host")
    await w.settle_lease(grant.leases[0])
    stats = await w.frontier.read_stats()
    assert_equal((stats.pending, stats.next_at), (3, None), "they wait, and have no turn")
    report = await w.frontier.find_host(HOST)
    assert_equal(report and (report.state.is_skipped, report.pending), (True, 3), "told")
    await _steer(w, HostCommand.TAKE)
    assert_equal(sorted(await w.lease_fingerprints()), [1, 2, 4], "all of them are there")


@register_check()
async def an_order_for_nobody_changes_nothing(w: FrontierHarness) -> None:
    """A host that the job has not."""
    order = HostOrder(command=HostCommand.SKIP)
    assert_equal(await w.frontier.steer_host("z.example", order), None, "it is not known")
    assert_equal(await w.frontier.find_host("z.example"), None, "and is not made known")
    await w.add_entries(make_entry(1))
    before = await w.frontier.find_host(HOST)
    assert_equal(
        await w.frontier.steer_host(HOST, order), before and before.state, "the former state is returned"
    )


@register_check()
async def orders_outlive_the_process(w: FrontierHarness) -> None:
    """They are kept with the host."""
    await w.add_entries(make_entry(1))
    await _steer(w, HostCommand.PACE, delay_s=5.0)
    await _steer(w, HostCommand.HOLD, until=w.clock.now() + 50.0)
    await _steer(w, HostCommand.SKIP)
    again = await w.subject.reopen()
    report = None if again is None else await again.find_host(HOST)
    if report is not None:
        state = report.state
        assert_equal((state.is_paced, state.is_held, state.is_skipped), (True, True, True), "all three")


async def _bury_three(w: FrontierHarness) -> list[DeadLetter]:
    """Three dead letters, one after the other."""
    await w.add_entries(make_entry(1), make_entry(2, priority=1), make_entry(3, "b.example"))
    for lease in (await w.lease_requests()).leases:
        w.clock.advance(1.0)
        await w.settle_lease(lease, Verdict.DEAD, reason="server")
    return await w.frontier.dead_letters(DeadLetterFilter())


@register_check()
async def a_retry_may_be_taken_back(w: FrontierHarness) -> None:
    """Requests that have not begun become the same dead letters again; those that have begun continue."""
    letters = await _bury_three(w)
    await w.frontier.revive_letters(DeadLetterFilter())
    (begun,) = (await w.lease_requests(1)).leases
    waiting = [letter for letter in letters if letter.entry.fingerprint != begun.entry.fingerprint]
    assert_equal(await w.frontier.bury_letters(letters, were_dropped=False), 2, "those that wait")
    assert_equal(await w.frontier.dead_letters(DeadLetterFilter()), waiting, "as they were")
    assert_equal(await w.count_states(), {RequestState.LEASED: 1, RequestState.DEAD: 2}, "each in its state")
    assert_equal(await w.lease_fingerprints(), [], "they are granted no more")
    assert_holds(await w.settle_lease(begun), "requests that have begun are settled")
    assert_equal(await w.frontier.bury_letters(letters, were_dropped=False), 0, "nothing of it waits")
    await w.frontier.revive_letters(DeadLetterFilter())
    assert_equal(len(await w.lease_fingerprints()), 2, "and they can be retried again")


@register_check()
async def a_drop_of_what_was_asked_for_on_purpose_may_be_taken_back(w: FrontierHarness) -> None:
    """As any other."""
    await w.add_entries(make_entry(1, dont_filter=True))
    await w.settle_lease(await w.lease_one(), Verdict.DEAD, reason="client")
    letters = await w.frontier.dead_letters(DeadLetterFilter())
    await w.frontier.drop_letters(DeadLetterFilter())
    assert_equal(await w.frontier.bury_letters(letters, were_dropped=True), 1, "it is there again")
    assert_equal(await w.count_states(), {RequestState.DEAD: 1}, "once")


@register_check()
async def a_drop_may_be_taken_back(w: FrontierHarness) -> None:
    """The letters are there again, under their numbers."""
    letters = await _bury_three(w)
    await w.frontier.drop_letters(DeadLetterFilter(ids=(letters[0].id, letters[2].id)))
    dropped = [letters[0], letters[2]]
    assert_equal(await w.frontier.bury_letters(dropped, were_dropped=True), 2, "both")
    assert_equal(await w.frontier.dead_letters(DeadLetterFilter()), letters, "as they were")
    assert_equal(await w.count_states(), {RequestState.DEAD: 3}, "each in its state")
    assert_equal(await w.add_entries(make_entry(1)), 0, "their pages are known")
    await w.frontier.revive_letters(DeadLetterFilter())
    assert_equal(len(await w.lease_fingerprints()), 3, "and they can be retried")
