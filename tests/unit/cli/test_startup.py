"""What a command imports: the time until the first page is mostly imports, and they creep in unseen."""

import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.cli.app import HOMES
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
    "aiohttp", "asyncpg", "attr", "celery", "curl_cffi", "duckdb", "http.client", "http.server", "lxml",
    "parsel", "playwright", "psycopg", "pyarrow", "redis", "requests", "rich", "scrapy", "tomllib",
    "unittest", "urllib.request", "xml", "gossamer.cli.commands.shell", "gossamer.cli.terminal.panel",
    "gossamer.export.csv", "gossamer.export.xml", "gossamer.testing",
}  # fmt: skip
HEAVY = {"aiohttp", "asyncio", "httptools", "msgspec", "pydantic", "rich", "sqlite3", "ssl", "turbohtml"}


def modules(folder: Path, *arguments: str) -> set[str]:
    """What one command had imported at its end."""
    command = [sys.executable, "-c", CODE, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=folder, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


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


@pytest.mark.parametrize("arguments", [("--help",), ("version",), ("--version",)], ids=" ".join)
def test_help_and_version_import_nothing_heavy(tmp_path, arguments):
    assert modules(tmp_path, *arguments) & HEAVY == set()


def test_gossamer_itself_imports_nothing(tmp_path):
    code = "import sys; before = set(sys.modules); import gossamer; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, cwd=tmp_path, check=True
    )
    ours = {name for name in done.stdout.split() if name.startswith("gossamer")}
    assert ours == {"gossamer", "gossamer.version"}
    assert set(done.stdout.split()) & HEAVY == set()


def test_the_table_of_commands_is_true():
    from importlib import import_module

    for home, names in HOMES.items():
        module = import_module(f"gossamer.cli.commands.{home}")
        assert names == (("dead",) if home == "dead" else tuple(name for name, *_ in module.COMMANDS))
