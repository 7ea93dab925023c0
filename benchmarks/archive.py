"""The cost of an archive for a crawl. Run: make bench-archive, or python benchmarks/archive.py --products
1000

Crawls a local shop of 10,000 product pages (20 KB each) alternately without and with an archive. Prints pages
per second and the CPU seconds for 1,000 pages, of the process and of its crawling thread, then the medians of
the ratios. The server is a separate process on the same cores; with --gzip it sends compressed pages, as most
sites do. A crawl with an archive may take 15 % longer.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

MOST = 1.15
"""The limit for the time of a crawl with an archive, relative to one without."""
SPIDER = """
from gossamer import Spider


class Shop(Spider):
    name = "shop"
    start_urls = ["{url}"]

    def parse(self, response):
        yield from response.follow_all(css="a.product", callback=self.parse_product, priority=1)
        yield from response.follow_all(css="a.next, nav a")

    def parse_product(self, response):
        yield {{"sku": response.css(".sku::text").get(), "price": response.css(".price::text").get()}}
"""
WAYS = {"plain": (), "archived": ("--archive",)}


class Turn(NamedTuple):
    """One crawl."""

    seconds: float  # of the crawl, without the start of the process
    cpu: float  # seconds for a thousand pages
    own: float  # ... of the thread that crawls, and packs the small commits
    pages: int
    archived_bytes: int


def main() -> int:
    """Print the table; 1 if the archive costs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--products", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--gzip", action="store_true", help="the server compresses its pages")
    options = parser.parse_args()
    turns: dict[str, list[Turn]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        serving = [sys.executable, "-m", "gossamer.testing.shop", "--port", str(port)]
        server = subprocess.Popen(
            [*serving, "--products", str(options.products), *["--gzip"] * options.gzip],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(port)
            spider = Path(folder, "shop.py")
            spider.write_text(SPIDER.format(url=f"http://127.0.0.1:{port}/"))
            for number in range(options.rounds):
                for way, more in sorted(WAYS.items(), reverse=number % 2 == 0):  # each of them first by turns
                    turn = crawl(spider, Path(folder, f"{way}-{number}"), more)
                    turns[way].append(turn)
                    print(
                        f"{way:9} {turn.pages / turn.seconds:7,.0f} pages/s {turn.cpu:6.2f} CPU s/1000, "
                        f"{turn.own:.2f} of them of its own thread",
                        flush=True,
                    )
        finally:
            server.terminate()
            server.wait()
    return compare(turns)


def wait_for(port: int) -> None:
    """Wait until the server listens."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the shop does not listen")


def crawl(spider: Path, data: Path, more: tuple[str, ...]) -> Turn:
    """One crawl in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "gossamer.cli.main",
        "crawl",
        str(spider),
        "--data",
        str(data),
        "--json",
        "-q",
    ]
    command += ["--delay", "0", "--per-host", "16", "--concurrency", "16", *more]
    with (data.parent / "result.json").open("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        own_s = watch_thread(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        result = json.load(out)
    size = sum(path.stat().st_size for path in data.glob("archive/*/*"))
    cpu = (usage.ru_utime + usage.ru_stime) / result["pages"] * 1000
    return Turn(result["seconds"], cpu, own_s / result["pages"] * 1000, result["pages"], size)


def watch_thread(process: int) -> float:
    """The CPU seconds of the first thread of a process, when that has ended."""
    own_ns = 0
    while True:
        try:
            said = Path(f"/proc/{process}/task/{process}/schedstat").read_text()
            ended = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            ended, said = True, ""
        own_ns = max(own_ns, int((said.split() or ["0"])[0]))
        if ended:
            return own_ns / 1e9
        time.sleep(0.02)


def compare(turns: dict[str, list[Turn]]) -> int:
    """Print the cost of the archive; return 1 if it is too high or a page is missing."""
    if len({turn.pages for some in turns.values() for turn in some}) != 1:
        print("!! the crawls have different numbers of pages")
        return 1
    plain, archived = turns["plain"], turns["archived"]
    pairs = list(zip(plain, archived, strict=True))
    time_ratio = statistics.median(with_.seconds / without.seconds for without, with_ in pairs)
    cpu_ratio = statistics.median(with_.cpu / without.cpu for without, with_ in pairs)
    own_ratio = statistics.median(with_.own / without.own for without, with_ in pairs)
    size = archived[0].archived_bytes / archived[0].pages
    print(
        f"time {time_ratio:.3f}, CPU {cpu_ratio:.3f}, CPU of its own thread {own_ratio:.3f} "
        f"of a crawl without; {size:,.0f} bytes a page on the disk"
    )
    return int(time_ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
