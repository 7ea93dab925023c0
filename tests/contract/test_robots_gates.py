"""Every robots gate keeps every promise of the contract, on whatever its workers share."""

from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from gossamer.core.errors import FetchError
from gossamer.core.results import RobotsDecision
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.testing.contracts.robots_gate import (
    ROBOTS_GATE_CHECKS,
    RobotsSite,
    RobotsSubject,
    check_robots_gate,
)
from kit.shared_states import KINDS, find_states, open_memory

AGENT = "gossamer/1.0"


def gates_over(shared, other, clock):
    site = RobotsSite(clock)
    gates = [RobotsCache(site, state, clock, user_agent=AGENT) for state in (shared, other)]
    return RobotsSubject(*gates, site, clock)


@asynccontextmanager
async def memory(clock):
    async with open_memory(clock) as states:
        yield gates_over(*states, clock)


@pytest.fixture(params=KINDS)
def make(request, tmp_path):
    open_states = find_states(request, tmp_path)

    @asynccontextmanager
    async def make(clock):
        async with open_states(clock) as states:
            yield gates_over(*states, clock)

    return make


@pytest.mark.parametrize("name", ROBOTS_GATE_CHECKS)
async def test_contract(make, name):
    await ROBOTS_GATE_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_robots_gate(memory)
    assert len(ROBOTS_GATE_CHECKS) >= 10


async def test_the_suite_catches_a_gate_that_opens_when_nobody_answers():
    class Lenient:
        def __init__(self, site):
            self.site = site

        async def check_request(self, request, route=None):
            with suppress(FetchError):
                await self.site.fetch(robots_request(request))
            return RobotsDecision(allowed=True)

    def robots_request(request):
        return request.replace(url=f"{request.url.rsplit('/', 1)[0]}/robots.txt")

    @asynccontextmanager
    async def lenient(clock):
        async with memory(clock) as subject:
            gate = Lenient(subject.site)
            yield replace(subject, gate=gate, other=gate)

    with pytest.raises(AssertionError, match="nothing may be fetched"):
        await ROBOTS_GATE_CHECKS["an_unreachable_file_closes_its_origin"](lenient)
    with pytest.raises(AssertionError, match="one fetch"):
        await ROBOTS_GATE_CHECKS["the_file_is_fetched_once"](lenient)
