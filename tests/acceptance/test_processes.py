"""Several processes on one crawl: the same pages and items, each once, whoever is killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer import Spider
from gossamer import crawl as crawl_here
from gossamer.core.errors import UsageError
from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.programs import crawl, rows, run, start
from kit.saved_shop import PAGES, PRODUCTS, served, spider_file

# One request at once in each of three processes, four at the host: no two of them have it to themselves.
FAST = (
    "--delay",
    "0",
    "--per-host",
    "4",
    "--concurrency",
    "2",
    "--processes",
    "3",
    "-s",
    "retry_backoff=0.1",
)

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks processes up in /proc")


def members(parent: int) -> list[int]:
    """The processes that a crawl has started for its crew."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
            ppid = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if ppid == parent and b"gossamer.crawl.processes.member" in line:
            found.append(int(entry.name))
    return found


def wait_for_hits(site: Site, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(site.hits) < count and time.monotonic() < deadline:
        time.sleep(0.005)
    assert len(site.hits) >= count


def wait_for_members(parent: int, count: int) -> list[int]:
    deadline = time.monotonic() + 30
    while len(found := members(parent)) < count and time.monotonic() < deadline:
        time.sleep(0.005)
    assert len(found) == count
    return found


def all_is_there(data: Path, site: Site, *, refetched: int) -> None:
    """Nothing is lost, nothing doubled."""
    assert rows(data, "select count(*), count(distinct key) from item") == [(PRODUCTS, PRODUCTS)]
    parsed = Counter(url for (url,) in rows(data, "select url from page"))
    assert len(parsed) == PAGES
    assert set(parsed.values()) == {1}
    fetched = {path: count for path, count in site.log.count_paths().items() if path != "/robots.txt"}
    assert len(fetched) == PAGES
    assert sum(fetched.values()) - PAGES <= refetched


def test_three_processes_do_what_one_does(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_in_thread(served(lambda: site.url, delay_s=0.2)) as site:
        result = crawl(spider_file(tmp_path, site.url), "--data", data, *FAST)
        all_is_there(data, site, refetched=0)
        assert site.log.count_paths()["/robots.txt"] == 1
        assert max(site.log.peak.values()) <= 4, "the slots of a host are shared by all processes"
    assert (result["pages"], result["items"], result["attempts"]) == (PAGES, PRODUCTS, PAGES)
    workers = {worker for (worker,) in rows(data, "select distinct worker from attempt")}
    assert len(workers) > 1, "not one process alone"


@pytest.mark.long
def test_processes_share_the_slots_of_one_host(tmp_path: Path) -> None:
    """Each could take all of them; the first one had them all, and the other nothing to do."""
    data = tmp_path / "data"
    options = ("--delay", "0", "--per-host", "8", "--concurrency", "32", "--processes", "2")
    with serve_in_thread(Shop(products=150)) as site:
        spider = tmp_path / "busy.py"
        spider.write_text(BUSY.format(url=site.url))
        crawl(spider, "--data", data, *options)
        assert max(site.log.peak.values()) <= 8
    shares = [count for (count,) in rows(data, "select count(*) from attempt group by worker")]
    assert len(shares) == 2
    assert min(shares) >= 30, "not one of them nearly all"


BUSY = """
import time
from gossamer import Spider

class Busy(Spider):
    name = "busy"
    start_urls = ["{url}"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        ends = time.thread_time() + 0.02
        while time.thread_time() < ends:
            pass
        yield from response.follow_all(css="a")
"""


@pytest.mark.long
def test_the_delay_of_a_host_is_kept_by_all_together(tmp_path: Path) -> None:
    with serve_in_thread(served(lambda: site.url)) as site:
        spider = spider_file(tmp_path, site.url)
        options = ("--delay", "0.1", "--processes", "2", "--max-pages", "20")
        crawl(spider, "--data", tmp_path / "data", *options)
        times = sorted(hit.at for hit in site.hits)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert sum(gap < 0.08 for gap in gaps) <= len(gaps) / 20


@pytest.mark.long
def test_a_killed_member_is_replaced_and_loses_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_in_thread(served(lambda: site.url, delay_s=0.2)) as site:
        spider = spider_file(tmp_path, site.url)
        process = start("crawl", spider, "--data", data, *FAST)
        wait_for_hits(site, 4)
        first = wait_for_members(process.pid, 2)
        os.kill(first[0], signal.SIGKILL)
        wait_for_the_end(first[:1])
        again = wait_for_members(process.pid, 2)
        assert len(set(again) - set(first)) == 1
        assert process.wait(60) == 0
        all_is_there(data, site, refetched=4)


STOP_IN_A_WRITE = """
import os, signal, sqlite3, sys
from pathlib import Path
if "gossamer.crawl.processes.member" in sys.orig_argv and not Path({mark!r}).exists():
    Path({mark!r}).touch()
    conn = sqlite3.connect({file!r}, isolation_level=None, timeout=60)
    conn.execute("begin immediate")
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.long
def test_a_member_that_is_stopped_in_a_write_is_replaced(tmp_path: Path) -> None:
    """It keeps the file locked: everybody would wait for it, and the crawl end with an error."""
    data, mark = tmp_path / "data", tmp_path / "mark"
    with serve_in_thread(served(lambda: site.url, delay_s=0.1)) as site:
        spider = spider_file(tmp_path, site.url)
        code = STOP_IN_A_WRITE.format(mark=str(mark), file=str(data / "gossamer.db"))
        begin = "def parse(self, response):"
        spider.write_text(spider.read_text().replace(begin, f"{begin}\n        exec({code!r})"))
        done = run("crawl", spider, "--data", data, *FAST)
        assert done.returncode == 0, done.stderr
        assert mark.exists()
        assert "keeps the database locked and does not run; it is killed" in done.stderr
        all_is_there(data, site, refetched=4)
    ((took_s,),) = rows(data, "select max(at) - min(at) from attempt")
    assert took_s < 40, "nobody waits for the deadline of a lease that nobody holds"


DIE = """
import os, signal, sys, time
from pathlib import Path
if "gossamer.crawl.processes.member" in sys.orig_argv and not Path({mark!r}).exists():
    Path({mark!r}).write_text(f"{{os.getpid()}} {{time.time()}} {{response.url}}")
    {before}
    os.kill(os.getpid(), signal.SIGKILL)
"""

LEAVE_A_CHILD = "if os.fork() == 0: os.closerange(0, 3); time.sleep(15); os._exit(0)"

TWO_HOSTS = """
from gossamer import Spider

class TwoHosts(Spider):
    name = "two-hosts"
    start_urls = {urls!r}

    def parse(self, response):
        exec({code!r})
"""


@pytest.mark.long
@pytest.mark.parametrize("before", ["pass", LEAVE_A_CHILD], ids=["alone", "with a child of its spider"])
def test_the_host_of_a_killed_member_goes_on_at_once(tmp_path: Path, before: str) -> None:
    """Its one slot was the member's, which is killed while it has a page of that host in hand."""
    data, mark, spider = tmp_path / "data", tmp_path / "mark", tmp_path / "two_hosts.py"
    # One request at once in each process and at each host: the member has a host to itself.
    options = ("--delay", "0", "--per-host", "1", "--concurrency", "2", "--processes", "2")
    with serve_in_thread(slow) as one, serve_in_thread(slow) as two:
        urls = [f"{site.url}/{number}" for number in range(20) for site in (one, two)]
        spider.write_text(TWO_HOSTS.format(urls=urls, code=DIE.format(mark=str(mark), before=before)))
        done = run("crawl", spider, "--data", data, *options)
        assert done.returncode == 0, done.stderr
        hits = Counter(
            {f"{site.url}{p}": n for site in (one, two) for p, n in site.log.count_paths().items()}
        )
    pid, died_at, killed = mark.read_text().split()
    ((at, url, worker),) = rows(data, "select at, url, worker from attempt where verdict = 'expired'")
    assert url == killed
    assert at - float(died_at) < 5, "its lease is taken back at once"
    assert worker == f"w{pid}"
    host = killed.rpartition("/")[0]
    ((next_at,),) = rows(
        data,
        f"select min(at) from attempt where at > {died_at} and url like '{host}/%' and verdict = 'success'",
    )
    assert next_at - float(died_at) < 5, "and its host is asked for another page"
    assert f"process {pid} of the crawl is gone; taken back from it: 1 request" in done.stderr
    assert sorted(url for (url,) in rows(data, "select url from page")) == sorted(urls)
    assert {url: n for url, n in hits.items() if n > 1} == {killed: 2}


def slow(path: str, headers: Mapping[str, str]) -> SiteResponse:
    return SiteResponse(404) if path == "/robots.txt" else SiteResponse(delay_s=0.2)


@pytest.mark.long
def test_members_end_with_the_first_process_and_the_crawl_goes_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_in_thread(served(lambda: site.url, delay_s=0.2)) as site:
        spider = spider_file(tmp_path, site.url)
        process = start("crawl", spider, "--data", data, *FAST)
        wait_for_hits(site, 8)
        orphans = wait_for_members(process.pid, 2)
        process.kill()
        process.wait()
        deadline = time.monotonic() + 5
        while any(is_alive(pid) for pid in orphans) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not any(map(is_alive, orphans)), "nobody works on after the first process has gone"
        result = crawl(spider, "--data", data, *FAST)
        assert result["finish_reason"] == "finished"
        all_is_there(data, site, refetched=4)


@pytest.mark.long
def test_ctrl_c_drains_all_processes(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_in_thread(served(lambda: site.url, delay_s=0.2)) as site:
        spider = spider_file(tmp_path, site.url)
        process = start("crawl", spider, "--data", data, *FAST)
        wait_for_hits(site, 8)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 3
        assert rows(data, "select leased from frontier") == [(0,)], "nothing is left in anybody's hands"
        crawl(spider, "--data", data, *FAST)
        all_is_there(data, site, refetched=0)


def test_what_a_spider_prints_and_logs_in_a_member_is_heard(tmp_path: Path) -> None:
    with serve_in_thread(served(lambda: site.url, delay_s=0.1)) as site:
        spider = spider_file(tmp_path, site.url)
        loud = (
            'print(f"printed {response.url}"); import logging; log = logging.getLogger("x").warning; '
            'log("logged %s", "\\ud800"); log("%d is no number", "this")'
        )
        text = spider.read_text().replace(
            "def parse(self, response):", f"def parse(self, response):\n        {loud}"
        )
        spider.write_text(text)
        done = run("crawl", spider, "--data", tmp_path / "data", *FAST)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("printed http") == PAGES
    assert done.stderr.count("WARNING logged") == PAGES


@pytest.mark.long
def test_a_member_held_up_by_its_spider_keeps_nobody(tmp_path: Path) -> None:
    """A callback that never returns: neither a second Ctrl-C nor a kill waits for it."""
    data = tmp_path / "data"
    with serve_in_thread(served(lambda: site.url, delay_s=0.1)) as site:
        spider = spider_file(tmp_path, site.url)
        stuck = 'import sys, time; time.sleep(120 * ("gossamer.crawl.processes.member" in sys.orig_argv))'
        text = spider.read_text().replace(
            "def parse(self, response):", f"def parse(self, response):\n        {stuck}"
        )
        spider.write_text(text)
        process = start("crawl", spider, "--data", data, *FAST)
        wait_for_hits(site, 12)
        held = wait_for_members(process.pid, 2)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 3
        wait_for_the_end(held)
        assert rows(data, "select leased from frontier") == [(0,)], "nothing is left in their hands"
        process = start("crawl", spider, "--data", data, *FAST)
        wait_for_hits(site, len(site.hits) + 4)
        held = wait_for_members(process.pid, 2)
        process.kill()
        process.wait()
        wait_for_the_end(held)


def wait_for_the_end(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_alive, pids))


async def test_a_class_that_no_other_process_can_find_is_refused_and_nothing_stays_open(
    tmp_path: Path,
) -> None:
    class Inner(Spider):
        name = "inner"

    for _ in range(2):
        with pytest.raises(UsageError, match="top level of a Python file"):
            await crawl_here(Inner, processes=2, data=str(tmp_path))
    assert (await crawl_here(Inner, data=str(tmp_path))).finish_reason == "finished"


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
