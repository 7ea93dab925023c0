"""Admission to a frontier, the order of leases, and the politeness to hosts."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import RequestState
from gossamer.core.requests import Lease
from gossamer.core.results import Verdict
from gossamer.testing.contracts.frontier_harness import (
    PACED,
    FrontierHarness,
    fingerprints_of,
    make_entry,
    make_outcome,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds

ONE = FrontierRules(delay_s=0.0, per_host=1)
UNUSED = HostSignal()


# --------------------------------------------------------------------------- accepting


@register_check()
async def fingerprint_is_accepted_once(w: FrontierHarness) -> None:
    """Within a call, over calls, and after it is done."""
    added = await w.frontier.add([make_entry(1), make_entry(1), make_entry(2)])
    assert_equal((added.accepted, added.duplicates), (2, 1), "a fingerprint is accepted once in a call")
    assert_equal(await w.add_entries(make_entry(2)), 0, "a fingerprint is accepted once")
    for lease in (await w.lease_requests()).leases:
        await w.settle_lease(lease)
    assert_equal(await w.add_entries(make_entry(1)), 0, "a done fingerprint stays known")
    assert_equal((await w.frontier.read_stats()).duplicates, 3, "duplicates are counted")


@register_check()
async def what_was_accepted_is_known(w: FrontierHarness) -> None:
    """In any state and at any host; refused requests are unknown."""
    entries = [make_entry(number, f"{number % 3}.example") for number in range(-4, 5)]
    assert_equal(await w.frontier.are_known(entries), [False] * 9, "nothing is known of an empty frontier")
    await w.add_entries(*entries[::2])
    assert_equal(
        await w.frontier.are_known(entries), [True, False] * 4 + [True], "accepted requests are known"
    )
    for lease in (await w.lease_requests()).leases:
        await w.settle_lease(lease)
    assert_equal(await w.frontier.are_known(entries), [True, False] * 4 + [True], "also when it is done")
    assert_equal(await w.frontier.are_known([]), [], "nothing was asked")


@register_check()
async def extreme_fingerprints_are_told_apart(w: FrontierHarness) -> None:
    """Signed 64 bits, both ends; neighbours in floating point differ."""
    numbers = [-(2**63), -(2**63) + 1, -1, 0, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1]
    assert_equal(await w.add_entries(*[make_entry(number) for number in numbers]), 8, "all 64 bits count")
    assert_equal(
        await w.add_entries(*[make_entry(number) for number in numbers]), 0, "64 bits are recognised"
    )
    assert_equal(await w.lease_fingerprints(), numbers, "fingerprints come back as they were")


@register_check()
async def dont_filter_is_always_accepted(w: FrontierHarness) -> None:
    """And is a request of its own."""
    assert_equal(
        await w.add_entries(make_entry(1), make_entry(1, dont_filter=True), make_entry(1, dont_filter=True)),
        3,
        "dont_filter",
    )
    assert_equal(await w.count_states(), {RequestState.PENDING: 3}, "each is a request of its own")
    assert_equal(await w.add_entries(make_entry(1)), 0, "it is known all the same")


@register_check()
async def dont_filter_makes_no_page_known(w: FrontierHarness) -> None:
    """An ordinary request for the same page is still accepted, once; each request is found while it waits."""
    again = make_entry(1, dont_filter=True)
    assert_equal(await w.add_entries(again, again), 2, "dont_filter")
    assert_equal(await w.frontier.are_known([again]), [False], "it is not recorded as seen")
    found = await w.frontier.find_request(1, again.host)
    assert_equal(found and found.state, RequestState.PENDING, "it is found all the same")
    for lease in (await w.lease_requests()).leases:
        await w.settle_lease(lease)
    found = await w.frontier.find_request(1, again.host)
    assert_equal(found and found.state, RequestState.DONE, "also when it is done")
    assert_equal(await w.frontier.are_known([again]), [False], "nor when it is done")
    assert_equal(await w.add_entries(make_entry(1), make_entry(1)), 1, "the page is accepted, once")
    assert_equal(await w.frontier.are_known([again]), [True], "now it is known")
    found = await w.frontier.find_request(1, again.host)
    assert_equal(
        found and found.state, RequestState.PENDING, "waiting requests are found, finished ones are not"
    )


@register_check(FrontierRules(delay_s=0.0, max_depth=1))
async def too_deep_is_refused_and_counted(w: FrontierHarness) -> None:
    """And not remembered: a shorter way to the page may be found later."""
    added = await w.frontier.add([make_entry(1, depth=1), make_entry(2, depth=2)])
    assert_equal((added.accepted, added.too_deep, added.duplicates), (1, 1, 0), "max_depth is inclusive")
    assert_equal((await w.frontier.read_stats()).too_deep, 1, "requests that are too deep are counted")
    assert_equal(
        await w.add_entries(make_entry(2, depth=1)), 1, "a page that was too deep can be reached otherwise"
    )


@register_check()
async def request_comes_back_whole(w: FrontierHarness) -> None:
    """Every field, lone surrogates and large integers included."""
    asked = make_entry(7).request.replace(
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
        archived="job/worker-00001.warc.gz:7:12",
        is_trap_probe=True,
    )
    await w.add_entries(replace(make_entry(7), request=asked))
    assert_equal((await w.lease_one()).entry.request, asked, "a request comes back as it was given")


@register_check()
async def a_delayed_entry_waits_for_its_time(w: FrontierHarness) -> None:
    """It is delayed, not pending, and next_at is its time."""
    due_at = w.clock.now() + 10
    await w.add_entries(make_entry(1, due_at=due_at))
    assert_equal(await w.count_states(), {RequestState.DELAYED: 1}, "an entry that is not due is delayed")
    grant = await w.lease_requests()
    assert_equal((grant.leases, grant.next_at), ((), due_at), "it is not granted before its time")
    w.clock.advance(10)
    assert_equal(await w.lease_fingerprints(), [1], "it is granted at its time")


# --------------------------------------------------------------------------- order


@register_check()
async def oldest_first_within_a_host(w: FrontierHarness) -> None:
    """First in, first out, within a band."""
    await w.add_entries(*[make_entry(number) for number in (5, 3, 9, 1)])
    assert_equal(await w.lease_fingerprints(3), [5, 3, 9], "the oldest goes first")
    assert_equal(await w.lease_fingerprints(), [1], "the rest follows")


@register_check()
async def urgent_work_overtakes_across_hosts(w: FrontierHarness) -> None:
    """A lower band goes first, whichever host it is at; far priorities are of the first and the last."""
    await w.add_entries(
        make_entry(1), make_entry(2, "b.example", priority=-99), make_entry(3, "c.example", priority=1)
    )
    await w.add_entries(make_entry(4, priority=99), make_entry(5, "b.example", priority=1))
    order = await w.lease_fingerprints()
    assert_equal((order[0], set(order[1:3]), order[3:]), (4, {3, 5}, [1, 2]), "bands go first across hosts")


@register_check()
async def hosts_take_turns(w: FrontierHarness) -> None:
    """A host with much to do does not starve one with little."""
    await w.add_entries(*[make_entry(number) for number in range(10)], make_entry(10, "b.example"))
    assert_holds(10 in await w.lease_fingerprints(2), "the second host gets the second lease")


@register_check(PACED)
async def the_host_that_may_start_first_goes_first(w: FrontierHarness) -> None:
    """Within a band."""
    await w.add_entries(make_entry(1), make_entry(2, "b.example"), make_entry(3), make_entry(4, "b.example"))
    await w.lease_fingerprints(1)
    w.clock.advance(1)
    await w.lease_fingerprints(1)
    w.clock.advance(5)
    assert_equal(await w.lease_fingerprints(1), [3], "who may start first goes first")


@register_check()
async def lanes_are_apart(w: FrontierHarness) -> None:
    """A lane gets only its own, and next_at of a lane is its own."""
    later = w.clock.now() + 60.0
    await w.add_entries(make_entry(1, lane="browser", due_at=later), make_entry(2))
    stats = await w.frontier.read_stats()
    assert_equal(stats.next_by_lane["browser"], later, "when something waits on a lane is known")
    assert_equal((stats.next_at, stats.next_on("browser")), (stats.next_by_lane["http"], later), "of each")
    assert_equal((sorted(stats.next_by_lane), stats.next_on("new")), (["browser", "http"], None), "alone")
    w.clock.advance(60)
    assert_equal(await w.lease_fingerprints(lane="http"), [2], "a lane gets its own")
    stats = await w.frontier.read_stats()
    assert_equal([*stats.next_by_lane], ["browser"], "nothing more waits on this one")
    assert_equal(stats.next_on("new"), stats.deadline, "every lease call ends expired leases")
    assert_equal(await w.lease_fingerprints(lane="http"), [], "and nothing else")
    assert_equal(await w.lease_fingerprints(lane="browser"), [1], "the other lane's waits for it")


# --------------------------------------------------------------------------- politeness


@register_check(FrontierRules(delay_s=0.0, per_host=2))
async def per_host_slots_hold(w: FrontierHarness) -> None:
    """Over calls and lanes; a settled lease frees its slot."""
    await w.add_entries(*[make_entry(number) for number in range(3)], make_entry(3, lane="browser"))
    leases = (await w.lease_requests()).leases
    assert_equal(fingerprints_of(leases), [0, 1], "no more than per_host")
    assert_equal(await w.lease_fingerprints(lane="browser"), [], "lanes share the host's slots")
    await w.settle_lease(leases[0])
    assert_equal(await w.lease_fingerprints(1, lane="browser"), [3], "a settled lease frees its slot")
    assert_equal(await w.lease_fingerprints(), [], "and only its own")


@register_check(PACED)
async def starts_keep_their_distance(w: FrontierHarness) -> None:
    """One start per delay, however many slots are free; next_at tells the next."""
    await w.add_entries(*[make_entry(number) for number in range(5)])
    first_at = w.clock.now()
    for number in range(2):
        grant = await w.lease_requests()
        assert_equal(fingerprints_of(grant.leases), [number], "one start per delay")
        assert_equal(
            grant.next_at, first_at + 2.0 * (number + 1), "next_at is the next turn: a little is caught up"
        )
        w.clock.advance(1.9)
        assert_equal(await w.lease_fingerprints(), [], "none before its time")
        w.clock.advance(0.1000001)
    w.clock.advance(1.0)
    assert_equal((await w.lease_requests()).next_at, w.clock.now() + 2.0, "much is not caught up")


@register_check(FrontierRules(min_delay_s=0.1, initial_delay_s=1.0, max_delay_s=30.0))
async def the_delay_follows_the_host(w: FrontierHarness) -> None:
    """Half-way to the last latency; a failure never makes it shorter."""
    await w.add_entries(*[make_entry(number) for number in range(4)])

    async def gap_after(latency_s: float, kind: HostSignalKind) -> float:
        lease = await w.lease_one()
        signal = HostSignal(kind=kind, started_at=w.clock.now(), latency_s=latency_s)
        await w.settle_lease(lease, signal=signal)
        next_at = (await w.lease_requests(0)).next_at
        assert_holds(next_at is not None, "something waits")
        gap = (next_at or 0.0) - w.clock.now()
        w.clock.advance(gap)
        return round(gap, 6)

    assert_equal(await gap_after(5.0, HostSignalKind.OK), 3.0, "the delay goes half-way up")
    assert_equal(await gap_after(0.0, HostSignalKind.FAULT), 3.0, "a failure does not shorten it")


@register_check(PACED)
async def retry_after_holds_the_host(w: FrontierHarness) -> None:
    """The hold applies to the whole host, also after a restart; other hosts continue."""
    await w.add_entries(make_entry(1), make_entry(2), make_entry(3, "b.example"))
    leases = {lease.entry.fingerprint: lease for lease in (await w.lease_requests()).leases}
    now = w.clock.now()
    assert_holds(await w.settle_lease(leases[3]), "the other host continues")
    signal = HostSignal(kind=HostSignalKind.THROTTLED, started_at=now, retry_after_s=100.0)
    await w.settle_lease(leases[1], Verdict.RETRY, due_at=now + 100, charged=False, signal=signal)
    w.frontier = await w.subject.reopen() or w.frontier
    w.clock.advance(99)
    assert_equal(await w.lease_fingerprints(), [], "a host that asked for time is left alone")
    w.clock.advance(1.5)
    assert_equal(await w.lease_fingerprints(), [1], "and asked again then, the oldest first")


@register_check(PACED)
async def crawl_delay_counts(w: FrontierHarness) -> None:
    """A robots.txt that was read while a lease was held sets the host's pace."""
    await w.add_entries(make_entry(1), make_entry(2))
    now = w.clock.now()
    signal = HostSignal(kind=HostSignalKind.OK, started_at=now, robots_read=True, crawl_delay_s=10.0)
    await w.frontier.release([await w.lease_one()], [signal])
    grant = await w.lease_requests()
    assert_equal((grant.leases, grant.next_at), ((), now + 10), "crawl-delay spaces starts")


