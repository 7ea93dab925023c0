"""Gossamer beside Scrapy and Crawlee on the same sites, by turns. Run: ``make bench``.

Every run is a process of its own, measured from outside: wall clock from its start to its end, CPU seconds
and peak memory as the kernel counts them, the pages from the server's log. A run counts only when it got
every page and every item. One runs at a time. Medians are printed and kept in ``results/history.jsonl``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from servers import AUTHORITY, HOSTS, Answer, answers_since, log_position, serve

# Modules beside this file. Small: this process's memory is the minimum that the kernel reports for a child.
from sites import CACHE, read_truth

HERE = Path(__file__).resolve().parent
HISTORY = HERE / "results" / "history.jsonl"
PEERS_PYTHON = CACHE / "venv" / "bin" / "python"


TWO = "gossamer-2"
"""Gossamer with ``--processes 2``."""

IMPERSONATE = "impersonate"
"""Gossamer with its rung ``impersonate``."""

ADAPTED = "adapted"
"""Gossamer with the spider that Scrapy runs, as it is."""

OURS = ("gossamer", TWO, IMPERSONATE, ADAPTED)


@dataclass(frozen=True)
class Workload:
    """A site, the limits of its crawl, and its number of pages."""

    name: str
    pages: int
    per_host: int
    delay_s: float = 0.0
    peers: tuple[str, ...] = ("gossamer", "scrapy", "crawlee")
    kind: str = ""  # the site, where several workloads are made of it

    @property
    def site(self) -> str:
        """The site to crawl, in any way of serving."""
        return self.kind or self.name


WORKLOADS = (
    Workload("docs", pages=527, per_host=16),
    Workload("catalogue", pages=5_200, per_host=16, peers=("gossamer", TWO, ADAPTED, "scrapy", "crawlee")),
    Workload("slow", pages=5_051, per_host=200),
    # Crawlee has no delay per host.
    Workload("hosts", pages=200 * 51, per_host=1, delay_s=0.2, peers=("gossamer", "scrapy")),
)
WORKLOADS += (
    *(
        Workload(
            name,
            pages=5_200,
            per_host=16,
            peers=("gossamer", IMPERSONATE, "scrapy", "crawlee"),
            kind="catalogue",
        )
        for name in ("tls-gzip", "tls-br", "h2-gzip", "h2-br")
    ),
    Workload(
        "tls-hosts", pages=200 * 51, per_host=1, peers=("gossamer", IMPERSONATE, "scrapy"), kind="hosts"
    ),
)
QUICK = ("docs", "catalogue")
PRODUCTS = ("catalogue", "scripted")
"""Sites whose items are products."""


@dataclass(frozen=True)
class Run:
    """Results of one run. Rates are of the whole process; ``crawl_rate`` is from first to last answer."""

    wall_s: float
    pages_per_s: float
    crawl_rate: float
    cpu_s_per_1000: float
    peak_rss_mb: float
    first_page_s: float
    even_gaps: float  # share of the gaps between two answers of a host that are at least 0.9 of the delay
    problem: str = ""


AnyRun = TypeVar("AnyRun")
"""A record of figures with a ``problem``: a ``Run``, or that of another benchmark."""


# --------------------------------------------------------------------------- commands


def command(peer: str, workload: Workload, seeds: Sequence[str], folder: Path) -> list[str]:
    """The command of a run; it writes its items to ``items.jsonl`` in ``folder``."""
    items, joined = str(folder / "items.jsonl"), ",".join(seeds)
    if peer not in OURS:
        script = str(HERE / "peers" / f"{peer}_peer.py")
        limits = (str(workload.per_host), str(workload.delay_s))
        site = f"{workload.site}+h2" if workload.name.startswith("h2") else workload.site
        return [str(PEERS_PYTHON), script, site, joined, *limits, items]
    spider = "Catalogue" if workload.site == "catalogue" else "Pages"
    file = HERE / "peers" / ("scrapy_peer.py" if peer == ADAPTED else "gossamer_peer.py")
    return [
        sys.executable, "-m", "gossamer", "crawl", f"{file}:{spider}", "-q",
        "--data", str(folder / "data"), "-O", items, "-a", f"seeds={joined}",
        "--delay", str(workload.delay_s), "--per-host", str(workload.per_host),
        "--concurrency", str(max(workload.per_host, len(seeds))), "--processes", "2" if peer == TWO else "1",
        *(("-s", "fetch=impersonate") if peer == IMPERSONATE else ()),
    ]  # fmt: skip


# --------------------------------------------------------------------------- one run


Commands = Callable[[str, Workload, Sequence[str], Path], list[str]]


def run(
    peer: str,
    workload: Workload,
    seeds: Sequence[str],
    *,
    timeout_s: float,
    command: Commands = command,
) -> Run:
    folder = CACHE / "runs" / f"{workload.name}-{peer}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    position = log_position()
    began, start = time.time(), time.perf_counter()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command(peer, workload, seeds, folder),
            cwd=folder, env=environment(), stdout=output, stderr=output, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        timer = threading.Timer(timeout_s, kill_group, (process.pid,))
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            kill_group(process.pid)
            raise
        finally:
            timer.cancel()
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    answers = answers_since(position)
    fetched = [answer for answer in answers if answer.status == 200 and answer.path != "/robots.txt"]
    window = answers[-1].at - answers[0].at if len(answers) > 1 else wall
    return Run(
        wall_s=wall,
        pages_per_s=workload.pages / wall,
        crawl_rate=len(answers) / max(window + workload.delay_s, 1e-3),
        cpu_s_per_1000=(usage.ru_utime + usage.ru_stime) / workload.pages * 1000,
        peak_rss_mb=usage.ru_maxrss / 1024,
        first_page_s=fetched[0].at - began if fetched else wall,
        even_gaps=even_gaps(answers, workload.delay_s),
        problem=problem(process.returncode, workload, fetched, folder / "items.jsonl"),
    )


def environment() -> dict[str, str]:
    """Return this process's environment; it knows the sites' authority, and Python may cache bytecode, as for
    users.
    """
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return own | {"SSL_CERT_FILE": str(AUTHORITY)}


def kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def problem(code: int, workload: Workload, fetched: Sequence[Answer], items: Path) -> str:
    """Why a run does not count; empty if every page was fetched once and every item is there."""
    if code:
        return "took too long" if code == -signal.SIGKILL else f"ended with {code}"
    pages = [(answer.address, answer.path) for answer in fetched if is_page(answer.path)]
    if len(set(pages)) != workload.pages:
        return f"fetched {len(set(pages))} of {workload.pages} pages"
    if len(pages) != len(set(pages)):
        return f"fetched {len(pages) - len(set(pages))} pages twice"
    with items.open(encoding="utf-8") as lines:
        got = sorted(identity(json.loads(line), workload) for line in lines)
    wanted = sorted(truth(workload))
    return "" if got == wanted else f"{len(got)} items, {len(set(got) & set(wanted))} of {len(wanted)} right"


def is_page(path: str) -> bool:
    return path.endswith((".html", "/"))


def identity(item: dict[str, str], workload: Workload) -> tuple[str, ...]:
    """Return an item without legitimate differences: the port, and white space in titles."""
    if workload.site in PRODUCTS:
        return item["sku"], item["name"], item["price"]
    url = urlsplit(item["url"])
    host = url.hostname if workload.site == "hosts" else None
    return host or "", url.path, " ".join((item["title"] or "").split())


def truth(workload: Workload) -> Iterator[tuple[str, ...]]:
    for host in HOSTS if workload.site == "hosts" else [""]:
        for item in read_truth(workload.site):
            yield tuple(item.values()) if workload.site in PRODUCTS else (host, *item.values())


def even_gaps(answers: Sequence[Answer], delay_s: float) -> float:
    """Return the share of gaps between requests to one host that are at least 0.9 of the delay."""
    by_host: dict[str, list[float]] = {}
    for answer in answers:
        by_host.setdefault(answer.address, []).append(answer.at)
    gaps = [b - a for times in by_host.values() for a, b in pairwise(times)]
    return sum(gap >= 0.9 * delay_s for gap in gaps) / max(1, len(gaps))


# --------------------------------------------------------------------------- the table


def median(runs: Sequence[AnyRun]) -> AnyRun:
    """Return the median of each figure; a problem of one run is a problem of all."""
    figures = [asdict(run) for run in runs]
    problems = "; ".join(dict.fromkeys(run.problem for run in runs if run.problem))
    names = [name for name in figures[0] if name != "problem"]
    medians = {name: statistics.median(row[name] for row in figures) for name in names}
    return type(runs[0])(**medians, problem=problems)


def table(results: dict[str, dict[str, list[Run]]]) -> str:
    head = (
        f"{'site':<10} {'crawler':<10} {'pages/s':>8} {'crawling':>9} {'CPU s/1000':>10} {'peak MB':>8} "
        f"{'1st page':>9} {'polite':>7} {'x speed':>8} {'x CPU':>7}"
    )
    lines = [head, "-" * len(head)]
    for name, by_peer in results.items():
        middle = {peer: median(runs) for peer, runs in by_peer.items()}
        base = middle.get("scrapy")
        delayed = any(workload.delay_s for workload in WORKLOADS if workload.name == name)
        for peer, row in middle.items():
            polite = f"{row.even_gaps:.1%}" if delayed else ""
            speed = f"{row.pages_per_s / base.pages_per_s:.2f}" if base else ""
            cpu = f"{base.cpu_s_per_1000 / row.cpu_s_per_1000:.2f}" if base else ""
            lines.append(
                f"{name:<10} {peer:<10} {row.pages_per_s:>8.0f} {row.crawl_rate:>9.0f} "
                f"{row.cpu_s_per_1000:>10.2f} {row.peak_rss_mb:>8.0f} {row.first_page_s:>7.2f} s {polite:>7} "
                f"{speed:>8} {cpu:>7}" + (f"  !! {row.problem}" if row.problem else "")
            )
    return "\n".join(lines)


def versions(*peers: str) -> dict[str, str]:
    """Return the versions of our package and of the peers' packages."""

    def of(python: str | Path, *names: str) -> dict[str, str]:
        ask = f"import importlib.metadata as m; print(*(m.version(n) for n in {names!r}))"
        out = subprocess.check_output([python, "-c", ask], text=True)
        return dict(zip(names, out.split(), strict=True))

    return {
        "python": platform.python_version(),
        **of(sys.executable, "gossamer"),
        **of(PEERS_PYTHON, *peers),
    }


