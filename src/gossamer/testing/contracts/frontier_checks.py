"""The promises of a frontier, one check each: see :mod:`gossamer.testing.contracts.frontier`."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.testing.contracts.frontier import (
    TTL_S,
    World,
    checked,
    entry,
    equal,
    fingerprints,
    holds,
    outcome,
)
from gossamer.words.errors import IllegalMove
from gossamer.words.lifecycle import JobState, State
from gossamer.words.model import Change, DeadFilter, HostSignal, Rules, SignalKind, Verdict

ONE = Rules(delay_s=0.0, per_host=1)
PACED = Rules(delay_s=2.0, per_host=4)
UNUSED = HostSignal()


# --------------------------------------------------------------------------- accepting


@checked()
async def fingerprint_is_accepted_once(w: World) -> None:
    """Within a call, over calls, and after it is done."""
    added = await w.frontier.add([entry(1), entry(1), entry(2)])
    equal((added.accepted, added.duplicates), (2, 1), "a fingerprint is accepted once in a call")
    equal(await w.add(entry(2)), 0, "a fingerprint is accepted once")
    for lease in (await w.lease()).leases:
        await w.settle(lease)
    equal(await w.add(entry(1)), 0, "a done fingerprint stays known")
    equal((await w.frontier.stats()).duplicates, 3, "duplicates are counted")


@checked()
async def extreme_fingerprints_are_told_apart(w: World) -> None:
    """Signed 64 bits, both ends; neighbours in floating point differ."""
    numbers = [-(2**63), -(2**63) + 1, -1, 0, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1]
    equal(await w.add(*[entry(number) for number in numbers]), 8, "64 bits are told apart")
    equal(await w.add(*[entry(number) for number in numbers]), 0, "64 bits are recognised")
    equal(await w.leased(), numbers, "fingerprints come back as they were")


@checked()
async def dont_filter_is_always_accepted(w: World) -> None:
    """And is a request of its own."""
    equal(await w.add(entry(1), entry(1, dont_filter=True), entry(1, dont_filter=True)), 3, "dont_filter")
    equal(await w.counts(), {State.PENDING: 3}, "each is a request of its own")
    equal(await w.add(entry(1)), 0, "it is known all the same")


@checked(Rules(delay_s=0.0, max_depth=1))
async def too_deep_is_refused_and_counted(w: World) -> None:
    """And not remembered: a shorter way to the page may be found later."""
    added = await w.frontier.add([entry(1, depth=1), entry(2, depth=2)])
    equal((added.accepted, added.too_deep, added.duplicates), (1, 1, 0), "max_depth is inclusive")
    equal((await w.frontier.stats()).too_deep, 1, "what is too deep is counted")
    equal(await w.add(entry(2, depth=1)), 1, "a page that was too deep can be reached otherwise")


@checked()
async def request_comes_back_whole(w: World) -> None:
    """Every field, lone surrogates and large integers included."""
    asked = entry(7).request.replace(
        method="POST",
        body=b"\x00\xff",
        headers={"X-A": "b"},
        meta={"deep": [{"a": None, "b": 1.5, "big": 2**70}], "text": "\ud800"},
        callback="parse_it",
        errback="oops",
        priority=2,
        session="s",
        via="http://a.example/",
        redirects=("http://a.example/0",),
    )
    await w.add(replace(entry(7), request=asked))
    equal((await w.one()).entry.request, asked, "a request comes back as it was given")


@checked()
async def a_delayed_entry_waits_for_its_time(w: World) -> None:
    """It is delayed, not pending, and next_at is its time."""
    due_at = w.clock.now() + 10
    await w.add(entry(1, due_at=due_at))
    equal(await w.counts(), {State.DELAYED: 1}, "an entry that is not due is delayed")
    grant = await w.lease()
    equal((grant.leases, grant.next_at), ((), due_at), "it is not granted before its time")
    w.clock.advance(10)
    equal(await w.leased(), [1], "it is granted at its time")


# --------------------------------------------------------------------------- order


@checked()
async def oldest_first_within_a_host(w: World) -> None:
    """First in, first out, within a band."""
    await w.add(*[entry(number) for number in (5, 3, 9, 1)])
    equal(await w.leased(3), [5, 3, 9], "the oldest goes first")
    equal(await w.leased(), [1], "the rest follows")


@checked()
async def urgent_work_overtakes_across_hosts(w: World) -> None:
    """A lower band goes first, whichever host it is at; far priorities are clamped."""
    await w.add(entry(1), entry(2, "b.example", priority=-99), entry(3, "c.example", priority=1))
    await w.add(entry(4, priority=99), entry(5, "b.example", priority=1))
    order = await w.leased()
    equal((order[0], set(order[1:3]), order[3:]), (4, {3, 5}, [1, 2]), "bands go first across hosts")


@checked()
async def hosts_take_turns(w: World) -> None:
    """A host with much to do does not starve one with little."""
    await w.add(*[entry(number) for number in range(10)], entry(10, "b.example"))
    holds(10 in await w.leased(2), "the second host gets the second lease")


@checked(PACED)
async def the_host_that_may_start_first_goes_first(w: World) -> None:
    """Within a band."""
    await w.add(entry(1), entry(2, "b.example"), entry(3), entry(4, "b.example"))
    await w.leased(1)
    w.clock.advance(1)
    await w.leased(1)
    w.clock.advance(5)
    equal(await w.leased(1), [3], "who may start first goes first")


@checked()
async def lanes_are_apart(w: World) -> None:
    """A lane gets only its own, and next_at of a lane is its own."""
    await w.add(entry(1, lane="browser"), entry(2))
    equal(await w.leased(lane="http"), [2], "a lane gets its own")
    equal(await w.leased(lane="http"), [], "and nothing else")
    equal(await w.leased(lane="browser"), [1], "the other lane's waits for it")


# --------------------------------------------------------------------------- politeness


@checked(Rules(delay_s=0.0, per_host=2))
async def per_host_slots_hold(w: World) -> None:
    """Over calls and lanes; a settled lease frees its slot."""
    await w.add(*[entry(number) for number in range(3)], entry(3, lane="browser"))
    leases = (await w.lease()).leases
    equal(fingerprints(leases), [0, 1], "no more than per_host")
    equal(await w.leased(lane="browser"), [], "lanes share the host's slots")
    await w.settle(leases[0])
    equal(await w.leased(1, lane="browser"), [3], "a settled lease frees its slot")
    equal(await w.leased(), [], "and only its own")


@checked(PACED)
async def starts_keep_their_distance(w: World) -> None:
    """One start per delay, however many slots are free; next_at tells the next."""
    await w.add(*[entry(number) for number in range(5)])
    for number in range(3):
        grant = await w.lease()
        equal(fingerprints(grant.leases), [number], "one start per delay")
        equal(grant.next_at, w.clock.now() + 2.0, "next_at is the host's next turn")
        w.clock.advance(1.9)
        equal(await w.leased(), [], "none before its time")
        w.clock.advance(0.1000001)


@checked(Rules(min_delay_s=0.1, initial_delay_s=1.0, max_delay_s=30.0))
async def the_delay_follows_the_host(w: World) -> None:
    """Half-way to the last latency; a failure never makes it shorter."""
    await w.add(*[entry(number) for number in range(4)])

    async def gap_after(latency_s: float, kind: SignalKind) -> float:
        lease = await w.one()
        signal = HostSignal(kind=kind, started_at=w.clock.now(), latency_s=latency_s)
        await w.settle(lease, signal=signal)
        next_at = (await w.lease(0)).next_at
        holds(next_at is not None, "something waits")
        gap = (next_at or 0.0) - w.clock.now()
        w.clock.advance(gap)
        return round(gap, 6)

    equal(await gap_after(5.0, SignalKind.OK), 3.0, "the delay goes half-way up")
    equal(await gap_after(0.0, SignalKind.FAULT), 3.0, "a failure does not shorten it")


@checked(PACED)
async def retry_after_holds_the_host(w: World) -> None:
    """All of the host, over a restart too; others go on."""
    await w.add(entry(1), entry(2), entry(3, "b.example"))
    leases = {lease.entry.fingerprint: lease for lease in (await w.lease()).leases}
    now = w.clock.now()
    holds(await w.settle(leases[3]), "the other host goes on")
    signal = HostSignal(kind=SignalKind.THROTTLED, started_at=now, retry_after_s=100.0)
    await w.settle(leases[1], Verdict.RETRY, due_at=now + 100, charged=False, signal=signal)
    w.frontier = await w.subject.reopen() or w.frontier
    w.clock.advance(99)
    equal(await w.leased(), [], "a host that asked for time is left alone")
    w.clock.advance(1.5)
    equal(await w.leased(), [1], "and asked again then, the oldest first")


@checked(PACED)
async def crawl_delay_counts(w: World) -> None:
    """A robots.txt that was read while a lease was held sets the host's pace."""
    await w.add(entry(1), entry(2))
    now = w.clock.now()
    signal = HostSignal(kind=SignalKind.OK, started_at=now, robots_read=True, crawl_delay_s=10.0)
    await w.frontier.release([await w.one()], [signal])
    grant = await w.lease()
    equal((grant.leases, grant.next_at), ((), now + 10), "crawl-delay spaces starts")


