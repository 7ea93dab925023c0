"""The fetch rate of a worker whose callbacks run elsewhere. Run: python benchmarks/deferred.py

One worker with the frontier and the store of one machine, and a server in a separate process with pages of 54
KB. The callback takes 60 selectors. In turns, the worker runs it while fetching; archives pages for other
workers (``extract.deferred``); and, as a reading worker, runs the deferred callbacks. Prints pages per second
of the clock and of the processor; the latter depend less on other load.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from msgspec.structs import replace

from gossamer.config.layers import load_settings
from gossamer.core.requests import Request
from gossamer.core.shifts import EXTRACT_LANE
from gossamer.engine.parts import EngineParts, ShiftOptions
from gossamer.engine.worker import Worker
from gossamer.targets.discovery import find_target
from gossamer.wiring.assemble import assemble_worker
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.deferred import page_deferral_of

SPIDER = """
from gossamer import Spider

class Heavy(Spider):
    name = "heavy"
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        rows = response.css("section")
        names = [rows[n].css(f".name{{n}}::text").get() for n in range(30)]
        yield dict(zip(names, (row.css("a::attr(href)").get() for row in rows)))
"""
BODY = (
    b" " * 20
    + "".join(
        f"<section><h2 class=name{n}>Part {n}</h2><p>{'word ' * 345}</p><a href=/{n}>more</a></section>"
        for n in range(30)
    ).encode()
)
COLUMNS = ("both at once", "fetching only", "reading only")


def serve(told: Connection) -> None:
    """Answer every request with a page of its own."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                path = request.split(b" ", 2)[1]  # else one body would be that of all pages
                writer.write(head + path[:20].ljust(20) + BODY[20:])
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def work_through(parts: EngineParts, shift: ShiftOptions, pages: int) -> tuple[float, float]:
    """Return a worker's pages per second of clock and processor until this many requests of its lane are
    settled.
    """
    done = await count_done(parts)
    worker = Worker(parts, shift)
    began, cpu_began = time.perf_counter(), time.process_time()
    running = asyncio.create_task(worker.run())
    while await count_done(parts) < done + pages:  # noqa: ASYNC110 - as a supervisor looks
        await asyncio.sleep(0.05)
    took_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    worker.stop()
    await running
    return pages / took_s, pages / cpu_s


async def count_done(parts: EngineParts) -> int:
    """Count the settled requests, including failures."""
    stats = await parts.frontier.read_stats()
    return stats.done + stats.dead


async def measure(folder: Path, port: int, pages: int, *, deferred: bool) -> list[tuple[float, float]]:
    """Return the rate of a worker that does both, or those of one that fetches and one that reads."""
    spider = folder / "heavy.py"
    spider.write_text(SPIDER.format())
    given = {
        "data": str(folder), "delay": 0.0, "per_host": 32, "concurrency": 32, "robots": False,
        **({"archive.url": str(folder / "pages"), "extract.deferred": True} if deferred else {}),
    }  # fmt: skip
    settings = load_settings(env={}, overrides=given).settings
    target = find_target(str(spider), {}, None)
    backends: Backends = await open_backends(settings, create=True)
    job = await backends.book.create(target.name, target.text)
    wired = await assemble_worker(settings, target, backends, job, sinks=(), resumed=False)
    parts = replace(wired.parts, defers_page=page_deferral_of(target) if deferred else None)
    seeds = [parts.admission.admit_request(Request(f"http://127.0.0.1:{port}/{n}")) for n in range(pages)]
    await parts.frontier.add([seed for seed in seeds if not isinstance(seed, str)])
    rates = [await work_through(parts, wired.shift, pages)]
    await wired.close()
    if deferred:
        wired = await assemble_worker(
            settings, target, backends, job, sinks=(), resumed=True, lane=EXTRACT_LANE
        )
        rates.append(await work_through(wired.parts, replace(wired.shift, lane=EXTRACT_LANE), pages))
        await wired.close()
    assert (await backends.store.read_totals(job)).pages == pages
    await backends.close()
    return rates


def main() -> None:
    """Measure in turns, and print the medians."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=2000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    port, rounds = here.recv(), []
    for _ in range(given.rounds):
        rates: list[tuple[float, float]] = []
        for deferred in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                rates += asyncio.run(measure(Path(folder), port, given.pages, deferred=deferred))
        rounds.append(rates)
    server.terminate()
    medians = [
        [statistics.median(rates) for rates in zip(*way, strict=True)] for way in zip(*rounds, strict=True)
    ]
    print(f"pages of {len(BODY):,} bytes, {given.pages:,} of them, {given.rounds} rounds")
    for name, found in zip(COLUMNS, medians, strict=True):
        clock, cpu = (
            f"{rate:>8,.0f} {rate / first:>5.2f} times" for rate, first in zip(found, medians[0], strict=True)
        )
        print(f"{name:<14} pages/s {clock}   of the processor {cpu}")


if __name__ == "__main__":
    main()
