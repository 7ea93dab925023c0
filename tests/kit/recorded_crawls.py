"""Crawls as series of moments, to judge estimates by: how many requests were found, settled, waiting.

Each was recorded from a real crawl (worker, supervisor, frontier and politeness as they are) of a made site
on virtual time, at the looks of its watch. ``PYTHONPATH=tests python -m kit.recorded_crawls`` records them
all again into ``tests/kit/recorded_crawls/``, one file of comma-separated values for each.
"""

from __future__ import annotations

import asyncio
import csv
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.core.shifts import JobSample
from gossamer.engine.admission import Admission
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.policy.job_memory import JobMemory, remember_sample
from gossamer.policy.job_samples import add_sample
from gossamer.policy.scope import Scope
from gossamer.policy.time_left import HostEstimate, LeftFacts, TimeEstimate, estimate_time_left
from gossamer.policy.urls import UrlOptions
from gossamer.testing.shop import Shop
from gossamer.watch.job_look import left_facts, observe_hosts
from gossamer.watch.watch import EVERY_S
from kit.engine import JOB, Kit, Pages, Site, virtually

FOLDER = Path(__file__).with_suffix("")
LINK = re.compile(rb'<a [^>]*href="([^"?]*)"')
POLITE = FrontierRules(delay_s=0.5, per_host=1, backoff_base_s=1.0)
Answer = tuple[int, dict[str, str], bytes]
Order = tuple[float, str, HostOrder]
"""The time, host and order of an operator; a hold lasts for ``until`` seconds from then."""


class Moment(NamedTuple):
    """The known figures of a crawl at one moment."""

    at: float  # seconds since the beginning
    settled: int
    waiting: int
    pending: int
    delayed: int
    pages: int
    listed: int
    listed_done: int
    host_least_s: float  # until the last host is through
    host_most_s: float
    stopped_requests: int
    stopped_for_s: float | None
    is_seeded: bool


class Recording(NamedTuple):
    """A crawl that was over ``end_s`` after its beginning."""

    name: str
    end_s: float
    happened_s: float  # when something happened that was not to be foreseen; 0: nothing
    moments: tuple[Moment, ...]


class Estimate(NamedTuple):
    """An estimate at a moment, and the true value."""

    moment: Moment
    left: TimeEstimate
    truth_s: float


# --------------------------------------------------------------------------- reading and replaying


def load_recordings() -> list[Recording]:
    """All that were recorded, by name."""
    return [_load(path) for path in sorted(FOLDER.glob("*.csv"))]


def _load(path: Path) -> Recording:
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    whole = [tuple(float(value) if value else None for value in row) for row in rows[2:]]
    return Recording(path.stem, float(rows[0][1]), float(rows[0][3]), tuple(Moment(*row) for row in whole))  # type: ignore[arg-type]


def replay(recording: Recording, *, max_pages: int | None = None) -> Iterator[Estimate]:
    """Yield the estimates at each moment."""
    samples: tuple[JobSample, ...] = ()
    left: TimeEstimate | None = None
    for moment in recording.moments:
        samples = add_sample(samples, _sample_of(moment))
        facts = LeftFacts(
            now=moment.at,
            is_seeded=bool(moment.is_seeded),
            samples=samples,
            delayed=moment.delayed,
            pending=moment.pending,
            max_pages=max_pages,
            hosts=HostEstimate(
                least_s=moment.host_least_s,
                most_s=moment.host_most_s,
                stopped_requests=moment.stopped_requests,
                stopped_for_s=moment.stopped_for_s,
            ),
        )
        left = estimate_time_left(facts, left)
        yield Estimate(moment, left, recording.end_s - moment.at)


def _sample_of(moment: Moment) -> JobSample:
    return JobSample(
        at=moment.at,
        pages=moment.pages,
        waiting=moment.waiting,
        settled=moment.settled,
        is_seeded=bool(moment.is_seeded),
        listed=moment.listed,
        listed_done=moment.listed_done,
    )


# --------------------------------------------------------------------------- sites


class MadeSites(Site):
    """A fetcher of several hosts, each with a function from a path to an answer."""

    def __init__(self, kit: Kit, hosts: dict[str, Callable[[str, float], Answer]], latency_s: float) -> None:
        super().__init__(kit.clock, latency_s)
        self._hosts = hosts
        self._random = Random(7)
        self.products = 0

    async def fetch(self, request: Request, route: object = None) -> FetchResult:
        parts, now = urlsplit(request.url), self.clock.now()
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        took_s = self.latency_s * self._random.uniform(0.6, 1.8)
        await self.clock.sleep(took_s)
        status, headers, body = self._hosts[parts.hostname or ""](path, now)
        if not status:
            raise FetchError(Fault.CONNECT, "no answer")
        self.products += path.startswith("/product/") and status == 200
        return FetchResult(
            url=request.url,
            status=status,
            headers=(("content-type", "text/html"), *headers.items()),
            body=body,
            started_at=now,
            latency_s=took_s,
            elapsed_s=took_s,
            rung=self.rung,
        )