@checked(Rules(delay_s=0.0, per_host=3, backoff_base_s=8.0, max_silences=2))
async def failures_together_are_one_incident(w: World) -> None:
    """Three requests that time out together hold the host once, and do not make it count as down."""
    await w.add(*[entry(number) for number in range(4)])
    started = w.clock.now()
    leases = (await w.lease()).leases
    w.clock.advance(5)
    signal = HostSignal(kind=SignalKind.UNREACHABLE, started_at=started)
    await w.frontier.settle([outcome(x, Verdict.DEAD, started, signal=signal) for x in leases])
    next_at = (await w.lease()).next_at or 0.0
    holds(4.0 <= next_at - w.clock.now() <= 8.0, "failures together are one incident: one back-off")
    w.clock.advance(8)
    holds(not (await w.one()).host_down, "one incident is not a host that is down")


@checked(Rules(delay_s=0.0, backoff_base_s=1.0, max_silences=2))
async def a_silent_host_counts_as_down(w: World) -> None:
    """After max_silences incidents its leases say so; reviving a dead letter gives it a new chance."""
    await w.add(*[entry(number) for number in range(3)])
    for _ in range(2):
        w.clock.advance(10)
        lease = await w.one()
        holds(not lease.host_down, "a host is down only after max_silences")
        signal = HostSignal(kind=SignalKind.UNREACHABLE, started_at=w.clock.now())
        await w.settle(lease, Verdict.DEAD, reason="connect", signal=signal)
    lease = await w.one()
    holds(lease.host_down, "a host that was silent too often is down")
    await w.settle(lease, Verdict.DEAD, reason="host_down", signal=UNUSED)
    equal(await w.frontier.revive(DeadFilter()), 3, "all are revived")
    w.clock.advance(10)
    holds(not (await w.one()).host_down, "a revived host is tried again")


