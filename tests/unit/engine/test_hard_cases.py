"""Cases that once went wrong, or would without the line they protect; on virtual time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules, HostSignal
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import FinishReason
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, VisitResult
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.engine.worker import Worker
from kit.engine import CALM, URL, Answer, Kit, follow, virtually

SPACED = FrontierRules(delay_s=4.0, per_host=1)


def parts_of(kit: Kit) -> tuple[Worker, Supervisor]:
    worker = Worker(kit.parts, kit.shift)
    return worker, Supervisor(kit.parts, worker, drain_s=5.0)


async def run(kit: Kit, *urls: str, **options: object) -> RunSummary:
    _, supervisor = parts_of(kit)
    return await supervisor.run(kit.seeds_of(*urls, **options))


def test_a_page_found_too_deep_first_is_fetched_when_found_nearer() -> None:
    async def main() -> Kit:
        kit = Kit(replace(CALM, max_depth=1, per_host=1))
        kit.admission.max_depth = 1
        kit.pages.yields = {URL + "near": follow(URL + "x"), URL + "far": follow(URL + "x")}
        far = Request(URL + "far", depth=1)
        worker, supervisor = parts_of(kit)

        async def seeds() -> AsyncIterator[Request]:
            yield far
            yield Request(URL + "near")

        await supervisor.run(seeds())
        assert worker.in_flight == 0
        return kit

    assert URL + "x" in [url for _, url in virtually(main).site.log]


def test_a_lane_without_a_worker_is_refused_not_waited_for() -> None:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit()
        kit.pages.yields = {URL: ExtractResult(requests=(Request(URL + "b", lane="browser"),))}
        return kit, await run(kit, URL)

    kit, ran = virtually(main)
    assert ran.reason is FinishReason.FINISHED
    assert kit.ledger.results[0].dropped == {"link:lane": 1}


def test_an_internal_error_uses_up_its_turn() -> None:
    async def main() -> list[float]:
        kit = Kit(SPACED)
        kit.pages.yields = {f"{URL}{n}": RuntimeError("bug") for n in range(4)}  # type: ignore[misc]
        await run(kit, *(f"{URL}{n}" for n in range(4)))
        return [at for at, _ in kit.site.log]

    times = virtually(main)
    assert all(after - before >= 3.99 for before, after in itertools.pairwise(times))


def test_an_abandoned_fetch_uses_up_its_turn() -> None:
    async def main() -> float:
        kit = Kit(SPACED, latency_s=100.0)
        worker, supervisor = parts_of(kit)
        running = asyncio.create_task(supervisor.run(kit.seeds_of(URL)))
        await kit.clock.sleep(1)
        supervisor.stop()
        await worker.abandon()
        ran = await running
        assert (ran.stats.pending, ran.stats.leased) == (1, 0)
        (host,) = await kit.frontier.busiest_hosts(1)
        return host.state.next_at - kit.site.log[0][0]

    assert virtually(main) >= 4.0


@pytest.mark.parametrize(("commit_s", "is_kept"), [(0.2, True), (20.0, False)])
def test_what_is_on_its_way_to_the_store_has_a_moment_to_get_there(commit_s: float, is_kept: bool) -> None:
    async def main() -> tuple[RunSummary, float]:
        kit = Kit(latency_s=1.0)
        worker, supervisor = parts_of(kit)
        write, writing = kit.ledger.write, asyncio.Event()

        async def slow(job: Job, results: Sequence[VisitResult]) -> None:
            writing.set()
            await kit.clock.sleep(commit_s)
            await write(job, results)

        kit.ledger.write = slow  # type: ignore[method-assign]
        running = asyncio.create_task(supervisor.run(kit.seeds_of(URL)))
        await writing.wait()
        supervisor.stop()
        begun = kit.clock.now()
        await worker.abandon()
        took_s = kit.clock.now() - begun
        return await running, took_s

    ran, took_s = virtually(main)
    assert (ran.stats.done, ran.stats.pending, ran.stats.leased) == ((1, 0, 0) if is_kept else (0, 1, 0))
    assert took_s == pytest.approx(min(commit_s, 0.5))


def test_an_abandoned_grant_is_not_started() -> None:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(latency_s=1.0)
        worker, supervisor = parts_of(kit)
        lease = kit.frontier.lease

        async def slow(lane: str, limit: int, ttl_s: float) -> object:
            grant = await lease(lane, limit, ttl_s)
            if not kit.site.log and grant.leases:
                supervisor.stop()
                await worker.abandon()
            return grant

        kit.frontier.lease = slow  # type: ignore[method-assign,assignment]
        return kit, await supervisor.run(kit.seeds_of(URL, URL + "b"))

    kit, ran = virtually(main)
    assert (kit.site.log, ran.stats.leased, ran.stats.pending) == ([], 0, 2)


def test_storage_trouble_in_the_robots_gate_is_not_the_requests() -> None:
    async def main() -> None:
        kit = Kit()

        class Broken:
            async def check_request(self, request: Request, route: object = None) -> Answer:
                raise StorageError("the disk is full")

        kit.parts = kit.with_parts(robots=Broken())
        try:
            await run(kit, URL)
        finally:
            assert (await kit.frontier.read_stats()).dead == 0

    with pytest.raises(StorageError, match="full"):
        virtually(main)


def test_an_errback_that_raises_is_told_in_the_ledger() -> None:
    async def main() -> str:
        kit = Kit()
        kit.site.replies = {URL: 403}
        kit.pages.yields = {"errback": ExtractResult(error="Traceback: boom", fault="callback")}
        await run(kit, URL, errback="failed")
        return kit.ledger.results[0].attempts[0].detail

    assert "status 403" in virtually(main)
    assert "boom" in virtually(main)


def test_a_status_that_the_spider_wants_still_holds_the_host() -> None:
    async def main() -> list[float]:
        kit = Kit()
        kit.pages.statuses = {429, 302}
        kit.site.replies = {URL: (429, {"retry-after": "60"}), URL + "moved": (302, {"location": "/x"})}
        kit.pages.yields = {URL: follow(URL + "b")}
        ran = await run(kit, URL + "moved", URL)
        assert ran.stats.pages == 3, "the redirect is the spider's, and is not followed"
        return [at for at, _ in kit.site.log]

    times = virtually(main)
    assert times[-1] - times[0] >= 60


def test_a_worker_elsewhere_at_robots_txt_is_waited_for_without_spinning() -> None:
    async def main() -> int:
        kit = Kit()
        calls = 0

        class Claimed:
            async def check_request(self, request: Request, route: object = None) -> Answer:
                nonlocal calls
                calls += 1
                if calls > 6:
                    return Answer()
                return Answer(allowed=False, reason="robots", signal=HostSignal(retry_after_s=1.0))

        kit.parts = kit.with_parts(robots=Claimed())
        ran = await run(kit, URL)
        assert (ran.stats.done, kit.ledger.results[0].attempts[0].attempt) == (1, 1)
        return calls

    assert virtually(main) == 7


def test_a_run_can_be_stopped_while_it_seeds() -> None:
    async def main(max_time_s: float | None) -> RunSummary:
        kit = Kit()
        worker = Worker(kit.parts, kit.shift)
        supervisor = Supervisor(kit.parts, worker, max_time_s=max_time_s)

        async def seeds() -> AsyncIterator[Request]:
            for n in range(10_000):
                await kit.clock.sleep(10)
                yield Request(f"{URL}{n}")

        running = asyncio.create_task(supervisor.run(seeds()))
        if max_time_s is None:
            await kit.clock.sleep(35)
            supervisor.stop()
        return await running

    stopped, timed = virtually(main, None), virtually(main, 25.0)
    assert (stopped.reason, timed.reason) == (FinishReason.SIGNAL, FinishReason.MAX_TIME)
    assert timed.ended_at - timed.started_at < 27


def test_slow_seeds_are_worked_on_as_they_come_and_all_of_them() -> None:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit()
        _, supervisor = parts_of(kit)

        async def seeds() -> AsyncIterator[Request]:
            for n in range(1200):
                if n % 500 == 0:
                    await kit.clock.sleep(30)
                yield Request(f"{URL}{n}")

        return kit, await supervisor.run(seeds())

    kit, ran = virtually(main)
    assert (ran.reason, ran.stats.done, ran.seeded.added.accepted) == (FinishReason.FINISHED, 1200, 1200)
    assert kit.site.log[0][0] - ran.started_at < 65, "the first batch is not kept waiting for the last"


def test_a_start_that_raises_ends_the_run_with_its_error() -> None:
    async def main() -> None:
        kit = Kit()
        _, supervisor = parts_of(kit)

        async def seeds() -> AsyncIterator[Request]:
            yield Request(URL)
            raise ValueError("in start")

        await supervisor.run(seeds())

    with pytest.raises(ValueError, match="in start"):
        virtually(main)


def test_a_cancelled_run_gives_everything_back() -> None:
    async def main() -> Kit:
        kit = Kit(latency_s=50.0)
        running = asyncio.create_task(run(kit, URL, URL + "b"))
        await kit.clock.sleep(1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        stats = await kit.frontier.read_stats()
        assert (stats.leased, stats.pending) == (0, 2)
        return kit

    virtually(main)


def test_a_redirect_to_ones_own_canonical_form_ends_with_a_reason() -> None:
    async def main() -> Kit:
        kit = Kit()
        kit.site.replies = {URL + "a": (302, {"location": "/a?utm_source=x"})}
        await run(kit, URL + "a")
        return kit

    assert virtually(main).ledger.verdicts[-1] == (URL + "a", "dead", "redirect_limit")


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(0)])
def test_users_code_that_would_end_its_task_costs_its_page_and_not_the_crawl(error: BaseException) -> None:
    """Nobody cancelled the visit: left alone, its lease would be extended for ever."""

    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit()
        kit.pages.yields = {URL: error}
        return kit, await asyncio.wait_for(run(kit, URL, URL + "b"), 1000)

    kit, ran = virtually(main)
    assert (ran.reason, ran.stats.dead, ran.stats.done) == (FinishReason.FINISHED, 1, 1)
    assert [verdict for _, verdict, _ in kit.ledger.verdicts].count("dead") == 1


def test_a_lease_beside_results_that_cannot_be_recorded_is_not_left_behind() -> None:
    async def main() -> tuple[int, int]:
        kit = Kit()
        kit.shift = replace(kit.shift, concurrency=1)
        lease, fetched = kit.frontier.lease, kit.site.fetch
        begun, ended = itertools.count(), itertools.count()

        async def slow(lane: str, limit: int, ttl_s: float) -> object:
            next(begun)
            await kit.clock.sleep(1)
            grant = await lease(lane, limit, ttl_s)
            next(ended)
            return grant

        async def fetch(request: Request, route: object) -> object:
            kit.ledger.trouble = StorageError("the disk is full")
            return await fetched(request)

        kit.frontier.lease = slow  # type: ignore[method-assign,assignment]
        kit.site.fetch = fetch  # type: ignore[method-assign,assignment]
        with pytest.raises(StorageError, match="full"):
            await run(kit, URL, URL + "b")
        assert (await kit.frontier.read_stats()).leased == 0
        assert kit.site.log
        return next(begun), next(ended)

    assert virtually(main) == (2, 2)


def test_a_shift_that_is_cancelled_while_it_cleans_up_gives_its_leases_back() -> None:
    """A bug it would catch: storage trouble, and Ctrl-C meanwhile; the leases last until they expire."""

    async def main() -> int:
        kit = Kit(lease_ttl_s=3.0)

        async def extend(leases: object, ttl_s: float) -> list[bool]:
            try:
                await kit.clock.sleep(1000.0)
            finally:
                await kit.clock.sleep(5.0)  # a server that is slow to let go
            return []

        async def slow(request: Request) -> object:
            await kit.clock.sleep(2.0 if request.url == URL else 1000.0)
            return kit.site.page(request.url)

        kit.frontier.extend = extend  # type: ignore[method-assign,assignment]
        kit.site.replies = {URL: slow, URL + "b": slow}
        kit.ledger.trouble = StorageError("the disk is full")
        await kit.frontier.add([kit.admission.admit_request(Request(url)) for url in (URL, URL + "b")])  # type: ignore[misc]
        shift = asyncio.create_task(parts_of(kit)[0].run())
        await kit.clock.sleep(4.0)
        shift.cancel()
        with pytest.raises(asyncio.CancelledError):
            await shift
        return (await kit.frontier.read_stats()).leased

    assert virtually(main) == 0
