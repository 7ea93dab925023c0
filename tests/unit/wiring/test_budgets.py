"""Budgets of a crawl: set, they are kept to by all workers of a fleet; not set, they cost nothing."""

from __future__ import annotations

from gossamer.cluster.running import make_supervisor
from gossamer.config.layers import load_settings
from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.requests import Request
from gossamer.core.routes import DIRECT, Detour
from gossamer.engine.fixed_router import FixedRouter
from gossamer.fetch.routing.budgeted import BudgetFetcher, BudgetRouter
from gossamer.jobs.control import prepare_submission, submit_job
from gossamer.targets.discovery import find_target
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