# --------------------------------------------------------------------------- leases


@checked()
async def tokens_are_never_reused(w: World) -> None:
    """Not by another lease, not over a restart."""
    await w.add(*[entry(number) for number in range(3)])
    tokens = []
    for _ in range(3):
        lease = (await w.lease(1)).leases[0]
        tokens.append(lease.token)
        await w.frontier.release([lease], [UNUSED])
        w.frontier = await w.subject.reopen() or w.frontier
    equal(len(set(tokens)), 3, "a token is never handed out twice")


@checked()
async def settling_twice_changes_nothing(w: World) -> None:
    """Nor in one call, nor with a token that was never given."""
    await w.add(entry(1), entry(2))
    first, second = (await w.lease()).leases
    holds(await w.settle(first), "a lease can be settled")
    holds(not await w.settle(first, Verdict.DEAD), "but once")
    twice = [outcome(second, Verdict.SUCCESS, w.clock.now())] * 2
    equal(await w.frontier.settle(twice), [True, False], "also within a call")
    forged = outcome(replace(first, token=10**9), Verdict.SUCCESS, 0.0)
    equal(await w.frontier.settle([forged]), [False], "a token that was never given is refused")
    equal(await w.counts(), {State.DONE: 2}, "a stale token changes nothing")
    equal((await w.frontier.stats()).pages, 2, "and counts nothing")


@checked()
async def stale_outlinks_are_not_added(w: World) -> None:
    """Outlinks share the fate of their outcome."""
    await w.add(entry(1))
    lease = await w.one()
    await w.settle(lease, outlinks=(entry(2),))
    await w.settle(lease, outlinks=(entry(3),))
    equal((await w.state(2), await w.state(3)), (State.PENDING, None), "outlinks go with their outcome")


