"""Budgets of a crawl: set, they are kept to by all workers of a fleet; not set, they cost nothing."""

from __future__ import annotations

import pytest

from gossamer.cluster.running import make_supervisor
from gossamer.config.layers import load_settings
from gossamer.core.errors import FetchError
from gossamer.core.jobs import FrontierStats, tag_of
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Outcome, Verdict, VisitResult
from gossamer.core.routes import DIRECT, Detour
from gossamer.engine.fixed_router import FixedRouter
from gossamer.fetch.routing.budgeted import BudgetFetcher, BudgetRouter
from gossamer.fetch.routing.spending import SpendingMeter
from gossamer.jobs.control import prepare_submission, submit_job
from gossamer.policy.budgets import BudgetLimits, BudgetRules, OverrunRule, PatternBudget, Spending
from gossamer.queries.budgets import find_spent_budget, read_budgets
from gossamer.targets.discovery import find_target
from gossamer.targets.plan import plan_from, settings_under
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve
from gossamer.wiring.assemble import assemble_worker
from gossamer.wiring.backends import open_backends


async def test_the_workers_of_a_fleet_keep_to_one_budget_and_its_supervisor_sees_it(redis_url, tmp_path):
    async with serve(lambda path, headers: SiteResponse(200, bytes(1000))) as site:
        given = {"data": str(tmp_path), "frontier.url": redis_url, "budgets.bytes": 5000}
        settings = load_settings(env={}, overrides=given).settings
        backends = await open_backends(settings, create=True)
        settled, plan, name, text = prepare_submission(f"{site.url}/", {}, given)
        job = await submit_job(backends, settled, plan, name, text)
        target = find_target(f"{site.url}/", {}, None)
        workers = [
            await assemble_worker(settings, target, backends, job, sinks=(), resumed=True, owner=owner)
            for owner in ("one", "two")
        ]
        find_end = make_supervisor(settings, backends, None, "me")._parts.watched(job, ()).find_end
        request, chosen = Request(f"{site.url}/"), []
        for number in range(10):
            parts = workers[number % 2].parts
            chosen.append(await parts.router.choose_route(request, site.host))
            if chosen[-1] == DIRECT:
                await parts.fetcher.fetch(request, DIRECT)
        assert chosen[:5] == [DIRECT] * 5
        assert all(isinstance(route, Detour) for route in chosen[7:]), "each may be one page behind the other"
        end = await find_end(FrontierStats(state=JobState.RUNNING))
        assert (end.reason, end.detail) == (FinishReason.BUDGET, "bytes")
        for worker in workers:
            await worker.close()
        await backends.close()


async def test_a_crawl_without_budgets_counts_nothing(tmp_path):
    settings = load_settings(env={}, overrides={"data": str(tmp_path)}).settings
    backends = await open_backends(settings, create=True)
    target = find_target("http://shop.example/", {}, None)
    for changes, router, is_counted in (
        ({}, FixedRouter, False),
        ({"bytes_per_host": 9}, BudgetRouter, True),
    ):
        own = settings.model_copy(update={"budgets": settings.budgets.model_copy(update=changes)})
        job = await backends.book.create("shop", target.text)
        wired = await assemble_worker(own, target, backends, job, sinks=(), resumed=False)
        assert type(wired.parts.router) is router
        assert isinstance(wired.parts.fetcher, BudgetFetcher) is is_counted
        assert wired.parts.router.is_fixed
        await wired.close()
    await backends.close()


async def test_the_workers_of_a_fleet_share_the_pages_of_a_pattern(redis_url, tmp_path):
    given = {
        "data": str(tmp_path),
        "frontier.url": redis_url,
        "budgets.patterns.products.pattern": "/product/",
        "budgets.patterns.products.pages": 7,
    }
    settings = load_settings(env={}, overrides={"data": str(tmp_path), "frontier.url": redis_url}).settings
    backends = await open_backends(settings, create=True)
    settled, plan, name, text = prepare_submission("http://shop.example/", {}, given)
    job = await submit_job(backends, settled, plan, name, text)
    target = find_target("http://shop.example/", {}, None)
    planned = settings_under(plan_from(job.plan), settings)
    workers = [
        await assemble_worker(planned, target, backends, job, sinks=(), resumed=True, owner=owner)
        for owner in ("one", "two", "three")
    ]
    requests = [Request(f"http://shop.example/product/{number}") for number in range(30)]
    chosen = [
        await workers[number % 3].parts.router.choose_route(request, "shop.example")
        for number, request in enumerate(requests)
    ]
    assert chosen == [DIRECT] * 7 + [chosen[-1]] * 23
    assert isinstance(chosen[-1], Detour), "one of the seven may come to nothing"
    for number, request in enumerate(requests[:7]):
        await workers[number % 3].parts.committer.commit([make_page(request)])
    for number, worker in enumerate(workers):
        with pytest.raises(FetchError, match="the budget products is spent: pages"):
            await worker.parts.router.choose_route(requests[-1 - number], "shop.example")
        await worker.close()
    (budget,) = await read_budgets(backends, job)
    assert (budget.used, budget.spent, budget.refused) == ({"pages": 7}, ("pages",), 3)
    await backends.close()


async def test_of_two_budgets_of_a_url_the_one_that_refuses_it_explains_that(tmp_path):
    settings = load_settings(env={}, overrides={"data": str(tmp_path)}).settings
    backends = await open_backends(settings, create=True)
    job = await backends.book.create("shop", "http://shop.example/")
    limits = BudgetLimits(items=1)
    last = PatternBudget(name="a", pattern=".", limits=limits, over=OverrunRule.LAST)
    stop = PatternBudget(name="b", pattern="/product/", limits=limits)
    rules = BudgetRules(patterns=(last, stop))
    meter = SpendingMeter(backends.requests.shared, backends.clock, tag_of(job), rules)
    await meter.begin(is_alone=True)
    meter.add_spending("shop.example", Spending(items=1), "http://shop.example/product/1")
    await meter.save()
    urls = [f"http://shop.example/{place}/2" for place in ("product", "other")]
    found = [await find_spent_budget(backends, job, url) for url in urls]
    assert [budget and budget.budget for budget in found] == ["b", "a"]
    await backends.close()


def make_page(request):
    entry = Entry(request=request, fingerprint=1, host="shop.example")
    lease = Lease(entry=entry, token=0, granted_at=0, start_by=0, deadline=0, attempt=1)
    return VisitResult(outcome=Outcome(lease=lease, verdict=Verdict.SUCCESS, is_page=True))
