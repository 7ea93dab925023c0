"""Pages in a browser: Gossamer beside Crawlee's ``PlaywrightCrawler``, by turns. Run: ``make bench-browser``.

The same Chromium, as many pages at once, the same resources blocked, on the same cores as the server. A run
counts only when it got every page once and every item, and loaded no picture and no font.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# Modules beside this file.
from run import HERE, PEERS_PYTHON, Run, Workload, log_position, remember, run, table, versions
from servers import answers_since, serve

AT_ONCE = 4
PEERS = ("gossamer", "crawlee")
WORKLOAD = Workload("scripted", pages=125, per_host=AT_ONCE, peers=PEERS)
HISTORY = HERE / "results" / "browser.jsonl"
GOAL = 1.3


def command(peer: str, workload: Workload, seeds: Sequence[str], folder: Path) -> list[str]:
    """The command of a run; it writes its items to ``items.jsonl`` in ``folder``."""
    items, chromium, (seed,) = str(folder / "items.jsonl"), find_chromium(), seeds
    if peer == "crawlee":
        script = str(HERE / "peers" / "crawlee_browser_peer.py")
        return [str(PEERS_PYTHON), script, seed, str(AT_ONCE), chromium, items]
    return [
        sys.executable, "-m", "gossamer", "crawl", f"{HERE / 'peers' / 'gossamer_peer.py'}:Scripted", "-q",
        "--data", str(folder / "data"), "-O", items, "-a", f"seeds={seed}", "--delay", "0",
        "--per-host", str(AT_ONCE), "--concurrency", str(AT_ONCE), "-s", f"browser.pages={AT_ONCE}",
        "-s", f"browser.executable={chromium}",
    ]  # fmt: skip


def find_chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    sys.exit("Chromium is missing; scripts/servers.sh installs it")


def run_once(peer: str, seeds: Sequence[str], timeout_s: float) -> Run:
    """Run once; a run that loaded a blocked resource does not count."""
    position = log_position()
    one = run(peer, WORKLOAD, seeds, timeout_s=timeout_s, command=command)
    unwanted = [answer for answer in answers_since(position) if answer.path.endswith((".png", ".woff2"))]
    if unwanted and not one.problem:
        one = Run(**{**vars(one), "problem": f"loaded {len(unwanted)} pictures and fonts"})
    return one


def main() -> int:
    parser = argparse.ArgumentParser(description="Gossamer's browser beside Crawlee's on the same pages.")
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="append", choices=PEERS)
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds that one run may take")
    given = parser.parse_args()
    rounds, load = 1 if given.quick else given.rounds, os.getloadavg()[0]
    subprocess.run([sys.executable, str(HERE / "sites.py")], check=True)
    runs: dict[str, list[Run]] = {}
    with serve() as seeds:
        for _ in range(rounds):
            for peer in given.peer or PEERS:
                one = run_once(peer, seeds["scripted"], given.timeout)
                runs.setdefault(peer, []).append(one)
                print(f"{peer}: {one.wall_s:.1f} s {one.problem}", file=sys.stderr)
    print(table({"scripted": runs}))
    is_well = not any(run.problem for of_peer in runs.values() for run in of_peer)
    if not given.peer and is_well:
        ratios = [
            ours.pages_per_s / theirs.pages_per_s
            for ours, theirs in zip(runs["gossamer"], runs["crawlee"], strict=True)
        ]
        told = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"Gossamer / Crawlee by turns: {told}; median {statistics.median(ratios):.2f} (goal: {GOAL})")
        remember(HISTORY, {"scripted": runs}, rounds, load, versions("crawlee", "playwright"))
    return int(not is_well)


if __name__ == "__main__":
    sys.exit(main())
