"""The command line as a person or a script uses it: real processes against a real site on loopback."""

import csv
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gossamer.cli.app import build_app
from gossamer.testing.answers import SiteResponse
from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit.environment import environment
from kit.shop_spider import SPIDER

FAST = ("--delay", "0", "--per-host", "16", "-s", "retry_backoff=0.1")
GOSSAMER = (sys.executable, "-m", "gossamer.cli.main")


def process(*arguments, cwd, code=0, **more):
    """The command as a process of its own."""
    done = subprocess.run(
        [*GOSSAMER, *map(str, arguments)], cwd=cwd, env=environment(), capture_output=True, text=True,
        timeout=60, stdin=subprocess.DEVNULL, check=False, **more,
    )  # fmt: skip
    assert done.returncode == code, (arguments, done.returncode, done.stdout[-2000:], done.stderr[-4000:])
    return done


def gossamer(*arguments, cwd, code=0, stdin=""):
    """The same without a second for the start of each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        given = [*map(str, arguments)]
        done = CliRunner().invoke(build_app(), given, input=stdin, prog_name="gossamer")
    assert done.exit_code == code, (arguments, done.exit_code, done.stdout[-2000:], done.stderr[-4000:])
    return done


def skus(path):
    return sorted(json.loads(row)["sku"] for row in Path(path).read_text().splitlines())


@pytest.fixture(scope="module")
def shop():
    with serve_in_thread(Shop(60, page_bytes=2000)) as site:
        yield site


@pytest.fixture
def here(tmp_path, shop):
    (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", shop.url.rstrip("/")))
    return tmp_path


ALL = sorted(product["sku"] for product in Shop(60).truth())


def test_a_crawl_ends_with_one_json_object_and_the_files(here):
    done = process("crawl", "shop.py", *FAST, "--json", "-o", "a.jsonl", "-O", "b.csv", cwd=here)
    result = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert list(result) == [
        "job", "spider", "finish_reason", "pages", "items", "attempts", "retries", "dead", "dropped",
        "duplicates", "bytes", "seconds", "pages_per_second", "cost", "by_rung", "cost_by_rung",
        "by_status", "goals", "stats", "budgets", "cut_pages",
        "redirects_to_known",
        "peak_rss_mb",
        "notes", "left_out", "warnings",
    ]  # fmt: skip
    assert (result["job"], result["spider"], result["finish_reason"]) == ("shop-1", "shop", "finished")
    assert (result["items"], result["pages"], result["dead"]) == (60, 63, 0)
    assert skus(here / "a.jsonl") == ALL
    assert sorted(row["sku"] for row in csv.DictReader((here / "b.csv").read_text().splitlines())) == ALL
    assert "\x1b" not in done.stderr  # nobody watches: plain lines


def test_a_finished_crawl_says_why_nothing_happens_and_appends_nothing(here):
    gossamer("crawl", "shop.py", *FAST, "-q", "-o", "a.jsonl", cwd=here)
    again = gossamer("crawl", "shop.py", *FAST, "-o", "a.jsonl", cwd=here)
    assert "nothing to do" in again.stderr
    assert again.stdout == ""
    assert skus(here / "a.jsonl") == ALL
    gossamer("crawl", "shop.py", *FAST, "--fresh", "-O", "a.jsonl", cwd=here)
    assert skus(here / "a.jsonl") == ALL
    jobs = json.loads(gossamer("jobs", "--json", cwd=here).stdout)
    assert [job["job"] for job in jobs] == ["shop-2", "shop-1"]


def test_a_budget_of_pages_is_resumed_into_the_same_file(here):
    first = gossamer("crawl", "shop.py", *FAST, "--max-pages", 20, "-o", "a.jsonl", "--json", cwd=here)
    assert json.loads(first.stdout)["finish_reason"] == "max_pages"
    assert 0 < len(skus(here / "a.jsonl")) < 60
    gossamer("crawl", "shop.py", *FAST, "-o", "a.jsonl", cwd=here)
    assert skus(here / "a.jsonl") == ALL


def test_a_quiet_crawl_is_quiet(here):
    done = process("crawl", "shop.py", *FAST, "--no-progress", cwd=here)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_fetched(here, shop):
    before = len(shop.hits)
    for name in ("x.doc", "shop.py/x.csv", "nosuffix"):
        assert "Traceback" not in gossamer("crawl", "shop.py", *FAST, "-o", name, cwd=here, code=2).stderr
    assert len(shop.hits) == before
    assert not (here / ".gossamer").exists()


def test_jobs_status_and_export(here):
    gossamer("crawl", "shop.py", *FAST, "-q", cwd=here)
    (job,) = json.loads(gossamer("jobs", "--json", cwd=here).stdout)
    assert (job["job"], job["state"], job["pages"], job["items"], job["waiting"]) == (
        "shop-1",
        "finished",
        63,
        60,
        0,
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", job["created_at"])
    header, row = gossamer("jobs", cwd=here).stdout.splitlines()
    assert header.split()[:4] == ["job", "state", "pages", "items"]
    assert row.split()[:4] == ["shop-1", "finished", "63", "60"]
    status = json.loads(gossamer("status", "shop", "--json", cwd=here).stdout)
    assert (status["by_status"], status["queue"]) == ({"200": 63}, {"pending": 0, "delayed": 0, "leased": 0})
    assert "200 63" in gossamer("status", "shop-1", cwd=here).stdout
    lines = gossamer("export", "shop", cwd=here).stdout.splitlines()
    assert sorted(json.loads(line)["sku"] for line in lines) == ALL
    gossamer("export", "shop-1", "-o", "x.json", cwd=here)
    assert len(json.loads((here / "x.json").read_text())) == 60
    assert gossamer("export", "shop", "--format", "csv", cwd=here).stdout.splitlines()[0] == "sku,name"
    assert "existing jobs: shop-1" in gossamer("status", "shp", cwd=here, code=2).stderr


def test_a_pipe_that_closes_early_ends_quietly(here):
    gossamer("crawl", "shop.py", *FAST, "-q", cwd=here)
    with subprocess.Popen(
        [*GOSSAMER, "export", "shop"],
        cwd=here,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        error = process.stderr.read()
        assert process.wait(30) == 141
    assert error == b""


# --------------------------------------------------------------------------- trouble


def trouble(path, headers):
    """A site with a page that is refused, one that breaks the spider, and a hostile link."""
    if path == "/":
        return SiteResponse(
            body=b'<a href="/refused">1</a><a href="/breaks">2</a><a href="/a%1b[31mb?&#27;[2J&#10;x">3</a>'
        )
    return SiteResponse(400) if path == "/refused" else SiteResponse(body=b"<h1>hi</h1>")


TROUBLED = """
from gossamer import Spider

