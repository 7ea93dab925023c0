"""The same crawl on two workers: Gossamer, scrapy-redis, the tutorials' recipe. Run: ``make bench-cluster``.

Workers and servers run idle before the clock starts, at the submission of the crawl. The clock is read at the
answer to the last page, by nginx's log, and when the last item was stored. CPU is that of the workers and
their servers in between, by the kernel. A run counts only if it fetched every page once and every item. The
fleets take turns; medians are printed and kept in ``results/cluster.jsonl``.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

# Modules beside this file.
from cluster_fleets import FLEETS, Fleet
from cluster_processes import FleetError, cpu_s, wait_until_idle
from run import CACHE, HERE, WORKLOADS, is_page, median, problem, remember, versions
from servers import Answer, answers_since, log_position, serve
from sites import read_truth

HISTORY = HERE / "results" / "cluster.jsonl"
SITES = ("catalogue", "docs")
PEERS = ("scrapy-redis", "tutorial")
LOOK_S = 0.1
"""Seconds between readings of the store, which limit the precision of ``stored_per_s``."""
AFTER_S = 1.0
"""Seconds for which a complete crawl is still watched: a fleet may fetch pages twice at the end."""
STANDSTILL_S = 30.0
"""A run is over after this many seconds without a new item; the slowest page takes a recipe ten seconds."""


@dataclass(frozen=True)
class ClusterRun:
    """Results of one run; all rates are in pages of the site."""

    pages_per_s: float  # from the submission to the answer to the last page
    stored_per_s: float  # from the submission to the last item stored
    crawl_rate: float  # from the first page's answer to the last page's
    first_page_s: float
    worker_cpu_s_per_1000: float
    server_cpu_s_per_1000: float
    problem: str = ""


@dataclass(frozen=True)
class Watched:
    """Figures seen from outside."""

    began: float  # seconds since the epoch
    stored_s: float  # from there
    worker_cpu_s: float
    server_cpu_s: float
    problem: str


def run(fleet: Fleet, *, timeout_s: float) -> ClusterRun:
    """One crawl, with all checks."""
    workload, items = fleet.workload, fleet.folder / "items.jsonl"
    try:
        with fleet:
            fleet.start()
            wait_until_idle(fleet.workers)
            position = log_position()
            seen = watch(fleet, timeout_s=timeout_s)
            fleet.export(items)
    except FleetError as error:
        return ClusterRun(*[math.nan] * 6, problem=str(error))
    pages = [answer for answer in answers_since(position) if answer.status == 200 and is_page(answer.path)]
    return figures(seen, pages, seen.problem or problem(0, workload, pages, items))


def watch(fleet: Fleet, *, timeout_s: float) -> Watched:
    """Submit the crawl to the fleet and watch it to its end."""
    wanted = len(read_truth(fleet.workload.site))
    own, workers, servers = own_cpu_s(), *cpu(fleet)
    began, start = time.time(), time.perf_counter()
    fleet.submit()
    stored, stored_s = 0, 0.0
    trouble = ""
    while not trouble and (stored < wanted or fleet.is_working()):
        time.sleep(LOOK_S)
        now, count = time.perf_counter() - start, fleet.stored()
        if count != stored:
            stored, stored_s = count, now
        if now > timeout_s:
            trouble = "took too long"
        elif now - stored_s > STANDSTILL_S and stored < wanted:
            trouble = f"stood still with {stored} of {wanted} items"
    workers_now, servers_now = cpu(fleet)
    time.sleep(AFTER_S)
    used = workers_now - workers + own_cpu_s() - own
    return Watched(began, stored_s, used, servers_now - servers, trouble)


def cpu(fleet: Fleet) -> tuple[float, float]:
    """Seconds of the workers and of the servers so far."""
    servers = cpu_s([server.pid for server in fleet.servers])
    return cpu_s([worker.pid for worker in fleet.workers]), servers


def own_cpu_s() -> float:
    """Return the seconds of the commands that have ended: those that submitted the crawl and waited for its
    end.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def figures(seen: Watched, pages: Sequence[Answer], trouble: str) -> ClusterRun:
    """Return the rates and costs; for an incomplete run, by the fetched pages."""
    fetched = len({(page.address, page.path) for page in pages})
    first_s = pages[0].at - seen.began if pages else 0.0
    last_s = pages[-1].at - seen.began if pages else 0.0
    return ClusterRun(
        pages_per_s=fetched / max(last_s, 1e-3),
        stored_per_s=fetched / max(seen.stored_s, 1e-3),
        crawl_rate=fetched / max(last_s - first_s, 1e-3),
        first_page_s=first_s,
        worker_cpu_s_per_1000=seen.worker_cpu_s / max(fetched, 1) * 1000,
        server_cpu_s_per_1000=seen.server_cpu_s / max(fetched, 1) * 1000,
        problem=trouble,
    )


def table(results: dict[str, dict[str, list[ClusterRun]]]) -> str:
    head = (
        f"{'site':<10} {'fleet':<13} {'pages/s':>8} {'stored/s':>9} {'crawling':>9} {'1st page':>9} "
        f"{'CPU workers':>12} {'servers':>8}" + "".join(f" {'x ' + peer:>15}" for peer in PEERS)
    )
    lines = [head, "-" * len(head)]
    for name, by_fleet in results.items():
        middle = {fleet: median(runs) for fleet, runs in by_fleet.items()}
        for fleet, row in middle.items():
            ratios = (
                f"{row.pages_per_s / middle[peer].pages_per_s:.2f}" if peer in middle else ""
                for peer in PEERS
            )
            lines.append(
                f"{name:<10} {fleet:<13} {row.pages_per_s:>8.0f} {row.stored_per_s:>9.0f} "
                f"{row.crawl_rate:>9.0f} {row.first_page_s:>7.2f} s "
                f"{row.worker_cpu_s_per_1000:>12.2f} {row.server_cpu_s_per_1000:>8.2f}"
                + "".join(f" {ratio:>15}" for ratio in ratios)
                + (f"  !! {row.problem}" if row.problem else "")
            )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Fleets of two workers on the same sites.")
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=SITES)
    parser.add_argument("--peer", action="append", choices=list(FLEETS), help="only these; not remembered")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds that one run may take")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and so all that was started is
    rounds = 1 if given.quick else given.rounds
    load = os.getloadavg()[0]  # of others: a reader can tell a disturbed measurement
    subprocess.run([sys.executable, str(HERE / "sites.py")], check=True)
    results: dict[str, dict[str, list[ClusterRun]]] = {}
    with serve() as seeds:
        for workload in (w for name in given.only or SITES for w in WORKLOADS if w.name == name):
            runs = results.setdefault(workload.name, {})
            for _ in range(rounds):  # by turns: what disturbs the machine for a while disturbs all
                for name in given.peer or FLEETS:
                    folder = CACHE / "runs" / f"cluster-{workload.name}-{name}"
                    shutil.rmtree(folder, ignore_errors=True)
                    folder.mkdir(parents=True)
                    one = run(FLEETS[name](workload, seeds[workload.name], folder), timeout_s=given.timeout)
                    runs.setdefault(name, []).append(one)
                    print(f"{workload.name} {name}: {one.pages_per_s:.0f}/s {one.problem}", file=sys.stderr)
    print(table(results))
    is_wrong = any(run.problem for by_fleet in results.values() for runs in by_fleet.values() for run in runs)
    if not given.peer and not is_wrong:
        packages = ("scrapy", "scrapy-redis", "celery", "requests", "beautifulsoup4")
        remember(HISTORY, results, rounds, load, versions(*packages))
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
