"""The commands: help, wrong use, exit codes."""

import errno
import json
import sys

import pytest
import typer
from typer.testing import CliRunner

from gossamer import __version__
from gossamer.cli.app import GROUPS, build_app
from gossamer.cli.errors import exit_codes
from gossamer.core.errors import MissingServiceError, StorageError, UsageError
from gossamer.core.exits import ExitCode

COMMANDS = [
    ["crawl"], ["demo"], ["new"], ["shell"], ["jobs"], ["status"], ["export"], ["sql"], ["replay"], ["merge"],
    ["top"], ["alerts"], ["accept"], ["report"], ["report", "quality"], ["report", "failures"],
    ["report", "freshness"], ["report", "traps"], ["report", "budgets"], ["sitemap"],
    ["files"], ["files", "list"], ["files", "sweep"],
    ["outputs"], ["outputs", "list"], ["outputs", "write"], ["outputs", "forget"],
    ["submit"], ["wait"], ["seeds"], ["pause"], ["resume"], ["cancel"], ["fleet"], ["set"], ["host"],
    ["worker"], ["supervisor"], ["up"], ["doctor"], ["version"], ["scheduler"],
    *(["schedule", name] for name in ("add", "list", "show", "run", "enable", "disable", "remove")),
    ["schedule"],
    ["genspider"], ["guess"], ["fetch"], ["parse"], ["attempts"], ["explain"], ["settings"], ["list"],
    ["proxies"],
    ["dead"], ["dead", "list"], ["dead", "show"], ["dead", "retry"], ["dead", "drop"],
    ["dashboard"], ["token"], ["token", "create"], ["token", "list"], ["token", "revoke"],
]  # fmt: skip


def gossamer(*arguments):
    return CliRunner().invoke(build_app(), [*arguments], prog_name="gossamer")


def test_every_command_is_known_here():
    group = typer.main.get_command(build_app())
    found = [[name] for name in group.commands]
    found += [[home, name] for home in GROUPS for name in group.commands[home].commands]
    assert sorted(found) == sorted(COMMANDS)


@pytest.mark.parametrize("command", [[], *COMMANDS], ids=" ".join)
def test_help_is_complete_and_has_examples(command):
    result = gossamer(*command, "--help")
    assert result.exit_code == 0
    assert "Examples:\n    gossamer" in result.stdout.replace("\n  gossamer", "\n    gossamer")
    assert all(len(row) <= 100 for row in result.stdout.splitlines())
    assert "..." not in result.stdout.partition("Commands:")[2].partition("Examples:")[0]


WITHOUT_JSON = (
    *(
        ["new"],
        ["genspider"],
        ["guess"],
        ["shell"],
        ["dead"],
        ["report"],
        ["files"],
        ["outputs"],
        ["outputs", "write"],
        ["outputs", "forget"],
        ["token"],
        ["token", "revoke"],
        ["schedule"],
    ),
    *(["schedule", name] for name in ("enable", "disable", "remove")),
    *(["worker"], ["supervisor"], ["up"], ["dashboard"], ["scheduler"]),
)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in WITHOUT_JSON])
def test_what_lists_has_json(command):
    assert "--json" in gossamer(*command, "--help").stdout


def test_every_option_of_the_contract_is_there():
    text = gossamer("crawl", "--help").stdout
    for option in (
        "-o", "-O", "-s", "-a", "--data", "--max-pages", "--max-depth", "--max-time", "--delay", "--per-host",
        "--concurrency", "--no-robots", "--json", "--fresh", "--strict", "-q", "--no-progress",
    ):  # fmt: skip
        assert f" {option}" in text.replace(",", " "), option


def test_nothing_asked_shows_help():
    result = gossamer()
    assert (result.exit_code, result.stdout) == (0, gossamer("--help").stdout)


@pytest.mark.slow
def test_version():
    assert gossamer("version").stdout.startswith(f"gossamer {__version__} ")
    assert gossamer("--version").stdout == gossamer("version").stdout
    assert json.loads(gossamer("version", "--json").stdout)["gossamer"] == __version__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bogus"], "No such command"),
        (["crawl"], "Missing argument 'TARGET'"),
        (["crawl", "x", "--wrong"], "No such option: --wrong"),
        (["crawl", "x", "--max-time", "soon"], "--max-time 'soon' is not a duration"),
        (["crawl", "x", "-a", "nothing"], "-a 'nothing' is not of the form ARG=VALUE"),
        (["crawl", "x", "-s", "dealy=1"], "unknown s"),
        (["crawl", "x.py", "-o", "y.foo"], "--format names it"),
        (["export", "x", "-o", "y.jsonl", "--format", "yaml"], "unknown format 'yaml'"),
        (["export", "x", "--json", "--format", "csv"], "contradict each other"),
        (["export", "x", "--safe-csv"], "--safe-csv is for csv; this is jsonl"),
        (["dead", "list", "x", "--reason", "weather"], "not a reason of a dead letter"),
        (["dead", "list", "x", "--older-than", "-1"], "is not a duration"),
        (["jobs", "-s", "max_pages=many"], "max_pages"),
    ],
)
def test_wrong_use_is_one_clear_message_and_exits_with_2(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = gossamer(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.slow
def test_a_data_directory_that_is_not_there_exits_with_4(tmp_path):
    for command in (["jobs"], ["status", "x"], ["export", "x"], ["dead", "drop", "x"]):
        result = gossamer(*command, "--data", str(tmp_path / "no"))
        assert result.exit_code == 4, command
        assert str(tmp_path / "no") in result.stderr
    assert not (tmp_path / "no").exists()


# --------------------------------------------------------------------------- how errors end


def ended(error):
    with pytest.raises(typer.Exit) as raised, exit_codes():
        raise error
    return raised.value.exit_code


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UsageError("no such spider"), ExitCode.USAGE, "gossamer: no such spider\n"),
        (MissingServiceError("no redis"), ExitCode.MISSING, "gossamer: no redis\n"),
        (StorageError("disk full"), ExitCode.MISSING, "gossamer: disk full\n"),
        (KeyboardInterrupt(), ExitCode.STOPPED, "gossamer: interrupted\n"),
        (OSError(errno.ENOSPC, "No space left", "/x"), ExitCode.MISSING, "gossamer: No space left: /x\n"),
        (UsageError("a\x1b[2Jb"), ExitCode.USAGE, "gossamer: a\\x1b[2Jb\n"),
    ],
)
def test_errors_that_a_person_can_mend(error, code, message, capsys):
    assert ended(error) == code
    assert capsys.readouterr().err == message


def test_a_bug_shows_its_traceback_and_has_a_code_of_its_own(capsys):
    assert ended(RuntimeError("odd\x1b[1m")) == 70
    text = capsys.readouterr().err
    assert "RuntimeError: odd\\x1b[1m" in text
    assert text.endswith("please report it with the lines above\n")
    assert ended(OSError(errno.EINVAL, "Invalid argument")) == 70


def test_nobody_reads_any_more():
    assert ended(BrokenPipeError()) == 141


def test_a_pipe_that_breaks_at_the_last_flush(monkeypatch):
    class Broken:
        closed = False

        def flush(self):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(typer.Exit) as raised, exit_codes():
        pass
    assert raised.value.exit_code == 141