@register_check(FrontierRules(delay_s=0.0, per_host=3, backoff_base_s=8.0, max_silences=2))
async def failures_together_are_one_incident(w: FrontierHarness) -> None:
    """Three requests that time out together hold the host once, and do not make it count as down."""
    await w.add_entries(*[make_entry(number) for number in range(4)])
    started = w.clock.now()
    leases = (await w.lease_requests()).leases
    w.clock.advance(5)
    signal = HostSignal(kind=HostSignalKind.UNREACHABLE, started_at=started)
    await w.frontier.settle([make_outcome(x, Verdict.DEAD, started, signal=signal) for x in leases])
    next_at = (await w.lease_requests()).next_at or 0.0
    assert_holds(4.0 <= next_at - w.clock.now() <= 8.0, "failures together are one incident: one back-off")
    w.clock.advance(8)
    assert_holds(not (await w.lease_one()).host_down, "one incident is not a host that is down")


@register_check(FrontierRules(delay_s=0.0, backoff_base_s=1.0, max_silences=2))
async def a_silent_host_counts_as_down(w: FrontierHarness) -> None:
    """After max_silences incidents its leases say so; reviving a dead letter gives it a new chance."""
    await w.add_entries(*[make_entry(number) for number in range(3)])
    for _ in range(2):
        w.clock.advance(10)
        lease = await w.lease_one()
        assert_holds(not lease.host_down, "a host is down only after max_silences")
        signal = HostSignal(kind=HostSignalKind.UNREACHABLE, started_at=w.clock.now())
        await w.settle_lease(lease, Verdict.DEAD, reason="connect", signal=signal)
    lease = await w.lease_one()
    assert_holds(lease.host_down, "a host that was silent too often is down")
    await w.settle_lease(lease, Verdict.DEAD, reason="host_down", signal=UNUSED)
    assert_equal(await w.frontier.revive_letters(DeadLetterFilter()), 3, "all are revived")
    w.clock.advance(10)
    assert_holds(not (await w.lease_one()).host_down, "a revived host is tried again")


