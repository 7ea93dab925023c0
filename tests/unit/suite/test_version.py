"""The version comes from the git tag; a build without git or tags has the one of pyproject.toml."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from kit.environment import environment

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RELEASE = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", re.MULTILINE)


def test_the_fallback_is_the_version_in_the_changelog_or_a_later_one() -> None:
    fallback = PROJECT["tool"]["hatch"]["version"]["fallback-version"]
    number, dev, _ = fallback.partition(".dev0")
    assert dev, "a build without tags is no release"
    latest = RELEASE.findall((ROOT / "CHANGELOG.md").read_text())[0]
    assert [int(part) for part in number.split(".")] >= [int(part) for part in latest.split(".")]


def test_a_checkout_that_was_never_installed_admits_that_its_version_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "gossamer").mkdir()
    (tmp_path / "gossamer" / "__init__.py").touch()
    (tmp_path / "gossamer" / "version.py").write_text((ROOT / "src" / "gossamer" / "version.py").read_text())
    code = "from gossamer.version import __version__; print(__version__)"

    def read() -> str:
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=True
        ).stdout.strip()

    assert read() == "0+unknown"
    template = PROJECT["tool"]["hatch"]["build"]["hooks"]["vcs"]["template"]
    (tmp_path / "gossamer" / "_version.py").write_text(template.format(version="0.2.0"))
    assert read() == "0.2.0"
