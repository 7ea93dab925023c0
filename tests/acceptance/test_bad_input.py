"""Bad input: one clear message that names the thing and the way out, the right exit code, and nothing lost.

Every test ends with the crawl going on: what was stored before the trouble is there after it.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gossamer.drivers.sqlite.schema import load_migrations
from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.choosing import some_of
from kit.environment import environment
from kit.programs import command, crawl, free_port, rows, run, start
from kit.shop_spider import SPIDER

PRODUCTS = 60
FAST = ("--delay", "0", "--per-host", "8", "-s", "retry_backoff=0.1")
SECRET = "correct-horse-battery"


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(PRODUCTS, page_bytes=2000)) as site:
        yield site


@pytest.fixture
def spider(tmp_path: Path, shop: Site) -> Path:
    return written(tmp_path, shop)


def written(folder: Path, site: Site, old: str = "", new: str = "") -> Path:
    """The spider of this page, with one text replaced."""
    file = folder / "shop.py"
    file.write_text(SPIDER.replace("{url}", site.url).replace(old or "\0", new))
    return file


def refused(*args: str | Path, code: int, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """What a command says that must fail: one message without a traceback, and no result."""
    done = subprocess.run(
        command(*args),
        cwd=cwd,
        env=environment() | (env or {}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    message(done, code)
    return done.stderr


def message(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The one complaint of a process that ended with ``code``."""
    assert done.returncode == code, (done.returncode, done.stdout[-500:], done.stderr[-3000:])
    assert "Traceback" not in done.stderr, done.stderr
    assert "bug in Gossamer" not in done.stderr
    complaints = [line for line in done.stderr.splitlines() if line.startswith("gossamer: ")]
    assert len(complaints) == 1, done.stderr
    return complaints[0]


def some_pages(spider: Path, data: Path, count: int = 20) -> set[str]:
    """The first pages of a crawl; the keys of what they gave."""
    result = crawl(spider, *FAST, "--data", data, "--max-pages", str(count))
    assert result["finish_reason"] == "max_pages"
    stored = keys(data)
    assert stored
    return stored


def keys(data: Path) -> set[str]:
    found = [key for (key,) in rows(data, "select key from item")]
    assert len(found) == len(set(found))
    return set(found)


def goes_on(spider: Path, data: Path, stored: set[str]) -> None:
    """The crawl ends well with what was stored and all the rest."""
    assert stored <= keys(data)
    result = crawl(spider, *FAST, "--data", data)
    assert (result["finish_reason"], result["items"], result["dead"]) == ("finished", PRODUCTS, 0)
    assert len(keys(data)) == PRODUCTS


# --------------------------------------------------------------------------- settings


WRONG = (
    ("option", "delya", "3", "did you mean 'delay'"),
    ("option", "delay", "soon", "valid number"),
    ("environment", "delya", "3", "did you mean 'delay'"),
    ("environment", "http__max_redirects", "many", "valid integer"),
    ("spider", "per_hots", 3, "did you mean 'per_host'"),
    ("spider", "per_host", 0, "greater than or equal to 1"),
    ("file", "concurency", 3, "did you mean 'concurrency'"),
    ("file", "concurrency", "many", "valid integer"),
)


@pytest.mark.parametrize(("layer", "key", "value", "way_out"), WRONG)
def test_a_wrong_setting(
    tmp_path: Path, shop: Site, layer: str, key: str, value: str | int, way_out: str
) -> None:
    """Named are the key, the layer it comes from, and what would be right; nothing has happened."""
    spider, hits = written(tmp_path, shop), len(shop.hits)
    arguments: list[str] = []
    env: dict[str, str] = {}
    source = {"option": "command line|-s", "spider": "the spider"}.get(layer, "")
    if layer == "option":
        arguments = ["-s", f"{key}={value}"]
    elif layer == "environment":
        source = f"GOSSAMER_{key.upper()}"
        env[source] = str(value)
    elif layer == "spider":
        written(tmp_path, shop, 'name = "shop"', f'name = "shop"\n    settings = {{{key!r}: {value!r}}}')
    else:
        source = str(tmp_path / "gossamer.toml")
        Path(source).write_text(f"{key} = {json.dumps(value)}\n")
    said = refused("crawl", spider, *arguments, code=2, cwd=tmp_path, env=env)
    assert way_out in said
    assert key.replace("__", ".") in said.lower()
    assert re.search(source, said)
    assert len(shop.hits) == hits
    assert not (tmp_path / ".gossamer").exists()


