"""Options, tables, JSON, checks and the project template of the command line."""

import io
import json
import sqlite3
import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from gossamer.cli.app import build_app
from gossamer.cli.commands import doctor_checks
from gossamer.cli.terminal.output import print_json
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.overrides import (
    arguments_of,
    crawl_overrides,
    page_overrides,
    parse_seconds,
    to_overrides,
)
from gossamer.core.errors import UsageError
from gossamer.install import install_command, pip_command


def gossamer(*arguments):
    return CliRunner().invoke(build_app(), [*arguments], prog_name="gossamer")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90", 90), ("90s", 90), ("15m", 900), ("1h30m", 5400), ("2 h", 7200), ("0.5d", 43200), ("1w", 604800)],
)
def test_durations_are_read(text, expected):
    assert parse_seconds(text, "--x") == expected


@pytest.mark.parametrize("text", ["", "m", "1y", "-5", "1h-2m", "1e5", "inf", "1,5"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(UsageError, match="--x"):
        parse_seconds(text, "--x")


def test_options_become_settings():
    assert to_overrides(["a=1"], delay=0.5, robots=None, max_pages=3) == [
        ("a", "1", "-s a"),
        ("delay", 0.5, "--delay"),
        ("max_pages", 3, "--max-pages"),
    ]
    assert page_overrides(None, no_robots=True) == [("robots", False, "--no-robots")]
    assert crawl_overrides(None, max_time="2m", no_robots=False) == [("max_time", 120.0, "--max-time")]
    both = crawl_overrides(["freshness.recrawl=all"], max_time=None, no_robots=False, recrawl=True)
    assert [value for _, value, _ in both] == ["due", "all"]  # the later one counts
    assert to_overrides(None) == []
    assert arguments_of(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(UsageError):
        arguments_of(["=1"])


# --------------------------------------------------------------------------- output


@given(st.dictionaries(st.text(alphabet=st.characters()), st.text(alphabet=st.characters())))
def test_json_is_exact_and_safe_for_a_terminal(value):
    old, sys.stdout = sys.stdout, io.StringIO()
    try:
        print_json(value)
        text = sys.stdout.getvalue()
    finally:
        sys.stdout = old
    assert json.loads(text) == value
    assert text.count("\n") == 1
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2028" for c in text[:-1])
    text.encode()


def test_tables_in_a_pipe_are_whole_and_without_trailing_blanks(capsys):
    print_table(("n", "url"), [(1000, "http://x/" + "y" * 180), (2, "a\x1b[2J\nb [red]x")], right=["n"])
    assert capsys.readouterr().out.splitlines() == [
        "    n  url",
        "1,000  http://x/" + "y" * 180,
        "    2  a\\x1b[2J\\nb [red]x",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_tables_on_a_terminal_fit_and_keep_the_ends_of_urls(width, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    rows = [(1, "http://shop.example/" + "a/" * 100 + "end", "x" * 12)]
    print_table(("n", "url", "why"), rows, wide="url", stream=out)
    _, row = out.getvalue().splitlines()
    assert len(row.rstrip()) <= width
    assert row.split() == ["1", row.split()[1], "x" * 12]
    assert row.split()[1].startswith("http")
    assert row.split()[1].endswith("a/end")
    assert "…" in row


def test_facts_are_aligned(capsys):
    print_facts([("a", "1\x07"), ("long name", "2")], stream=sys.stderr)
    assert capsys.readouterr().err == "a          1\\x07\nlong name  2\n"


# --------------------------------------------------------------------------- doctor


@pytest.mark.slow
def test_doctor_finds_everything_here(tmp_path):
    result = gossamer("doctor", "--data", str(tmp_path / "d"), "--json")
    found = {check["what"]: check for check in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert {
        "Python",
        "httptools",
        "pydantic",
        "SQLite",
        "data directory",
        "free disk",
        "open files",
        "browser",
        "clock",
    } <= set(found)
    assert not [check for check in found.values() if check["state"] == "missing"]
    assert "idle connections are kept" in found["open files"]["found"]
    assert not (tmp_path / "d").exists()  # it only looks


@pytest.mark.long
def test_doctor_names_the_browser_or_says_what_to_install(tmp_path, monkeypatch):
    def look(*more):
        result = gossamer("doctor", "--data", str(tmp_path), "--json", *more)
        return next(check for check in json.loads(result.stdout) if check["what"] == "browser")

    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (look()["state"], look()["found"]) == ("ok", str(program))
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert look()["state"] == "optional"
    assert look("-s", "fetch=browser")["state"] == "missing", "a crawl would end at its start"
    assert "apt install chromium, or set browser.executable" in look()["advice"]
    wrong = look("-s", "browser.executable=/nowhere/chromium")
    assert wrong["state"] == "missing"
    assert "'/nowhere/chromium': the program does not exist" in wrong["advice"]


@pytest.mark.slow
def test_doctor_says_what_is_missing_and_exits_with_4(monkeypatch, tmp_path):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 8, 0))
    (tmp_path / "file").write_text("")
    result = gossamer("doctor", "--data", str(tmp_path / "file"))
    assert result.exit_code == 4
    rows = [row.split()[:2] for row in result.stdout.splitlines()]
    assert ["missing", "SQLite"] in rows
    assert ["missing", "data"] in rows
    assert "2 needed things are missing" in result.stdout


SECRET = "s3cret"


def looked_at(tmp_path, text, what):
    """The exit code of a doctor in a project with these settings, and the checks that are called so."""
    (tmp_path / "gossamer.toml").write_text(text)
    result = gossamer("doctor", "--json")
    assert SECRET not in result.output
    found = [check for check in json.loads(result.stdout) if check["what"].startswith(what)]
    return result.exit_code, [(check["state"], check["found"], check["advice"]) for check in found]


@pytest.mark.long
def test_doctor_says_which_gateways_have_no_key(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ZYTE_KEY", raising=False)
    settings = '[gateways.zyte]\ntemplate = "zyte"\nkey_env = "ZYTE_KEY"\n'
    code, [(state, found, advice)] = looked_at(tmp_path, settings, "gateway")
    assert (code, state, found) == (0, "warning", "no key"), "no rung calls it"
    assert "the environment variable ZYTE_KEY, which is not set" in advice
    for rung in ("gateway", "gateway:zyte"):
        code, [(state, *_)] = looked_at(tmp_path, f'fetch = "{rung}"\n{settings}', "gateway")
        assert (code, state) == (4, "missing")
    monkeypatch.setenv("ZYTE_KEY", SECRET)
    assert looked_at(tmp_path, settings, "gateway") == (0, [("ok", "its key is in ZYTE_KEY", "")])
    wrong = '[gateways.own]\nurl = "https://gateway.example/?u={ulr}"\n'
    code, [(state, found, advice)] = looked_at(tmp_path, wrong, "gateway")
    assert (code, state, found) == (4, "missing", "wrong")
    assert "did you mean {url}?" in advice


@pytest.mark.long
def test_doctor_reads_the_lists_of_proxies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROXY_PASSWORD", raising=False)
    assert looked_at(tmp_path, "", "proxies") == (0, [])
    settings = '[proxies]\nurls = ["http://me:${PROXY_PASSWORD}@127.0.0.1:1"]\n'
    code, [(state, _, advice)] = looked_at(tmp_path, settings, "proxies")
    assert (code, state) == (4, "missing")
    assert "the environment variable 'PROXY_PASSWORD' is not set" in advice
    monkeypatch.setenv("PROXY_PASSWORD", SECRET)
    code, [(state, found, _)] = looked_at(tmp_path, settings, "proxies")
    assert (code, state, found) == (0, "ok", "1 proxy listed")
    code, [(state, _, advice)] = looked_at(tmp_path, '[proxies]\nfile = "away.txt"\n', "proxies")
    assert (code, state) == (4, "missing")
    assert "away.txt (proxies.file) cannot be read" in advice


@pytest.mark.slow
def test_one_thing_that_is_missing_is_one(tmp_path):
    (tmp_path / "file").write_text("")
    assert "1 needed thing is missing" in gossamer("doctor", "--data", str(tmp_path / "file")).stdout


@pytest.mark.slow
def test_wrong_settings_are_a_finding_of_the_doctor(monkeypatch):
    monkeypatch.setenv("GOSSAMER_DELAYY", "1")
    result = gossamer("doctor")
    assert result.exit_code == 4
    assert "did you mean 'delay'" in result.stdout


def doctor_of_servers(**urls):
    options = [word for name, url in urls.items() for word in ("-s", f"{name}.url={url}")]
    result = gossamer("doctor", "--json", *options)
    assert SECRET not in result.output
    found = {check["what"]: check for check in json.loads(result.stdout)}
    return result.exit_code, [found.get(f"{name}.url") for name in urls]


@pytest.mark.long
@pytest.mark.parametrize("broker", ["amqp", "redis"])
def test_servers_that_do_not_answer_are_findings_of_the_doctor(broker):
    away = f"u:{SECRET}@127.0.0.1:1/0"
    urls = {"frontier": f"redis://{away}", "store": f"postgresql://{away}", "broker": f"{broker}://{away}"}
    code, found = doctor_of_servers(**urls)
    assert code == 4
    assert [check["state"] for check in found] == ["missing"] * 3
    assert [check["found"] for check in found] == [url.replace(f"u:{SECRET}@", "") for url in urls.values()]
    assert all("127.0.0.1:1" in check["advice"] for check in found)


@pytest.mark.slow
def test_servers_that_are_wrong_are_findings_of_the_doctor():
    code, found = doctor_of_servers(frontier=f"mysql://u:{SECRET}@h/", store="postgresql://h:port/x")
    assert code == 4
    assert [check["state"] for check in found] == ["missing"] * 2
    assert "use sqlite:///FILE, redis://HOST:PORT/DB, " in found[0]["advice"]
    assert "is not a PostgreSQL URL" in found[1]["advice"]


@pytest.mark.long
def test_servers_that_are_well(redis_url, postgres_url, rabbit_server):
    for broker in (redis_url, rabbit_server.url):
        code, found = doctor_of_servers(frontier=redis_url, store=postgres_url, broker=broker)
        assert (code, [check["state"] for check in found]) == (0, ["ok"] * 3)
    assert doctor_of_servers(frontier="sqlite:///.gossamer/a.db") == (0, [None])


@pytest.mark.long
@pytest.mark.parametrize(("ahead_s", "says"), [(57, "57 s ahead of Redis"), (-3_600, "1h 00m behind Redis")])
def test_a_clock_that_is_not_the_server_s_is_a_finding_of_the_doctor(ahead_s, says, redis_url, monkeypatch):
    def clock():
        checks = json.loads(gossamer("doctor", "--json", "-s", f"frontier.url={redis_url}").stdout)
        return next(check for check in checks if check["what"] == "clock")

    assert (clock()["state"], clock()["advice"]) == ("ok", "")
    there = SimpleNamespace(time=lambda: time.time() + ahead_s, monotonic=time.monotonic)
    monkeypatch.setattr("gossamer.drivers.redis.server.time", there)
    assert clock()["state"] == "warning"
    assert clock()["found"].endswith(says)
    assert "certificates, schedules" in clock()["advice"]
    assert "set it by NTP" in clock()["advice"]


def test_a_package_that_a_server_needs_is_needed(monkeypatch):
    monkeypatch.setattr(
        doctor_checks, "requires", lambda name: ["no-such-package-at-all>=1; extra == 'postgres'"]
    )
    assert [check.state for check in doctor_checks._check_packages()] == ["optional"]
    assert [check.state for check in doctor_checks._check_packages({"postgres"})] == ["missing"]


def test_packages_that_are_not_there():
    absent = doctor_checks.check_package("no-such-package-at-all", ">=1")
    assert (absent.state, absent.advice) == ("missing", f"{pip_command()} 'no-such-package-at-all>=1'")
    extra = doctor_checks.check_package("no-such-package-at-all", ">=1", extra="redis")
    assert (extra.state, extra.advice) == ("optional", install_command("redis"))
    old = doctor_checks.check_package("typer", ">=99")
    assert (old.state, "not >=99" in old.found) == ("missing", True)


@pytest.mark.parametrize(
    ("package", "module"),
    [("pillow", "PIL"), ("backports-zstd", "backports.zstd"), ("price-parser", "price_parser")],
)
def test_the_module_of_a_package_is_what_it_brought(package, module):
    assert doctor_checks.find_module(package) == module


def test_packages_of_one_namespace_can_be_imported():
    assert doctor_checks.check_package("opentelemetry-api", ">=1").state == "ok"


@pytest.mark.parametrize(
    ("installed", "wanted", "good"),
    [
        ("1.10", ">=1.9", True),
        ("1.9", ">=1.10", False),
        ("1.0.0", ">=1.0,<2", True),
        ("2.0", ">=1.0,<2", False),
        ("1.15.4", ">=1.15.4, <1.16", True),
        ("1.16.0rc1", "<1.16", False),
        ("1.0.post1", "", True),
    ],
)
def test_versions_are_compared_as_numbers(installed, wanted, good):
    assert doctor_checks.is_in_range(installed, wanted) is good


def test_a_clock_of_another_age_is_noticed():
    assert doctor_checks.check_clock(0).state == "missing"
    assert doctor_checks.check_clock(1_800_000_000).state == "ok"


# --------------------------------------------------------------------------- new


def test_a_new_project_has_all_it_needs(tmp_path):
    result = gossamer("new", str(tmp_path / "deep" / "shop"))
    assert result.exit_code == 0
    project = tmp_path / "deep" / "shop"
    made = sorted(str(path.relative_to(project)) for path in project.rglob("*") if path.is_file())
    assert made == [".gitignore", "README.md", "gossamer.toml", "spiders/__init__.py", "spiders/example.py"]
    assert (project / "README.md").read_text().startswith("# shop\n")
    compile((project / "spiders/example.py").read_text(), "example.py", "exec")


def test_a_new_project_with_a_spider_in_toml(tmp_path):
    assert gossamer("new", "--declarative", str(tmp_path)).exit_code == 0
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert made == [".gitignore", "README.md", "gossamer.toml", "spiders/example.toml"]


@pytest.mark.parametrize("file", ["gossamer.toml", "spiders/example.py", "README.md"])
def test_nothing_is_overwritten(tmp_path, file):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    result = gossamer("new", str(tmp_path))
    assert result.exit_code == 2
    assert file in result.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert path.read_text() == "mine"


def test_a_project_cannot_be_made_in_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    result = gossamer("new", str(tmp_path / "file" / "shop"))
    assert result.exit_code == 2
    assert "cannot be created" in result.stderr
