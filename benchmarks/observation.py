"""The cost of observing a fleet: alone, observed, and with twenty dashboards. Run: make bench-observation

``alone`` has neither metrics nor dashboards. ``observed`` has metrics on for each process, one dashboard open
on the job, and a Prometheus that scrapes all of them every 5 s; ``crowded`` has twenty dashboards. They take
turns, and each round gives one ratio to ``alone``: by the time of the crawl and by the CPU of the workers and
their servers. The CPU of the dashboard's process and its clients is not included, but slows the fleet on few
cores; it is shown separately, in seconds of one core per second of the crawl, a figure that holds on a noisy
machine too.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

# Modules beside this file.
from cluster import ClusterRun, run
from cluster_fleets import Gossamer
from cluster_processes import cpu_s
from run import CACHE, HERE, Workload
from servers import CATALOGUES, free_ports, serve, wait_for

ONLOOKERS = Path(__file__).with_name("onlookers.py")
TIMEOUT_S = 300
SITE = Workload("catalogues", pages=CATALOGUES * 5_200, per_host=16, kind="catalogue")
"""Large enough that the cost of opening a page is small beside the running cost."""


class Observed(Gossamer):
    """A fleet with metrics on, and one dashboard open."""

    name = "observed"
    dashboards = 1
    dashboard_cores = 0.0

    def start(self) -> None:
        super().start()
        (self._port,) = free_ports(1)
        self._dashboard = self._command("dashboard", "--port", str(self._port))
        wait_for(self._port, 30)

    def start_members(self) -> None:
        ports = free_ports(3)
        self._metrics = [f"http://127.0.0.1:{port}/metrics" for port in ports]
        roles = ("supervisor", "worker", "worker")
        self.workers = [
            self._command(role, "--metrics-port", str(port)) for role, port in zip(roles, ports, strict=True)
        ]

    def submit(self) -> None:
        self._began, self._used_s = time.perf_counter(), cpu_s([self._dashboard.pid])
        super().submit()
        all_metrics = [*self._metrics, f"http://127.0.0.1:{self._port}/metrics"]
        looking = (str(self._port), f"{self._job}-1", str(self.dashboards), *all_metrics)
        self._run(sys.executable, str(ONLOOKERS), *looking)

    def export(self, items: Path) -> None:
        """Measure the dashboard's CPU over the finished crawl, in seconds of one core per second."""
        used_s = cpu_s([self._dashboard.pid]) - self._used_s
        self.dashboard_cores = used_s / (time.perf_counter() - self._began)
        super().export(items)


class Crowded(Observed):
    """The same with twenty dashboards."""

    name = "crowded"
    dashboards = 20


FLEETS = (Gossamer, Observed, Crowded)


def cpu_of(run: ClusterRun) -> float:
    return run.worker_cpu_s_per_1000 + run.server_cpu_s_per_1000


def table(rounds: Sequence[dict[str, ClusterRun]], cores: dict[str, list[float]]) -> str:
    lines = [
        f"{'fleet':<10} {'pages/s':>8} {'CPU s/1000':>11} {'x time':>8} {'x CPU':>8} {'dashboard, cores':>17}"
    ]
    for fleet in FLEETS:
        runs = [by_name[fleet.name] for by_name in rounds]
        time_ratio = statistics.median(
            by_name["gossamer"].pages_per_s / by_name[fleet.name].pages_per_s for by_name in rounds
        )
        cpu_ratio = statistics.median(
            cpu_of(by_name[fleet.name]) / cpu_of(by_name["gossamer"]) for by_name in rounds
        )
        problem = next((f"  !! {run.problem}" for run in runs if run.problem), "")
        pages_per_s = statistics.median(run.pages_per_s for run in runs)
        cpu = statistics.median(map(cpu_of, runs))
        name = "alone" if fleet is Gossamer else fleet.name
        lines.append(
            f"{name:<10} {pages_per_s:8.0f} {cpu:11.2f} {time_ratio:8.3f} {cpu_ratio:8.3f} "
            f"{statistics.median(cores[fleet.name]):17.3f}{problem}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    subprocess.run([sys.executable, str(HERE / "sites.py")], check=True)
    rounds: list[dict[str, ClusterRun]] = []
    cores: dict[str, list[float]] = {fleet.name: [] for fleet in FLEETS}
    with serve() as seeds:
        for number in range(options.rounds):
            by_name = {}
            for fleet in FLEETS:
                folder = CACHE / "runs" / f"observation-{fleet.name}-{number}"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                one = fleet(SITE, seeds[SITE.name], folder)
                by_name[fleet.name] = run(one, timeout_s=TIMEOUT_S)
                cores[fleet.name].append(getattr(one, "dashboard_cores", 0.0))
            rounds.append(by_name)
            print(table(rounds, cores), flush=True)
    if any(run.problem for by_name in rounds for run in by_name.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
