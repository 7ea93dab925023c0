"""Whole runs of a job with one worker, on virtual time: what ends where, and why a run ends."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError, StorageError
from gossamer.core.events import JobFinishedEvent, JobStartedEvent, PageDoneEvent
from gossamer.core.hosts import HostCommand, HostOrder, HostSignal, HostSignalKind
from gossamer.core.jobs import DeadLetterFilter, FrontierStats
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.engine.worker import Worker
from gossamer.items.item import Item
from gossamer.policy.job_life import JobEnd
from kit.engine import CALM, URL, Answer, Kit, follow, virtually


class Misfit(Item):
    n: int


async def run(kit: Kit, *urls: str, seed: dict[str, Any] | None = None, **options: Any) -> RunSummary:
    worker = Worker(kit.parts, kit.shift)
    return await Supervisor(kit.parts, worker, **options).run(kit.seeds_of(*urls, **(seed or {})))


def crawl(kit_of: Any, *urls: str, **options: Any) -> tuple[Kit, RunSummary]:
    async def main() -> tuple[Kit, RunSummary]:
        kit = kit_of()
        return kit, await run(kit, *(urls or (URL,)), **options)

    return virtually(main)


def test_follows_links_once_each_and_finishes() -> None:
    def kit() -> Kit:
        kit = Kit()
        kit.pages.yields = {URL: follow(URL + "a", URL + "b", URL + "a#x"), URL + "a": follow(URL, URL + "b")}
        return kit

    made, ran = crawl(kit)
    assert ran.reason is FinishReason.FINISHED
    assert sorted(url for _, url in made.site.log) == [URL, URL + "a", URL + "b"]
    assert (ran.stats.done, ran.stats.waiting, ran.stats.pages, ran.stats.state) == (
        3,
        0,
        3,
        JobState.FINISHED,
    )
    assert [type(event) for event in made.events if type(event).__name__ != "ProgressEvent"] == [
        JobStartedEvent, PageDoneEvent, PageDoneEvent, PageDoneEvent, JobFinishedEvent,
    ]  # fmt: skip
    depths = {a.url: (a.depth, a.via) for h in made.ledger.results for a in h.attempts}
    assert depths[URL + "b"] == (1, URL)


def test_items_pass_the_pipeline_and_drops_are_counted() -> None:
    def kit() -> Kit:
        kit = Kit()
        kit.pages.yields = {
            URL: ExtractResult(
                items=({"a": 1}, Misfit(n="x")), requests=(Request("ftp://x/"), Request("http://no.test/"))
            )
        }
        return kit

    made, _ = crawl(kit)
    result = made.ledger.results[0]
    assert made.ledger.items == [b'{"a":1}']
    assert result.dropped["link:offsite"] == 1
    assert result.dropped["link:bad_url"] == 1
    assert sum(count for reason, count in result.dropped.items() if reason.startswith("item:")) == 1


def test_transient_faults_are_retried_with_backoff_then_given_up() -> None:
    def kit() -> Kit:
        kit = Kit()
        kit.site.replies = {URL: FetchError(Fault.INCOMPLETE, "cut"), URL + "b": [500, 200]}
        return kit

    made, ran = crawl(kit, URL, URL + "b")
    starts = [at for at, url in made.site.log if url == URL]
    assert [round(b - a, 2) for a, b in itertools.pairwise(starts)] == [0.5, 1.0, 2.0]
    assert [v for v in made.ledger.verdicts if v[0] == URL] == [(URL, "retry", "incomplete")] * 3 + [
        (URL, "dead", "incomplete")
    ]
    assert (URL + "b", "success", "") in made.ledger.verdicts
    assert ran.stats.dead == 1


def test_gone_is_settled_and_client_errors_die_at_once() -> None:
    def kit() -> Kit:
        kit = Kit()
        kit.site.replies = {URL: 404, URL + "b": 403, URL + "c": 401}
        kit.pages.statuses = {401}
        return kit

    made, ran = crawl(kit, URL, URL + "b", URL + "c")
    assert sorted(made.ledger.verdicts) == [
        (URL, "skipped", "gone"), (URL + "b", "dead", "client"), (URL + "c", "success", ""),
    ]  # fmt: skip
    assert ran.stats.dead == 1


def test_throttling_holds_the_host_and_costs_the_request_nothing() -> None:
    def kit() -> Kit:
        kit = Kit(replace(CALM, max_retries=0, per_host=1))
        kit.site.replies = {URL: [(429, {"retry-after": "30"})] * 3 + [200]}
        return kit

    made, ran = crawl(kit, URL, URL + "b")
    times = [round(at - made.site.log[0][0]) for at, _ in made.site.log]
    assert (ran.stats.dead, ran.stats.done) == (0, 2)
    assert times[1] >= 30, "nothing of that host is fetched while it is on hold"
    assert made.ledger.verdicts.count((URL, "retry", "throttled")) == 3


def test_this_machines_trouble_costs_neither_the_request_nor_its_host_anything() -> None:
    def kit() -> Kit:
        kit = Kit(replace(CALM, max_retries=0, per_host=1))
        kit.site.replies = {URL: [FetchError(Fault.LOCAL, "no open files")] * 3 + [200]}
        return kit

    made, ran = crawl(kit, URL, URL + "b")
    assert (ran.stats.dead, ran.stats.done) == (0, 2)
    assert made.ledger.verdicts.count((URL, "retry", "local")) == 3
    times = [at for at, url in made.site.log if url == URL]
    assert times[-1] - times[0] > 3, "it waits longer each time"
    (other,) = [at for at, url in made.site.log if url == URL + "b"]
    assert other - times[0] < 1, "its host is not held"


def test_redirects_are_requests_of_their_own() -> None:
    def kit() -> Kit:
        kit = Kit()
        kit.site.replies = {
            URL: (302, {"location": "/new"}),
            URL + "out": (302, {"location": "http://evil.test/"}),
            URL + "loop": (302, {"location": "/loop"}),
            URL + "bad": (302, {"location": "http:///["}),
            URL + "dup": (301, {"location": "/new"}),
        }
        return kit

    made, _ = crawl(kit, URL, URL + "out", URL + "loop", URL + "bad", URL + "dup")
    verdicts = made.ledger.verdicts
    assert (URL, "redirect", "") in verdicts
    assert verdicts.count((URL + "new", "success", "")) == 1
    assert (URL + "out", "skipped", "out_of_scope") in verdicts
    assert verdicts.count((URL + "loop", "redirect", "")) == 10
    assert (URL + "loop", "dead", "redirect_limit") in verdicts
    assert (URL + "bad", "dead", "bad_redirect") in verdicts


def test_meta_refresh_is_a_redirect() -> None:
    def kit() -> Kit:
        kit = Kit()
        kit.pages.yields = {URL: ExtractResult(refresh_to=URL + "new")}
        return kit

    made, _ = crawl(kit)
    assert made.ledger.verdicts == [(URL, "redirect", ""), (URL + "new", "success", "")]


def test_robots_fetch_is_a_turn_of_its_own_and_costs_no_attempt() -> None:
    def kit() -> Kit:
        kit = Kit(replace(CALM, delay_s=5.0, per_host=1))
        signal = HostSignal(
            kind=HostSignalKind.OK, started_at=kit.clock.now(), crawl_delay_s=9.0, robots_read=True
        )
        kit.gate.answers = {URL: [Answer(signal=signal)], URL + "b": [Answer(allowed=False, reason="robots")]}
        return kit

    made, ran = crawl(kit, URL, URL + "b", URL + "c")
    times = [(round(at - ran.started_at), url) for at, url in made.site.log]
    assert times == [(9, URL), (18, URL + "c")], "crawl-delay holds, and a refused page costs no turn"
    assert made.ledger.results[0].attempts[0].attempt == 1
    assert (URL + "b", "skipped", "robots") in made.ledger.verdicts


def test_a_callback_that_raises_is_one_dead_page_that_keeps_its_yield() -> None:
    def kit() -> Kit:
        kit = Kit()
        kit.pages.yields = {
            URL: ExtractResult(
                items=({"a": 1},), requests=(Request(URL + "b"),), fault="callback", error="Traceback: boom"
            )
        }
        return kit

    made, ran = crawl(kit)
    assert made.ledger.verdicts == [(URL, "dead", "callback"), (URL + "b", "success", "")]
    assert made.ledger.items == [b'{"a":1}']
    assert "boom" in made.ledger.results[0].attempts[0].detail
    assert ran.stats.dead == 1


def test_an_error_of_ours_is_one_dead_page() -> None:
    def kit() -> Kit:
        kit = Kit()
        kit.pages.yields = {URL: RuntimeError("bug")}  # type: ignore[dict-item]
        return kit

    made, _ = crawl(kit, URL, URL + "b")
    assert (URL, "dead", "internal") in made.ledger.verdicts
    assert (URL + "b", "success", "") in made.ledger.verdicts


def test_a_page_whose_parsing_was_interrupted_is_tried_again_and_its_host_is_not_blamed() -> None:
    def kit() -> Kit:
        kit = Kit(replace(CALM, max_retries=1))
        kit.pages.yields = {URL: ExtractResult(fault="parse_interrupted", error="killed", is_parsed=False)}
        return kit

    made, _ = crawl(kit)
    assert made.ledger.verdicts == [(URL, "retry", "parse_interrupted"), (URL, "dead", "parse_interrupted")]
    assert {result.outcome.signal.kind for result in made.ledger.results} == {HostSignalKind.OK}


def test_missing_elements_are_retried() -> None:
    def kit() -> Kit:
        kit = Kit(replace(CALM, max_retries=1))
        kit.pages.yields = {URL: ExtractResult(fault="missing", error="no h1")}
        return kit

    made, _ = crawl(kit)
    assert made.ledger.verdicts == [(URL, "retry", "missing"), (URL, "dead", "missing")]


def test_errback_runs_once_when_the_request_is_given_up() -> None:
    def kit() -> Kit:
        kit = Kit(replace(CALM, max_retries=1))
        kit.site.replies = {URL: 500}
        kit.pages.yields = {"errback": ExtractResult(items=({"failed": URL},))}
        return kit

    made, _ = crawl(kit, seed={"errback": "failed"})
    assert made.pages.errbacks == [(URL, "server")]
    assert made.ledger.items == [b'{"failed":"http://site.test/"}']


def test_a_silent_host_is_given_up_whole() -> None:
    def kit() -> Kit:
        kit = Kit(replace(CALM, max_silences=2, max_retries=9))
        for path in range(20):
            kit.site.replies[f"{URL}{path}"] = FetchError(Fault.CONNECT, "refused")
        return kit

    made, ran = crawl(kit, *(f"{URL}{path}" for path in range(20)))
    assert ran.stats.dead == 20
    assert sum(reason == "host_down" for _, _, reason in made.ledger.verdicts) >= 12
    assert ran.ended_at - ran.started_at < 60


def test_page_budget_is_exact_and_leaves_the_rest_waiting() -> None:
    def kit() -> Kit:
        return Kit(replace(CALM, max_pages=5))

    made, ran = crawl(kit, *(f"{URL}{n}" for n in range(30)))
    assert ran.reason is FinishReason.MAX_PAGES
    assert (ran.stats.pages, ran.stats.waiting, len(made.site.log)) == (5, 25, 5)


def test_host_budget_spent_ends_the_run() -> None:
    def kit() -> Kit:
        return Kit(replace(CALM, max_pages_per_host=3))

    _, ran = crawl(kit, *(f"{URL}{n}" for n in range(10)))
    assert ran.reason is FinishReason.MAX_PAGES
    assert ran.stats.pages == 3


def test_time_budget() -> None:
    def kit() -> Kit:
        return Kit(replace(CALM, delay_s=1.0, per_host=1))

    _, ran = crawl(kit, *(f"{URL}{n}" for n in range(100)), max_time_s=10.0)
    assert ran.reason is FinishReason.MAX_TIME
    assert 9 <= ran.stats.pages <= 12


def test_pause_and_cancel_end_the_run() -> None:
    async def main(change: JobCommand) -> RunSummary:
        kit = Kit(replace(CALM, delay_s=1.0, per_host=1))
        running = asyncio.create_task(run(kit, *(f"{URL}{n}" for n in range(50))))
        await kit.clock.sleep(5)
        await kit.frontier.apply_change(change)
        return await running

    paused, cancelled = (virtually(main, change) for change in (JobCommand.PAUSE, JobCommand.CANCEL))
    assert (paused.reason, paused.stats.leased) == (FinishReason.PAUSED, 0)
    assert cancelled.reason is FinishReason.CANCELLED


@pytest.mark.parametrize("change", [JobCommand.PAUSE, JobCommand.CANCEL])
def test_who_steers_a_job_while_it_ends_has_the_last_word(change: JobCommand) -> None:
    """Between the look that found nothing waiting and the end."""

    async def main() -> tuple[RunSummary, list[str]]:
        kit = Kit()
        control = kit.frontier.apply_change

        async def late(what: JobCommand, rules: Any = None) -> Any:
            if what is JobCommand.FINISH:
                await control(change)
            return await control(what, rules)

        kit.frontier.apply_change = late  # type: ignore[method-assign]
        ran = await run(kit, URL)
        return ran, [event.reason for event in kit.events if isinstance(event, JobFinishedEvent)]

    ran, told = virtually(main)
    assert ran.reason == ran.stats.state == {"pause": "paused", "cancel": "cancelled"}[change]
    assert told == [ran.reason]


def test_a_job_whose_cancelling_was_not_recorded_stays_cancelled() -> None:
    """Its process was killed before it could: nothing is fetched when the crawl is begun again."""

    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit()
        await kit.frontier.apply_change(JobCommand.CANCEL)
        return kit, await run(kit, URL)

    kit, ran = virtually(main)
    assert (ran.reason, ran.stats.state, kit.site.log) == (FinishReason.CANCELLED, JobState.CANCELLED, [])


def test_stop_drains_what_is_in_hand() -> None:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(latency_s=3.0)
        worker = Worker(kit.parts, kit.shift)
        supervisor = Supervisor(kit.parts, worker)
        running = asyncio.create_task(supervisor.run(kit.seeds_of(*(f"{URL}{n}" for n in range(50)))))
        await kit.clock.sleep(1)
        supervisor.stop()
        return kit, await running

    kit, ran = virtually(main)
    assert ran.reason is FinishReason.SIGNAL
    assert (ran.stats.done, ran.stats.leased, ran.stats.waiting) == (8, 0, 42)
    assert len(kit.site.log) == 8


def test_what_does_not_drain_in_time_is_given_back() -> None:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(latency_s=300.0)
        worker = Worker(kit.parts, kit.shift)
        supervisor = Supervisor(kit.parts, worker, drain_s=2.0)
        running = asyncio.create_task(supervisor.run(kit.seeds_of(*(f"{URL}{n}" for n in range(50)))))
        await kit.clock.sleep(1)
        supervisor.stop()
        return kit, await running

    _kit, ran = virtually(main)
    assert (ran.stats.done, ran.stats.leased, ran.stats.pending) == (0, 0, 50)
    assert ran.ended_at - ran.started_at < 5


def test_long_fetches_keep_their_leases() -> None:
    def kit() -> Kit:
        return Kit(latency_s=200.0, lease_ttl_s=30.0)

    made, ran = crawl(kit)
    assert made.ledger.verdicts == [(URL, "success", "")]
    assert len(made.site.log) == 1
    assert ran.stats.done == 1


def test_leases_of_a_dead_run_are_taken_back_and_counted() -> None:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit()
        entry = kit.admission.admit_request(Request(URL))
        assert not isinstance(entry, str)
        await kit.frontier.add([entry])
        await kit.frontier.lease("http", 1, 60.0)
        return kit, await run(kit, URL)

    kit, ran = virtually(main)
    assert ran.recovered == 1
    assert [a.verdict.value for a in kit.ledger.expired] == ["expired"]
    assert kit.ledger.results[0].attempts[0].attempt == 2


def test_a_lost_lease_is_dropped_without_a_trace() -> None:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(latency_s=25.0, lease_ttl_s=30.0)
        running = asyncio.create_task(run(kit, URL))
        await kit.clock.sleep(1)
        await kit.frontier.apply_change(JobCommand.RECOVER)
        return kit, await running

    kit, ran = virtually(main)
    assert ran.stats.done == 1
    assert [a.attempt for h in kit.ledger.results for a in h.attempts][-1] == 2


@pytest.mark.parametrize("where", ["store", "frontier"])
def test_storage_trouble_ends_the_run_with_its_message(where: str) -> None:
    async def main() -> None:
        kit = Kit()
        trouble = StorageError("the disk is full")
        if where == "store":
            kit.ledger.trouble = trouble
        else:

            async def lease(*_: object) -> object:
                raise trouble

            kit.frontier.lease = lease  # type: ignore[method-assign,assignment]
        await run(kit, URL)

    with pytest.raises(StorageError, match="the disk is full"):
        virtually(main)


def test_nothing_is_started_late() -> None:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(replace(CALM, delay_s=1.0, per_host=1))

        class SlowGate:
            async def check_request(self, request: Request, route: object = None) -> Answer:
                if not kit.site.log and not slow:
                    slow.append(1)
                    await kit.clock.sleep(20)
                return Answer()

        slow: list[int] = []
        kit.parts = kit.with_parts(robots=SlowGate())
        return kit, await run(kit, URL)

    kit, _ran = virtually(main)
    assert len(kit.site.log) == 1
    assert kit.ledger.results[0].attempts[0].attempt == 1, "giving back costs no attempt"


def test_seeding_says_what_was_refused() -> None:
    def kit() -> Kit:
        return Kit()

    _, ran = crawl(kit, "http://no.test/", "mailto:a@b", URL)
    assert ran.seeded.refused == {"offsite": 1, "bad_url": 1}
    assert ran.seeded.example == "http://no.test/"
    assert ran.seeded.added.accepted == 1


def test_dead_letters_can_be_revived_and_run_again() -> None:
    async def main() -> RunSummary:
        kit = Kit()
        kit.site.replies = {URL: [403, 200]}
        await run(kit, URL)
        assert await kit.frontier.revive_letters(DeadLetterFilter()) == 1
        return await run(kit, URL)

    assert virtually(main).stats.done == 1


class Afterthoughts:
    """What a spider asks for when nothing is left to do: so many pages, one each time, after a while."""

    def __init__(self, count: int, wait_s: float = 0.0) -> None:
        self.asked: list[float] = []
        self._count = count
        self._wait_s = wait_s

    async def find_more(self) -> AsyncIterator[Request]:
        loop = asyncio.get_running_loop()
        self.asked.append(loop.time())
        await asyncio.sleep(self._wait_s)
        if len(self.asked) <= self._count:
            yield Request(f"{URL}more{len(self.asked)}")


def test_a_run_goes_on_while_there_is_more_when_nothing_is_left_to_do() -> None:
    more = Afterthoughts(3)
    kit, ran = crawl(Kit, find_more=more.find_more)
    assert ran.reason is FinishReason.FINISHED
    assert [url for _, url in kit.site.log] == [URL, URL + "more1", URL + "more2", URL + "more3"]
    assert len(more.asked) == 4


def test_a_run_stays_open_while_it_waits_for_more_and_ends_when_its_time_is_up() -> None:
    more = Afterthoughts(1, wait_s=100.0)
    kit, ran = crawl(Kit, find_more=more.find_more)
    assert (ran.reason, len(kit.site.log)) == (FinishReason.FINISHED, 2)
    assert ran.ended_at - ran.started_at >= 200.0
    kit, ran = crawl(Kit, find_more=Afterthoughts(1, wait_s=1000.0).find_more, max_time_s=60.0)
    assert (ran.reason, len(kit.site.log)) == (FinishReason.MAX_TIME, 1)


def test_a_run_that_is_asked_to_end_asks_for_no_more() -> None:
    more = Afterthoughts(1)

    async def stop_at_once(stats: FrontierStats) -> JobEnd | None:
        return JobEnd(reason=FinishReason.STOPPED, detail="enough")

    _, ran = crawl(Kit, find_more=more.find_more, find_end=stop_at_once)
    assert ran.reason in (FinishReason.STOPPED, FinishReason.FINISHED)
    assert not more.asked


def skipped_after_its_first_page(taken_back_after_s: float | None = None) -> tuple[Kit, RunSummary]:
    """A run whose only host a person skips after the first page, with one request left."""

    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(replace(CALM, delay_s=5.0))
        kit.pages.yields = {URL: follow(URL + "a")}
        running = asyncio.create_task(run(kit, URL))
        while not kit.site.log:
            await kit.clock.sleep(0.1)
        await kit.frontier.steer_host("site.test", HostOrder(command=HostCommand.SKIP))
        if taken_back_after_s is not None:
            await kit.clock.sleep(taken_back_after_s)
            await kit.frontier.steer_host("site.test", HostOrder(command=HostCommand.TAKE))
        return kit, await running

    return virtually(main)


def test_a_job_whose_only_host_is_skipped_ends_when_that_cannot_be_undone_any_more() -> None:
    """A bug it would catch: it ends at once, as if it had spent its budget of pages."""
    _, ran = skipped_after_its_first_page()
    assert (ran.reason, ran.stats.waiting, ran.stats.state) == (FinishReason.SKIPPED, 1, JobState.RUNNING)
    assert 600.0 <= ran.ended_at - ran.started_at < 610.0


def test_a_host_that_is_taken_back_is_asked_again() -> None:
    """A bug it would catch: undo changes nothing, since the run is over by then."""
    made, ran = skipped_after_its_first_page(taken_back_after_s=500.0)
    assert ran.reason is FinishReason.FINISHED
    assert [url for _, url in made.site.log] == [URL, URL + "a"]


def test_a_run_that_is_resumed_with_nothing_but_skipped_hosts_ends_at_once() -> None:
    async def main() -> RunSummary:
        kit = Kit()
        await kit.frontier.add([kit.admission.admit_request(Request(URL))])
        await kit.frontier.steer_host("site.test", HostOrder(command=HostCommand.SKIP))
        worker = Worker(kit.parts, kit.shift)
        return await Supervisor(kit.parts, worker).run(kit.seeds_of(), resumed=True)

    ran = virtually(main)
    assert ran.reason is FinishReason.SKIPPED
    assert ran.ended_at - ran.started_at < 5.0