@checked()
async def an_illegal_verdict_changes_nothing(w: World) -> None:
    """A lease cannot be settled as expired or released."""
    await w.add(entry(1), entry(2))
    first, second = (await w.lease()).leases
    now = w.clock.now()
    try:
        await w.frontier.settle([outcome(first, Verdict.SUCCESS, now), outcome(second, Verdict.EXPIRED, now)])
    except IllegalMove:
        pass
    else:
        raise AssertionError("an illegal verdict is refused")
    equal(await w.counts(), {State.LEASED: 2}, "a refused call changes nothing")


@checked(Rules(delay_s=0.0))
async def a_lost_lease_is_granted_again(w: World) -> None:
    """After its deadline, as another attempt; the late result is refused and the slot is free."""
    await w.add(entry(1))
    first = await w.one()
    equal((first.attempt, first.deadline), (1, w.clock.now() + TTL_S), "the first attempt, until then")
    w.clock.advance(TTL_S - 1)
    equal((await w.lease()).next_at, first.deadline, "next_at is the deadline when nothing else is")
    w.clock.advance(1)
    grant = await w.lease()
    equal(fingerprints(grant.expired), [1], "a lease past its deadline is reported")
    (again,) = grant.leases
    equal((again.attempt, again.expiries), (2, 1), "an expired lease costs an attempt")
    holds(not await w.settle(first), "the late result is refused")
    holds(await w.settle(again), "the new one is not")


@checked(Rules(delay_s=0.0, max_expiries=2))
async def a_killer_becomes_a_dead_letter(w: World) -> None:
    """A request that takes its worker down again and again is given up."""
    await w.add(entry(1))
    for _ in range(3):
        await w.one()
        w.clock.advance(TTL_S)
    equal((await w.lease()).leases, (), "a request that expired too often is given up")
    (letter,) = await w.frontier.dead(DeadFilter())
    equal((letter.reason, letter.attempts), ("expired", 3), "as a dead letter that says why")


@checked()
async def extending_moves_the_deadline(w: World) -> None:
    """And tells of leases that are lost."""
    await w.add(entry(1), entry(2))
    first, second = (await w.lease()).leases
    await w.settle(second)
    w.clock.advance(50)
    equal(await w.frontier.extend([first, second], TTL_S), [True, False], "only leases in force")
    w.clock.advance(TTL_S - 1)
    equal((await w.lease()).expired, (), "an extended lease lives on")
    w.clock.advance(1)
    equal(fingerprints((await w.lease()).expired), [1], "until its new deadline")


@checked(PACED)
async def releasing_keeps_place_and_turn(w: World) -> None:
    """It costs no attempt, no turn, and no place in the queue."""
    await w.add(entry(1), entry(2))
    lease = await w.one()
    await w.frontier.release([lease], [UNUSED])
    again = await w.one()
    equal((again.entry.fingerprint, again.attempt), (1, 1), "a released request keeps its place")
    holds(not await w.settle(lease), "a released lease is over")
    await w.frontier.release([lease], [UNUSED])
    equal(await w.counts(), {State.PENDING: 1, State.LEASED: 1}, "releasing a stale lease is ignored")


@checked()
async def a_retry_waits_and_is_counted(w: World) -> None:
    """Failures and throttlings are told apart; it comes back in its old place."""
    await w.add(entry(1), entry(2))
    lease = (await w.lease(1)).leases[0]
    now = w.clock.now()
    await w.settle(lease, Verdict.RETRY, due_at=now + 5, reason="server")
    equal(await w.counts(), {State.PENDING: 1, State.DELAYED: 1}, "a retry is delayed")
    found = await w.frontier.find(1)
    equal((found and found.due_at, found and found.reason), (now + 5, "server"), "find tells why")
    w.clock.advance(5)
    lease = (await w.lease(1)).leases[0]
    counts = (lease.entry.fingerprint, lease.attempt, lease.failures, lease.throttled)
    equal(counts, (1, 2, 1, 0), "a charged retry, in its old place")
    await w.settle(lease, Verdict.RETRY, due_at=now, charged=False)
    lease = (await w.lease(1)).leases[0]
    equal((lease.attempt, lease.failures, lease.throttled), (3, 1, 1), "an uncharged retry")


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
