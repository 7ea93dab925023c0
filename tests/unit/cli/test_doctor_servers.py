"""The doctor says that nothing is missing only where a crawl would start; the servers are real."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gossamer.cli.app import build_app
from gossamer.cli.commands import doctor_checks
from gossamer.config.layers import load_settings
from gossamer.drivers.sqlite.schema import APPLICATION_ID
from gossamer.wiring.checks import needed_extras
from kit.fleet.upset import execute
from kit.programs import run
from kit.servers import PostgresProcess, RedisProcess

SECRET = "hush-hush"
SPIDER = """
from gossamer import Spider


class One(Spider):
    name = "one"
"""


def doctor(*settings: str) -> tuple[int, dict[str, tuple[str, str, str]], str]:
    """Its exit code, its checks by what they look at, and all that it says."""
    words = [word for setting in settings for word in ("-s", setting)]
    done = CliRunner().invoke(build_app(), ["doctor", "--json", *words], prog_name="gossamer")
    assert SECRET not in done.output
    found = {
        check["what"]: (check["state"], check["found"], check["advice"]) for check in json.loads(done.stdout)
    }
    return done.exit_code, found, done.output


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor_checks, "_check_packages", lambda **_: iter(()))  # they take ten seconds


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisProcess]:
    with RedisProcess(password=SECRET) as server:
        yield server


def refused(*settings: str) -> str:
    """What a start says that a server does not let begin."""
    Path("one.py").write_text(SPIDER)
    done = run("crawl", "one.py", *(word for setting in settings for word in ("-s", setting)), cwd=Path.cwd())
    assert done.returncode == 4, done.stderr
    return done.stderr


# --------------------------------------------------------------------------- Redis


def test_a_redis_is_shown_with_its_role_and_memory(redis: RedisProcess) -> None:
    code, found, _ = doctor(f"frontier.url={redis.url}")
    state, shown, advice = found["frontier.url"]
    assert (code, state, advice) == (0, "ok", "")
    assert shown.startswith(f"redis://127.0.0.1:{redis.port}/0: Redis ")
    assert "a primary without replicas" in shown
    assert "no maxmemory" in shown
    assert "the same as that of Redis" in found["clock"][1]
    code, found, _ = doctor(f"frontier.url={redis.url.replace(f':{SECRET}@', '')}")
    assert (code, found["frontier.url"][0]) == (4, "missing")
    assert "refuses the user name or password" in found["frontier.url"][2]
    assert "not compared with Redis" in found["clock"][1], "what could not be found out is said"


def test_a_redis_that_takes_no_writes_is_missing(redis: RedisProcess) -> None:
    with RedisProcess(password=SECRET, options=("--masterauth", SECRET)) as replica:
        replica.ask("REPLICAOF", "127.0.0.1", str(redis.port))
        code, found, _ = doctor(f"frontier.url={replica.url}")
        assert (code, found["frontier.url"][0]) == (4, "missing")
        assert (
            "is a replica, which takes no changes; the URL must name the primary" in found["frontier.url"][2]
        )


@pytest.mark.long
def test_a_redis_that_is_full_is_missing_and_one_that_is_nearly_full_a_warning(redis: RedisProcess) -> None:
    used = int(redis.ask("INFO", "memory").split(b"used_memory:")[1].split()[0])
    try:
        redis.ask("CONFIG", "SET", "maxmemory", str(int(used * 1.1)))
        code, found, _ = doctor(f"frontier.url={redis.url}")
        assert (code, found["frontier.url"][0]) == (0, "warning")
        assert "of its maxmemory" in found["frontier.url"][2]
        redis.ask("CONFIG", "SET", "maxmemory", str(used // 2))
        code, found, _ = doctor(f"frontier.url={redis.url}")
        assert (code, found["frontier.url"][0]) == (4, "missing")
        assert "is full: its maxmemory is reached" in found["frontier.url"][2]
        assert "is full: its maxmemory is reached" in refused(f"frontier.url={redis.url}")
    finally:
        redis.ask("CONFIG", "SET", "maxmemory", "0")


def test_what_was_allowed_for_trials_is_a_warning(redis: RedisProcess) -> None:
    redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        code, found, _ = doctor(f"frontier.url={redis.url}", "redis.require_durable=false")
        assert (code, found["frontier.url"][0]) == (0, "warning")
        assert "it drops keys when it is full" in found["frontier.url"][2]
    finally:
        redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")


# --------------------------------------------------------------------------- PostgreSQL


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresProcess]:
    with PostgresProcess(options={"max_connections": "12"}) as server:
        execute(
            server.url,
            "CREATE ROLE reader LOGIN",
            "GRANT pg_read_all_data TO reader",
            "CREATE ROLE stranger LOGIN",
            "CREATE ROLE frozen LOGIN IN ROLE gossamer",
            "ALTER ROLE frozen SET default_transaction_read_only = on",
        )
        yield server


@pytest.mark.long
def test_a_postgresql_that_takes_no_writes_is_missing(postgres: PostgresProcess, tmp_path: Path) -> None:
    reader = postgres.url.replace("gossamer@", "reader@")
    code, found, _ = doctor(f"store.url={reader}")
    assert (code, found["store.url"][0]) == (4, "missing")
    assert "this user lacks the rights" in found["store.url"][2]
    (tmp_path / "one.py").write_text(SPIDER)
    done = run("crawl", "one.py", "-s", f"store.url={postgres.url}", cwd=tmp_path)  # which makes the tables
    assert done.returncode == 0, done.stderr
    code, found, _ = doctor(f"store.url={reader}")
    assert (code, found["store.url"][0]) == (4, "missing")
    assert "may not change" in found["store.url"][2]
    assert "this user lacks the rights" in refused(f"store.url={reader}")
    stranger = postgres.url.replace("gossamer@", "stranger@")
    code, found, _ = doctor(f"store.url={stranger}")
    assert (code, found["store.url"][0]) == (4, "missing")
    assert "may not use the schema gossamer" in found["store.url"][2]
    assert "may not use the schema gossamer" in refused(f"store.url={stranger}")
    frozen = postgres.url.replace("gossamer@", "frozen@")
    code, found, _ = doctor(f"store.url={frozen}")
    assert (code, found["store.url"][0]) == (4, "missing")
    assert "the server is read-only" in found["store.url"][2]
    assert "the server is read-only" in refused(f"store.url={frozen}", "store.patience=0")


def test_a_read_only_postgresql_shows_a_job_and_changes_nothing(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    (tmp_path / "one.py").write_text(f'{SPIDER}    start_urls = ["http://127.0.0.1:9/"]\n')
    limits = ("-s", "host_patience=0", "-s", "max_retries=0", "-q", "--fresh")
    run("crawl", "one.py", *limits, "-s", f"store.url={postgres.url}", cwd=tmp_path)
    frozen = (
        "-s",
        f"store.url={postgres.url.replace('gossamer@', 'frozen@')}",
        "-s",
        "store.patience=0",
    )
    shown = run("status", "one", "--json", *frozen, cwd=tmp_path)
    found = json.loads(shown.stdout)
    assert (shown.returncode, found["state"], found["dead"]) == (0, "finished", 1)
    done = run("crawl", "one.py", "--fresh", *frozen, cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert "the server is read-only; is it a standby? Name the primary, or add" in done.stderr
    assert "target_session_attrs=read-write to the URL" in done.stderr
    for action in ("retry", "drop"):
        done = run("dead", action, "one", *frozen, cwd=tmp_path)
        assert (done.returncode, "the server is read-only" in done.stderr) == (4, True), done.stderr
    again = run("status", "one", "--json", *frozen, cwd=tmp_path)
    assert json.loads(again.stdout) == found


def test_connections_of_postgresql_are_counted(postgres: PostgresProcess) -> None:
    code, found, _ = doctor(f"store.url={postgres.url}")
    state, shown, _ = found["store.url"]
    assert (code, state) == (0, "ok")
    assert "of 9 connections in use" in shown
    assert "the same as that of PostgreSQL" in found["clock"][1]
    code, found, _ = doctor(f"store.url={postgres.url}", "processes=3")
    assert (code, found["store.url"][0]) == (0, "warning")
    assert "raise max_connections" in found["store.url"][2]


# --------------------------------------------------------------------------- a crawl starts, or it does not


FITS: tuple[str, ...] = ("", "fetch=impersonate", "memory=true", "archive.on=true")
LACKS = (
    "data=/proc/crawl",
    "store.url=sqlite:////proc/crawl/a.db",
    "fetch=browser browser.executable=/nowhere/chromium",
    "fetch=impersonate impersonate.profile=chrome1",
    "fetch=replay",
    "log.sinks=nowhere",
    "metrics.port={port}",
    "outputs.out.url=ftp://h/x",
    "alerts.targets.ops.url_env=NO_SUCH_TARGET",
    "archive.on=true archive.url=s3://bucket/x",
    "proxies.file=away.txt",
    "memory=true archive.on=true",
    "frontier.url=redis://127.0.0.1:1/0",
    "frontier.url=redis+sentinel://127.0.0.1:1/main",
    "frontier.url=redis+sentinel://127.0.0.1:1",
    "frontier.url=mysql://127.0.0.1/x",
    "store.url=postgresql://gossamer@127.0.0.1:1/x store.patience=0",
)


@pytest.mark.slow
@pytest.mark.parametrize("settings", FITS + LACKS)
def test_the_doctor_agrees_with_a_start(settings: str, tmp_path: Path) -> None:
    """A crawl that has nothing to fetch starts, and ends at once; or it does not start."""
    (tmp_path / "one.py").write_text(SPIDER)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = settings.format(port=taken.getsockname()[1]).split()
        code, _, said = doctor(*given)
        words = [word for setting in given for word in ("-s", setting)]
        done = run("crawl", "one.py", *words, cwd=tmp_path)
    assert done.returncode in ((0, 1) if settings in FITS else (2, 4)), done.stderr
    assert code == (0 if settings in FITS else 4), said


def test_a_file_that_a_start_would_refuse_is_missing(tmp_path: Path) -> None:
    (tmp_path / "gossamer.db").write_text("no database")
    code, found, _ = doctor(f"data={tmp_path}")
    assert (code, found["SQLite file"][0]) == (4, "missing")
    assert "the file is not an SQLite database" in found["SQLite file"][2]
    (tmp_path / "gossamer.db").unlink()
    with closing(sqlite3.connect(tmp_path / "gossamer.db")) as made:
        made.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        made.execute("PRAGMA user_version = 9999")
    code, found, _ = doctor(f"data={tmp_path}")
    assert code == 4
    assert "written by a newer Gossamer" in found["SQLite file"][2]


def test_each_disk_is_looked_at_once(tmp_path: Path) -> None:
    _, found, said = doctor(f"store.url=sqlite:///{tmp_path}/apart/a.db", "archive.on=true", "files.url=kept")
    assert [found[what][0] for what in ("data directory", "store.url", "files.url")] == ["ok"] * 3
    assert said.count('"free disk"') == 1


def test_a_cluster_is_no_broker_and_the_doctor_says_so() -> None:
    code, found, _ = doctor("frontier.url=redis+cluster://127.0.0.1:1")
    assert (code, found["broker.url"][0]) == (4, "optional")
    assert "a fleet needs" in found["broker.url"][2]


def test_extras_of_switches_are_needed() -> None:
    """A package that is not installed is optional, until a setting needs it."""
    for setting, extra in (
        ("traces.enabled=true", "otel"),
        ("metrics.port=1", "metrics"),
        ("outputs.out.url=postgresql://h/x", "postgres"),
        ("outputs.out.url=s3://bucket/x", "s3"),
        ("alerts.targets.ops.kind=apprise alerts.targets.ops.url_env=X", "alerts"),
        ('files.thumbnails={"small":[9,9]}', "images"),
    ):
        given = dict(one.split("=", 1) for one in setting.split())
        assert needed_extras(load_settings(env={}, overrides=given).settings) == {extra}