class Troubled(Spider):
    name = "troubled"
    start_urls = ["{url}"]

    def parse(self, response):
        self.logger.warning("seen \\x1b[31m%s\\nfake", response.url)
        if response.url.endswith("/breaks"):
            raise ValueError("no \\x1b[2Jprice\\nhere")
        yield from response.follow_all(css="a")
"""


@pytest.fixture
def troubled(tmp_path):
    with serve_in_thread(trouble) as site:
        (tmp_path / "troubled.py").write_text(TROUBLED.replace("{url}", site.url.rstrip("/") + "/"))
        yield tmp_path


def test_strict_ends_with_1_when_there_are_dead_letters(troubled):
    options = ("-s", "max_retries=0", *FAST)
    result = json.loads(gossamer("crawl", "troubled.py", *options, "--json", cwd=troubled).stdout)
    assert result["dead"] == 2
    process("crawl", "troubled.py", *options, "--fresh", "--strict", cwd=troubled, code=1)


def test_nothing_hostile_reaches_the_terminal(troubled):
    done = gossamer(
        "crawl", "troubled.py", *FAST, "-s", "log.level=debug", "-s", "log.file=log.txt", cwd=troubled
    )
    log = (troubled / "log.txt").read_text()
    for text in (done.stderr, log):
        assert text.replace("\n", "").isprintable()
        assert "seen \\x1b[31m" in text
        assert all(re.match(r"\d{4}-\d\d-\d\dT|    ", line) for line in log.splitlines())
    for command in (["dead", "list", "troubled"], ["dead", "show", "troubled"], ["status", "troubled"]):
        assert gossamer(*command, cwd=troubled).stdout.replace("\n", "").isprintable()


def test_dead_letters_are_listed_shown_retried_and_dropped(troubled):
    def dead(*arguments):
        return json.loads(gossamer("dead", *arguments, "--json", cwd=troubled).stdout)

    gossamer("crawl", "troubled.py", "-s", "max_retries=0", *FAST, "-q", cwd=troubled)
    found = {letter["reason"]: letter for letter in dead("list", "troubled")}
    assert set(found) == {"client", "callback"}
    assert found["client"]["url"].endswith("/refused")
    assert dead("list", "troubled", "--host", "elsewhere.example") == []
    assert dead("list", "troubled", "--older-than", "1h") == []
    number = found["callback"]["id"]
    (letter,) = dead("show", "troubled", number)
    assert "ValueError" in letter["tries"][0]["detail"]
    assert "ValueError" in gossamer("dead", "show", "troubled", number, cwd=troubled).stdout
    assert dead("retry", "troubled", "--reason", "client") == {"job": "troubled-1", "retried": 1}
    assert [letter["id"] for letter in dead("list", "troubled")] == [number]
    again = json.loads(gossamer("crawl", "troubled.py", "-s", "max_retries=0", "--json", cwd=troubled).stdout)
    assert (again["job"], again["dead"]) == ("troubled-1", 2)
    assert dead("drop", "troubled", "--host", found["client"]["host"]) == {"job": "troubled-1", "dropped": 2}
    assert dead("list", "troubled") == []


# --------------------------------------------------------------------------- signals

BLOCKED = """
from gossamer import Spider

