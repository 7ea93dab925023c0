"""Rules for single domains, and random delays."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import DomainRules, FrontierRules, HostCommand, HostOrder
from gossamer.testing.contracts.frontier_harness import FrontierHarness, make_entry, register_check
from gossamer.testing.contracts.suite import assert_equal, assert_holds

SLOW_DOMAIN = FrontierRules(
    delay_s=0.0,
    per_host=2,
    domains={
        "shop.example": DomainRules(delay_s=30.0),
        "big.shop.example": DomainRules(delay_s=0.0, per_host=5),
    },
)
DRAWN = FrontierRules(delay_s=10.0, random_delay=True)


@register_check(SLOW_DOMAIN)
async def a_domain_has_a_pace_of_its_own(w: FrontierHarness) -> None:
    """The rule applies to the domain and its subdomains; the longest match wins; other domains keep the
    general rules.
    """
    hosts = ("shop.example", "www.shop.example:8080", "big.shop.example", "myshop.example")
    for place, host in enumerate(hosts):
        await w.add_entries(*[make_entry(10 * place + number, host) for number in range(9)])
    granted = [fingerprint // 10 for fingerprint in await w.lease_fingerprints()]
    counts = [granted.count(place) for place in range(len(hosts))]
    assert_equal(counts, [1, 1, 5, 2], "by the delay, and by the slots, of each")
    w.clock.advance(29.9)
    assert_equal(await w.lease_fingerprints(), [], "every slot is taken, or its delay has not passed")
    w.clock.advance(0.1)
    assert_equal(sorted(await w.lease_fingerprints()), [1, 11], "after the delay of the domain")


@register_check(SLOW_DOMAIN)
async def a_domain_may_get_another_pace(w: FrontierHarness) -> None:
    """The change takes effect at once; an operator's order for a host has priority."""
    await w.add_entries(*[make_entry(number, "www.shop.example") for number in range(5)])
    await w.settle_lease(await w.lease_one())
    before = await w.frontier.read_rules()
    after = replace(before, domains={"shop.example": DomainRules(delay_s=5.0)})
    assert_holds(await w.frontier.change_rules(after, expected=before), "the rules are changed")
    assert_equal((await w.frontier.read_rules()).domains, after.domains, "the rules in force are returned")
    w.clock.advance(5.0)
    await w.settle_lease(await w.lease_one())
    order = HostOrder(command=HostCommand.PACE, delay_s=60.0)
    assert_holds(await w.frontier.steer_host("www.shop.example", order), "the host is known")
    w.clock.advance(59.0)
    assert_equal(await w.lease_fingerprints(), [], "a person has asked for a minute")
    await w.frontier.steer_host("www.shop.example", HostOrder(command=HostCommand.PACE))
    w.clock.advance(5.0)
    assert_equal(await w.lease_fingerprints(), [2], "the domain's pace again")


@register_check(SLOW_DOMAIN)
async def who_opens_the_job_again_keeps_the_pace_of_its_domains(w: FrontierHarness) -> None:
    """The rules are kept with the job."""
    await w.add_entries(*[make_entry(number, "shop.example") for number in range(3)])
    await w.settle_lease(await w.lease_one())
    again = await w.subject.reopen()
    if again is None:
        return
    w.frontier = again
    assert_equal(await w.lease_fingerprints(), [], "the domain's delay has not passed")
    w.clock.advance(30.0)
    assert_equal(await w.lease_fingerprints(), [1], "it has")


@register_check(DRAWN)
async def a_drawn_delay_is_half_to_one_and_a_half_of_it(w: FrontierHarness) -> None:
    """And not always the same."""
    await w.add_entries(*[make_entry(number) for number in range(40)])
    waits = []
    for _ in range(30):
        lease = await w.lease_one()
        await w.settle_lease(lease)
        grant = await w.lease_requests()
        assert_equal(grant.leases, (), "no two at once")
        assert_holds(grant.next_at is not None, "the grant says when the next turn comes")
        waits.append(round((grant.next_at or 0.0) - w.clock.now(), 3))
        w.clock.advance(waits[-1] + 0.001)
    assert_holds(all(5.0 <= wait <= 15.0 for wait in waits), f"within bounds: {waits}")
    assert_holds(len(set(waits)) > 5, f"not always the same: {waits}")
    assert_holds(8.0 < sum(waits) / len(waits) < 12.0, f"right on average: {waits}")
