"""Sites some of whose URLs always fail, on virtual time: good pages arrive, bad ones are dead letters."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Entry, Request
from gossamer.engine.answer_memory import AnswerMemory
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.engine.worker import Worker
from gossamer.fleet.shift import ShiftRun
from kit.engine import URL, Kit, follow, virtually

pytestmark = pytest.mark.slow

GOOD = 400
DEFAULT = FrontierRules()
Answer = Callable[[Kit], Any]


def after_s(seconds: float, fault: Fault) -> Answer:
    """A fault that takes its time."""

    def answer(kit: Kit) -> Any:
        async def fail(request: Request) -> Any:
            await kit.clock.sleep(seconds)
            raise FetchError(fault, "nothing")

        return fail

    return answer


KINDS: dict[str, tuple[Answer, str]] = {
    "503": (lambda _: 503, "throttled"),
    "429": (lambda _: 429, "throttled"),
    "502": (lambda _: 502, "gateway"),
    "504": (lambda _: 504, "gateway"),
    "500": (lambda _: 500, "server"),
    "reset": (lambda _: FetchError(Fault.CONNECT, "reset"), "connect"),
    "timeout": (after_s(0.1, Fault.TIMEOUT_HEADERS), "timeout_headers"),
    "drip": (after_s(0.1, Fault.TIMEOUT_BODY), "timeout_body"),
}


def crawl(answer: Answer | None, bad: int, order: str) -> tuple[Kit, RunSummary]:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(DEFAULT, latency_s=0.05)
        urls, failing = [f"{URL}{n}" for n in range(GOOD)], [f"{URL}bad{n}" for n in range(bad)]
        if answer is not None:
            kit.site.replies = dict.fromkeys(failing, answer(kit))
            urls = [*failing, *urls] if order == "first" else [*urls, *failing]
            if order == "mixed":
                random.Random(4).shuffle(urls)
        kit.pages.yields = {URL: follow(*urls)}
        return kit, await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))

    return virtually(main)


def seconds_of(ran: RunSummary) -> float:
    return ran.ended_at - ran.started_at


@pytest.fixture(scope="module")
def plain_s() -> float:
    return seconds_of(crawl(None, 0, "")[1])


@pytest.mark.parametrize("order", ["mixed", "first", "last"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_site_with_pages_that_always_fail_is_through_in_twice_the_time(
    kind: str, order: str, plain_s: float
) -> None:
    answer, reason = KINDS[kind]
    kit, ran = crawl(answer, GOOD // 20, order)
    dead = [(url, why) for url, verdict, why in kit.ledger.verdicts if verdict == "dead"]
    assert sorted(dead) == sorted((f"{URL}bad{n}", reason) for n in range(GOOD // 20))
    assert (ran.stats.done, ran.stats.waiting) == (GOOD + 1, 0)
    is_hard = kind in ("reset", "timeout") and order != "mixed"  # pauses, while nothing else is answered
    assert seconds_of(ran) <= (2.3 if is_hard else 2) * plain_s


@pytest.mark.parametrize("kind", ["503", "503 in 0 s", "502", "reset"])
def test_a_page_that_always_fails_at_a_slow_host_is_not_its_only_probe(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug it would catch: it is due before its host may be asked, and stands before pages that are well.

    Each worker of a fleet may be one that has seen no answer of the host.
    """
    monkeypatch.setattr(AnswerMemory, "note_answer", lambda *_: None)

    async def main(answer: Any) -> float:
        kit = Kit(replace(DEFAULT, min_delay_s=1.5, backoff_base_s=0.3), latency_s=0.4)
        urls = [f"{URL}{n}" for n in range(38)]
        kit.site.replies = {urls[5]: answer, urls[24]: answer}
        kit.pages.yields = {URL: follow(*urls)}
        ran = await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))
        assert (ran.stats.done, ran.stats.dead) == ((39, 0) if answer == 200 else (37, 2))
        return max(at for at, url in kit.site.log if url not in (urls[5], urls[24])) - ran.started_at

    answers = {"503": 503, "503 in 0 s": (503, {"retry-after": "0"}), "502": 502}
    reset = FetchError(Fault.CONNECT, "reset")
    most = 2.5 if "in" in kind else 2  # a time that a host names is kept, whatever is known of its pages
    assert virtually(main, answers.get(kind, reset)) <= most * virtually(main, 200)


