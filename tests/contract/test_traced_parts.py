"""What is traced keeps the promises of what it is around: every suite runs on it as well."""

from contextlib import asynccontextmanager

import pytest
from opentelemetry.sdk.trace import TracerProvider

from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.core.jobs import Job
from gossamer.engine.store_then_settle import SplitCommitter
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.items.pipeline import DefaultPipeline
from gossamer.observe.tracing import (
    TracedCommitter,
    TracedExtractor,
    TracedFetcher,
    TracedPipeline,
    TracedRobotsGate,
    VisitTracer,
)
from gossamer.store.memory.store import MemoryStore
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.committer import COMMITTER_CHECKS, COMMITTER_RULES, CommitterSubject
from gossamer.testing.contracts.extractor import EXTRACTOR_CHECKS, ExtractorSubject
from gossamer.testing.contracts.fetcher import FETCHER_CHECKS
from gossamer.testing.contracts.pipeline import PIPELINE_CHECKS, PipelineSubject
from gossamer.testing.contracts.robots_gate import ROBOTS_GATE_CHECKS, RobotsSite, RobotsSubject
from kit.shared_states import open_memory

TRACER = TracerProvider().get_tracer("test")
JOB = Job(id="shop-1", name="shop", target="x", created_at=0.0)


@asynccontextmanager
async def committers(clock):
    frontier, store = MemoryFrontier(COMMITTER_RULES, clock, seed=1), MemoryStore()
    committer = TracedCommitter(SplitCommitter(frontier, store, JOB), VisitTracer(TRACER, JOB))
    yield CommitterSubject(committer, frontier, store, JOB, clock)


@asynccontextmanager
async def extractors(clock):
    yield ExtractorSubject(lambda spider: TracedExtractor(SpiderExtractor(lambda _: spider), TRACER))


@asynccontextmanager
async def pipelines(clock):
    async def build(*steps):
        return TracedPipeline(DefaultPipeline(steps=steps), TRACER)

    yield PipelineSubject(build)


@asynccontextmanager
async def robots_gates(clock):
    site = RobotsSite(clock)
    async with open_memory(clock) as states:
        gates = [RobotsCache(site, state, clock, user_agent="gossamer/1.0") for state in states]
        yield RobotsSubject(*(TracedRobotsGate(gate, TRACER) for gate in gates), site, clock)


SUITES = (
    (COMMITTER_CHECKS, committers),
    (EXTRACTOR_CHECKS, extractors),
    (PIPELINE_CHECKS, pipelines),
    (ROBOTS_GATE_CHECKS, robots_gates),
)


CASES = [pytest.param(checks[name], make, id=name) for checks, make in SUITES for name in checks]


@pytest.mark.parametrize(("check", "make"), CASES)
async def test_contract(check, make):
    await check(make)


@pytest.mark.parametrize(
    "name", ["good_page", "redirects_are_returned", "failures_say_their_rung", "concurrent"]
)
async def test_fetchers(name):
    options = HttpOptions(user_agent="gossamer-test")
    guard = AddressGuard({"127.0.0.1", "localhost"})
    async with BadSite() as site:
        plain = HttpFetcher(options, clock=ManualClock(), guard=guard, cookies=CookieJar(100))
        fetcher = TracedFetcher(plain, TRACER)
        try:
            await FETCHER_CHECKS[name](fetcher, site)
        finally:
            await fetcher.close()
