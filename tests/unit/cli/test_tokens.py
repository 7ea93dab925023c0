"""Tokens and the dashboard by the command line."""

import json
import sys

import pytest
from typer.testing import CliRunner

from gossamer.cli.app import build_app
from gossamer.install import install_command
from kit.server_process import free_port


def gossamer(*arguments):
    return CliRunner().invoke(build_app(), [*arguments], prog_name="gossamer")


@pytest.mark.slow
def test_a_token_is_made_listed_and_revoked(tmp_path):
    data = ("--data", str(tmp_path))
    made = gossamer("token", "create", "ann", "--role", "operate", *data)
    assert (made.exit_code, made.stdout.startswith("gossamer_"), len(made.stdout.strip())) == (0, True, 52)
    assert "not shown again" in made.stderr
    listed = gossamer("token", "list", "--json", *data)
    (token,) = json.loads(listed.stdout)
    assert (token["name"], token["role"]) == ("ann", "operate")
    assert made.stdout.strip() not in listed.stdout
    assert made.stdout.strip().encode() not in (tmp_path / "gossamer.db").read_bytes()
    assert gossamer("token", "create", "ann", *data).exit_code == 2
    assert gossamer("token", "revoke", "ann", *data).exit_code == 0
    assert json.loads(gossamer("token", "list", "--json", *data).stdout) == []
    none = gossamer("token", "list", *data)
    assert (none.exit_code, none.stdout, "no tokens" in none.stderr) == (0, "", True)
    assert gossamer("token", "revoke", "ann", *data).exit_code == 2


@pytest.mark.slow
def test_tokens_are_managed_while_the_requests_are_away(tmp_path):
    """They are beside the jobs: a Redis that is away keeps nobody from revoking one."""
    away = ("--data", str(tmp_path), "-s", f"frontier.url=redis://127.0.0.1:{free_port()}/0")
    assert gossamer("jobs", *away).exit_code == 4
    assert gossamer("token", "create", "ann", *away).exit_code == 0
    listed = gossamer("token", "list", "--json", *away)
    assert [token["name"] for token in json.loads(listed.stdout)] == ["ann"]
    assert gossamer("token", "revoke", "ann", *away).exit_code == 0


@pytest.mark.parametrize("name", ["", "local", "a b", "-x", "x" * 65, "\u00e4"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    done = gossamer("token", "create", "--data", str(tmp_path), "--", name)
    assert done.exit_code == 2
    assert "cannot be a token's name" in done.stderr


def test_the_dashboard_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "gossamer.web.packages", raising=False)
    done = gossamer("dashboard", "--data", str(tmp_path))
    assert done.exit_code == 4
    assert install_command("dashboard") in done.stderr


def test_elsewhere_the_dashboard_needs_a_token(tmp_path):
    done = gossamer("dashboard", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path))
    assert done.exit_code == 2
    assert "gossamer token create" in done.stderr
