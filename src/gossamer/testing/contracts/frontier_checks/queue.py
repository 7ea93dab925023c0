"""What gets into a frontier, in which order it comes out, and how hosts are spared."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import HostSignal, Rules, SignalKind
from gossamer.core.jobs import DeadFilter
from gossamer.core.lifecycle import State
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
async def what_was_accepted_is_known(w: World) -> None:
    """In whatever state, at whatever host; what was refused is not."""
    entries = [entry(number, f"{number % 3}.example") for number in range(-4, 5)]
    equal(await w.frontier.known(entries), [False] * 9, "nothing is known of an empty frontier")
    await w.add(*entries[::2])
    equal(await w.frontier.known(entries), [True, False] * 4 + [True], "what was accepted is known")
    for lease in (await w.lease()).leases:
        await w.settle(lease)
    equal(await w.frontier.known(entries), [True, False] * 4 + [True], "also when it is done")
    equal(await w.frontier.known([]), [], "nothing was asked")


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
    first_at = w.clock.now()
    for number in range(2):
        grant = await w.lease()
        equal(fingerprints(grant.leases), [number], "one start per delay")
        equal(grant.next_at, first_at + 2.0 * (number + 1), "next_at is the next turn: a little is caught up")
        w.clock.advance(1.9)
        equal(await w.leased(), [], "none before its time")
        w.clock.advance(0.1000001)
    w.clock.advance(1.0)
    equal((await w.lease()).next_at, w.clock.now() + 2.0, "much is not caught up")


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


@checked(Rules(delay_s=0.0, per_host=3, backoff_base_s=1.0, host_patience_s=150.0))
async def a_host_in_trouble_is_probed(w: World) -> None:
    """One request at a time, over a restart too; when the patience with it is spent, it is down."""
    await w.add(*[entry(number) for number in range(6)])
    first = (await w.lease(1)).leases[0]
    equal((first.host_answered, first.host_pause_s), (False, 0.0), "nothing is known of a new host")
    await w.settle(first)
    leases = (await w.lease()).leases
    equal([lease.host_answered for lease in leases], [True] * 3, "the host has answered")
    now = w.clock.now()
    silence = HostSignal(kind=SignalKind.UNREACHABLE, started_at=now)
    await w.settle(leases[0], Verdict.RETRY, due_at=now, signal=silence, charged=False, is_excused=True)
    await w.frontier.release(leases[1:], [UNUSED] * 2)
    w.frontier = await w.subject.reopen() or w.frontier
    w.clock.advance(2)
    (probe,) = (await w.lease()).leases
    equal((probe.host_pause_s, probe.is_suspect, probe.host_down), (2.0, True, False), "the probe knows it")
    holds(probe.host_silent and not first.host_silent, "and that there was no answer")
    equal((probe.failures, probe.throttled), (0, 0), "what is excused counts against nothing")
    await w.frontier.release([probe], [UNUSED])
    for _ in range(12):
        w.clock.advance(60)
        lease = await w.one()
        if lease.host_down:
            break
        signal = HostSignal(kind=SignalKind.UNREACHABLE, started_at=w.clock.now())
        due_at = w.clock.now() + 5000
        await w.settle(lease, Verdict.RETRY, due_at=due_at, signal=signal, charged=False)
    holds(lease.host_down and lease.host_answered, "a host is down when the patience with it is spent")
    holds(not lease.is_suspect, "several requests have met the silence")


@checked(Rules(delay_s=0.1, per_host=2))
async def a_host_that_throttles_is_slowed(w: World) -> None:
    """Half as fast after a refusal, whatever the fixed delay; faster again with each success."""
    await w.add(*[entry(number) for number in range(9)])

    async def gap_after(kind: SignalKind) -> float:
        (lease,) = (await w.lease(1)).leases
        await w.settle(lease, signal=HostSignal(kind=kind, started_at=w.clock.now()))
        next_at = (await w.lease(0)).next_at or 0.0
        gap = next_at - w.clock.now()
        w.clock.advance(gap)
        return round(gap, 6)

    equal(await gap_after(SignalKind.OK), 0.1, "the fixed delay")
    equal(await gap_after(SignalKind.THROTTLED), 0.2, "half as fast")
    gaps = [await gap_after(SignalKind.OK) for _ in range(4)]
    holds(0.2 >= gaps[0] > gaps[-1] > 0.1, f"faster with each success: {gaps}")