@register_check(FrontierRules(delay_s=0.0, per_host=3, backoff_base_s=1.0, host_patience_s=150.0))
async def a_host_in_trouble_is_probed(w: FrontierHarness) -> None:
    """One request at a time, over a restart too; when the patience with it is spent, it is down."""
    await w.add_entries(*[make_entry(number) for number in range(6)])
    first = (await w.lease_requests(1)).leases[0]
    assert_equal((first.host_answered, first.is_probe), (False, False), "nothing is known of a new host")
    assert_holds(first.host_unheard, "no page of it has come")
    await w.settle_lease(first)
    leases = (await w.lease_requests()).leases
    assert_equal([lease.host_answered for lease in leases], [True] * 3, "the host has answered")
    assert_equal([lease.host_unheard for lease in leases], [False] * 3, "and it was a page")
    now = w.clock.now()
    silence = HostSignal(kind=HostSignalKind.UNREACHABLE, started_at=now)
    await w.settle_lease(leases[0], Verdict.RETRY, due_at=now, signal=silence, charged=False, is_excused=True)
    await w.frontier.release(leases[1:], [UNUSED] * 2)
    w.frontier = await w.subject.reopen() or w.frontier
    w.clock.advance(2)
    (probe,) = (await w.lease_requests()).leases
    assert_equal(
        (probe.is_probe, probe.host_pause_s, probe.is_suspect, probe.host_down),
        (True, 2.0, True, False),
        "the probe knows it",
    )
    assert_holds(probe.host_silent and not first.host_silent, "and the lack of an answer")
    assert_equal((probe.failures, probe.throttled), (0, 0), "excused failures do not count")
    await w.frontier.release([probe], [UNUSED])
    for _ in range(12):
        w.clock.advance(60)
        lease = await w.lease_one()
        if lease.host_down:
            break
        signal = HostSignal(kind=HostSignalKind.UNREACHABLE, started_at=w.clock.now())
        due_at = w.clock.now() + 5000
        await w.settle_lease(lease, Verdict.RETRY, due_at=due_at, signal=signal, charged=False)
    assert_holds(lease.host_down and lease.host_answered, "a host is down when the patience with it is spent")
    assert_holds(not lease.is_suspect, "several requests have met the silence")


