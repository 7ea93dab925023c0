"""The command that installs an extra fits the way in which this package was installed."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from gossamer import install
from gossamer.install import install_command, pip_command, source_argument

SRC = Path(install.__file__).parent


@pytest.mark.parametrize(
    ("noted", "argument"),
    [
        ({"dir_info": {"editable": True}}, "-e '{here}[redis]'"),
        ({"dir_info": {}}, "'{here}[redis]'"),
        ({"archive_info": {}}, "'{here}[redis]'"),
    ],
)
def test_a_package_from_this_machine_is_installed_from_there(noted, argument, tmp_path):
    here = tmp_path / "a checkout"
    here.mkdir()
    found = source_argument({"url": here.as_uri(), **noted}, "[redis]")
    assert found == argument.format(here=here)


def test_a_package_from_a_repository_is_installed_from_there():
    noted = {"url": "https://host.example/gossamer.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}
    expected = "'gossamer[redis] @ git+https://host.example/gossamer.git'"
    assert source_argument(noted, "[redis]") == expected


def test_without_the_checkout_the_packages_are_named():
    assert source_argument({"url": "file:///no/such/checkout"}, "[redis]") == "'redis[hiredis]>=5.2'"


@pytest.mark.parametrize("content", [None, PackageNotFoundError("gossamer")])
def test_a_package_from_an_index_and_one_that_is_not_installed(content, monkeypatch):
    class Distribution:
        def read_text(self, name):
            assert name == "direct_url.json"
            if content:
                raise content
            return content

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Distribution())
    root = Path(install.__file__).parents[2]
    source = f"-e '{root}[redis]'" if content else "'gossamer[redis]'"
    assert install_command("redis") == f"{pip_command()} {source}"


def test_the_command_is_for_the_python_that_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("gossamer.install.find_spec", lambda name: object())
    assert pip_command() == f"{tmp_path}/python -m pip install"
    for name in ("pip", "uv"):
        (tmp_path / name).touch(mode=0o755)
    assert pip_command() == "pip install"
    (tmp_path / "pip").unlink()
    monkeypatch.setattr("gossamer.install.find_spec", lambda name: None)
    assert pip_command() == f"uv pip install --python {tmp_path}/python"


def test_no_other_file_of_the_code_writes_such_a_command():
    written = [
        file.name
        for file in SRC.rglob("*.py")
        if file.name != "install.py" and re.search(r"pip install (?!\.\.\.)", file.read_text())
    ]
    assert written == []