def remember(
    history: Path, results: dict[str, dict[str, list[AnyRun]]], rounds: int, load: float, who: dict[str, str]
) -> None:
    rounded = {
        name: {
            peer: {
                key: value if isinstance(value, str) else round(value, 3)
                for key, value in asdict(median(runs)).items()
            }
            for peer, runs in by_peer.items()
        }
        for name, by_peer in results.items()
    }
    line = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": rounds,
        "cores": os.cpu_count(),
        "load_before": round(load, 2),
        "versions": who,
        "medians": rounded,
    }
    history.parent.mkdir(exist_ok=True)
    with history.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="Gossamer beside its peers on the same sites.")
    parser.add_argument("--quick", action="store_true", help="one round of docs and catalogue")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", action="append", choices=[workload.name for workload in WORKLOADS])
    parser.add_argument("--peer", action="append", choices=[*OURS, "scrapy", "crawlee"])
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds that one run may take")
    given = parser.parse_args()
    rounds = 1 if given.quick else given.rounds
    sites = given.only or (QUICK if given.quick else [workload.name for workload in WORKLOADS])
    load = os.getloadavg()[0]  # of others: a reader can tell a disturbed measurement
    subprocess.run([sys.executable, str(HERE / "sites.py")], check=True)
    results: dict[str, dict[str, list[Run]]] = {}
    with serve() as seeds:
        for workload in (workload for workload in WORKLOADS if workload.name in sites):
            runs = results.setdefault(workload.name, {})
            for _ in range(rounds):  # by turns: what disturbs the machine for a while disturbs all
                for peer in (peer for peer in workload.peers if peer in (given.peer or workload.peers)):
                    one = run(peer, workload, seeds[workload.name], timeout_s=given.timeout)
                    runs.setdefault(peer, []).append(one)
                    print(f"{workload.name} {peer}: {one.wall_s:.1f} s {one.problem}", file=sys.stderr)
    print(table(results))
    if not given.peer:
        remember(HISTORY, results, rounds, load, versions("scrapy", "crawlee"))
    return int(any(run.problem for by_peer in results.values() for runs in by_peer.values() for run in runs))


if __name__ == "__main__":
    sys.exit(main())