class Links(Pages):
    """An extractor: the links of a page; products first, as a spider would ask."""

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        urls = [urljoin(fetched.url, link.decode()) for link in LINK.findall(fetched.body)]
        return ExtractResult(requests=tuple(Request(url, priority=int("/product/" in url)) for url in urls))


def page(*links: str) -> Answer:
    """A page with links."""
    return 200, {}, "".join(f'<a href="{link}">x</a>' for link in links).encode()


def shop_of(products: int) -> Callable[[str, float], Answer]:
    """The shop of the demo; only its catalogue and products are linked."""
    shop = Shop(products=products)

    def answer(path: str, now: float) -> Answer:
        found = shop(path, {"host": "site.test"})
        kept = [link for link in LINK.findall(found.body) if b"/product/" in link or b"/catalog" in link]
        return found.status, {}, b"".join(b'<a href="%s">x</a>' % link for link in kept)

    return answer


def docs_of(chapters: int, sections: int) -> Callable[[str, float], Answer]:
    """A documentation site: an index, chapters of different lengths, sections that link to the next."""
    lengths = [1 + Random(n).randrange(2 * sections) for n in range(chapters)]

    def answer(path: str, now: float) -> Answer:
        where = [int(part) for part in path.strip("/").split("/") if part.isdigit()]
        if not where:
            return page(*(f"/{n}/" for n in range(chapters)))
        chapter = where[0]
        if len(where) == 1:
            return page(*(f"/{chapter}/{n}/" for n in range(lengths[chapter])))
        after = [f"/{chapter}/{where[1] + 1}/"] if where[1] + 1 < lengths[chapter] else []
        deeper = (
            [f"/{chapter}/{where[1]}/{n}/" for n in range(3)] if len(where) == 2 and where[1] % 4 == 0 else []
        )
        return page("/", f"/{chapter}/", *after, *deeper)

    return answer


def leaf(path: str, now: float) -> Answer:
    """A page without links."""
    return page()


def limited(answer: Callable[[str, float], Answer], every_s: float) -> Callable[[str, float], Answer]:
    """Return a host that refuses requests too soon after its latest answer."""
    latest = [0.0]

    def limit(path: str, now: float) -> Answer:
        if now - latest[0] < every_s:
            return 429, {}, b""
        latest[0] = now
        return answer(path, now)

    return limit


def away(
    answer: Callable[[str, float], Answer], first_s: float, last_s: float, refusal: Answer
) -> Callable[[str, float], Answer]:
    """A host that gives something else between two times after its first answer."""
    began: list[float] = []

    def give(path: str, now: float) -> Answer:
        began.append(now)
        return refusal if first_s <= now - began[0] < last_s else answer(path, now)

    return give


# --------------------------------------------------------------------------- recording


class Script(NamedTuple):
    """A crawl to be recorded."""

    hosts: dict[str, Callable[[str, float], Answer]]
    seeds: list[str]
    rules: FrontierRules = POLITE
    seeds_per_s: float = 0.0  # 0: all at once
    latency_s: float = 0.15
    products: int = 0  # that the site announces
    slots: int = 32
    orders: tuple[Order, ...] = ()
    happened_s: float = 0.0


def scripts() -> dict[str, Script]:
    """All crawls."""
    many = {f"h{n}.test": docs_of(1 + n % 5, 3 + n % 11) for n in range(200)}
    three = {f"h{n}.test": docs_of(6, 14) for n in range(3)}
    lists = {f"h{n}.test": leaf for n in range(4)}
    listed = [f"http://h{n % 4}.test/{n}" for n in range(800)]
    patient = replace(POLITE, host_patience_s=900.0)
    busy: Answer = 429, {"retry-after": "240"}, b""

    def with_trouble(first_s: float, last_s: float, answer: Answer) -> Script:
        hosts = {**lists, "h3.test": away(leaf, first_s, last_s, answer)}
        return Script(hosts, listed, patient, happened_s=first_s)

    hold = HostOrder(command=HostCommand.HOLD, until=180.0)
    return {
        "shop": Script({"site.test": shop_of(900)}, ["http://site.test/catalog"], products=900),
        "docs": Script({"site.test": docs_of(24, 16)}, ["http://site.test/"]),
        "hosts200": Script(many, _home_pages(many), replace(POLITE, delay_s=2.0), slots=64),
        "list": Script(lists, listed),
        "slow_seeds": Script(lists, listed, seeds_per_s=16.0),
        "throttled": Script({**three, "h2.test": limited(docs_of(6, 14), 3.0)}, _home_pages(three)),
        "asked_for_time": with_trouble(60.0, 62.0, busy),
        "silent": with_trouble(60.0, 1e9, (0, {}, b"")),
        "back_again": with_trouble(30.0, 200.0, (503, {}, b"")),
        "held": Script(lists, listed, orders=((40.0, "h1.test", hold),), happened_s=40.0),
        "some_errors": Script({host: _failing_now_and_then(n) for n, host in enumerate(lists)}, listed),
    }