class Blocked(Spider):
    name = "blocked"
    start_urls = ["{url}"]

    def parse(self, response):
        print("blocked", flush=True)
        while True:
            pass
"""


def started(*arguments, cwd):
    return subprocess.Popen(
        [*GOSSAMER, *arguments],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(condition, timeout=20.0):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_crawl_exports_what_it_has_and_goes_on_later(tmp_path, number):
    with serve_in_thread(Shop(60, page_bytes=500, delay_s=0.05)) as site:
        (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", site.url.rstrip("/")))
        process = started("crawl", "shop.py", "--delay", "0", "--json", "-o", "a.jsonl", cwd=tmp_path)
        wait_until(lambda: len(site.hits) > 8)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 3, err
        assert json.loads(out)["finish_reason"] == "signal"
        assert "finishing the requests in flight; press Ctrl-C again to stop at once" in err
        assert 0 < len(skus(tmp_path / "a.jsonl")) < 60
        gossamer("crawl", "shop.py", *FAST, "-o", "a.jsonl", cwd=tmp_path)
        assert skus(tmp_path / "a.jsonl") == ALL


def test_the_second_signal_ends_at_once_and_loses_nothing(tmp_path):
    with serve_in_thread(Shop(60, page_bytes=500, delay_s=25.0)) as slow:
        (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", slow.url.rstrip("/")))
        process = started("crawl", "shop.py", "--delay", "0", "-o", "a.jsonl", "--no-robots", cwd=tmp_path)
        wait_until(lambda: len(slow.hits) >= 1)
        process.send_signal(signal.SIGTERM)
        assert "finishing" in next(line for line in process.stderr if "finishing" in line)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 3, err
        assert time.monotonic() - begin < 6, "nobody waits for the page, which takes 25 s"
        status = json.loads(gossamer("status", "shop", "--json", cwd=tmp_path).stdout)
        assert status["queue"]["leased"] == 0
        assert status["waiting"] == 1


def test_a_spider_that_never_returns_cannot_keep_the_process(tmp_path, shop):
    (tmp_path / "blocked.py").write_text(BLOCKED.replace("{url}", shop.url))
    process = started("crawl", "blocked.py", "--delay", "0", cwd=tmp_path)
    assert process.stdout.readline() == "blocked\n"
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)  # two signals at once are one
    process.communicate(timeout=10)
    assert process.returncode == 3


def test_a_terminal_gets_a_live_view_and_its_cursor_back(here):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [*GOSSAMER, "crawl", "shop.py", "--delay", "0.02", "--per-host", "4"]
    crawl = subprocess.Popen(
        command, cwd=here, env=environment(TERM="xterm"), stdin=theirs, stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert crawl.communicate(timeout=20)[0] == b""
    assert crawl.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    for part in (
        "of 63 known requests",
        "now",
        "mean",
        "pending",
        "in flight",
        "busiest hosts",
        "127.0.0.1:",
    ):
        assert part in text, text
    assert "shop-1 (finished" in text
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # EIO: the other side is closed
        return b""


# --------------------------------------------------------------------------- first steps


def test_help_and_version_load_nothing_heavy(tmp_path):
    code = (
        "import sys; from gossamer.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'aiohttp', 'asyncio', 'pydantic', 'turbohtml', 'lxml', 'msgspec', 'rich', 'sqlite3'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    for argument in ("--help", "version", "--version"):
        command = [sys.executable, "-c", code, argument]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=tmp_path, check=True)
        assert done.stderr == "[]\n"


def test_demo_shows_items_and_the_way_on(tmp_path):
    done = process("demo", "--products", 25, cwd=tmp_path)
    assert done.stdout.splitlines()[0].split() == ["sku", "name", "price"]
    assert len(done.stdout.splitlines()) == 6
    assert "gossamer export demo --data .gossamer/demo" in done.stderr
    assert json.loads(gossamer("demo", "--products", 25, "--json", cwd=tmp_path).stdout)["items"] == 25


def books(path, headers):
    """A little of the public practice shop that the example spider is for."""
    if path.startswith("/book"):
        html = f'<h1>Book {path[5:]}</h1><p class="price_color">£1{path[5:]}.50</p>'
    elif path == "/":
        html = '<h3><a href="book1">1</a></h3><h3><a href="book2">2</a></h3><li class="next"><a href="page2">'
    else:
        html = '<h3><a href="book3">3</a></h3>'
    return SiteResponse(body=html.encode()) if path != "/robots.txt" else SiteResponse(404)


@pytest.mark.parametrize("target", ["example", "spiders/example.py"])
def test_a_new_project_runs(tmp_path, target):
    gossamer("new", "first", cwd=tmp_path)
    project = tmp_path / "first"
    with serve_in_thread(books) as site:
        start = f"start_url={site.url.rstrip('/')}/"
        done = gossamer("crawl", target, "-a", start, "--json", "-O", "b.jsonl", *FAST, cwd=project)
    assert json.loads(done.stdout)["finish_reason"] == "finished"
    found = [json.loads(row) for row in (project / "b.jsonl").read_text().splitlines()]
    assert sorted((book["title"], book["price"]) for book in found) == [
        ("Book 1", "11.50"),
        ("Book 2", "12.50"),
        ("Book 3", "13.50"),
    ]
    assert (project / ".gossamer/gossamer.db").exists()
    gossamer("new", "first", cwd=tmp_path, code=2)


def test_a_new_declarative_project_runs(tmp_path):
    gossamer("new", "--declarative", "first", cwd=tmp_path)
    project = tmp_path / "first"
    with serve_in_thread(books) as site:
        given = ("-a", f"start_urls={site.url}/", "-a", "allowed_domains=127.0.0.1")
        gossamer("crawl", "example", *given, "--json", "-O", "b.jsonl", *FAST, cwd=project)
        guessed = gossamer("guess", f"{site.url}/book1", cwd=project)
    assert "the spider finds 1 item" in guessed.stderr
    found = [json.loads(row) for row in (project / "b.jsonl").read_text().splitlines()]
    assert sorted((book["title"], book["price"]) for book in found) == [
        ("Book 1", "11.50"),
        ("Book 2", "12.50"),
        ("Book 3", "13.50"),
    ]


def test_nothing_is_proposed_for_an_error_page_or_written_that_cannot_be_crawled(tmp_path, shop):
    url = shop.url.rstrip("/")
    refused = gossamer("guess", f"{url}/nosuch", cwd=tmp_path, code=2)
    assert "nosuch answered with status 404" in refused.stderr
    refused = gossamer("guess", f"{url}/catalog", "-o", "shop.py", cwd=tmp_path, code=2)
    assert "shop.py is not named like a spider in TOML" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_shell_evaluates_reads_stdin_and_asks_robots(tmp_path, shop):
    url = shop.url.rstrip("/")
    assert (
        gossamer("shell", url, "-c", "response.css('h1::text').get()", cwd=tmp_path).stdout
        == "The Gossamer Shop\n"
    )
    script = "r = fetch('/catalog')\nassert r is response\nprint(request.url, spider.name, r.status)"
    done = gossamer("shell", url, cwd=tmp_path, stdin=script)
    assert done.stdout.split()[0] == f"{url}/catalog"
    assert "301" in gossamer("shell", f"{url}/old-catalog", "-c", "1", cwd=tmp_path).stderr
    refused = gossamer("shell", f"{url}/private/prices.html", "-c", "1", cwd=tmp_path, code=2)
    assert "robots.txt does not allow" in refused.stderr
    gossamer("shell", f"{url}/private/prices.html", "--no-robots", "-c", "1", cwd=tmp_path)
    assert "ZeroDivisionError" in gossamer("shell", url, "-c", "1/0", cwd=tmp_path, code=2).stderr
    gossamer("shell", "http://127.0.0.1:1/", "-c", "1", cwd=tmp_path, code=4)
    assert not (tmp_path / ".gossamer").exists()
