"""A profile of Gossamer on one of the benchmark's sites: ``make profile``.

``make profile PROFILE="docs --rate 500"`` names the site and the sampling rate. py-spy samples all threads of
an ordinary crawl from outside. Samples are summed up by package (the innermost frame of our code, whichever
library it called) and by function, without waiting threads. The raw stacks stay in ``.cache/bench/profiles``
for other tools (speedscope, flamegraph).
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from run import WORKLOADS, Workload, command, environment
from servers import serve
from sites import CACHE

HERE = Path(__file__).resolve().parent
PY_SPY = CACHE / "venv" / "bin" / "py-spy"
FOLDER = CACHE / "profiles"
WAITS = re.compile(r"_next_group|Checkpointer.run|Condition.wait|_worker \(concurrent/futures")
"""Functions in which a thread of ours waits for work, which py-spy may report as busy."""

Stack = tuple[str, ...]


def record(workload: Workload, seeds: list[str], rate: int) -> Path:
    """Crawl under py-spy; return the file with its stacks."""
    folder = CACHE / "runs" / f"{workload.name}-profile"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    FOLDER.mkdir(exist_ok=True)
    stacks = FOLDER / f"{workload.name}.txt"
    options = ["record", "--rate", str(rate), "--threads", "--format", "raw", "--output", str(stacks)]
    crawl = command("gossamer", workload, seeds, folder)
    subprocess.run(
        [str(PY_SPY), *options, "--", *crawl],
        cwd=folder, env=environment(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    return stacks


def read(stacks: Path) -> Iterator[tuple[Stack, int]]:
    """Stacks, outermost frame first, with how often each was seen."""
    for line in stacks.read_text(encoding="utf-8").splitlines():
        frames, _, count = line.rpartition(" ")
        stack = tuple(frames.split(";"))
        if not WAITS.search(stack[-1]):
            yield stack, int(count)


def room(stack: Stack) -> str:
    """Return the active part: a package of ours, the spider, importing, or the event loop itself."""
    if any("importlib" in frame for frame in stack):
        return "importing"
    for frame in reversed(stack):
        found = re.search(r"\(gossamer/(\w+)", frame)
        if found and found[1] not in ("cli", "__main__"):
            return found[1]
        if "_peer.py" in frame:
            return "the spider"
    return "event loop" if any("asyncio" in frame for frame in stack) else "Python"


def function(frame: str) -> str:
    """A frame without its line."""
    return re.sub(r":\d+\)$", ")", frame)


def report(stacks: Path, most: int) -> str:
    """The tables."""
    rooms: Counter[tuple[str, str]] = Counter()
    own: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for stack, count in read(stacks):
        thread = "main" if "MainThread" in stack[0] else stack[0].partition(": ")[2] or "other"
        rooms[thread, room(stack)] += count
        own[function(stack[-1])] += count
        for name in {function(frame) for frame in stack[1:] if "gossamer/" in frame or "_peer" in frame}:
            whole[name] += count
    total = max(1, sum(rooms.values()))
    lines = [f"{total} looks at busy threads", "", f"{'thread':<26} {'room':<14} share"]
    lines += [f"{thread:<26} {name:<14} {n / total:>5.1%}" for (thread, name), n in rooms.most_common(most)]
    for title, counter in (("in the function itself", own), ("with its callees", whole)):
        lines += ["", title]
        lines += [f"{n / total:>6.1%}  {name}" for name, n in counter.most_common(most)]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Where Gossamer's time goes.")
    parser.add_argument("site", nargs="?", default="catalogue", choices=[w.name for w in WORKLOADS])
    parser.add_argument("--rate", type=int, default=300, help="looks per second")
    parser.add_argument("--most", type=int, default=20, help="lines per table")
    given = parser.parse_args()
    subprocess.run([sys.executable, str(HERE / "sites.py")], check=True)
    workload = next(w for w in WORKLOADS if w.name == given.site)
    with serve() as seeds:
        stacks = record(workload, list(seeds[workload.name]), given.rate)
    print(report(stacks, given.most))
    print(f"\nraw stacks: {stacks.relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
