"""What a command imports: the time until the first page is mostly imports, and they creep in unseen."""

import asyncio
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gossamer.cli.app import GROUPS, HOMES, build_app
from gossamer.config.settings import Settings
from gossamer.wiring.backends import open_backends
from kit.environment import environment

CODE = (
    "import sys; from gossamer.cli.main import main\n"
    "try: main()\n"
    "except SystemExit as end: assert not end.code, end.code\n"
    "print(*sys.modules, sep='\\n', file=sys.stderr)"
)
SPIDER = """
from gossamer import Spider

class One(Spider):
    name = "one"
    start_urls = ["http://one.example/"]

    def parse(self, response):
        yield {"title": response.css("h1::text").get()}
"""
# The import packages of everything that a crawl can do without until it is asked for.
OPTIONAL = {
    "aiohttp", "asyncpg", "attr", "bson", "celery", "curl_cffi", "duckdb", "http.client", "http.server",
    "lxml", "obstore", "opentelemetry", "parsel", "playwright", "prometheus_client", "psycopg", "pyarrow",
    "pymongo", "redis", "requests", "rich", "scrapy", "tomllib", "unittest", "urllib.request", "wsgiref",
    "xlsxwriter", "xml", "PIL", "gossamer.archive", "gossamer.blobs", "gossamer.cli.commands.shell",
    "gossamer.cli.terminal.panel", "gossamer.crawl.replay", "gossamer.export.compress",
    "gossamer.export.csv", "gossamer.export.excel", "gossamer.export.parquet", "gossamer.export.xml",
    "gossamer.engine.file_keeper", "gossamer.fetch.http.file_body", "gossamer.items.file",
    "gossamer.items.file_refs", "gossamer.policy.file_names", "gossamer.store.files",
    "gossamer.store.sqlite.files", "gossamer.wiring.files",
    "gossamer.fetch.archived", "gossamer.fetch.cached", "gossamer.fetch.routing.proxies",
    "gossamer.observe.metrics", "gossamer.outputs", "gossamer.testing", "gossamer.watch.watch",
    "gossamer.wiring.deferred", "gossamer.wiring.outputs", "cronsim", "gossamer.core.schedules",
    "gossamer.store.sqlite.schedules", "gossamer.adapters", "gossamer.callbacks.hooks",
    "gossamer.engine.inline_fetcher", "gossamer.fetch.domains", "gossamer.fetch.hooked",
    "gossamer.items.restoring", "gossamer.parse.csv_rows", "gossamer.parse.lxml_html",
    "gossamer.spiders.feeds", "gossamer.spiders.forms", "gossamer.spiders.viewing", "gossamer.wiring.memory",
    "jmespath",
}  # fmt: skip
FOR_CRAWLS = (
    "gossamer.adapters", "gossamer.callbacks", "gossamer.engine.visit", "gossamer.engine.admission",
    "gossamer.fetch.http", "gossamer.items", "gossamer.parse", "gossamer.spiders", "turbohtml",
)  # fmt: skip
HEAVY = {"aiohttp", "asyncio", "httptools", "msgspec", "pydantic", "rich", "sqlite3", "ssl", "turbohtml"}


def modules(folder: Path, *arguments: str) -> set[str]:
    """What one command had imported at its end."""
    command = [sys.executable, "-c", CODE, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=folder, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


async def make_job(settings: Settings) -> None:
    """One job that nobody works on."""
    backends = await open_backends(settings, create=True)
    await backends.book.create("shop", "https://shop.example/")
    await backends.close()


@pytest.mark.slow
def test_a_quiet_crawl_imports_nothing_that_it_does_not_need(tmp_path):
    (tmp_path / "one.py").write_text(SPIDER)
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "index.html").write_text("<h1>One</h1>")
    rules = '{"http://one.example/": "index.html"}'
    found = modules(
        tmp_path, "crawl", "one.py", "-q", "-O", "one.jsonl",
        "-s", "replay.folder=saved", "-s", f"replay.rules={rules}",
    )  # fmt: skip
    assert (tmp_path / "one.jsonl").read_text() == '{"title":"One"}\n'
    assert found & OPTIONAL == set()
    assert {"turbohtml", "gossamer.store.sqlite.store"} <= found, "this looks at the right process"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("jobs",), ("status",), ("top", "--once")], ids=" ".join)
def test_who_looks_at_jobs_imports_neither_spiders_nor_what_fetches_pages(tmp_path, arguments):
    asyncio.run(make_job(Settings(data=str(tmp_path / ".gossamer"))))
    found = modules(tmp_path, *arguments)
    assert {name for name in found if name.startswith(FOR_CRAWLS)} == set()
    assert "gossamer.frontier.sqlite.frontier" in found, "this looks at the right process"


def test_redis_is_imported_without_the_sdk_for_metrics_that_nobody_asks_for(tmp_path):
    """redis-py imports it wherever it is installed."""
    code = (
        "import sys; import gossamer.drivers.redis.packages\n"
        "print(*(name for name in sys.modules if name.startswith(('opentelemetry', 'redis.asyncio.client'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, cwd=tmp_path, check=True
    )
    assert done.stdout.split() == ["redis.asyncio.client"]


@pytest.mark.parametrize("arguments", [("--help",), ("version",), ("--version",)], ids=" ".join)
def test_help_and_version_import_nothing_heavy(tmp_path, arguments):
    assert modules(tmp_path, *arguments) & HEAVY == set()


def test_gossamer_itself_imports_nothing(tmp_path):
    code = "import sys; before = set(sys.modules); import gossamer; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, cwd=tmp_path, check=True
    )
    ours = {name for name in done.stdout.split() if name.startswith("gossamer")}
    assert ours - {"gossamer._version"} == {"gossamer", "gossamer.version"}
    assert set(done.stdout.split()) & HEAVY == set()


def test_the_table_of_commands_is_true():
    application = typer.main.get_command(build_app())
    for home, commands in HOMES.items():
        module = import_module(f"gossamer.cli.commands.{home}")
        assert tuple(commands) == ((home,) if home in GROUPS else tuple(name for name, *_ in module.COMMANDS))
        for name, text in commands.items():
            assert text == application.commands[name].get_short_help_str(200), f"{name}: the help in HOMES"


def test_the_list_of_commands_is_the_same_without_their_modules():
    said = [CliRunner().invoke(build_app(first), ["--help"], prog_name="gossamer") for first in (None, "")]
    assert said[0].stdout == said[1].stdout
    assert "  explain     " in said[0].stdout


def test_a_command_of_the_list_is_imported_when_it_is_asked_for():
    done = CliRunner().invoke(build_app(""), ["dead", "list", "--help"], prog_name="gossamer")
    assert "Usage: gossamer dead list" in done.stdout


@pytest.mark.parametrize(
    ("words", "imported"), [("gossamer cr", set()), ("gossamer version --js", {"version"})], ids=str
)
def test_completion_imports_no_command_but_the_one_that_is_completed(tmp_path, words, imported):
    shell = {
        "_GOSSAMER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=True,
        env=environment() | shell,
    )  # fmt: skip
    assert done.stdout.split()[0] in ("crawl", "--json")
    loaded = {name.rpartition(".")[2] for name in done.stderr.split() if ".cli.commands." in name}
    assert loaded == imported