def test_a_worker_probes_with_what_an_earlier_shift_has_seen_answered() -> None:
    """Bug it would catch: shifts are shorter than the pauses of a host, and each begins without an answer."""

    async def main() -> list[str]:
        kit = Kit(replace(DEFAULT, max_delay_s=10.0))
        urls = [f"{URL}{n}" for n in range(4)]
        kit.site.replies = dict.fromkeys(urls[1:], 503)
        for url in urls:
            await kit.frontier.add([Entry(request=Request(url), fingerprint=hash(url), host="site.test")])
            shift = ShiftRun(Worker(kit.parts, kit.shift), kit.frontier, kit.clock, max_s=3.0, drain_s=1.0)
            await shift.run()
        return [url for _, url in kit.site.log]

    asked = virtually(main)
    assert f"{URL}0" in asked[1:], asked


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["503", "429"])
def test_sixty_pages_that_are_always_refused_among_four_hundred_are_through_in_twice_the_time(
    kind: str, plain_s: float
) -> None:
    kit, ran = crawl(KINDS[kind][0], 60, "mixed")
    assert (ran.stats.done, ran.stats.dead, ran.stats.waiting) == (GOOD + 1, 60, 0)
    assert seconds_of(ran) <= 2 * plain_s
    assert len(kit.site.log) < GOOD + 60 * 6


@pytest.mark.long
@pytest.mark.parametrize("share", [0.3, pytest.param(0.5, marks=pytest.mark.thorough)])
def test_a_host_that_refuses_by_chance_loses_no_page(share: float) -> None:
    """Bug it would catch: a page is charged with refusals that others meet as often."""

    async def main() -> RunSummary:
        kit, chance = Kit(DEFAULT, latency_s=0.02), random.Random(1)
        urls = [f"{URL}{n}" for n in range(100)]

        async def answer(request: Request) -> Any:
            return kit.site.page(request.url, 503 if chance.random() < share else 200)

        kit.site.replies = dict.fromkeys(urls, answer)
        kit.pages.yields = {URL: follow(*urls)}
        return await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))

    ran = virtually(main)
    assert (ran.stats.done, ran.stats.dead) == (101, 0)


@pytest.mark.long
def test_an_outage_of_a_site_with_pages_that_always_fail_costs_no_other_page() -> None:
    """Everything is refused for an hour, the URLs that were answered before included."""

    async def main() -> tuple[Kit, RunSummary, int]:
        kit = Kit(DEFAULT, latency_s=0.05)
        good, bad = [f"{URL}{n}" for n in range(GOOD)], [f"{URL}bad{n}" for n in range(40)]
        begins_at, refused = kit.clock.now() + 30.0, 0

        async def answer(request: Request) -> Any:
            nonlocal refused
            is_out = begins_at <= kit.clock.now() < begins_at + 3600.0
            refused += is_out
            return kit.site.page(request.url, 503 if is_out or "bad" in request.url else 200)

        kit.site.replies = dict.fromkeys([URL, *good, *bad], answer)
        urls = [*good, *bad]
        random.Random(4).shuffle(urls)
        kit.pages.yields = {URL: follow(*urls)}
        ran = await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))
        return kit, ran, refused

    kit, ran, refused = virtually(main)
    dead = {url for url, verdict, _ in kit.ledger.verdicts if verdict == "dead"}
    assert all("bad" in url for url in dead)
    assert ran.stats.done == GOOD + 1
    assert refused < 200, "about one request a minute"