def test_a_gossamer_toml_that_is_no_toml(tmp_path: Path, spider: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("delay = [")
    assert str(tmp_path / "gossamer.toml") in refused("crawl", spider, code=2, cwd=tmp_path)


# --------------------------------------------------------------------------- spider files


TWO = "\n\nclass Other(ShopSpider):\n    name = 'other'\n"
FILES = {
    "a syntax error": (lambda text: text + "def (:\n", r"shop\.py cannot be imported: line 21: SyntaxError"),
    "a byte of 0": (lambda text: text + "\0", r"shop\.py cannot be imported: SyntaxError.*null bytes"),
    "an import error": (
        lambda text: "import no_such_module\n" + text,
        r"shop\.py cannot be imported: line 1: ModuleNotFoundError.*no_such_module",
    ),
    "an exit": (
        lambda text: text + "raise SystemExit(0)\n",
        r"shop\.py cannot be imported: line 21: SystemExit",
    ),
    "no spider": (lambda _: "x = 1\n", r"shop\.py has no spider; write a class .* gossamer\.Spider"),
    "two spiders": (
        lambda text: text + TWO,
        r"shop\.py has 2 spiders \(ShopSpider, Other\); name one: .*shop\.py:ShopSpider",
    ),
    "no name": (
        lambda text: text.replace('name = "shop"', ""),
        r'ShopSpider has no name; .* name = "\.\.\."',
    ),
    "a number for a name": (lambda text: text.replace('name = "shop"', "name = 7"), r"has no name"),
}


@pytest.mark.long
def test_a_spider_file_that_does_not_import(tmp_path: Path, shop: Site) -> None:
    """The file and its line are named. A crawl that had begun before the slip goes on after it."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    stored = some_pages(spider, data)
    good, hits = spider.read_text(), len(shop.hits)
    for trouble, (spoil, expected) in FILES.items():
        spider.write_text(spoil(good))
        assert re.search(expected, refused("crawl", spider, *FAST, "--data", data, code=2)), trouble
    assert len(shop.hits) == hits
    spider.write_text(good)
    goes_on(spider, data, stored)


STARTS = {
    "raises": (
        "        yield Request(self.start_urls[0])\n        raise KeyError('page')",
        "KeyError: 'page' (",
    ),
    "exits": ("        yield Request(self.start_urls[0])\n        raise SystemExit(0)", "SystemExit"),
    "yields a string": ("        yield self.start_urls[0]", "which is not a Request"),
    "yields a bad request": ("        yield Request(5)", "a request's url must be a string, not 5"),
}


def test_a_start_that_fails(tmp_path: Path, shop: Site) -> None:
    spider, data = written(tmp_path, shop), tmp_path / "data"
    stored, good = some_pages(spider, data), spider.read_text()
    for trouble, (body, expected) in STARTS.items():
        spider.write_text(f"from gossamer import Request\n{good}\n    async def start(self):\n{body}\n")
        said = refused("crawl", spider, *FAST, "--data", data, code=2)
        assert expected in said, trouble
        if "raised" in said:
            line = spider.read_text().rstrip().count("\n") + 1
            assert f"({spider}, line {line})" in said.replace("\n", " "), trouble
    spider.write_text(good)
    goes_on(spider, data, stored)


def test_one_text_where_a_list_is_meant(tmp_path: Path, shop: Site) -> None:
    spider = written(tmp_path, shop)
    name = urlsplit(shop.url).netloc
    more = f'    allowed_domains = "{name}"\n    start_urls = "{shop.url}/catalog"\n'
    spider.write_text(f"{spider.read_text()}\n{more}")
    assert crawl(spider, *FAST, "--data", tmp_path / "data")["items"] == PRODUCTS


def test_a_spider_that_is_not_there(tmp_path: Path, spider: Path) -> None:
    assert "there is no file nothing.py" in refused("crawl", "nothing.py", code=2, cwd=tmp_path)
    said = refused("crawl", f"{spider}:Shop", code=2, cwd=tmp_path)
    assert re.search(r"shop\.py has no spider class 'Shop'; it has: ShopSpider", said)


# --------------------------------------------------------------------------- the other end


@pytest.mark.long
def test_an_unreachable_host(tmp_path: Path) -> None:
    """A dead letter and not a single page: exit code 1; retried when the host is up, it works."""
    port, data = free_port(), tmp_path / "data"
    host = f"127.0.0.1:{port}"
    options = (*FAST, "-s", "max_retries=0", "--data", data)
    url = f"http://{host}/catalog"
    said = message(run("crawl", url, *options), 1)
    assert "no page was parsed" in said
    assert "gossamer dead list" in said
    assert run("crawl", url, *options, "--strict", "--fresh").returncode == 1
    (letter,) = json.loads(run("dead", "list", host, "--data", data, "--json").stdout)
    assert letter["url"] == url
    shown = run("dead", "show", host, "--data", data).stdout
    assert "Connection refused" in shown
    with serve_in_thread(Shop(PRODUCTS, page_bytes=2000), port=int(port)):
        assert run("dead", "retry", host, "--data", data).returncode == 0
        result = crawl(url, *options, "--no-robots")
    assert (result["finish_reason"], result["dead"]) == ("finished", 0)
    assert result["pages"] > PRODUCTS


# --------------------------------------------------------------------------- the disk


SMALL_DISK = """
import sqlite3, sys
connect = sqlite3.connect

def small(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.execute("PRAGMA max_page_count = {pages}")
    return connection

sqlite3.connect = small
from gossamer.cli.main import main
sys.argv = ["gossamer", *sys.argv[1:]]
main()
"""
"""SQLite says "database or disk is full" when a file of so many pages is to grow; it needs no mount."""


@pytest.mark.long
def test_a_full_disk(tmp_path: Path, spider: Path) -> None:
    data = tmp_path / "data"
    stored = some_pages(spider, data, 10)
    pages = rows(data, "pragma page_count")[0][0]
    program = [sys.executable, "-c", SMALL_DISK.replace("{pages}", str(pages + 2))]
    again = [*program, "crawl", str(spider), *FAST, "--data", str(data), "--json"]
    for _ in range(2):  # as full the second time as the first
        done = subprocess.run(
            again, capture_output=True, text=True, timeout=60, env=environment(), check=False
        )
        said = message(done, 4)
        assert f"{data}/gossamer.db: the disk is full; free some space and start again" in said
        assert done.stdout == ""
        assert stored <= keys(data)
    goes_on(spider, data, stored)
    assert rows(data, "pragma integrity_check") == [("ok",)]


@pytest.mark.parametrize("suffix", some_of(("jsonl", "json", "csv", "xml"), "jsonl", "csv"))
def test_a_full_disk_under_the_export(tmp_path: Path, spider: Path, suffix: str) -> None:
    """The crawl is told of as ever, the items are stored, and the message says how to have them written."""
    data, file = tmp_path / "data", tmp_path / f"out.{suffix}"
    file.symlink_to("/dev/full")
    done = run("crawl", spider, *FAST, "--data", data, "-O", file, "--json")
    said = message(done, 4)
    assert "No space left on device" in said
    assert "gossamer export shop-1" in said
    assert json.loads(done.stdout)["items"] == PRODUCTS
    file.unlink()
    assert run("export", "shop-1", "--data", data, "-o", file).returncode == 0
    assert file.stat().st_size > PRODUCTS * 20


# --------------------------------------------------------------------------- the database


@pytest.mark.long
def test_a_database_of_a_newer_version(tmp_path: Path, spider: Path) -> None:
    data = tmp_path / "data"
    stored = some_pages(spider, data)
    today = max(load_migrations())
    rows(data, f"pragma user_version = {today + 1}")
    commands = (
        ["crawl", spider],
        ["crawl", spider, "--fresh"],
        ["export", "shop"],
        ["jobs"],
        ["dead", "list", "shop"],
    )
    for command_line in commands:
        said = refused(*command_line, "--data", data, code=4)
        assert f"{data}/gossamer.db: written by a newer Gossamer (schema {today + 1}" in said
        assert "upgrade Gossamer, or use another --data directory" in said
    rows(data, f"pragma user_version = {today}")
    goes_on(spider, data, stored)


@pytest.mark.long
def test_a_file_that_is_no_database(tmp_path: Path, spider: Path) -> None:
    """It is left as it was; with the real one back the crawl goes on."""
    data = tmp_path / "data"
    stored = some_pages(spider, data)
    file, aside = data / "gossamer.db", tmp_path / "aside.db"
    shutil.move(file, aside)
    file.write_text("a shopping list, and a long one\n" * 100)
    before = file.read_bytes()
    said = refused("crawl", spider, "--data", data, code=4)
    assert f"{file}: the file is not an SQLite database; move it away or name another one" in said
    assert file.read_bytes() == before
    file.unlink()
    with sqlite3.connect(file) as other:
        other.execute("create table recipes (name)")
    other.close()
    assert f"{file}: this SQLite file belongs to another program" in refused("jobs", "--data", data, code=4)
    shutil.move(aside, file)
    goes_on(spider, data, stored)


def test_a_data_directory_that_cannot_be_one(tmp_path: Path, spider: Path) -> None:
    (tmp_path / "file").write_text("")
    said = refused("crawl", spider, "--data", tmp_path / "file", code=4)
    assert f"{tmp_path}/file: cannot be created as a data directory" in said
    assert "--data" in said


@pytest.mark.long
def test_a_second_process_on_the_same_crawl(tmp_path: Path) -> None:
    """The second is told who is at it, also when it wants to start over; the first notices nothing."""
    data = tmp_path / "data"
    with serve_in_thread(Shop(PRODUCTS, page_bytes=2000, delay_s=0.2)) as site:
        spider = written(tmp_path, site)
        first = start("crawl", spider, "--delay", "0", "--data", data)
        try:
            while not site.hits:
                assert first.poll() is None
            for more in ((), ("--fresh",)):
                said = refused("crawl", spider, "--data", data, *more, code=4)
                assert f"is being worked on by process {first.pid} " in said
                assert "wait for it, stop it, or use another --data directory" in said
            assert first.poll() is None
            first.send_signal(signal.SIGTERM)
            assert first.wait(30) == 3
        finally:
            first.kill()
            first.wait(10)
        site.app = Shop(PRODUCTS, page_bytes=2000)
        goes_on(spider, data, keys(data))


# --------------------------------------------------------------------------- names and secrets


@pytest.mark.parametrize("argument", ["../../outside", "x" * 300, "a/b\nc"])
def test_an_argument_that_is_no_file_name(tmp_path: Path, spider: Path, argument: str) -> None:
    """Crawls are told apart by their arguments; no file of theirs lies outside the data directory."""
    data = tmp_path / "deep" / "data"
    spider.write_text(spider.read_text().replace('name = "shop"', 'name = "shop"\n    category = ""'))
    crawl(spider, *FAST, "--data", data, "-a", f"category={argument}")
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"deep", "shop.py"}
    assert {path.name for path in data.parent.iterdir()} == {"data"}
    assert all(path.is_file() for path in data.iterdir())


@pytest.mark.long
def test_no_password_is_shown_or_stored(tmp_path: Path, shop: Site) -> None:
    """Of a URL with user and password, of a header's token, of a database's URL."""
    data = tmp_path / "data"
    start_url = shop.url.replace("://", f"://user:{SECRET}@") + "/catalog"
    token = f'name = "shop"\n    settings = {{"http.headers": {{"X-Api-Token": "{SECRET}"}}}}'
    spider = written(tmp_path, shop, 'name = "shop"', token)
    spider.write_text(spider.read_text().replace(f"{shop.url}/catalog", start_url))
    options = (
        *FAST,
        "-s",
        "log.level=debug",
        "-s",
        f"log.file={tmp_path / 'log'}",
        "--data",
        data,
        "-O",
        tmp_path / "out.csv",
    )
    said = [run("crawl", target, *options, "--json") for target in (str(spider), start_url)]
    assert [done.returncode for done in said] == [0, 0]
    said += [run(*line, "--data", data) for line in (["jobs"], ["status", "shop"], ["dead", "list", "shop"])]
    wrong = (
        "store.url=postgresql://user:{}@db/x",
        "http.headers={{'Authorization': '{}'}}",
        "contract=http://a:{}@b/",
    )
    said += [run("crawl", spider, "--data", data, "-s", pair.format(SECRET)) for pair in wrong]
    assert [done.returncode for done in said[-3:]] == [4, 2, 2]
    assert not [done.args for done in said if SECRET in done.stdout + done.stderr]
    files = [path for path in (*data.rglob("*"), tmp_path / "log", tmp_path / "out.csv") if path.is_file()]
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ('fetch = "gateway:zite"', "unknown gateway 'zite' among the settings; did you mean 'zyte'?"),
        ('[ladder]\nrungs = ["http", "gateway:zite"]', "unknown gateway 'zite'"),
        ('[ladder.hosts]\n"shop.example" = ["http", "gateway:zite"]', "unknown gateway 'zite'"),
        (
            'fetch = "gateway"\n[gateways.a]\nurl = "http://127.0.0.1:1/?u={ulr}"',
            "gateways.a: nothing has a value for {ulr}; did you mean {url}?",
        ),
    ],
)
def test_a_wrong_gateway_is_refused_before_the_first_page(
    settings: str, says: str, spider: Path, tmp_path: Path
) -> None:
    zyte = '\n[gateways.zyte]\ntemplate = "zyte"\nkey_env = "ZYTE_KEY"\n'
    (tmp_path / "gossamer.toml").write_text(settings + zyte)
    assert says in refused("crawl", spider, "--data", tmp_path / "data", code=2, cwd=tmp_path)
