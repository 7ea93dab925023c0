"""The projects in ``examples/``: every command of their pages works, on a copy in a folder of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from gossamer.cli.app import build_app
from gossamer.config.settings import setting_fields
from kit.environment import environment
from kit.page_runner import PageRunner
from kit.programs import free_port

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAMES = sorted(page.parent.name for page in EXAMPLES.glob("*/README.md"))
FLEET = "fleet"
PORTS = ("8085", "8086")


def run_example(name: str, folder: Path, **variables: str) -> None:
    """Do what the page of an example says, on ports that are free."""
    folder /= name
    shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__", ".gossamer"))
    ports = {port: free_port() for port in PORTS}
    for file in (path for path in folder.rglob("*") if path.is_file()):
        text = file.read_text()
        file.write_text(re.sub("|".join(PORTS), lambda found: ports[found[0]], text))
    assert PageRunner((folder / "README.md").read_text(), folder, **variables).run() > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != FLEET])
def test_the_commands_of_an_example_work(name: str, tmp_path: Path) -> None:
    run_example(name, tmp_path)


@pytest.mark.slow
def test_the_commands_of_the_fleet_work(tmp_path: Path, redis_url: str, postgres_url: str) -> None:
    urls = {"GOSSAMER_FRONTIER__URL": redis_url, "GOSSAMER_STORE__URL": postgres_url}
    run_example(FLEET, tmp_path, **urls)


def test_there_are_eight_examples_and_the_page_lists_them() -> None:
    listed = re.findall(r"\]\((?!\.)([\w-]+)/README\.md\)", (EXAMPLES / "README.md").read_text())
    assert sorted(listed) == NAMES
    assert len(NAMES) == 8


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_short_and_its_links_lead_somewhere(name: str) -> None:
    page = EXAMPLES / name / "README.md"
    text = page.read_text()
    words = re.sub(r"<!--.*?-->|```.*?```", "", text, flags=re.DOTALL).split()
    assert 30 <= len(words) <= 120
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (page.parent / target).exists(), target


def test_a_folder_that_is_not_there_is_not_served(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gossamer.testing.site", tmp_path / "none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment())
    assert done.returncode == 2
    assert "cannot be served: No such file or directory" in done.stderr


# --------------------------------------------------------------------------- the fleet in containers


def test_the_compose_file_is_valid() -> None:
    check = Path(sys.executable).with_name("check-jsonschema")
    command = [check, "--builtin-schema", "vendor.compose-spec", EXAMPLES / FLEET / "compose.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_the_compose_file_names_commands_settings_and_files_that_exist() -> None:
    whole = yaml.safe_load((EXAMPLES / FLEET / "compose.yaml").read_text())
    services = whole["services"]
    application = typer.main.get_command(build_app())
    for service in (one for one in services.values() if str(one["image"]).startswith("gossamer:")):
        build = service["build"]
        dockerfile = EXAMPLES / FLEET / build["context"] / build["dockerfile"]
        assert f" AS {build['target']}\n" in dockerfile.read_text()
        for variable in service.get("environment", {}):
            name = variable.removeprefix("GOSSAMER_").lower().replace("__", ".")
            assert name in setting_fields()
        if "entrypoint" not in service:
            name, *words = service["command"]
            application.commands[name].make_context(name, words)
    assert services["site"]["entrypoint"][:3] == ["python", "-m", "gossamer.testing.shop"]
    assert services["worker"]["network_mode"] == "service:site"