@register_check(FrontierRules(delay_s=0.0))
async def pages_that_always_fail_do_not_hold_their_host(w: FrontierHarness) -> None:
    """Proven by pages that fail again while others are answered; over a restart too."""
    await w.add_entries(*[make_entry(number) for number in range(12)])

    async def fail_next(kind: HostSignalKind = HostSignalKind.THROTTLED) -> Lease:
        w.clock.advance(100)
        lease, now = await w.lease_one(), w.clock.now()
        signal = HostSignal(kind=kind, started_at=now)
        await w.settle_lease(lease, Verdict.RETRY, due_at=now + 150, signal=signal, charged=False)
        return lease

    first = await fail_next()
    assert_holds(not (first.blames_pages or first.asks_known), "nothing is known of a new host")
    for _ in range(3):
        w.clock.advance(100)
        await w.settle_lease(await w.lease_one())
        again = await fail_next()
        assert_equal((again.entry.fingerprint, again.blames_pages), (0, False), "it is due again")
    w.frontier = await w.subject.reopen() or w.frontier
    proven = await fail_next()
    assert_holds(proven.blames_pages and not proven.is_probe, "then pages are the cause, not their host")
    for _ in range(2):
        assert_holds(not (await fail_next(HostSignalKind.UNREACHABLE)).is_probe, "which need not wait")
    w.clock.advance(100)
    probe = await w.lease_one()
    assert_holds(probe.asks_known and probe.is_probe, "when all fail, a known URL is the probe")
    signal = HostSignal(kind=HostSignalKind.UNREACHABLE, started_at=w.clock.now())
    await w.frontier.release([probe], [signal])
    w.clock.advance(100)
    assert_holds(not (await w.lease_one()).blames_pages, "which fails as well: it is the host")


@register_check(FrontierRules(delay_s=0.1, per_host=2))
async def a_host_that_throttles_is_slowed(w: FrontierHarness) -> None:
    """Half as fast after a refusal, whatever the fixed delay; faster again with each success."""
    await w.add_entries(*[make_entry(number) for number in range(9)])
    most_s: list[float] = []

    async def gap_after(kind: HostSignalKind) -> float:
        (lease,) = (await w.lease_requests(1)).leases
        most_s.append(round(lease.host_pause_s, 6))
        await w.settle_lease(lease, signal=HostSignal(kind=kind, started_at=w.clock.now()))
        next_at = (await w.lease_requests(0)).next_at or 0.0
        gap = next_at - w.clock.now()
        w.clock.advance(gap)
        return round(gap, 6)

    assert_equal(await gap_after(HostSignalKind.OK), 0.1, "the fixed delay")
    assert_equal(await gap_after(HostSignalKind.THROTTLED), 0.2, "half as fast")
    assert_equal(most_s, [0.2, 0.2], "which the lease of a host that is well tells before")
    gaps = [await gap_after(HostSignalKind.OK) for _ in range(4)]
    assert_holds(0.2 >= gaps[0] > gaps[-1] > 0.1, f"faster with each success: {gaps}")