def _home_pages(hosts: Iterable[str]) -> list[str]:
    return [f"http://{host}/" for host in hosts]


def _failing_now_and_then(seed: int) -> Callable[[str, float], Answer]:
    random = Random(seed)
    return lambda path, now: (500, {}, b"") if random.random() < 0.03 else page()


async def record(script: Script) -> tuple[float, list[Moment]]:
    """Crawl it, and return the figures at each moment."""
    kit = Kit(script.rules, concurrency=script.slots)
    site = MadeSites(kit, script.hosts, script.latency_s)
    admission = Admission(Scope(list(script.hosts)), UrlOptions(), JOB.key)
    parts = kit.with_parts(fetcher=site, extractor=Links(), admission=admission)
    supervisor = Supervisor(parts, Worker(parts, kit.shift))
    moments: list[Moment] = []
    looking = asyncio.create_task(_look(kit, supervisor, site, script, moments))
    ordering = asyncio.create_task(_give_orders(kit, script))
    began = kit.clock.now()
    ran = await supervisor.run(_seeds_of(kit, script))
    looking.cancel()
    ordering.cancel()
    return ran.ended_at - began, moments


async def _seeds_of(kit: Kit, script: Script) -> AsyncIterator[Request]:
    for url in script.seeds:
        if script.seeds_per_s:
            await kit.clock.sleep(1 / script.seeds_per_s)
        yield Request(url)


async def _give_orders(kit: Kit, script: Script) -> None:
    began = kit.clock.now()
    for at_s, host, order in script.orders:
        await kit.clock.sleep(began + at_s - kit.clock.now())
        await kit.frontier.steer_host(host, replace(order, until=kit.clock.now() + order.until))


async def _look(
    kit: Kit, supervisor: Supervisor, site: MadeSites, script: Script, moments: list[Moment]
) -> None:
    began, memory = kit.clock.now(), JobMemory()
    while True:
        await kit.clock.sleep(EVERY_S)
        now, stats = kit.clock.now(), await kit.frontier.read_stats()
        sample = JobSample(
            at=now,
            pages=stats.pages,
            waiting=stats.waiting,
            settled=stats.done + stats.dead,
            is_seeded=supervisor.is_seeded,
        )
        memory = remember_sample(memory, sample)
        hosts = await observe_hosts(kit.frontier, stats, script.rules, now, memory)
        facts = left_facts(memory, stats, script.rules, hosts)
        moments.append(
            Moment(
                at=now - began,
                settled=sample.settled,
                waiting=stats.waiting,
                pending=facts.pending,
                delayed=facts.delayed,
                pages=stats.pages,
                listed=script.products,
                listed_done=min(site.products, script.products),
                host_least_s=facts.hosts.least_s,
                host_most_s=facts.hosts.most_s,
                stopped_requests=facts.hosts.stopped_requests,
                stopped_for_s=facts.hosts.stopped_for_s,
                is_seeded=facts.is_seeded,
            )
        )


def _text_of(value: Any) -> str:
    return "" if value is None else f"{float(value):.10g}" if float(value).is_integer() else f"{value:.1f}"


def main(names: list[str]) -> None:
    """Record them all, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    for name, script in scripts().items():
        if names and name not in names:
            continue
        end_s, moments = virtually(record, script)
        with (FOLDER / f"{name}.csv").open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["end_s", f"{end_s:.1f}", "happened_s", f"{script.happened_s:g}"])
            rows.writerow(Moment._fields)
            rows.writerows([_text_of(value) for value in moment] for moment in moments)
        print(f"{name}: {end_s:.0f} s, {len(moments)} moments")


if __name__ == "__main__":
    main(sys.argv[1:])
